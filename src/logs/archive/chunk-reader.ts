import { untilAborted } from '../../base/index.ts';

/**
 * Reads non-empty chunks of a file, with look-ahead. A failed source looks like its end, so that the bytes before it
 * are used; {@link throwFailure} reports the failure.
 */
export class ChunkReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  #ahead: Uint8Array[] = [];
  #isReading = false;
  #isEnded = false;
  #failure: { readonly cause: unknown } | undefined;
  bytesRead = 0;

  /** `signal` aborts waiting for the source. Default: none. */
  constructor(source: AsyncIterable<Uint8Array>, signal?: AbortSignal) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Returns the next chunk; `undefined` at the end. Throws the reason of the signal. */
  async read(): Promise<Uint8Array | undefined> {
    return this.#ahead.shift() ?? (await this.#pull());
  }

  /** Buffers at least `count` bytes, or all, and returns them as one chunk. {@link read} returns them again. */
  async peek(count: number): Promise<Uint8Array> {
    let length = this.#ahead.reduce((sum, chunk) => sum + chunk.length, 0);
    while (length < count) {
      const chunk = await this.#pull();
      if (!chunk) break;
      this.#ahead.push(chunk);
      length += chunk.length;
    }
    const [first, ...rest] = this.#ahead;
    if (!first) return new Uint8Array(0);
    if (rest.length > 0) this.#ahead = [Buffer.concat(this.#ahead)];
    return this.#ahead[0] ?? first;
  }

  /** Throws the error of the source, if it failed. */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.cause;
  }

  /** Closes the source. Does not wait for a source that is busy, because it may hang. */
  async close(): Promise<void> {
    this.#ahead = [];
    if (this.#isEnded) return;
    this.#isEnded = true;
    const closing = closeIterator(this.#iterator);
    if (!this.#isReading) await closing;
  }

  async #pull(): Promise<Uint8Array | undefined> {
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#isEnded) return undefined;
      this.#isReading = true;
      const next = this.#iterator.next().finally(() => {
        this.#isReading = false;
      });
      try {
        const { done, value } = await untilAborted(next, this.#signal);
        if (done === true) this.#isEnded = true;
        else if (value.length > 0) {
          this.bytesRead += value.length;
          return value;
        }
      } catch (cause) {
        this.#signal?.throwIfAborted();
        this.#failure = { cause };
        this.#isEnded = true;
      }
    }
  }
}

/** Errors are ignored, because the values are no longer needed. */
async function closeIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // Ignored.
  }
}
