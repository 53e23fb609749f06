import type { BitWindow } from './bit-window.ts';
import { Bzip2Error } from './bzip2-error.ts';
import { CODE_BITS_MAX, HuffmanTable, SYMBOLS_MAX } from './huffman-table.ts';

/** Symbols coded with one table before the next selector is looked up. */
export const GROUP_SYMBOLS = 50;
/** More groups than this cannot hold symbols of a block of 900,000 bytes. Writers may announce a few more; they are skipped. */
const SELECTORS_MAX = 18_002;
const TABLES_MAX = 6;
/** Limit of the steps between two code lengths. More steps would go up and down, which no writer does. */
const LENGTH_STEPS_MAX = CODE_BITS_MAX - 1;
/**
 * Upper bound for a whole block header: symbol maps, 15-bit selector count, and tables with the maximum number of
 * steps.
 */
export const HEADER_BYTES_MAX = 40 * 1024;

/** The header of a block: everything before its symbols. Reused for every block. */
export class BlockHeader {
  /** Expected CRC of the block's output. */
  crc = 0;
  /** Index of the original text in the sorted rotations. */
  origin = 0;
  /** The bytes that occur, in ascending order; then zeros. */
  readonly bytesUsed = new Uint8Array(256);
  symbolCount = 0;
  readonly selectors = new Uint8Array(SELECTORS_MAX);
  selectorCount = 0;
  readonly tables: readonly HuffmanTable[] = Array.from({ length: TABLES_MAX }, () => new HuffmanTable());
  readonly #lengths = new Uint8Array(SYMBOLS_MAX);

  /** Reads everything after the block's magic number. @throws Bzip2Error `truncated`, `corrupt`, `unsupported`. */
  read(window: BitWindow): void {
    this.crc = window.readUint32();
    if (window.readBits(1) === 1) {
      throw new Bzip2Error('unsupported', 'The block is randomised, which no bzip2 since 1999 writes', {
        bit: window.position - 1,
      });
    }
    this.origin = window.readBits(24);
    this.#readBytesUsed(window);
    const tableCount = window.readBits(3);
    if (tableCount < 2 || tableCount > TABLES_MAX)
      throw corruptAt(window, 'The number of Huffman tables is impossible');
    this.#readSelectors(window, tableCount);
    for (let table = 0; table < tableCount; table++) this.#readTable(window, table);
  }

  #readBytesUsed(window: BitWindow): void {
    const rows = window.readBits(16);
    let count = 0;
    this.bytesUsed.fill(0);
    for (let row = 0; row < 16; row++) {
      if ((rows & (0x8000 >> row)) === 0) continue;
      const columns = window.readBits(16);
      for (let column = 0; column < 16; column++) {
        if ((columns & (0x8000 >> column)) !== 0) this.bytesUsed[count++] = row * 16 + column;
      }
    }
    if (count === 0) throw corruptAt(window, 'The block uses no byte value');
    this.symbolCount = count + 2;
  }

  #readSelectors(window: BitWindow, tableCount: number): void {
    const count = window.readBits(15);
    if (count === 0) throw corruptAt(window, 'The block has no selectors');
    const recent = [0, 1, 2, 3, 4, 5];
    for (let index = 0; index < count; index++) {
      const place = Math.clz32(~(window.peekBits(window.bit, 8) << 24));
      window.readBits(Math.min(place + 1, tableCount));
      if (place >= tableCount) throw corruptAt(window, 'A selector names a Huffman table that is not there');
      const table = recent[place] ?? 0;
      if (place > 0) {
        recent.copyWithin(1, 0, place);
        recent[0] = table;
      }
      if (index < SELECTORS_MAX) this.selectors[index] = table;
    }
    this.selectorCount = Math.min(count, SELECTORS_MAX);
  }

  #readTable(window: BitWindow, table: number): void {
    let length = window.readBits(5);
    for (let symbol = 0; symbol < this.symbolCount; symbol++) {
      for (let steps = 0; window.readBits(1) === 1; steps++) {
        checkLength(window, length);
        length += window.readBits(1) === 1 ? -1 : 1;
        if (steps >= LENGTH_STEPS_MAX) throw corruptAt(window, 'A Huffman code length goes to and fro');
      }
      checkLength(window, length);
      this.#lengths[symbol] = length;
    }
    this.tables[table]?.assign(this.#lengths, this.symbolCount);
  }
}

function checkLength(window: BitWindow, length: number): void {
  if (length < 1 || length > CODE_BITS_MAX) throw corruptAt(window, 'A Huffman code length is impossible');
}

/** Returns an error `corrupt` at the position just read. */
export function corruptAt(window: BitWindow, reason: string): Bzip2Error {
  return new Bzip2Error('corrupt', reason, { bit: window.position });
}
