import { hash } from 'node:crypto';
import { type Clock, parseJson } from '../../base/index.ts';
import { parseHttpDate, parseRetryAfter } from '../../net/index.ts';
import type { AnswerHead } from './streamed-exchange.ts';

/** An answer read whole. */
export interface JsonAnswer {
  readonly status: number;
  /** Wait that a busy router asks for (`Retry-After`). Milliseconds; `Infinity` for a date by a clock that is off. */
  readonly retryAfterMs?: number | undefined;
  /** The router's own time (`Date`), milliseconds since the Unix epoch. */
  readonly dateMs?: number | undefined;
  /** The decoded body; `undefined` when it is empty, no JSON, or the known one. */
  readonly body: unknown;
  /** What the answer says its body is (`Content-Type`). */
  readonly contentType?: string | undefined;
  /** Digest of the body's bytes, if one was requested. */
  readonly digest?: string | undefined;
}

/** A JSON answer with its undecoded body. */
export interface WholeAnswer extends JsonAnswer {
  readonly bytes: Uint8Array;
}

/** The request of an answer, as far as it decides how that is read. */
interface AnsweredRequest {
  readonly path: string;
  readonly authorization?: string | undefined;
  readonly knownDigest?: string | undefined;
}

/** Statuses of a healthy router that is busy. */
export const BUSY_STATUSES: ReadonlySet<number | undefined> = new Set([429, 503]);

/** Reads an answer. `headerValues`: those of the configuration, which may be secret. */
export function toJsonAnswer(
  { statusCode, headers }: AnswerHead,
  bytes: Buffer,
  { authorization, knownDigest, path }: AnsweredRequest,
  clock: Clock,
  headerValues: readonly string[],
): WholeAnswer {
  const digest = knownDigest === undefined || statusCode !== 200 ? undefined : hash('sha256', bytes, 'base64');
  // A router that keeps its refresh token returns what it was sent.
  const [, credentials = ''] =
    statusCode === 200 && path.startsWith('/auth/') ? [] : (authorization ?? '').split(' ', 2);
  return {
    status: statusCode,
    // The clock of a router may show its date of manufacture. With another status, the header is not about all requests.
    retryAfterMs: BUSY_STATUSES.has(statusCode)
      ? parseRetryAfter(headers['retry-after'], clock.now(), headers.date)
      : undefined,
    dateMs: parseHttpDate(headers.date),
    body: digest !== undefined && digest === knownDigest ? undefined : parseBody(bytes, [credentials, ...headerValues]),
    contentType: headers['content-type'],
    digest,
    bytes,
  };
}

/** Shorter credentials are no secret, but parts of words that a router answers with. Characters. */
const MASKED_LENGTH_MIN = 8;

/**
 * Decodes a body; `undefined` if it is no JSON. The secrets of its request are masked in its texts: some servers quote the
 * request in their errors, which reach pages and the agent's log. A number is no quotation.
 */
function parseBody(bytes: Buffer, secrets: readonly string[]): unknown {
  if (bytes.length === 0) return undefined;
  const masked = secrets
    // The header may be quoted without its scheme, as in `Bearer TOKEN`.
    .flatMap((secret) => [secret, secret.slice(secret.lastIndexOf(' ') + 1)])
    .filter((secret) => secret.length >= MASKED_LENGTH_MIN);
  const text = bytes.toString('utf8');
  const value = parseJson(text);
  // Only a text with a backslash holds characters in another form than they have.
  const isSuspect = masked.length > 0 && (text.includes('\\') || masked.some((secret) => text.includes(secret)));
  return isSuspect ? maskTexts(value, masked) : value;
}

function maskTexts(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), value);
  if (Array.isArray(value)) return value.map((one) => maskTexts(one, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map((entry) => entry.map((one) => maskTexts(one, secrets))));
}
