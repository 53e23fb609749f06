import { CodedError } from '../base/index.ts';

/** `parse`: a document has a shape that is not known. */
export type StatusFailure = 'parse';

/** What can be wrong with a status document. The router itself answered. */
export class StatusError extends CodedError<StatusFailure> {
  override readonly name = 'StatusError';
  readonly isAnswered = true;
  constructor(code: StatusFailure, message: string) {
    super(code, message, { disposition: 'skip' });
  }
}
