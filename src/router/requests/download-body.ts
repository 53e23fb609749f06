import type { Clock } from '../../base/index.ts';
import { ContentCodingError, decodeContent, isCoded, parseHttpDate } from '../../net/index.ts';
import { RouterError, type RouterErrorOptions, toCallerError } from '../errors.ts';
import type { RequestLimit } from './request-timer.ts';
import type { AnswerHead, StreamedExchange } from './streamed-exchange.ts';

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

/** Measures how fast a body arrives while it is waited for. */
class Pace {
  readonly #clock: Clock;
  #askedMs = 0;
  #waitedMs = 0;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The wait for the next piece begins. */
  wait(): void {
    this.#askedMs = this.#clock.monotonic();
  }

  /** Counts a piece that has come; returns true if the last 30 seconds of waiting gave too little. */
  isTooSlow(bytes: number): boolean {
    this.#waitedMs += this.#clock.monotonic() - this.#askedMs;
    this.#bytes += bytes;
    if (this.#waitedMs < PACE_MS) return false;
    const isTooSlow = this.#bytes * 1000 < BYTES_PER_SECOND_MIN * this.#waitedMs;
    [this.#waitedMs, this.#bytes] = [0, 0];
    return isTooSlow;
  }
}

/** The answer of a download, and its bounds. */
export interface DownloadBodyOptions {
  /** Its bytes, as they arrive. */
  readonly answer: StreamedExchange;
  /** Limit of the wait for each piece. */
  readonly limit: RequestLimit;
  /** The request, for messages: method and path. */
  readonly attempt: string;
  /** The body fails behind these bytes. Default: no bound. */
  readonly bytesMax: number | undefined;
  /** Of the caller. */
  readonly signal: AbortSignal;
  /** Clock that measures how fast it is. */
  readonly clock: Clock;
  /** Called for every piece; an error that it returns ends the body behind it. Default: nothing does. */
  readonly onBody: (() => RouterError | undefined) | undefined;
}

/** The body of a download, handed on piece by piece until it ends or must end. The consumer's own time does not count. */
export class DownloadBody implements AsyncIterableIterator<Uint8Array> {
  readonly #options: DownloadBodyOptions;
  readonly #pace: Pace;
  #leftBytes: number;
  /** Why the consumer's side has ended it. */
  #reason: unknown;
  /** Error that ends the body behind the piece that was given last. */
  #fault: RouterError | undefined;
  /** True once nothing more may be received. */
  #mustEnd = false;

  constructor(options: DownloadBodyOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
    this.#leftBytes = options.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const { answer, limit, signal, attempt } = this.#options;
    limit.touch();
    this.#pace.wait();
    try {
      if (this.#fault) throw this.#fault;
      const piece = await answer.read();
      if (!piece) return { done: true, value: undefined };
      return { done: false, value: this.#take(piece) };
    } catch (cause) {
      answer.fail(cause);
      throw this.#reason !== undefined && cause === this.#reason ? cause : toCallerError(cause, signal, attempt);
    } finally {
      limit.pause();
    }
  }

  /** Ends the answer; the consumer gets `reason`. */
  end(reason: unknown): void {
    this.#reason = reason;
    this.#options.answer.fail(reason);
  }

  /** Returns what is handed on of a piece. */
  #take(piece: Buffer): Uint8Array {
    const { answer, attempt, bytesMax, onBody } = this.#options;
    if (!this.#mustEnd) {
      const end = onBody?.();
      this.#mustEnd = end !== undefined;
      // What has come by now is still handed on, because it was paid for.
      if (end && !answer.isEnded) answer.fail(end);
    }
    if (this.#pace.isTooSlow(piece.length)) this.#fault = toSlownessError(attempt);
    const given = this.#leftBytes < piece.length ? piece.subarray(0, this.#leftBytes) : piece;
    this.#leftBytes -= piece.length;
    if (this.#leftBytes < 0) this.#fault = toLengthError(attempt, bytesMax);
    return given;
  }
}

/** The body of a download with a content encoding, decoded up to its bound. `encoding`: the header. */
export async function* decodeDownload(
  body: DownloadBody,
  encoding: string | undefined,
  { attempt, bytesMax = Number.POSITIVE_INFINITY }: Pick<DownloadBodyOptions, 'attempt' | 'bytesMax'>,
): AsyncGenerator<Uint8Array> {
  let leftBytes = bytesMax;
  try {
    for await (const piece of decodeContent(body, encoding)) {
      yield leftBytes < piece.length ? piece.subarray(0, leftBytes) : piece;
      leftBytes -= piece.length;
      if (leftBytes < 0) throw toLengthError(attempt, bytesMax);
    }
  } catch (cause) {
    throw cause instanceof ContentCodingError
      ? toCodingError(cause, attempt, { status: 200, isAnswered: true })
      : cause;
  }
}

/** Returns the error for a body that is not in the content encoding that it should have. */
export function toCodingError(
  cause: ContentCodingError,
  attempt: string,
  options: Pick<RouterErrorOptions, 'status' | 'isAnswered'>,
): RouterError {
  return new RouterError('parse', `${attempt} was not answered in a way that can be read`, {
    ...options,
    disposition: 'skip',
    cause,
  });
}

function toSlownessError(attempt: string): RouterError {
  const what = `${attempt} gave less than ${BYTES_PER_SECOND_MIN} bytes per second`;
  return new RouterError('timeout', what, { disposition: 'retry', isAnswered: true });
}

function toLengthError(attempt: string, bytesMax: number | undefined): RouterError {
  return new RouterError('http', `${attempt} gave more than ${bytesMax} bytes`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
    hint: 'What was received is kept; with range support, the next download continues after it',
  });
}
