import { adviseUnreached, explainTls, readErrorCode, type TlsFailure } from '../../../net/index.ts';
import { DeliveryError, type DeliveryErrorOptions, type DeliveryFailure } from '../../errors.ts';
import { sanitizeErrorText } from '../../http/error-text.ts';
import type { NatsLibrary } from './library.ts';

/** Error codes of the JetStream API (nats-server, server/errors.json). */
const API_CODES: ReadonlyMap<number, readonly [DeliveryFailure, Omit<DeliveryErrorOptions, 'cause'>]> = new Map([
  // A stream with `discard: new` has reached a limit.
  [
    10_077,
    [
      'throttled',
      { disposition: 'hold-back', hint: 'The stream is full: raise its limits, or wait for its consumers' },
    ],
  ],
  [10_023, ['throttled', { disposition: 'hold-back', hint: 'The NATS server has no resources left' }]],
  [10_028, ['throttled', { disposition: 'hold-back', hint: 'The account has no memory left for JetStream' }]],
  [10_047, ['throttled', { disposition: 'hold-back', hint: 'The NATS server has no storage left' }]],
  [10_053, ['too_large', { disposition: 'dead-letter' }]],
  [10_054, ['too_large', { disposition: 'dead-letter' }]],
  [
    10_060,
    [
      'misconfigured',
      { disposition: 'operator', hint: 'Check subject and stream of this sink: another stream stores the subject' },
    ],
  ],
  [10_039, ['misconfigured', { disposition: 'operator', hint: 'Enable JetStream for the account of this sink' }]],
]);

const UNAUTHORIZED_HINT = 'Check the credentials of this sink and the permissions of its account';

/** Converts an error of the client library to a {@link DeliveryError}; `what` names the failed action. */
export function toNatsError(nats: NatsLibrary, what: string, thrown: unknown): DeliveryError {
  if (thrown instanceof DeliveryError) return thrown;
  const cause = findReason(thrown);
  const untrusted = explainTls(cause, 'sink');
  const fail = (code: DeliveryFailure, options: Omit<DeliveryErrorOptions, 'cause'>) => {
    const words =
      (untrusted && renderTls(untrusted)) ?? (cause instanceof Error ? sanitizeErrorText(cause.message) : '');
    return new DeliveryError(code, words ? `${what}: ${words}` : what, options);
  };
  const { errors } = nats;
  if (cause instanceof nats.JetStreamApiError) {
    const answer = String(cause.code);
    const [code, options] = API_CODES.get(cause.code) ?? ['failed', { disposition: 'retry' }];
    return fail(code, { ...options, answer });
  }
  if (
    cause instanceof errors.AuthorizationError ||
    cause instanceof errors.UserAuthenticationExpiredError ||
    cause instanceof errors.PermissionViolationError
  ) {
    return fail('unauthorized', { disposition: 'operator', hint: UNAUTHORIZED_HINT });
  }
  if (cause instanceof errors.NoRespondersError) {
    const hint = 'Check that JetStream is enabled and that a stream stores the subjects of this sink';
    return fail('failed', { disposition: 'retry', hint, answer: '503' });
  }
  if (cause instanceof errors.TimeoutError) return fail('timeout', { disposition: 'retry' });
  if (untrusted) return fail('misconfigured', { disposition: 'operator', hint: untrusted.hint });
  if (cause instanceof SyntaxError) {
    return fail('protocol_error', {
      disposition: 'retry',
      hint: 'Another service responds on this subject',
    });
  }
  return fail('unreachable', { disposition: 'retry', hint: adviseUnreached(readErrorCode(cause), 'sink') });
}

function renderTls({ subject, reason }: TlsFailure): string {
  return subject === 'certificate' ? `its certificate is not trusted: ${reason}` : reason;
}

/** Returns the innermost error: the library wraps the server's error into others. */
function findReason(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.cause instanceof Error ? findReason(thrown.cause) : thrown;
}
