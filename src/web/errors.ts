import { CodedError } from '../base/index.ts';

/**
 * `listen`: an address could not be listened on. `settings`: a certificate, user, header, path prefix or address that
 * cannot be used. `restart`: a change of settings that a running server cannot make. `slow-client`: an answer was not
 * taken in time. `busy`: too many passwords wait to be compared. `password-check`: they cannot be compared at all.
 */
export type WebFailure = 'listen' | 'settings' | 'restart' | 'slow-client' | 'busy' | 'password-check';

export class WebError extends CodedError<WebFailure> {
  override readonly name = 'WebError';
}
