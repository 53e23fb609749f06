import { type NatsLibrary, toNatsError as toConnectionError } from '../../../net/index.ts';
import { DeliveryError, type DeliveryErrorOptions, type DeliveryFailure } from '../../errors.ts';

/** The `answer` of the error when a subject is full, and not its stream, which gives both the same code. */
export const SUBJECT_FULL = 'max_msgs_per_subject';
const STREAM_FULL = 10_077;
/** Text of the error of a stream with `discard_new_per_subject` (nats-server, server/store.go). */
const SUBJECT_FULL_TEXT = 'maximum messages per subject exceeded';

/** Error codes of the JetStream API (nats-server, server/errors.json). */
const API_CODES: ReadonlyMap<number, readonly [DeliveryFailure, Omit<DeliveryErrorOptions, 'cause'>]> = new Map([
  // A stream with `discard: new` has reached a limit.
  [
    STREAM_FULL,
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

/** Converts an error of the client library to a {@link DeliveryError}; `what` names the failed action. */
export function toNatsError(nats: NatsLibrary, what: string, thrown: unknown): DeliveryError {
  if (thrown instanceof DeliveryError) return thrown;
  const { code, message, disposition, hint, apiCode } = toConnectionError(nats, what, thrown, 'sink');
  if (apiCode === STREAM_FULL && message.endsWith(SUBJECT_FULL_TEXT)) {
    const advice = 'The subject is full: raise max_msgs_per_subject of the stream, or wait for its consumers';
    return new DeliveryError('throttled', message, { disposition: 'hold-back', hint: advice, answer: SUBJECT_FULL });
  }
  if (code === 'api') {
    const [failure, options] = API_CODES.get(apiCode ?? 0) ?? ['failed', { disposition: 'retry' }];
    return new DeliveryError(failure, message, { ...options, answer: String(apiCode) });
  }
  if (code === 'no_responders') {
    const advice = 'Check that JetStream is enabled and that a stream stores the subjects of this sink';
    return new DeliveryError('failed', message, { disposition: 'retry', hint: advice, answer: '503' });
  }
  return new DeliveryError(code, message, { disposition, hint });
}
