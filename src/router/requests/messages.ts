import { hash } from 'node:crypto';
import { type Clock, isPlainObject, parseJson } from '../../base/index.ts';
import { parseHttpDate, parseRetryAfter, renderHeader } from '../../net/index.ts';
import { type ErrorDetail, RouterError, type RouterErrorOptions } from '../errors.ts';
import type { AnswerHead } from './exchange.ts';

/** One request of the REST interface. */
export interface RouterRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v2_0`, beginning with a slash, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Value of the header of this name. */
  readonly authorization?: string | undefined;
  readonly json?: unknown;
  /** First requested byte, for a router that supports ranges. */
  readonly rangeStart?: number | undefined;
  /** Last requested byte, with `rangeStart`. Absent: all to the end. */
  readonly rangeLast?: number | undefined;
  /** Requests the body only if its entity tag differs; otherwise a router that supports this answers with 304. */
  readonly unlessEtag?: string | undefined;
  /** Requests a digest of the answer, whose body is not decoded if its digest is this one. Absent: no digest. */
  readonly knownDigest?: string | undefined;
  /** A longer answer is an error. Default: 4 MiB, and no bound for a download, which fails behind these bytes. */
  readonly bytesMax?: number | undefined;
  readonly signal: AbortSignal;
}

/** Returns what errors call a request, as in `GET /profiles`. */
export function renderAttempt({ method, path }: RouterRequest): string {
  return `${method} ${path}`;
}

/** The first request of a session: on a connection that is closed during it, nothing has been answered yet. */
export const LOGIN_PATH = '/auth/login';
/** Renews the token of a session, which a login does as well. */
export const REFRESH_PATH = '/auth/refresh';
/** Characters of a wrong name shown in an error. */
const NAME_SHOWN_MAX = 200;

/** Encodes the path of a resource. Parts such as `..` would lead to another area of the interface. */
export function encodePath(path: string): string {
  const parts = path.split('/');
  if (parts.some((part) => part === '.' || part === '..')) throw toNameError(path);
  return parts.map(encodeURIComponent).join('/');
}

/** Returns the error for a path that is none. */
export function toNameError(path: string): RouterError {
  return new RouterError('http', `No resource is named ${JSON.stringify(path.slice(0, NAME_SHOWN_MAX))}`, {
    disposition: 'skip',
    isUnsent: true,
  });
}

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

/** Statuses of a healthy router that is busy. */
export const BUSY_STATUSES: ReadonlySet<number | undefined> = new Set([429, 503]);

/** Reads an answer. `secrets`: password, token and header values of the configuration. */
export function toJsonAnswer(
  { statusCode, headers }: AnswerHead,
  bytes: Buffer,
  { authorization, knownDigest, path }: RouterRequest,
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

/** Limits of the router's own error details: length of each, and number. */
const WORDS_LENGTH_MAX = 200;
const WORDS_MAX = 20;

const HINTS: Readonly<Record<number, string>> = {
  400: 'The router does not accept what was sent; the words in brackets are its own',
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

/** Returns the error for a 401 straight after a login: the account is valid, but may not make this call. */
export function toRefusalError({ message, status, words }: RouterError): RouterError {
  const hint = HINTS[403];
  const options = { status, words, hint, disposition: 'operator', isAnswered: true } as const;
  return new RouterError('auth', `${message}, even after a new login`, options);
}

/** Decodes the details of an error body, `{"error": [{"<topic>": "<text>"}, …]}`; none if it has another form. */
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

/** Returns the error for an answer of another form. `contentType`: what the answer says that it is instead; absent for JSON of another form. */
export function toShapeError(what: string, expected: string, contentType?: string): RouterError {
  const instead = contentType === undefined ? '' : `, but with ${renderHeader('Content-Type', contentType)}`;
  return new RouterError('parse', `${what} was not answered with ${expected}${instead}`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
  });
}
