import type { Timer } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
import type { OpenDownload } from './download-body.ts';
import type { Lanes } from './lanes.ts';
import { type RouterRequest, renderAttempt } from './messages.ts';

/** Bytes requested again when a download resumes, to check that the file is still the same. */
const OVERLAP_BYTES = 256;
/** Minimum duration of a part, so that downloads progress on a router with long slots. Milliseconds. */
const PART_MS_MIN = 5000;
/** Error of a part that the client ends. */
const ENDED = new DOMException('The part of the download was ended', 'AbortError');
const END = { done: true, value: undefined } as const;

/**
 * A download that is suspended while slots run. If the router supports ranges, the answer is ended when a slot is waiting, and the rest
 * is requested after the slot; the consumer only sees a pause. Otherwise the slot waits for the end of the download.
 */
export class ResumableDownload {
  readonly #request: RouterRequest;
  readonly #open: (request: RouterRequest) => Promise<OpenDownload>;
  readonly #lanes: Lanes;
  readonly #options: CompleteOptions;
  #queueEntry: Disposable | undefined;
  #part: OpenDownload | undefined;
  #body: AsyncIterator<Uint8Array> | undefined;
  /** Start of the part in progress. Monotonic milliseconds. */
  #partBeganMs: number | undefined;
  #isAtLimit = false;
  #limit: Timer | undefined;
  #suspendTimer: Timer | undefined;
  /** Aborts when nothing more is wanted: the reader may leave while it waits for the next piece or the rest. */
  readonly #closing = new AbortController();
  /** The request of the rest, including its wait in the queue. */
  #resuming: Promise<void> | undefined;
  #offset = 0;
  #tail: Uint8Array = Buffer.alloc(0);
  #leftMs: number;

  /** `open`: sends `request`, or the request of a part. */
  constructor(
    request: RouterRequest,
    open: (request: RouterRequest) => Promise<OpenDownload>,
    lanes: Lanes,
    options: CompleteOptions,
  ) {
    this.#request = request;
    this.#open = open;
    this.#lanes = lanes;
    this.#options = options;
    this.#leftMs = options.downloadMsMax ?? Number.POSITIVE_INFINITY;
  }

  /** Sends the request as soon as no slot has priority. */
  async open(): Promise<Pick<OpenDownload, 'start' | 'facts'>> {
    const part = await this.#ask(this.#request);
    this.#offset = part.start;
    this.#body = part.body[Symbol.asyncIterator]();
    return part;
  }

  /** The body, over all parts. Can be read once. */
  read(): AsyncIterableIterator<Uint8Array> {
    const body: AsyncIterableIterator<Uint8Array> = {
      next: () => this.#next(),
      // The body may never end, so leaving must end the part.
      return: () => {
        this.#closing.abort(ENDED);
        this.#part?.end(ENDED);
        return Promise.resolve(END);
      },
      [Symbol.asyncIterator]: () => body,
    };
    return body;
  }

  /** Ends the download and lets the next request start. */
  async close(): Promise<void> {
    this.#closing.abort(ENDED);
    await this.#resuming?.catch(() => {});
    await this.#closePart();
  }

  async #closePart(): Promise<void> {
    this.#endPart();
    try {
      await this.#part?.close();
    } finally {
      this.#part = undefined;
      this.#queueEntry?.[Symbol.dispose]();
      this.#queueEntry = undefined;
    }
  }

  async #ask(request: RouterRequest): Promise<OpenDownload> {
    this.#queueEntry = await this.#lanes.enter(request.signal, () => this.#onAwaited());
    const part = await this.#open(request);
    this.#part = part;
    if (part.supportsRanges) this.#lanes.recordRangeSupport(request.path, true);
    return part;
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      this.#beginPart();
      try {
        const result = (await this.#body?.next()) ?? END;
        await this.#options.beforePiece?.();
        if (result.done !== true) this.#record(result.value);
        else this.#endPart();
        return result;
      } catch (cause) {
        this.#endPart();
        if (cause !== ENDED || this.#closing.signal.aborted) throw cause;
        if (this.#isAtLimit) throw this.#toLimitError();
      }
      await this.#closePart();
      this.#resuming = this.#resume();
      await this.#resuming;
      this.#closing.signal.throwIfAborted();
    }
  }

  /** From here on, a waiting slot or the time limit ends the part. */
  #beginPart(): void {
    if (this.#partBeganMs !== undefined) return;
    const { clock } = this.#options;
    this.#partBeganMs = clock.monotonic();
    this.#limit = Number.isFinite(this.#leftMs) ? clock.setTimer(this.#leftMs, () => this.#reachLimit()) : undefined;
    if (this.#lanes.isAwaited) this.#onAwaited();
  }

  #onAwaited(): void {
    const { clock } = this.#options;
    if (!this.#lanes.supportsRanges(this.#request.path) || this.#partBeganMs === undefined) return;
    const waitMs = Math.max(0, this.#partBeganMs + PART_MS_MIN - clock.monotonic());
    this.#suspendTimer ??= clock.setTimer(waitMs, () => this.#part?.end(ENDED));
  }

  #reachLimit(): void {
    this.#isAtLimit = true;
    this.#part?.end(ENDED);
  }

  #endPart(): void {
    if (this.#partBeganMs === undefined) return;
    this.#leftMs -= this.#options.clock.monotonic() - this.#partBeganMs;
    this.#partBeganMs = undefined;
    this.#limit?.cancel();
    this.#suspendTimer?.cancel();
    this.#suspendTimer = undefined;
  }

  #record(piece: Uint8Array): void {
    this.#offset += piece.length;
    // Most pieces are longer, which avoids a copy.
    if (piece.length >= OVERLAP_BYTES) this.#tail = piece.subarray(-OVERLAP_BYTES);
    else this.#tail = Buffer.concat([this.#tail, piece]).subarray(-OVERLAP_BYTES);
  }

  /** Requests the rest and checks that it belongs to the same file. */
  async #resume(): Promise<void> {
    const { path } = this.#request;
    const tail = this.#tail;
    const rangeStart = this.#offset - tail.length;
    const signal = AbortSignal.any([this.#request.signal, this.#closing.signal]);
    try {
      const part = await this.#ask({ ...this.#request, rangeStart, unlessEtag: undefined, signal });
      if (part.start === rangeStart) {
        this.#body = skipKnown(part.body, tail, () => this.#toChangedError());
        return;
      }
      this.#lanes.recordRangeSupport(path, false);
    } catch (cause) {
      const status = cause instanceof RouterError ? cause.status : undefined;
      if (status === 206) this.#lanes.recordRangeSupport(path, false);
      else if (status !== 416) throw cause;
    }
    throw this.#toChangedError();
  }

  #toChangedError(): RouterError {
    return new RouterError('connect', `${renderAttempt(this.#request)} could not be resumed at byte ${this.#offset}`, {
      disposition: 'retry',
    });
  }

  #toLimitError(): RouterError {
    const what = `${renderAttempt(this.#request)} took longer than ${(this.#options.downloadMsMax ?? 0) / 1000} s`;
    return new RouterError('timeout', what, { disposition: 'retry', isAnswered: true });
  }
}

/** Skips `known`; throws `toError()` if the body does not start with it. */
async function* skipKnown(
  body: AsyncIterable<Uint8Array>,
  known: Uint8Array,
  toError: () => RouterError,
): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of body) {
    const length = Math.min(chunk.length, known.length - seen);
    if (Buffer.compare(known.subarray(seen, seen + length), chunk.subarray(0, length)) !== 0) throw toError();
    seen += length;
    if (chunk.length > length) yield chunk.subarray(length);
  }
  if (seen < known.length) throw toError();
}
