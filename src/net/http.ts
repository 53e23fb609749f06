import type { IncomingHttpHeaders } from 'node:http';
import type { Agent, buildConnector, Client } from 'undici';
import { decodeContent } from './content-coding.ts';
import { correctParser } from './http-parser.ts';
import { createAgent, createClient, request } from './undici.ts';

/**
 * Socket options of a kept connection. An idle one sends a keep-alive packet every minute, so that neither a
 * firewall nor an end forgets it.
 */
export const KEPT_SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

const DEFAULT_PORT: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Returns host (without brackets) and port of a target of undici or of a URL. */
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

/** Limits of one kept connection, and how it is opened. */
export interface OneConnectionOptions {
  /** Idle time before a connection is closed, unless the peer announces less. Milliseconds. */
  readonly keepAliveMs: number;
  /** True to wait for the announced end of the connection instead of closing it just before. Default false. */
  readonly isEndAwaited?: boolean | undefined;
  /** Opens the connection. */
  readonly connect: buildConnector.connector;
  /** Limit of the headers of an answer. Bytes; default 16 KiB. */
  readonly headerBytesMax?: number | undefined;
}

/** Creates an HTTP client with one kept connection to each server and no time limits of its own. */
export function createOneConnectionAgent(options: OneConnectionOptions): Agent {
  return createAgent({ connections: 1, ...toClientOptions(options) });
}

/** Creates an HTTP client of one server, the same as {@link createOneConnectionAgent} otherwise: less for each request, and in memory. */
export function createOneConnectionClient(origin: string, options: OneConnectionOptions): Client {
  return createClient(origin, toClientOptions(options));
}

function toClientOptions({ keepAliveMs, isEndAwaited, connect, headerBytesMax }: OneConnectionOptions): Client.Options {
  return {
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // undici ends a connection this much sooner than the other side announces.
    ...(isEndAwaited === true && { keepAliveTimeoutThreshold: -keepAliveMs }),
    // Exact limits come from signals; undici's own timers are coarse and would only interfere.
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(headerBytesMax !== undefined && { maxHeaderSize: headerBytesMax }),
    connect: withCorrectedParser(connect),
  };
}

/** Adds {@link correctParser} to a connector of undici. */
export function withCorrectedParser(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...result) => {
      callback(...result);
      if (result[1]) correctParser(result[1]);
    });
}

/**
 * Reads a body up to `bytesMax` bytes. A longer one is truncated, and its connection is closed. Throws what the body throws, and the reason of `signal`.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body) {
    signal.throwIfAborted();
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytesMax) break;
  }
  return { bytes: Buffer.concat(chunks, Math.min(length, bytesMax)), isCut: length > bytesMax };
}

/** A request without a body. */
export interface BoundedRequest {
  /** Client that sends it. */
  readonly agent: Agent;
  /** Absolute address. */
  readonly url: URL | string;
  /** Default GET. */
  readonly method?: 'GET' | 'POST' | undefined;
  /** Headers beside `accept` and `accept-encoding`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Accepted media type. */
  readonly accept: string;
  /** Limit of the body. Bytes. */
  readonly bytesMax: number;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** A whole answer, or the beginning of one that is longer than allowed. */
export interface BoundedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** True if the body is longer than allowed. */
  readonly isCut: boolean;
}

/**
 * Sends a request and reads the answer up to a bound, which is that of the decoded body. Redirects are not followed, and a content coding
 * is not asked for. Throws what undici throws, {@link ContentCodingError}, and the reason of `signal`.
 */
export async function requestBounded(options: BoundedRequest): Promise<BoundedAnswer> {
  const { agent, url, method = 'GET', accept, bytesMax, signal } = options;
  const { statusCode, headers, body } = await request(agent, url, {
    method,
    signal,
    headers: { accept, 'accept-encoding': 'identity', ...options.headers },
  });
  const decoded = decodeContent(body, headers['content-encoding']);
  return { status: statusCode, headers, ...(await readBounded(decoded, bytesMax, signal)) };
}

/** Dates of a clock that differs by more are ignored. Milliseconds. */
const CLOCK_OFFSET_MS_MAX = 60_000;

/**
 * Parses `Retry-After`, a number of seconds or a date, into milliseconds to wait; `undefined` for anything else.
 * `dateHeader` is the header `Date` of the same answer, for servers whose clock may be wrong: if it differs from `nowMs`, a
 * date only means "later" and gives `Infinity`.
 */
export function parseRetryAfter(header: unknown, nowMs: number, dateHeader?: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const untilMs = parseHttpDate(header);
  if (untilMs === undefined) return undefined;
  const offsetMs = typeof dateHeader === 'string' ? (parseHttpDate(dateHeader) ?? Number.NaN) - nowMs : 0;
  return Math.abs(offsetMs) <= CLOCK_OFFSET_MS_MAX ? Math.max(0, untilMs - nowMs) : Infinity;
}

/** Name of a day, with which every form of a date of HTTP begins. Date.parse() also accepts texts such as "-1" and "1.5". */
const DAY_NAME = /^[A-Z][a-z]{2}/;
/** Zone at the end of a date. The form of asctime() has none; Date.parse() takes such a date as one of this machine's zone. */
const ZONE = /(?:[A-Z]|[+-]\d{2}:?\d{2})$/;

/**
 * Parses a date of HTTP in any of its three forms, as in the header `Date`, which is in UTC: milliseconds since the Unix
 * epoch, `undefined` if there is none.
 */
export function parseHttpDate(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !DAY_NAME.test(header)) return undefined;
  const dateMs = Date.parse(ZONE.test(header) ? header : `${header} GMT`);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}
