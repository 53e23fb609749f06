import { ContentCodingError, decodeContent, isCoded, parseHttpDate } from '../../net/index.ts';
import { RouterError, type RouterErrorOptions, toCallerError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
import type { AnswerHead, RequestLimit, SentRequest, StreamedExchange } from './exchange.ts';
import { type RouterRequest, renderAttempt } from './messages.ts';

/** Facts about the body of a download, from its headers. */
export interface DownloadFacts {
  readonly etag: string | undefined;
  /** The router's time, milliseconds since the Unix epoch. */
  readonly dateMs: number | undefined;
  /** True for a part of the file: a range was requested, and the router supports ranges. */
  readonly isPartial: boolean;
  /** Size of the whole file; `undefined` if unknown, as with a content encoding. */
  readonly fileBytes: number | undefined;
  /** Content encoding on the wire, as in `gzip`. */
  readonly encoding: string | undefined;
  /** Media type, as in `text/plain`. */
  readonly mediaType: string | undefined;
}

/** A download whose body has started. */
export interface OpenDownload {
  readonly body: AsyncIterable<Uint8Array>;
  readonly start: number;
  readonly facts: DownloadFacts;
  /** True if the router supports ranges, according to this answer. */
  readonly supportsRanges: boolean;
  end(reason: unknown): void;
  /** Drops the rest and frees the connection. */
  close(): Promise<void>;
}

/** Consumes a body while it arrives; `start` is the offset of its first byte. */
export type ConsumeDownload<T> = (body: AsyncIterable<Uint8Array>, start: number, facts: DownloadFacts) => Promise<T>;

/** Bytes of an unwanted body that are still read to keep the connection: about the cost of a TLS handshake. */
const UNREAD_BYTES_MAX = 8 * 1024;

/** Returns the download once the head of the answer has arrived; `undefined` if the answer is not the file or not the requested part. */
export function openDownload(
  head: AnswerHead,
  { answer, limit, end }: SentRequest,
  request: RouterRequest,
  options: CompleteOptions,
): OpenDownload | undefined {
  const start = head.statusCode === 200 ? 0 : findRangeStart(head, request.rangeStart);
  if (start === undefined) return undefined;
  const body = new DownloadBody(answer, limit, request, options);
  const encoding = head.headers['content-encoding'];
  const decoded = isCoded(encoding) ? decodeDownload(body, encoding, request) : undefined;
  return {
    body: decoded ?? body,
    start,
    facts: decodeFacts(head),
    supportsRanges: !decoded && (head.statusCode === 206 || head.headers['accept-ranges'] === 'bytes'),
    end: (reason) => body.end(reason),
    async close() {
      limit.touch();
      if (decoded) {
        // The decoder may still read it.
        answer.fail(new DOMException('The rest is not wanted', 'AbortError'));
        void decoded.return(undefined).catch(() => {});
      }
      // A short rest is read to keep the connection; a long one costs more than a new connection.
      else await answer.drop(UNREAD_BYTES_MAX);
      end();
    },
  };
}

/** Longer entity tags are ignored. Characters. */
const ETAG_LENGTH_MAX = 256;
/** Node.js rejects a request with a control character in a header. */
const ETAG = /^[\x20-\x7e\x80-\xff]+$/;
/** `undefined` unless the range is the requested one. With a content encoding, it would be a range of the encoded bytes. */
function findRangeStart({ statusCode, headers }: AnswerHead, rangeStart: number | undefined): number | undefined {
  if (statusCode !== 206 || rangeStart === undefined || isCoded(headers['content-encoding'])) return undefined;
  const range = headers['content-range'];
  const start = typeof range === 'string' ? /^bytes (\d{1,15})-/.exec(range)?.[1] : undefined;
  return start !== undefined && Number(start) === rangeStart ? rangeStart : undefined;
}

/** Characters. */
const ENCODING_LENGTH_MAX = 20;
const MEDIA_TYPE_LENGTH_MAX = 100;

function decodeFacts({ statusCode, headers }: AnswerHead): DownloadFacts {
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

/** A download with a lower rate over this time is ended: it would occupy the connection for hours. */
const BYTES_PER_SECOND_MIN = 100;
const PACE_MS = 30_000;

/** The body of a download until it ends or must end. The consumer's own time does not count. */
class DownloadBody implements AsyncIterableIterator<Uint8Array> {
  readonly #answer: StreamedExchange;
  readonly #limit: RequestLimit;
  readonly #request: RouterRequest;
  readonly #options: CompleteOptions;
  #leftBytes: number;
  /** Time spent waiting for pieces, and their bytes, since the rate was last checked. */
  #waitedMs = 0;
  #waitedBytes = 0;
  #reason: unknown;
  /** Thrown after the piece that was returned last. */
  #fault: RouterError | undefined;
  #mustEnd = false;

  /** `limit`: of the wait for each piece. */
  constructor(answer: StreamedExchange, limit: RequestLimit, request: RouterRequest, options: CompleteOptions) {
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

  end(reason: unknown): void {
    this.#reason = reason;
    this.#answer.fail(reason);
  }

  #take(piece: Buffer): Uint8Array {
    if (!this.#mustEnd) {
      const end = this.#options.onBody?.();
      this.#mustEnd = end !== undefined;
      // What has arrived is still passed on, because its bytes were paid for.
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

/** `encoding`: the header. */
async function* decodeDownload(
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

/** Returns the error for a body that is not in its declared content encoding. */
export function toCodingError(
  cause: ContentCodingError,
  request: RouterRequest,
  options: Pick<RouterErrorOptions, 'status' | 'isAnswered'>,
): RouterError {
  return new RouterError(
    'parse',
    `${renderAttempt(request)} was answered with a body that does not match its content encoding`,
    {
      ...options,
      disposition: 'skip',
      cause,
    },
  );
}

function toSlownessError(request: RouterRequest): RouterError {
  const what = `${renderAttempt(request)} was slower than ${BYTES_PER_SECOND_MIN} bytes per second`;
  return new RouterError('timeout', what, { disposition: 'retry', isAnswered: true });
}

function toLengthError(request: RouterRequest): RouterError {
  return new RouterError('http', `${renderAttempt(request)} returned more than ${request.bytesMax} bytes`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
    hint: 'What was received is kept; with range support, the next download continues after it',
  });
}
