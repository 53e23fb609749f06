import type { Timer } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { KnownOptions } from '../options.ts';
import type { OpenDownload } from './download-body.ts';
import type { Lanes } from './lanes.ts';
import { type RouterRequest, renderAttempt } from './messages.ts';

/** Bytes that are asked for again when a download goes on, to see that the file is still the same. */
const OVERLAP_BYTES = 256;
/** A part lasts at least this long, so that a router with long turns is read all the same. Milliseconds. */
const PART_MS_MIN = 5000;
/** Error of a part that is ended from here. */
const ENDED = new DOMException('The part of the download was ended', 'AbortError');
const END = { done: true, value: undefined } as const;

/**
 * A download that gives way to turns. Where the router sends parts of files, the answer is ended when a turn is asked for,
 * and the rest is requested after it; the consumer notices nothing but a pause. Elsewhere the turn waits for its end.
 */
export class PartedDownload {
  readonly #request: RouterRequest;
  readonly #open: (request: RouterRequest) => Promise<OpenDownload>;
  readonly #lanes: Lanes;
  readonly #options: KnownOptions;
  /** Its place on the connection. */
  #place: Disposable | undefined;
  #part: OpenDownload | undefined;
  /** Body of the part that is being read. */
  #body: AsyncIterator<Uint8Array> | undefined;
  /** Start of reading the part; `undefined` while none is read. Monotonic milliseconds. */
  #partBeganMs: number | undefined;
  /** True once the limit of time was reached. */
  #isAtLimit = false;
  #limit: Timer | undefined;
  #givesWay: Timer | undefined;
  /** Aborts when nothing more is wanted, although the reader may have left while it waited for the next piece or the rest. */
  readonly #closing = new AbortController();
  /** The request of the rest, from the wait for its place on. */
  #goingOn: Promise<void> | undefined;
  /** Offset of the next byte for the consumer. */
  #offset = 0;
  /** The last bytes that the consumer got. */
  #tail: Uint8Array = Buffer.alloc(0);
  #leftMs: number;

  /** `open`: sends `request`, or that of a part. */
  constructor(
    request: RouterRequest,
    open: (request: RouterRequest) => Promise<OpenDownload>,
    lanes: Lanes,
    options: KnownOptions,
  ) {
    this.#request = request;
    this.#open = open;
    this.#lanes = lanes;
    this.#options = options;
    this.#leftMs = options.downloadMsMax ?? Number.POSITIVE_INFINITY;
  }

  /** Sends the request as soon as no turn goes before it. */
  async open(): Promise<Pick<OpenDownload, 'start' | 'facts'>> {
    const part = await this.#ask(this.#request);
    this.#offset = part.start;
    this.#body = part.body[Symbol.asyncIterator]();
    return part;
  }

  /** The body, over all parts. To be read once. */
  read(): AsyncIterableIterator<Uint8Array> {
    const body: AsyncIterableIterator<Uint8Array> = {
      next: () => this.#next(),
      // A reader that leaves early may leave a body that never ends.
      return: () => {
        this.#closing.abort(ENDED);
        this.#part?.end(ENDED);
        return Promise.resolve(END);
      },
      [Symbol.asyncIterator]: () => body,
    };
    return body;
  }

  /** Ends the download and lets the next request in. */
  async close(): Promise<void> {
    this.#closing.abort(ENDED);
    await this.#goingOn?.catch(() => {});
    await this.#closePart();
  }

  async #closePart(): Promise<void> {
    this.#endPart();
    try {
      await this.#part?.close();
    } finally {
      this.#part = undefined;
      this.#place?.[Symbol.dispose]();
      this.#place = undefined;
    }
  }

  async #ask(request: RouterRequest): Promise<OpenDownload> {
    this.#place = await this.#lanes.enter(request.signal, () => this.#onAwaited());
    const part = await this.#open(request);
    this.#part = part;
    if (part.sendsParts) this.#lanes.noteParts(request.path, true);
    return part;
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      this.#beginPart();
      try {
        const result = (await this.#body?.next()) ?? END;
        await this.#options.beforePiece?.();
        if (result.done !== true) this.#note(result.value);
        else this.#endPart();
        return result;
      } catch (cause) {
        this.#endPart();
        if (cause !== ENDED || this.#closing.signal.aborted) throw cause;
        if (this.#isAtLimit) throw this.#toLimitError();
      }
      await this.#closePart();
      this.#goingOn = this.#goOn();
      await this.#goingOn;
      this.#closing.signal.throwIfAborted();
    }
  }

  /** From here on, the part is ended when a turn is asked for, or at the limit of time. */
  #beginPart(): void {
    if (this.#partBeganMs !== undefined) return;
    const { clock } = this.#options;
    this.#partBeganMs = clock.monotonic();
    this.#limit = Number.isFinite(this.#leftMs) ? clock.setTimer(this.#leftMs, () => this.#reachLimit()) : undefined;
    if (this.#lanes.isAwaited) this.#onAwaited();
  }

  #onAwaited(): void {
    const { clock } = this.#options;
    if (!this.#lanes.sendsParts(this.#request.path) || this.#partBeganMs === undefined) return;
    const waitMs = Math.max(0, this.#partBeganMs + PART_MS_MIN - clock.monotonic());
    this.#givesWay ??= clock.setTimer(waitMs, () => this.#part?.end(ENDED));
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
    this.#givesWay?.cancel();
    this.#givesWay = undefined;
  }

  #note(piece: Uint8Array): void {
    this.#offset += piece.length;
    // Most pieces are longer, and nothing has to be copied.
    if (piece.length >= OVERLAP_BYTES) this.#tail = piece.subarray(-OVERLAP_BYTES);
    else this.#tail = Buffer.concat([this.#tail, piece]).subarray(-OVERLAP_BYTES);
  }

  /** Requests the rest, and sees that it belongs to the same file. */
  async #goOn(): Promise<void> {
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
      this.#lanes.noteParts(path, false);
    } catch (cause) {
      const status = cause instanceof RouterError ? cause.status : undefined;
      if (status === 206) this.#lanes.noteParts(path, false);
      else if (status !== 416) throw cause;
    }
    throw this.#toChangedError();
  }

  #toChangedError(): RouterError {
    return new RouterError('connect', `${renderAttempt(this.#request)} could not go on at byte ${this.#offset}`, {
      disposition: 'retry',
    });
  }

  #toLimitError(): RouterError {
    const what = `${renderAttempt(this.#request)} took longer than ${this.#options.downloadMsMax} ms`;
    return new RouterError('timeout', what, { disposition: 'retry', isAnswered: true });
  }
}

/** Hands on what follows `known`; throws what `toError` makes if the body does not begin with it. */
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
