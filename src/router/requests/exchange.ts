import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Clock, DeadlineExceeded, type Timer } from '../../base/index.ts';

/** Status and headers of an answer. */
export interface AnswerHead {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
}

/** Bytes that wait for the reader before the router is told to wait. */
const WAITING_BYTES_MAX = 64 * 1024;

/**
 * A request whose answer is read piece by piece while it arrives. Hands on what the connection gives: a stream of Node.js
 * between the two costs more than the bytes of a log, or of thousands of small answers a second.
 */
export class StreamedExchange implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<AnswerHead>();
  readonly #signal: AbortSignal;
  #controller: Dispatcher.DispatchController | undefined;
  /** Pieces that nobody has read yet. */
  #pieces: Buffer[] = [];
  #waitingBytes = 0;
  /** The reader that waits for the next piece. */
  #reader: PromiseWithResolvers<Buffer | undefined> | undefined;
  /** True once an answer has begun of which nothing says how long it is. */
  #isUnmeasured = false;
  /** True once no piece will come any more. */
  #isEnded = false;
  /** Why the answer is not whole. */
  #fault: { readonly cause: unknown } | undefined;
  /** Bytes that may still be dropped, once the rest is not wanted. */
  #droppableBytes: number | undefined;

  /** Sends the request. `signal` ends it, with its connection. */
  constructor(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, signal: AbortSignal) {
    this.#signal = signal;
    // A failure while nobody waits is told to the next who asks.
    this.#head.promise.catch(() => {});
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
    dispatcher.dispatch(request, this);
  }

  /** Resolves when the answer begins. */
  get head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  /** True once no piece will come any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves with the next piece of the body; `undefined` at its end. Not to be called again before. */
  async read(): Promise<Buffer | undefined> {
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      this.#waitingBytes -= piece.length;
      if (this.#pieces.length === 0) this.#controller?.resume();
      return piece;
    }
    if (this.#fault) throw this.#fault.cause;
    if (this.#isEnded) {
      this.#forgetSignal();
      return undefined;
    }
    this.#reader = Promise.withResolvers();
    return this.#reader.promise;
  }

  /**
   * Reads the whole body; `undefined` for one of more than `bytesMax`, whose connection ends. `onPiece` is called for every
   * piece: an error that it returns ends the answer behind this piece, unless that was the last one.
   */
  async readWhole(bytesMax: number, onPiece?: () => Error | undefined): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    let length = 0;
    let end: Error | undefined;
    for (let piece = await this.read(); piece !== undefined; piece = await this.read()) {
      if (end) {
        this.fail(end);
        throw end;
      }
      end = onPiece?.();
      pieces.push(piece);
      length += piece.length;
      if (length <= bytesMax) continue;
      this.fail(new DOMException('The answer is too long', 'AbortError'));
      return undefined;
    }
    return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length);
  }

  /**
   * Ends the answer and its connection; the reader gets what has come, which was paid for, and then `cause`. Does nothing
   * once the answer has ended and was read.
   */
  fail(cause: unknown): void {
    if (this.#isEnded && this.#pieces.length === 0) return;
    const wasEnded = this.#isEnded;
    this.#end(cause);
    if (wasEnded) return;
    this.#controller?.abort(cause instanceof Error ? cause : new DOMException('The request was ended', 'AbortError'));
  }

  /**
   * Ends an answer without a length, because its connection broke. undici takes the reset of a connection for the end of a body that
   * lasts as long as the connection; such a body would look whole. One that has a length may be whole, although its end is not told yet.
   */
  breakOff(cause: Error): void {
    if (this.#isUnmeasured && !this.#isEnded) this.#end(cause);
  }

  /** Resolves when the rest has come and is dropped. A rest of more than `bytesMax` ends the connection instead. */
  async drop(bytesMax: number): Promise<void> {
    this.#droppableBytes = bytesMax - this.#waitingBytes;
    this.#pieces = [];
    this.#waitingBytes = 0;
    if (this.#isEnded) {
      this.#forgetSignal();
      return;
    }
    if (this.#droppableBytes < 0) {
      this.fail(new DOMException('The rest is not wanted', 'AbortError'));
      return;
    }
    this.#controller?.resume();
    await this.read().catch(() => {});
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Ended while it waited for the connection.
    if (this.#isEnded) controller.abort(new DOMException('The request was ended', 'AbortError'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    // The answer comes behind an interim one.
    if (statusCode < 200) return;
    this.#isUnmeasured = headers['content-length'] === undefined;
    this.#head.resolve({ statusCode, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isEnded) return;
    if (this.#droppableBytes !== undefined) {
      this.#droppableBytes -= piece.length;
      if (this.#droppableBytes < 0) this.fail(new DOMException('The rest is not wanted', 'AbortError'));
      return;
    }
    if (this.#reader) {
      this.#reader.resolve(piece);
      this.#reader = undefined;
      return;
    }
    this.#pieces.push(piece);
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes >= WAITING_BYTES_MAX) controller.pause();
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  readonly #onAbort = (): void => this.fail(this.#signal.reason);

  #forgetSignal(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** `cause`: why the answer is not whole. */
  #end(cause?: unknown): void {
    if (this.#fault) return;
    this.#isEnded = true;
    if (cause !== undefined || this.#pieces.length === 0) this.#forgetSignal();
    if (cause === undefined) this.#reader?.resolve(undefined);
    else {
      this.#fault = { cause };
      this.#head.reject(cause);
      this.#reader?.reject(cause);
    }
    this.#reader = undefined;
  }
}

/** The time limit of one request. It runs from the beginning. */
export interface RequestLimit {
  /** Begins the limit anew. */
  touch(): void;
  /** Stops the limit until the next {@link touch}. */
  pause(): void;
  /** Ends the limit for good. */
  end(): void;
}

/**
 * Time limits of the requests to one router. All share one timer: nearly every request ends long before its limit, and the
 * next ones use the timer that runs already.
 */
export class RequestTimer {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #running = new Set<RunningLimit>();
  #timer: Timer | undefined;

  /** `limitMs`: of each request. */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Calls `onLimit` once if the limit is reached before it ends. */
  begin(onLimit: (cause: DeadlineExceeded) => void): RequestLimit {
    const limit: RunningLimit = { dueMs: 0, onLimit };
    const touch = () => {
      limit.dueMs = this.#clock.monotonic() + this.#limitMs;
      this.#running.add(limit);
      this.#timer ??= this.#clock.setTimer(this.#limitMs, this.#onTimer);
    };
    const pause = () => void this.#running.delete(limit);
    touch();
    return { touch, pause, end: pause };
  }

  /** No request is expected for a while: the timer would keep the process alive. */
  rest(): void {
    if (this.#running.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonic();
    const due = [...this.#running].filter(({ dueMs }) => dueMs <= nowMs);
    for (const limit of due) this.#running.delete(limit);
    const nextMs = Math.min(...[...this.#running].map(({ dueMs }) => dueMs));
    if (Number.isFinite(nextMs)) this.#timer = this.#clock.setTimer(nextMs - nowMs, this.#onTimer);
    for (const { onLimit } of due) onLimit(new DeadlineExceeded(this.#limitMs));
  };
}

/** A limit that is not paused. */
interface RunningLimit {
  /** On the monotonic clock. */
  dueMs: number;
  readonly onLimit: (cause: DeadlineExceeded) => void;
}
