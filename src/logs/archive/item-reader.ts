import type { ScanItem } from '../file-scan.ts';
import { isOwn } from './own-chunks.ts';
import { closeIterator } from './source-reader.ts';

/** Reads the body of a file item by item, with the first items looked at in advance. */
export class ItemReader {
  readonly #iterator: AsyncIterator<ScanItem>;
  #ahead: ScanItem[] = [];
  #isReading = false;
  #isEnded = false;
  #failure: { readonly cause: unknown } | undefined;

  constructor(body: AsyncIterable<ScanItem>) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  /**
   * Looks ahead until there are more than `count` bytes from a decoding thread. Returns false if the body ends or fails
   * before that, or comes from elsewhere.
   */
  async gather(count: number): Promise<boolean> {
    let bytes = 0;
    while (bytes <= count) {
      const item = await this.#pull();
      if (!item) return false;
      this.#ahead.push(item);
      if (!(item instanceof Uint8Array)) continue;
      if (!isOwn(item)) return false;
      bytes += item.length;
    }
    return true;
  }

  /** The next item; `undefined` at the end. Throws what the body throws. */
  async next(): Promise<ScanItem | undefined> {
    const item = this.#ahead.shift() ?? (await this.#pull());
    if (!item && this.#failure) throw this.#failure.cause;
    return item;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ScanItem, void, undefined> {
    for (let item = await this.next(); item; item = await this.next()) yield item;
  }

  /** Closes the body unless it has ended. A body that is busy is told but not waited for: it may hang. */
  async close(): Promise<void> {
    this.#ahead = [];
    if (this.#isEnded) return;
    this.#isEnded = true;
    const closing = closeIterator(this.#iterator);
    if (!this.#isReading) await closing;
  }

  /** A failure reads like the end; it is thrown when everything before it was read. */
  async #pull(): Promise<ScanItem | undefined> {
    if (this.#isEnded) return undefined;
    this.#isReading = true;
    try {
      const { done, value } = await this.#iterator.next();
      if (done !== true) return value;
      this.#isEnded = true;
    } catch (cause) {
      this.#isEnded = true;
      this.#failure = { cause };
    } finally {
      this.#isReading = false;
    }
    return undefined;
  }
}
