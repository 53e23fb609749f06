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

/** Reads an answer. `secrets`: password, token and header values of the configuration. */
export function toJsonAnswer(
  { statusCode, headers }: AnswerHead,
  bytes: Buffer,
  { authorization, knownDigest, path }: AnsweredRequest,
  clock: Clock,
  secrets: readonly string[],
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
    body: digest !== undefined && digest === knownDigest ? undefined : parseBody(bytes, [credentials, ...secrets]),
    contentType: headers['content-type'],
    digest,
    bytes,
  };
}

/** A shorter secret is left as it is, as in the agent's own log: it would blank out parts of ordinary words. Characters. */
const MASKED_LENGTH_MIN = 6;
/** A secret like this one stays in names of fields: a password "status" must not rename what an answer consists of. */
const FIELD_LIKE = /^[A-Za-z_]+$/;

/**
 * Decodes a body; `undefined` if it is no JSON. The secrets of the router are masked in its texts: some servers quote what
 * they were sent, in errors and in values, which reach labels, pages, names of files and the agent's log. A number is no
 * quotation.
 */
function parseBody(bytes: Buffer, secrets: readonly string[]): unknown {
  if (bytes.length === 0) return undefined;
  const masked = secrets
    // A header may be quoted without its scheme, as in `Bearer TOKEN`, and a password as part of a URL.
    .flatMap((secret) => [secret, /^\S+ (\S+)$/.exec(secret)?.[1] ?? '', percentEncode(secret)])
    .filter((secret) => secret.length >= MASKED_LENGTH_MIN)
    // One secret may be part of another, whose rest would stay.
    .toSorted((a, b) => b.length - a.length);
  const text = bytes.toString('utf8');
  const value = parseJson(text);
  // Only a text with a backslash holds characters in another form than they have.
  const isSuspect = masked.length > 0 && (text.includes('\\') || masked.some((secret) => text.includes(secret)));
  return isSuspect ? maskTexts(value, masked) : value;
}

function maskTexts(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return maskText(value, secrets);
  if (Array.isArray(value)) return value.map((one) => maskTexts(one, secrets));
  if (typeof value !== 'object' || value === null) return value;
  const inNames = secrets.filter((secret) => !FIELD_LIKE.test(secret));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [maskText(name, inNames), maskTexts(one, secrets)]),
  );
}

function maskText(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
}

/** `secret` as it is in a URL; nothing for a text with half a character. */
function percentEncode(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : '';
}
