import { CodedError } from '../base/index.ts';

/**
 * `listen`: could not listen on an address. `settings`: a certificate, user, header, path prefix or address is invalid. `restart`: a
 * change needs a restart. `slow-client`: a client did not read its response in time. `busy`: too many password checks or searches.
 * `password-check`: passwords cannot be checked.
 */
type WebFailure = 'listen' | 'settings' | 'restart' | 'slow-client' | 'busy' | 'password-check';

/** A failure of the web server. */
export class WebError extends CodedError<WebFailure> {
  override readonly name = 'WebError';
}
