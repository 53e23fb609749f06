import { sanitizeErrorText } from '../../net/index.ts';
import { DeliveryError, type DeliveryErrorOptions, type DeliveryFailure } from '../errors.ts';

/** The response of a sink, read completely or up to a bound. */
export interface HttpAnswer {
  /** HTTP status. */
  readonly status: number;
  /**
   * The body as text; with `answerEncoding: 'bytes'` one character per byte (Latin-1). That of a 2xx status is unchanged, because
   * it is data: what is shown of it has to be quoted.
   */
  readonly body: string;
  /** Wait requested by the sink (`Retry-After`). Milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Size of the request's body as sent. Bytes. */
  readonly sentBytes: number;
  /** Returns the value of a header (name in lower case); `undefined` when it is absent or repeated. */
  header(name: string): string | undefined;
  /** Prepares text of the body for a message: without the secrets of the request, and as {@link sanitizeErrorText} does. */
  quote(text: string): string;
}

interface StatusClass {
  readonly code: DeliveryFailure;
  readonly disposition: DeliveryErrorOptions['disposition'];
  readonly hint?: string;
}

const toMend = (code: DeliveryFailure, hint: string): StatusClass => ({ code, disposition: 'operator', hint });
const UNAUTHORIZED = toMend('unauthorized', 'Check the credentials of this sink and their permissions');
const MISCONFIGURED = toMend('misconfigured', 'Check the url of this sink');
const ENCODING = toMend(
  'misconfigured',
  'Check the url, type and format of this sink, and whether the receiver accepts compressed bodies (compress)',
);
const TOO_LARGE: StatusClass = { code: 'too_large', disposition: 'dead-letter' };
const REFUSED: StatusClass = { code: 'refused', disposition: 'dead-letter' };
const THROTTLED: StatusClass = { code: 'throttled', disposition: 'retry' };
const FAILED: StatusClass = { code: 'failed', disposition: 'retry' };

/** Statuses below 500 that do not concern the content of the records. */
const CLASSES = new Map<number, StatusClass>([
  [401, UNAUTHORIZED],
  [402, UNAUTHORIZED],
  [403, UNAUTHORIZED],
  [404, MISCONFIGURED],
  [405, MISCONFIGURED],
  [406, ENCODING],
  [407, MISCONFIGURED],
  [408, FAILED],
  [410, MISCONFIGURED],
  [411, MISCONFIGURED],
  [413, TOO_LARGE],
  [415, ENCODING],
  [421, MISCONFIGURED],
  [425, THROTTLED],
  [426, MISCONFIGURED],
  [429, THROTTLED],
  [431, MISCONFIGURED],
]);

/**
 * Bodies of status 400 for a wrong scheme or a missing certificate: the server has not seen a record. Matched from the
 * beginning of the body only, because a server may quote a record later in it.
 */
const CONNECTION_PAGES =
  /^(<html>\s*<head><title>400 (The plain HTTP request was sent to HTTPS port|No required SSL certificate was sent|The SSL certificate error)<\/title>|Client sent an HTTP request to an HTTPS server\.)/;
const WRONG_CONNECTION = toMend(
  'misconfigured',
  'Check the scheme in the url of this sink, and its tls.cert_file and tls.key_file',
);

/**
 * Converts a response that rejects the whole request to an error; `what` names the responder, as in `Sink web`. A 2xx
 * status counts as a violation of the protocol.
 */
export function toAnswerError(answer: HttpAnswer, what: string): DeliveryError {
  const { status, retryAfterMs } = answer;
  const { code, disposition, hint } = classify(answer);
  const words = answer.quote(answer.body);
  return new DeliveryError(code, `${what} answered with status ${status}${words === '' ? '' : `: ${words}`}`, {
    disposition,
    hint: status >= 300 && status < 400 ? renderRedirect(answer) : hint,
    retryAfterMs,
    answer: String(status),
  });
}

function classify({ status, retryAfterMs, body }: HttpAnswer): StatusClass {
  if (status < 300) return { code: 'protocol_error', disposition: 'retry' };
  if (status < 400) return MISCONFIGURED;
  if (status === 400 && CONNECTION_PAGES.test(body)) return WRONG_CONNECTION;
  if (status < 500) return CLASSES.get(status) ?? REFUSED;
  return status === 503 && retryAfterMs !== undefined ? THROTTLED : FAILED;
}

function renderRedirect(answer: HttpAnswer): string {
  const place = sanitizeErrorText(answer.header('location') ?? '').replace(/[?#].*$/, '');
  return place === ''
    ? 'Check the url of this sink'
    : `Check the url of this sink: it redirects to ${place}, and the agent does not follow redirects`;
}
