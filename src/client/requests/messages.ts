import { hash } from 'node:crypto';
import { type Clock, isPlainObject, parseJson } from '../../base/index.ts';
import { parseHttpDate, parseRetryAfter, renderHeader } from '../../net/index.ts';
import { type ErrorDetail, RouterError, type RouterErrorOptions } from '../errors.ts';
import type { AnswerHead } from './exchange.ts';

/** A call of the interface. */
export interface AnyCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v2_0`, beginning with a slash, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

/** A request of the REST interface. */
export interface RouterRequest extends AnyCall {
  readonly authorization?: string | undefined;
  readonly rangeStart?: number | undefined;
  /** Offset of the last requested byte. Default: the end. */
  readonly rangeLast?: number | undefined;
  /** Sent as `If-None-Match`: a router that supports entity tags answers an unchanged file with 304. */
  readonly unlessEtag?: string | undefined;
  /** Requests a digest of the answer; a body with this digest is not decoded. Default: no digest. */
  readonly knownDigest?: string | undefined;
  /** A longer answer is an error. Default: 4 MiB, without limit for a download. A download fails after these bytes. */
  readonly bytesMax?: number | undefined;
  readonly signal: AbortSignal;
}

/** Returns the name of a request in errors, as in `GET /profiles`. */
export function renderAttempt({ method, path }: RouterRequest): string {
  return `${method} ${path}`;
}

/** The first request of a session. If the connection is closed during it, the router has not answered anything yet. */
export const LOGIN_PATH = '/auth/login';
export const REFRESH_PATH = '/auth/refresh';
/** Characters. */
const NAME_SHOWN_MAX = 200;

/** Encodes the path of a resource. Rejects `.` and `..`, which would lead to another area of the interface. */
export function encodePath(path: string): string {
  const parts = path.split('/');
  if (parts.some((part) => part === '.' || part === '..')) throw toNameError(path);
  return parts.map(encodeURIComponent).join('/');
}

/** Returns the error for an invalid path. */
export function toNameError(path: string): RouterError {
  return new RouterError('http', `Invalid resource path ${JSON.stringify(path.slice(0, NAME_SHOWN_MAX))}`, {
    disposition: 'skip',
    isUnsent: true,
  });
}

/** An answer that was read completely. */
export interface JsonAnswer {
  readonly status: number;
  /** Wait requested by a busy router (`Retry-After`). Milliseconds; `Infinity` for a date by a clock that is off. */
  readonly retryAfterMs?: number | undefined;
  /** The router's time (`Date`), milliseconds since the Unix epoch. */
  readonly dateMs?: number | undefined;
  /** Parsed JSON; `undefined` if it is empty, not JSON or has the known digest. */
  readonly body: unknown;
  readonly contentType?: string | undefined;
  readonly digest?: string | undefined;
}

/** A JSON answer with its bytes. */
export interface WholeAnswer extends JsonAnswer {
  readonly bytes: Uint8Array;
}

/** Statuses of a busy, healthy router. */
export const BUSY_STATUSES: ReadonlySet<number | undefined> = new Set([429, 503]);

/** Decodes an answer. `secrets`: password, token and header values of the configuration. */
export function toJsonAnswer(
  { statusCode, headers }: AnswerHead,
  bytes: Buffer,
  { authorization, knownDigest, path }: RouterRequest,
  clock: Clock,
  secrets: readonly string[],
): WholeAnswer {
  const digest = knownDigest === undefined || statusCode !== 200 ? undefined : hash('sha256', bytes, 'base64');
  // A router that keeps its refresh token returns the token that was sent.
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

/** Shorter secrets are not masked, as in the agent's own log: they would remove parts of ordinary words. Characters. */
const MASKED_LENGTH_MIN = 6;
/** Such secrets are not masked in field names: a password "status" must not rename the fields of an answer. */
const FIELD_LIKE = /^[A-Za-z_]+$/;

/**
 * Parses a body; `undefined` if it is not JSON. Masks the router's secrets in its strings: some servers quote the request in errors and
 * values, which reach labels, pages, file names and the agent's log. Numbers are not masked.
 */
function parseBody(bytes: Buffer, secrets: readonly string[]): unknown {
  if (bytes.length === 0) return undefined;
  const masked = secrets
    // A header may be quoted without its scheme, as in `Bearer TOKEN`, and a password as part of a URL.
    .flatMap((secret) => [secret, /^\S+ (\S+)$/.exec(secret)?.[1] ?? '', percentEncode(secret)])
    .filter((secret) => secret.length >= MASKED_LENGTH_MIN)
    // Longest first: one secret may be part of another.
    .toSorted((a, b) => b.length - a.length);
  const text = bytes.toString('utf8');
  const value = parseJson(text);
  // JSON escapes always contain a backslash.
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

/** Empty for a string that is not well-formed, which encodeURIComponent() rejects. */
function percentEncode(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : '';
}

/** Bounds of the router's own error details: length of each, and number. */
const WORDS_LENGTH_MAX = 200;
const WORDS_MAX = 20;

const HINTS: Readonly<Record<number, string>> = {
  400: 'The router rejected the request; its own message is in brackets',
  403: 'The group of the account does not permit this; see the rights of its user on the router',
  404: 'This router does not have it: it has other cards or another firmware, or the name is wrong',
  500: 'The router could not store or activate it; see its own log',
  503: 'The router is busy with another request of this kind; retries did not help',
};

/** Returns the error for an answer with an unexpected status. */
export function toAnswerError(answer: JsonAnswer, request: RouterRequest): RouterError {
  const { status, retryAfterMs } = answer;
  const words = decodeWords(answer.body);
  const said = words.map(({ topic, text }) => `${topic}: ${text}`).join('; ');
  const what = `${request.method} ${request.path} was answered with ${status}${said && ` (${said})`}`;
  const options: Omit<RouterErrorOptions, 'disposition'> = { status, words, retryAfterMs, hint: HINTS[status] };
  if (status === 401) return new RouterError('auth', what, { ...options, disposition: 'login-again' });
  if (status === 403) return new RouterError('auth', what, { ...options, disposition: 'operator', isAnswered: true });
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new RouterError('http', what, { ...options, disposition: isFinal ? 'skip' : 'retry', isAnswered: true });
}

/** Returns the error for a 401 straight after a login: the account is valid, but lacks the right. */
export function toRefusalError({ message, status, words }: RouterError): RouterError {
  const hint = HINTS[403];
  const options = { status, words, hint, disposition: 'operator', isAnswered: true } as const;
  return new RouterError('auth', `${message}, even after a new login`, options);
}

/** Form of an error body: `{"error": [{"<topic>": "<text>"}, …]}`. */
function decodeWords(body: unknown): readonly ErrorDetail[] {
  const errors: unknown = isPlainObject(body) ? body['error'] : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, WORDS_MAX).flatMap((error: unknown) => {
    if (!isPlainObject(error)) return [];
    return Object.entries(error)
      .slice(0, 1)
      .flatMap(([topic, text]) => (typeof text === 'string' ? { topic: clean(topic), text: clean(text) } : []));
  });
}

function clean(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, WORDS_LENGTH_MAX);
}

/** Returns the error for an answer of another form. `contentType`: its `Content-Type`; absent for JSON of another form. */
export function toShapeError(what: string, expected: string, contentType?: string): RouterError {
  const instead = contentType === undefined ? '' : `, but with ${renderHeader('Content-Type', contentType)}`;
  return new RouterError('parse', `${what} was not answered with ${expected}${instead}`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
  });
}
