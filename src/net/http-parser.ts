import type { Socket } from 'node:net';
import { errors } from 'undici';
import { renderHeader } from './content-coding.ts';

/** The parts of undici's parser of HTTP/1.1 that are used here. They are not its interface: package.json pins its version. */
interface Parser {
  readonly socket: Socket;
  /** Names and values by turns; the last one may not be whole yet. */
  readonly headers: readonly Buffer[];
  /** -1 without such a header. */
  readonly contentLength: number;
  readonly bytesRead: number;
  readonly ptr: number;
  readonly llhttp: Readonly<Record<string, (parser: number, isOn: 1) => void>>;
  /** Interim answers since the last final one. */
  interim?: number;
  onHeaderValue: (this: Parser, piece: Buffer) => number;
  onHeadersComplete: (this: Parser, status: number, isUpgrade: boolean, isKept: boolean) => number;
  createError: (this: Parser, code: number, rest: Buffer) => Error;
}

/** Interim answers (1xx) before a final one. Each is no longer than the headers of an answer may be. */
const INTERIM_MAX = 16;
const CONTENT_LENGTH = 'content-length';
const TRANSFER_ENCODING = 'transfer-encoding';
const BLANK = 0x20;
/** Of a name in a message. Characters. */
const NAME_LENGTH_MAX = 60;
/** Code of llhttp for an answer that ends too early. */
const EARLY_END = 14;
/**
 * What RFC 9112 asks for: a value in several lines (section 5.2), blanks in extensions of chunks (7.1.1); and what it permits, a
 * line that ends without a carriage return (2.2).
 */
const PERMITTED = ['headers', 'spaces_after_chunk_size', 'optional_cr_before_lf'] as const;

/** Names a coding of the transfer other than chunks, which nobody has asked for: undici would take the body as it is. */
function findTransferCoding(headers: readonly Buffer[]): string | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toString('latin1').toLowerCase() !== TRANSFER_ENCODING) continue;
    const value = headers[at + 1]?.toString('latin1').trim() ?? '';
    if (value.toLowerCase() !== 'chunked')
      return `${renderHeader('Transfer-Encoding', value)}, of which only "chunked" is known here`;
  }
  return undefined;
}

/** Classes of parsers that are corrected already: one, unless tests load undici again. */
const corrected = new WeakSet<object>();

/**
 * Has undici's parser of a connection accept what RFC 9110 and RFC 9112 allow and undici does not: blanks behind
 * `Content-Length`, and a `100 Continue` that was not asked for; and name the header of an answer that it cannot accept. To be
 * called when undici has taken the connection.
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
    // The name is the last one, or the one before the first pieces of the value.
    const name = this.headers[(this.headers.length - 1) & ~1];
    if (name?.at(-1) === BLANK) {
      // Such a name would not be recognised, and a body taken for the next answer.
      const message = `A blank behind the name of the header ${name.toString('latin1').trim().slice(0, NAME_LENGTH_MAX)}`;
      this.socket.destroy(new errors.HTTPParserError(message));
      return -1;
    }
    const isLength = name?.length === CONTENT_LENGTH.length && name.toString('latin1').toLowerCase() === CONTENT_LENGTH;
    // llhttp sees to it that blanks are at the ends only.
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
    // undici ends the connection at 100 alone, and goes on behind every other interim answer.
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
