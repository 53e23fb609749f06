import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Clock, DeadlineExceeded, type Timer } from '../../base/index.ts';

/** Status and headers of an answer. */
export interface AnswerHead {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
}

/** Unread bytes after which the router has to wait. */
const WAITING_BYTES_MAX = 64 * 1024;

/**
 * A request whose answer is read while it arrives. It uses undici's handler directly: a stream of Node.js in between costs more than the
 * bytes of a log, or of thousands of small answers a second.
 */
export class StreamedExchange implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<AnswerHead>();
  readonly #signal: AbortSignal;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #waitingBytes = 0;
  #reader: PromiseWithResolvers<Buffer | undefined> | undefined;
  /** True for an answer without a length. */
  #isUnmeasured = false;
  /** True once all pieces have arrived. */
  #isEnded = false;
  #fault: { readonly cause: unknown } | undefined;
  /** Set once the rest is not wanted: bytes that may still be dropped. */
  #droppableBytes: number | undefined;

  /** Sends the request. `signal` ends it and its connection. */
  constructor(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, signal: AbortSignal) {
    this.#signal = signal;
    // An unhandled rejection would end the process; the next reader gets the error.
    this.#head.promise.catch(() => {});
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
    dispatcher.dispatch(request, this);
  }

  get head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  /** True once all pieces have arrived. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves with the next piece of the body; `undefined` at its end. One call at a time. */
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
   * Reads the whole body; `undefined` and the connection is closed if it has more than `bytesMax`. `onPiece` is called for every piece: a
   * returned error ends the answer after this piece, unless it was the last one.
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

  /** Ends the answer and its connection; the reader gets the arrived pieces, then `cause`. No effect after the end was read. */
  fail(cause: unknown): void {
    if (this.#isEnded && this.#pieces.length === 0) return;
    const wasEnded = this.#isEnded;
    this.#end(cause);
    if (wasEnded) return;
    this.#controller?.abort(cause instanceof Error ? cause : new DOMException('The request was ended', 'AbortError'));
  }

  /**
   * Ends an answer without a length because its connection broke. undici treats a reset as the end of such a body, which would look
   * complete. A body with a length may be complete although its end is not reported yet.
   */
  breakOff(cause: Error): void {
    if (this.#isUnmeasured && !this.#isEnded) this.#end(cause);
  }

  /** Resolves when the rest has arrived and is dropped. A rest of more than `bytesMax` closes the connection instead. */
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
    // An interim answer: the real one follows.
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

  /** `cause`: why the answer is incomplete. */
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

/** A request in progress. */
export interface SentRequest {
  readonly answer: StreamedExchange;
  readonly limit: RequestLimit;
  readonly end: () => void;
}

/** The time limit of one request. */
export class RequestLimit {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onLimit: (cause: DeadlineExceeded) => void;
  #timer: Timer | undefined;

  /** Starts the limit. `onLimit` is called when it is reached. */
  constructor(clock: Clock, limitMs: number, onLimit: (cause: DeadlineExceeded) => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onLimit = onLimit;
    this.touch();
  }

  touch(): void {
    this.pause();
    this.#timer = this.#clock.setTimer(this.#limitMs, () => this.#onLimit(new DeadlineExceeded(this.#limitMs)));
  }

  /** Stops the limit until the next {@link touch}. */
  pause(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
