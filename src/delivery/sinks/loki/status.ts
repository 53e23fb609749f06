import { decodeObject, parseJson } from '../../../base/index.ts';
import type { DeliveryReport } from '../../contracts.ts';
import { DeliveryError, type DeliveryErrorOptions, type DeliveryFailure } from '../../errors.ts';
import { type HttpAnswer, toAnswerError } from '../../http/answer.ts';
import { judgePartialAnswer } from './answer.ts';
import type { SentEntry } from './request.ts';

const TAKEN = 204;
/** An administrator has stopped ingestion (`block_ingestion_until`, pkg/validation/limits.go). */
const BLOCKED = 260;
/** Longer than for a busy server, because an administrator must act. Milliseconds. */
const BLOCKED_RETRY_MS = 5 * 60_000;

/** Evaluates the response to a push. Throws `DeliveryError` when Loki stored none of the entries. */
export function judgeLokiAnswer(answer: HttpAnswer, sent: readonly SentEntry[], what: string): DeliveryReport {
  const { status, sentBytes: bytes } = answer;
  if (status === TAKEN) return { bytes };
  const words = readErrorText(answer);
  if (status === 400) {
    const fault = findSettingFault(words, answer, what);
    if (fault) throw fault;
    const partial = judgePartialAnswer(words, sent);
    if (partial) return { bytes, ...partial };
  }
  throw toLokiError(words, answer, what);
}

function toLokiError(words: string, answer: HttpAnswer, what: string): DeliveryError {
  const { status } = answer;
  const plain = toAnswerError({ ...answer, body: words }, what);
  const { code, disposition, retryAfterMs } = plain;
  const change = (options: Partial<DeliveryErrorOptions>, other: DeliveryFailure = code) =>
    new DeliveryError(other, plain.message, { disposition, retryAfterMs, answer: String(status), ...options });
  if (status === BLOCKED) {
    const hint = 'Ask the administrator of Loki about block_ingestion_until; delivery continues when it ends';
    return change({ disposition: 'retry', retryAfterMs: BLOCKED_RETRY_MS, hint }, 'throttled');
  }
  if (status < 300) {
    // Loki drops lines silently with block_ingestion_status_code 200; a server of another kind may answer everything with 200.
    const hint =
      'Loki answers 204 for stored lines: check the url of this sink, and block_ingestion_status_code of Loki';
    return change({ disposition: 'operator', hint });
  }
  // The distributor reports Loki's internal gRPC limit as a failure.
  if (status >= 500 && /message larger than max/i.test(words))
    return change({ disposition: 'dead-letter' }, 'too_large');
  if (status === 429 && /stream limit/i.test(words)) {
    return change({ hint: 'Set layout of this sink to shard, or raise max_global_streams_per_user of Loki' });
  }
  if (status === 401 && /no org id/i.test(words)) return change({ hint: 'Set tenant of this sink' });
  return plain;
}

/** Returns the error for rejections that concern every record: delivery waits until Loki's settings change. */
function findSettingFault(words: string, answer: HttpAnswer, what: string): DeliveryError | undefined {
  const hint = /includes structured metadata, but this feature is disallowed/i.test(words)
    ? 'Set allow_structured_metadata of Loki, which needs a schema of version 13 or later'
    : /missing required labels/i.test(words)
      ? 'This sink cannot set the labels that enforced_labels of Loki requires'
      : undefined;
  if (hint === undefined) return undefined;
  return new DeliveryError('failed', `${what} answered with status ${answer.status}: ${answer.quote(words)}`, {
    disposition: 'operator',
    hint,
    answer: String(answer.status),
  });
}

/** Returns the text of a response, or the message in it when it is JSON, as with some gateways. */
function readErrorText({ body }: HttpAnswer): string {
  if (!body.startsWith('{"')) return body;
  const { message, error } = decodeObject(parseJson(body)) ?? {};
  const words = message ?? error;
  return typeof words === 'string' ? words : body;
}
