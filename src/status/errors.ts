import { CodedError } from '../base/index.ts';

/** `parse`: a document has an unknown shape. */
export type StatusFailure = 'parse';

/** An unusable status document, although the router itself answered. */
export class StatusError extends CodedError<StatusFailure> {
  override readonly name = 'StatusError';
  readonly isAnswered = true;
  constructor(code: StatusFailure, message: string) {
    super(code, message, { disposition: 'skip' });
  }
}
