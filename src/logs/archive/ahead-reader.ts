import { untilAborted } from '../../base/index.ts';

/**
 * Reads a source item by item, with the first ones looked at in advance. A failure of the source reads like its end, so
 * that what came before it is still used; {@link throwFailure} tells of it afterwards.
 */
export class AheadReader<T> {
  readonly #iterator: AsyncIterator<T>;
  readonly #signal: AbortSignal | undefined;
  /** Items that were looked at and not read yet. */
  protected ahead: T[] = [];
  #isReading = false;
  #isEnded = false;
  #failure: { readonly cause: unknown } | undefined;

  /** `signal` ends a reading that waits for the source. Default: none. */
  constructor(source: AsyncIterable<T>, signal?: AbortSignal) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  /** The next item; `undefined` at the end. Throws the signal's reason. */
  async read(): Promise<T | undefined> {
    return this.ahead.shift() ?? (await this.pull());
  }

  /** Throws what the source threw, if it did. */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.cause;
  }

  /** Closes the source unless it has ended. A source that is busy is told but not waited for: it may hang. */
  async close(): Promise<void> {
    this.ahead = [];
    if (this.#isEnded) return;
    this.#isEnded = true;
    const closing = closeIterator(this.#iterator);
    if (!this.#isReading) await closing;
  }

  /** Takes one item from the source, past those that were looked at. */
  protected async pull(): Promise<T | undefined> {
    this.#signal?.throwIfAborted();
    if (this.#isEnded) return undefined;
    this.#isReading = true;
    const next = this.#iterator.next().finally(() => {
      this.#isReading = false;
    });
    try {
      const { done, value } = await untilAborted(next, this.#signal);
      if (done !== true) return value;
    } catch (cause) {
      this.#signal?.throwIfAborted();
      this.#failure = { cause };
    }
    this.#isEnded = true;
    return undefined;
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
