import { untilAborted } from '../../base/index.ts';

/**
 * Reads the bytes of a file chunk by chunk, none of them empty, with the first ones looked at in advance. A failure of the source reads like
 * its end, so that what came before it is still used; {@link throwFailure} tells of it afterwards.
 */
export class SourceReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  /** Chunks that were looked at and not read yet. */
  #ahead: Uint8Array[] = [];
  #isReading = false;
  #isEnded = false;
  #failure: { readonly cause: unknown } | undefined;
  /** Bytes taken from the source, looked at or not. */
  bytesRead = 0;

  /** `signal` ends a reading that waits for the source. Default: none. */
  constructor(source: AsyncIterable<Uint8Array>, signal?: AbortSignal) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  /** True if the source has failed. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** The next chunk; `undefined` at the end. Throws the signal's reason. */
  async read(): Promise<Uint8Array | undefined> {
    return this.#ahead.shift() ?? (await this.#pull());
  }

  /** Gathers at least `count` bytes, or all there are, and returns them as one chunk; {@link read} gives them again. */
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

  /** Throws what the source threw, if it did. */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.cause;
  }

  /** Closes the source unless it has ended. A source that is busy is told but not waited for: it may hang. */
  async close(): Promise<void> {
    this.#ahead = [];
    if (this.#isEnded) return;
    this.#isEnded = true;
    const closing = closeIterator(this.#iterator);
    if (!this.#isReading) await closing;
  }

  /** Takes one chunk from the source, past those that were looked at. */
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

/** Closes an iterator whose values nobody needs any more, so nobody needs to hear that closing it failed. */
async function closeIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // It is over either way.
  }
}
