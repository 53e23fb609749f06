import { SourceError } from '../model/index.ts';

/** `parse`: a document has an unknown shape. */
export type StatusFailure = 'parse';

/** An unusable status document, although the router itself answered. */
export class StatusError extends SourceError<StatusFailure> {
  override readonly name = 'StatusError';
  constructor(code: StatusFailure, message: string) {
    super(code, message, { disposition: 'skip', isAnswered: true });
  }
}
