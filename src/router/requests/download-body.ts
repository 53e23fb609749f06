import { ContentCodingError, decodeContent, isCoded, parseHttpDate } from '../../net/index.ts';
import { RouterError, type RouterErrorOptions, toCallerError } from '../errors.ts';
import type { KnownOptions } from '../options.ts';
import type { AnswerHead, RequestLimit, StreamedExchange } from './exchange.ts';
import { type RouterRequest, renderAttempt } from './messages.ts';

/** Facts about the body of a download, from its headers. */
export interface DownloadFacts {
  /** Its entity tag. */
  readonly etag: string | undefined;
  /** The router's own time, milliseconds since the Unix epoch. */
  readonly dateMs: number | undefined;
  /** True if it is a part of the file: one was requested, and the router supports ranges. */
  readonly isPartial: boolean;
  /** Bytes of the whole file, as far as the router says; it does not with a content encoding. */
  readonly fileBytes: number | undefined;
  /** Content encoding that the body had on its way, as in `gzip`. */
  readonly encoding: string | undefined;
  /** Media type, as in `text/plain`. */
  readonly mediaType: string | undefined;
}

/** A download whose body has begun. */
export interface OpenDownload {
  readonly body: AsyncIterable<Uint8Array>;
  /** Offset of the first byte. */
  readonly start: number;
  readonly facts: DownloadFacts;
  /** True if the router sends parts of files, by what it did or says. */
  readonly sendsParts: boolean;
  /** Ends the body with `reason`, which its reader gets. */
  end(reason: unknown): void;
  /** Drops the rest, and frees the connection. */
  close(): Promise<void>;
}

/** Consumes a body while it arrives; `start` is the offset of its first byte. */
export type ConsumeDownload<T> = (body: AsyncIterable<Uint8Array>, start: number, facts: DownloadFacts) => Promise<T>;

/** A longer entity tag is not kept. Characters. */
const ETAG_LENGTH_MAX = 256;
/** What can be sent back: a request with a control character in a header is refused here, before it is sent. */
const ETAG = /^[\x20-\x7e\x80-\xff]+$/;
/**
 * Returns the offset of the first byte of a partial answer; `undefined` unless it is the range that was asked for. With a content
 * encoding, it is a range of the encoded bytes.
 */
export function findRangeStart(
  { statusCode, headers }: AnswerHead,
  rangeStart: number | undefined,
): number | undefined {
  if (statusCode !== 206 || rangeStart === undefined || isCoded(headers['content-encoding'])) return undefined;
  const range = headers['content-range'];
  const start = typeof range === 'string' ? /^bytes (\d{1,15})-/.exec(range)?.[1] : undefined;
  return start !== undefined && Number(start) === rangeStart ? rangeStart : undefined;
}

/** Maximum length of the name of an encoding, and of a media type. Characters. */
const ENCODING_LENGTH_MAX = 20;
const MEDIA_TYPE_LENGTH_MAX = 100;

/** Reads the facts that the headers of a download tell. */
export function decodeFacts({ statusCode, headers }: AnswerHead): DownloadFacts {
  const { etag, date, 'content-type': mediaType, 'content-encoding': coding } = headers;
  const isPartial = statusCode === 206;
  const encoding = isCoded(coding) ? coding : undefined;
  const length = isPartial ? /\/(\d+)$/.exec(String(headers['content-range']))?.[1] : headers['content-length'];
  const fileBytes =
    encoding === undefined && typeof length === 'string' && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  return {
    etag: typeof etag === 'string' && etag.length <= ETAG_LENGTH_MAX && ETAG.test(etag) ? etag : undefined,
    dateMs: parseHttpDate(date),
    isPartial,
    fileBytes,
    encoding: encoding?.slice(0, ENCODING_LENGTH_MAX),
    mediaType: typeof mediaType === 'string' && mediaType.length <= MEDIA_TYPE_LENGTH_MAX ? mediaType : undefined,
  };
}

/** A download that gives fewer bytes per second than this, over this time, ends: it would hold the connection for hours. */
const BYTES_PER_SECOND_MIN = 100;
const PACE_MS = 30_000;

/** The body of a download, handed on piece by piece until it ends or must end. The consumer's own time does not count. */
export class DownloadBody implements AsyncIterableIterator<Uint8Array> {
  readonly #answer: StreamedExchange;
  readonly #limit: RequestLimit;
  readonly #request: RouterRequest;
  readonly #options: KnownOptions;
  #leftBytes: number;
  /** Time of waiting for pieces and their bytes, since the pace was last judged. */
  #waitedMs = 0;
  #waitedBytes = 0;
  /** Why the consumer's side has ended it. */
  #reason: unknown;
  /** Error that ends the body behind the piece that was given last. */
  #fault: RouterError | undefined;
  /** True once nothing more may be received. */
  #mustEnd = false;

  /** `limit`: of the wait for each piece. */
  constructor(answer: StreamedExchange, limit: RequestLimit, request: RouterRequest, options: KnownOptions) {
    this.#answer = answer;
    this.#limit = limit;
    this.#request = request;
    this.#options = options;
    this.#leftBytes = request.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const { clock } = this.#options;
    this.#limit.touch();
    const askedMs = clock.monotonic();
    try {
      if (this.#fault) throw this.#fault;
      const piece = await this.#answer.read();
      if (!piece) return { done: true, value: undefined };
      this.#waitedMs += clock.monotonic() - askedMs;
      return { done: false, value: this.#take(piece) };
    } catch (cause) {
      this.#answer.fail(cause);
      if (this.#reason !== undefined && cause === this.#reason) throw cause;
      throw toCallerError(cause, this.#request.signal, renderAttempt(this.#request));
    } finally {
      this.#limit.pause();
    }
  }

  /** Ends the answer; the consumer gets `reason`. */
  end(reason: unknown): void {
    this.#reason = reason;
    this.#answer.fail(reason);
  }

  /** Returns what is handed on of a piece. */
  #take(piece: Buffer): Uint8Array {
    if (!this.#mustEnd) {
      const end = this.#options.onBody?.();
      this.#mustEnd = end !== undefined;
      // What has come by now is still handed on, because it was paid for.
      if (end && !this.#answer.isEnded) this.#answer.fail(end);
    }
    this.#waitedBytes += piece.length;
    if (this.#waitedMs >= PACE_MS) {
      if (this.#waitedBytes * 1000 < BYTES_PER_SECOND_MIN * this.#waitedMs)
        this.#fault = toSlownessError(this.#request);
      [this.#waitedMs, this.#waitedBytes] = [0, 0];
    }
    const given = this.#leftBytes < piece.length ? piece.subarray(0, this.#leftBytes) : piece;
    this.#leftBytes -= piece.length;
    if (this.#leftBytes < 0) this.#fault = toLengthError(this.#request);
    return given;
  }
}

/** The body of a download with a content encoding, decoded up to its bound. `encoding`: the header. */
export async function* decodeDownload(
  body: DownloadBody,
  encoding: string | undefined,
  request: RouterRequest,
): AsyncGenerator<Uint8Array> {
  let leftBytes = request.bytesMax ?? Number.POSITIVE_INFINITY;
  try {
    for await (const piece of decodeContent(body, encoding)) {
      yield leftBytes < piece.length ? piece.subarray(0, leftBytes) : piece;
      leftBytes -= piece.length;
      if (leftBytes < 0) throw toLengthError(request);
    }
  } catch (cause) {
    throw cause instanceof ContentCodingError
      ? toCodingError(cause, request, { status: 200, isAnswered: true })
      : cause;
  }
}

/** Returns the error for a body that is not in the content encoding that it should have. */
export function toCodingError(
  cause: ContentCodingError,
  request: RouterRequest,
  options: Pick<RouterErrorOptions, 'status' | 'isAnswered'>,
): RouterError {
  return new RouterError('parse', `${renderAttempt(request)} was not answered in a way that can be read`, {
    ...options,
    disposition: 'skip',
    cause,
  });
}

function toSlownessError(request: RouterRequest): RouterError {
  const what = `${renderAttempt(request)} gave less than ${BYTES_PER_SECOND_MIN} bytes per second`;
  return new RouterError('timeout', what, { disposition: 'retry', isAnswered: true });
}

function toLengthError(request: RouterRequest): RouterError {
  return new RouterError('http', `${renderAttempt(request)} gave more than ${request.bytesMax} bytes`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
    hint: 'What was received is kept; with range support, the next download continues after it',
  });
}
