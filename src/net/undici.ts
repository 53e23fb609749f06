/**
 * The parts of undici that the program uses. Its entry point loads all of it (fetch, WebSocket, caches, mocks): 14 MiB and 60
 * ms. These paths are not its public interface, so package.json pins its version.
 */
import type { Socket } from 'node:net';
import type { Agent, Client, Dispatcher, errors as Errors } from 'undici';
import requestOf from 'undici/lib/api/api-request.js';
import errorClasses from 'undici/lib/core/errors.js';
import AgentClass from 'undici/lib/dispatcher/agent.js';
import ClientClass from 'undici/lib/dispatcher/client.js';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';
import { renderHeader } from './content-coding.ts';

// As its entry point does.
DispatcherClass.prototype.request = requestOf;

/** The errors that undici fails with. */
export const errors: typeof Errors = errorClasses;

/** Creates a client for any servers. */
export function createAgent(options: Agent.Options): Agent {
  return new AgentClass(options);
}

/** Creates a client for one server. */
export function createClient(origin: string, options: Client.Options): Client {
  return new ClientClass(origin, options);
}

/** Sends a request, as the function `request` of undici does. */
export function request(
  dispatcher: Dispatcher,
  url: URL | string,
  options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
): Promise<Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  return dispatcher.request({ ...options, origin, path: `${pathname}${search}` });
}

/** The parts of undici's HTTP/1.1 parser in use. Not its public interface, so package.json pins its version. */
interface Parser {
  readonly socket: Socket;
  /** Names and values alternately; the last one may be incomplete. */
  readonly headers: readonly Buffer[];
  /** -1 without such a header. */
  readonly contentLength: number;
  readonly bytesRead: number;
  readonly ptr: number;
  readonly llhttp: Readonly<Record<string, (parser: number, isOn: 1) => void>>;
  /** Interim responses since the last final one. */
  interim?: number;
  onHeaderValue: (this: Parser, piece: Buffer) => number;
  onHeadersComplete: (this: Parser, status: number, isUpgrade: boolean, isKept: boolean) => number;
  createError: (this: Parser, code: number, rest: Buffer) => Error;
}

/** Maximum number of interim responses (1xx) before a final one. Each is bounded as response headers are. */
const INTERIM_MAX = 16;
const CONTENT_LENGTH = 'content-length';
const TRANSFER_ENCODING = 'transfer-encoding';
const BLANK = 0x20;
/** Maximum length of a name in a message. Characters. */
const NAME_LENGTH_MAX = 60;
/** llhttp's code for a response that ends too early. */
const EARLY_END = 14;
/**
 * Required by RFC 9112: a header value in several lines (section 5.2), spaces in chunk extensions (7.1.1); permitted: a line
 * that ends without a carriage return (2.2).
 */
const PERMITTED = ['headers', 'spaces_after_chunk_size', 'optional_cr_before_lf'] as const;

/** Returns a fault for a transfer coding other than chunked: undici would pass the coded body on unchanged. */
function findTransferCoding(headers: readonly Buffer[]): string | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toString('latin1').toLowerCase() !== TRANSFER_ENCODING) continue;
    const value = headers[at + 1]?.toString('latin1').trim() ?? '';
    if (value.toLowerCase() !== 'chunked')
      return `${renderHeader('Transfer-Encoding', value)}, of which only "chunked" is known here`;
  }
  return undefined;
}

/** Parser prototypes that are corrected already: one, unless tests load undici again. */
const corrected = new WeakSet<object>();

/**
 * Makes undici's parser of a connection accept what RFC 9110 and RFC 9112 allow and undici does not (spaces after
 * `Content-Length`, an unrequested `100 Continue`), and name the header that it rejects. Call it once undici has taken the
 * connection.
 */
export function correctParser(socket: Socket): void {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  const parser: Parser | undefined | null = key && Reflect.get(socket, key);
  // Another parser, or HTTP/2.
  if (!parser?.llhttp) return;
  for (const one of PERMITTED) parser.llhttp[`llhttp_set_lenient_${one}`]?.(parser.ptr, 1);
  const prototype: Parser = Object.getPrototypeOf(parser);
  if (corrected.has(prototype)) return;
  corrected.add(prototype);
  const { onHeaderValue, onHeadersComplete, createError } = prototype;
  prototype.onHeaderValue = function (piece) {
    // The name is the last element, or the one before the first pieces of the value.
    const name = this.headers[(this.headers.length - 1) & ~1];
    if (name?.at(-1) === BLANK) {
      // undici would not recognise such a name, and could take the body for the next response.
      const message = `A blank behind the name of the header ${name.toString('latin1').trim().slice(0, NAME_LENGTH_MAX)}`;
      this.socket.destroy(new errors.HTTPParserError(message));
      return -1;
    }
    const isLength = name?.length === CONTENT_LENGTH.length && name.toString('latin1').toLowerCase() === CONTENT_LENGTH;
    // llhttp guarantees that spaces are at the ends only.
    return onHeaderValue.call(this, isLength ? Buffer.from(piece.filter((byte) => byte !== BLANK)) : piece);
  };
  prototype.onHeadersComplete = function (status, isUpgrade, isKept) {
    this.interim = status < 200 ? (this.interim ?? 0) + 1 : 0;
    const fault =
      this.interim > INTERIM_MAX
        ? `More than ${INTERIM_MAX} interim answers (status ${status})`
        : findTransferCoding(this.headers);
    if (fault !== undefined) {
      this.socket.destroy(new errors.HTTPParserError(fault));
      return -1;
    }
    // undici closes the connection at 100 only, and continues after every other interim response.
    return onHeadersComplete.call(this, status === 100 ? 102 : status, isUpgrade, isKept);
  };
  prototype.createError = function (code, rest) {
    const { contentLength, bytesRead } = this;
    if (contentLength === -1 || bytesRead === contentLength) return createError.call(this, code, rest);
    if (code === EARLY_END) {
      const message = `The answer ended behind ${bytesRead} of the ${contentLength} bytes that its Content-Length announces`;
      return new errors.ResponseContentLengthMismatchError(message);
    }
    // With a length, undici would hide what is wrong with another header.
    return createError.call(Object.create(this, { contentLength: { value: -1 } }), code, rest);
  };
}
