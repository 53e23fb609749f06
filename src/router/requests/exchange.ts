import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { RequestLimit, RequestTimer } from './request-timer.ts';

/** An answer with its body. */
export interface WholeResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** True if the body was longer than the bound: `bytes` is its beginning, and the connection is closed. */
  readonly isCut: boolean;
}

/** Bounds of an answer that is read whole. */
export interface ExchangeOptions {
  /** A longer body is cut. Bytes. */
  readonly bytesMax: number;
  /** Called for every piece of the body. An error that it returns ends the answer behind this piece, unless that was the last one. */
  readonly onBody: (() => Error | undefined) | undefined;
  /** Ends the exchange and its connection. */
  readonly signal: AbortSignal;
  /** Time limit of the exchange. Default: none. */
  readonly timer?: RequestTimer | undefined;
}

/**
 * Sends a request and reads its whole answer, whatever its status. Rejects with the reason of `signal`, the error of the limit, of
 * `onBody` or of undici.
 *
 * The handler spares each answer a stream: with thousands of small answers a second, streams cost more than their bytes.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: ExchangeOptions,
): Promise<WholeResponse> {
  return new Promise((resolve, reject) => {
    const handler = new WholeResponseHandler(options, resolve, reject);
    dispatcher.dispatch(request, handler);
  });
}

class WholeResponseHandler implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #resolve: (response: WholeResponse) => void;
  readonly #reject: (cause: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #statusCode = 0;
  #headers: IncomingHttpHeaders = {};
  readonly #chunks: Buffer[] = [];
  #length = 0;
  /** Error that ends the answer with the next piece. */
  #end: Error | undefined;
  #isSettled = false;
  readonly #limit: RequestLimit | undefined;

  constructor(options: ExchangeOptions, resolve: (response: WholeResponse) => void, reject: (cause: unknown) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#limit = options.timer?.begin((cause) => this.#fail(cause));
    if (options.signal.aborted) this.#onAbort();
    else options.signal.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Ended while it waited for the connection.
    if (this.#isSettled) controller.abort(new DOMException('The request was ended', 'AbortError'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#end) {
      this.#fail(this.#end);
      return;
    }
    this.#end = this.#options.onBody?.();
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length > this.#options.bytesMax) this.#succeed(true);
  }

  onResponseEnd(): void {
    this.#succeed(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(() => this.#reject(error));
  }

  readonly #onAbort = (): void => this.#fail(this.#options.signal.reason);

  #succeed(isCut: boolean): void {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const length = Math.min(this.#length, this.#options.bytesMax);
    this.#settle(() => {
      this.#resolve({
        statusCode: this.#statusCode,
        headers: this.#headers,
        bytes: bytes && !isCut ? bytes : Buffer.concat(this.#chunks, length),
        isCut,
      });
    });
    if (isCut) this.#controller?.abort(new DOMException('The answer is too long', 'AbortError'));
  }

  #fail(cause: unknown): void {
    this.#settle(() => this.#reject(cause));
    this.#controller?.abort(cause instanceof Error ? cause : new DOMException('The request was ended', 'AbortError'));
  }

  #settle(settle: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#limit?.end();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    settle();
  }
}
