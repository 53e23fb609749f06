import { CodedError } from '../base/index.ts';

/**
 * `listen`: could not listen on an address. `settings`: a certificate, user, header, path prefix or address is invalid.
 * `restart`: a change of settings needs a restart. `slow-client`: a client did not read its response in time. `busy`: too
 * many passwords wait to be compared, or too many searches run. `password-check`: passwords cannot be compared at all.
 */
export type WebFailure = 'listen' | 'settings' | 'restart' | 'slow-client' | 'busy' | 'password-check';

/** Failure of the web server. The message is written for operators. */
export class WebError extends CodedError<WebFailure> {
  override readonly name = 'WebError';
}
