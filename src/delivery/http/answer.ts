import { DeliveryError, type DeliveryErrorOptions, type DeliveryFailure } from '../errors.ts';
import { toWords } from './words.ts';

/** What a sink answered, read whole or up to a bound. */
export interface HttpAnswer {
  readonly status: number;
  /** As text; with `answerEncoding: 'bytes'` one character per byte (Latin-1). */
  readonly body: string;
  /** How long the sink asks to be left alone (`Retry-After`). Milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Bytes of the request's body, as sent. */
  readonly sentBytes: number;
  /** The value of a header, in lower case; `undefined` when it is absent or there several times. */
  header(name: string): string | undefined;
}

interface StatusClass {
  readonly code: DeliveryFailure;
  readonly disposition: DeliveryErrorOptions['disposition'];
  readonly hint?: string;
}

const UNAUTHORIZED: StatusClass = {
  code: 'unauthorized',
  disposition: 'operator',
  hint: 'Check the credentials of this sink, and what they are allowed to do',
};
const MISDIRECTED: StatusClass = {
  code: 'misconfigured',
  disposition: 'operator',
  hint: 'Check the url of this sink',
};
const ENCODING: StatusClass = {
  code: 'misconfigured',
  disposition: 'operator',
  hint: 'Check the url, type and format of this sink, and whether it takes compressed bodies (compress)',
};
const TOO_LARGE: StatusClass = { code: 'too_large', disposition: 'dead-letter' };
const REFUSED: StatusClass = { code: 'refused', disposition: 'dead-letter' };
const THROTTLED: StatusClass = { code: 'throttled', disposition: 'retry' };
const FAILED: StatusClass = { code: 'failed', disposition: 'retry' };

/** Statuses below 500 that say nothing against the records. */
const CLASSES = new Map<number, StatusClass>([
  [401, UNAUTHORIZED],
  [402, UNAUTHORIZED],
  [403, UNAUTHORIZED],
  [404, MISDIRECTED],
  [405, MISDIRECTED],
  [406, ENCODING],
  [407, MISDIRECTED],
  [408, FAILED],
  [410, MISDIRECTED],
  [411, MISDIRECTED],
  [413, TOO_LARGE],
  [415, ENCODING],
  [421, MISDIRECTED],
  [425, THROTTLED],
  [426, MISDIRECTED],
  [429, THROTTLED],
  [431, MISDIRECTED],
]);

/**
 * What servers say with status 400 when the scheme is wrong or a certificate is missing, before they have seen a record.
 * Only from its first letter on: further behind, a server may repeat what stands in a record.
 */
const CONNECTION_PAGES =
  /^(<html>\s*<head><title>400 (The plain HTTP request was sent to HTTPS port|No required SSL certificate was sent|The SSL certificate error)<\/title>|Client sent an HTTP request to an HTTPS server\.)/;
const WRONG_CONNECTION: StatusClass = {
  code: 'misconfigured',
  disposition: 'operator',
  hint: 'Check the scheme in the url of this sink, and its tls.cert_file and tls.key_file',
};

/**
 * The error of an answer with which a sink takes nothing; `what` names who answered, as in `Sink web`. For a status of
 * success the answer counts as one that breaks the protocol.
 */
export function toAnswerError(answer: HttpAnswer, what: string): DeliveryError {
  const { status, retryAfterMs } = answer;
  const { code, disposition, hint } = classify(answer);
  const words = toWords(answer.body);
  return new DeliveryError(code, `${what} answered with status ${status}${words === '' ? '' : `: ${words}`}`, {
    disposition,
    hint: status >= 300 && status < 400 ? renderRedirect(answer) : hint,
    retryAfterMs,
    answer: String(status),
  });
}

function classify({ status, retryAfterMs, body }: HttpAnswer): StatusClass {
  if (status < 300) return { code: 'protocol_error', disposition: 'retry' };
  if (status < 400) return MISDIRECTED;
  if (status === 400 && CONNECTION_PAGES.test(body)) return WRONG_CONNECTION;
  if (status < 500) return CLASSES.get(status) ?? REFUSED;
  return status === 503 && retryAfterMs !== undefined ? THROTTLED : FAILED;
}

function renderRedirect(answer: HttpAnswer): string {
  const place = toWords(answer.header('location') ?? '').replace(/[?#].*$/, '');
  return place === ''
    ? 'Check the url of this sink'
    : `Check the url of this sink: it redirects to ${place}, and records and credentials are never sent on`;
}
