import type { ScanItem } from '../file-scan.ts';
import { AheadReader } from './ahead-reader.ts';
import { isOwn } from './own-chunks.ts';

/** Reads the body of a file item by item. */
export class ItemReader extends AheadReader<ScanItem> {
  /**
   * Looks ahead until there are more than `count` bytes from a decoding thread. Returns false if the body ends or fails
   * before that, or comes from elsewhere.
   */
  async gather(count: number): Promise<boolean> {
    let bytes = 0;
    while (bytes <= count) {
      const item = await this.pull();
      if (!item) return false;
      this.ahead.push(item);
      if (!(item instanceof Uint8Array)) continue;
      if (!isOwn(item)) return false;
      bytes += item.length;
    }
    return true;
  }

  /** The next item; `undefined` at the end. Throws what the body throws. */
  async next(): Promise<ScanItem | undefined> {
    const item = await this.read();
    if (!item) this.throwFailure();
    return item;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ScanItem, void, undefined> {
    for (let item = await this.next(); item; item = await this.next()) yield item;
  }
}
