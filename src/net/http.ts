import type { IncomingHttpHeaders } from 'node:http';
import type { Agent, buildConnector, Client } from 'undici';
import { decodeContent } from './content-coding.ts';
import { correctParser, createAgent, createClient, request } from './undici.ts';

/** Socket options of a kept connection. The keep-alive packet every minute stops firewalls and peers from dropping an idle one. */
export const KEPT_SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

const DEFAULT_PORT: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Returns host (without brackets) and port of an undici target or a URL. */
export function toAddress({
  hostname,
  port,
  protocol,
}: Pick<buildConnector.Options, 'hostname' | 'port' | 'protocol'>): {
  readonly host: string;
  readonly port: number;
} {
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port) || (DEFAULT_PORT[protocol] ?? 0) };
}

interface OneConnectionOptions {
  /** Idle time before the connection is closed, unless the peer announces less. Milliseconds. */
  readonly keepAliveMs: number;
  /** True: waits until the peer closes the connection at the announced time instead of closing just before. Default false. */
  readonly isEndAwaited?: boolean | undefined;
  readonly connect: buildConnector.connector;
  /** Limit of the response headers. Bytes; default 16 KiB. */
  readonly headerBytesMax?: number | undefined;
}

/** Creates an HTTP client with one kept connection per server and no timeouts of its own. */
export function createOneConnectionAgent(options: OneConnectionOptions): Agent {
  return createAgent({ connections: 1, ...toClientOptions(options) });
}

/** Like {@link createOneConnectionAgent} for one server, with less overhead per request. */
export function createOneConnectionClient(origin: string, options: OneConnectionOptions): Client {
  return createClient(origin, toClientOptions(options));
}

function toClientOptions({ keepAliveMs, isEndAwaited, connect, headerBytesMax }: OneConnectionOptions): Client.Options {
  return {
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // undici closes a connection this much sooner than the peer announces.
    ...(isEndAwaited === true && { keepAliveTimeoutThreshold: -keepAliveMs }),
    // Callers set exact limits through signals; undici's own timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(headerBytesMax !== undefined && { maxHeaderSize: headerBytesMax }),
    connect: withCorrectedParser(connect),
  };
}

function withCorrectedParser(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...result) => {
      callback(...result);
      if (result[1]) correctParser(result[1]);
    });
}

/**
 * Reads a body up to `bytesMax` bytes. A longer one is truncated, and its connection closed. Throws the errors of the body
 * and the reason of `signal`.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of body) {
    signal.throwIfAborted();
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytesMax) break;
  }
  return { bytes: Buffer.concat(chunks, Math.min(length, bytesMax)), isCut: length > bytesMax };
}

const JSON_BODY = { 'content-type': 'application/json' };

interface BoundedRequest {
  readonly agent: Agent;
  readonly url: URL | string;
  readonly method?: 'GET' | 'POST' | undefined;
  /** Headers in addition to `accept` and `accept-encoding`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly accept: string;
  /** Body of the request, JSON. Default: none. */
  readonly json?: string | undefined;
  /** Limit of the body of the answer. Bytes. */
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

interface BoundedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

/**
 * Sends a request and reads the decoded response up to a bound. Does not follow redirects, and asks for no content coding.
 * Throws undici's errors, {@link ContentCodingError} and the reason of `signal`.
 */
export async function requestBounded(options: BoundedRequest): Promise<BoundedAnswer> {
  const { agent, url, method = 'GET', accept, json, bytesMax, signal } = options;
  const { statusCode, headers, body } = await request(agent, url, {
    method,
    signal,
    headers: { accept, 'accept-encoding': 'identity', ...(json && JSON_BODY), ...options.headers },
    body: json ?? null,
  });
  const decoded = decodeContent(body, headers['content-encoding']);
  return { status: statusCode, headers, ...(await readBounded(decoded, bytesMax, signal)) };
}

/** If the clocks differ by more, dates are ignored. Milliseconds. */
const CLOCK_OFFSET_MS_MAX = 60_000;

/**
 * Parses `Retry-After` (seconds or a date) into milliseconds to wait; `undefined` for anything else. `dateHeader` is the
 * header `Date` of the same response: if that clock differs from `nowMs`, a date only means "later" and gives `Infinity`.
 */
export function parseRetryAfter(header: unknown, nowMs: number, dateHeader?: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const untilMs = parseHttpDate(header);
  if (untilMs === undefined) return undefined;
  const offsetMs = typeof dateHeader === 'string' ? (parseHttpDate(dateHeader) ?? Number.NaN) - nowMs : 0;
  return Math.abs(offsetMs) <= CLOCK_OFFSET_MS_MAX ? Math.max(0, untilMs - nowMs) : Infinity;
}

/** Every HTTP date starts with the name of a day. Date.parse() also accepts texts such as "-1" and "1.5". */
const DAY_NAME = /^[A-Z][a-z]{2}/;
/** Zone at the end of a date. The asctime() form has none, and Date.parse() would take it as local time. */
const ZONE = /(?:[A-Z]|[+-]\d{2}:?\d{2})$/;

/**
 * Parses an HTTP date (UTC) in any of its three forms, as in the header `Date`. Milliseconds since the Unix epoch;
 * `undefined` if invalid.
 */
export function parseHttpDate(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !DAY_NAME.test(header)) return undefined;
  const dateMs = Date.parse(ZONE.test(header) ? header : `${header} GMT`);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}
