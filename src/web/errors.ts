import { CodedError } from '../base/index.ts';

/** `listen`: an address could not be listened on. */
export type WebFailure = 'listen';

export class WebError extends CodedError<WebFailure> {
  override readonly name = 'WebError';
}
