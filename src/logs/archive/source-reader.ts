import { untilAborted } from '../../base/index.ts';

/**
 * Reads a source chunk by chunk, with the first bytes looked at in advance. A failure of the source reads like its end,
 * so that what came before it is still decoded; {@link throwFailure} tells of it afterwards.
 */
export class SourceReader {
  /** Bytes taken from the source, looked at or not. */
  bytesRead = 0;
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  #ahead: Uint8Array[] = [];
  #isReading = false;
  #isEnded = false;
  #failure: { readonly cause: unknown } | undefined;

  constructor(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  /** The next chunk, never empty; `undefined` at the end. Throws the signal's reason. */
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

  async #pull(): Promise<Uint8Array | undefined> {
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#isEnded) return undefined;
      this.#isReading = true;
      const next = this.#iterator.next().finally(() => {
        this.#isReading = false;
      });
      let result: IteratorResult<Uint8Array>;
      try {
        result = await untilAborted(next, this.#signal);
      } catch (cause) {
        this.#signal?.throwIfAborted();
        this.#isEnded = true;
        this.#failure = { cause };
        return undefined;
      }
      if (result.done === true) {
        this.#isEnded = true;
        return undefined;
      }
      this.bytesRead += result.value.length;
      if (result.value.length > 0) return result.value;
    }
  }
}

/** Closes an iterator whose values nobody needs any more, so nobody needs to hear that closing it failed. */
export async function closeIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // It is over either way.
  }
}
