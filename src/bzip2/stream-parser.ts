import type { BitWindow } from './bit-window.ts';
import { corruptAt, HEADER_BYTES_MAX } from './block-header.ts';
import { Bzip2Error } from './bzip2-error.ts';
import type { BlockLost, Trailing } from './bzip2-item.ts';
import { BLOCK_MAGIC, END_MAGIC, isMagicAt, isMagicCutAt, MAGIC_BITS, seekMagic } from './magic.ts';
import { BLOCK_BYTES_MAX } from './symbol-reader.ts';
import type { Bzip2Workspace } from './workspace.ts';

/**
 * Each damaged part can cost the work of a whole block, so their number limits the time that a forged archive takes.
 */
const STRETCHES_LOST_MAX = 64;
/** Length in bits of `BZh` and a digit. */
const STREAM_HEADER_BITS = 32;
const STREAM_HEADER = [0x42, 0x5a, 0x68] as const;
/** Bytes behind the end of an archive that are kept, so that the reader can tell what they are. */
const TRAILING_HEAD_BYTES = 256;
/** Bytes of a block per unit of the level in the stream header. */
const LEVEL_BYTES = 100_000;

/** A block whose decoded symbols are in the workspace; nothing of it is verified yet. */
export interface ParsedBlock {
  readonly kind: 'block';
  /** Number in the archive, from 0. */
  readonly number: number;
  /** Expected CRC of its output. */
  readonly crc: number;
  readonly startBit: number;
  readonly endBit: number;
}

/** Result of one parsing step: a block, damage, or the end of the input. */
export type Parsed = ParsedBlock | Omit<BlockLost, 'outputOffset'> | 'input-missing' | 'finished';

/**
 * Next part of the input. A mark is one of the two magic numbers.
 *
 *   stream-header -> mark -> block-header -> symbols -> mark ...
 *                    mark -> after-stream -> mark                another stream follows
 *                            after-stream -> padding             until the input ends
 *                            after-stream, padding -> trailing   something else, until the input ends
 *                                        trailing -> seek        with a mark in it: a damaged stream
 *   any of them, damaged  -> seek -> mark                        with `resync` only
 *                            seek -> failed                      no mark follows
 */
type Phase =
  | 'stream-header'
  | 'mark'
  | 'block-header'
  | 'symbols'
  | 'after-stream'
  | 'padding'
  | 'trailing'
  | 'seek'
  | 'failed';

/** Parses the structure of an archive: streams, blocks, and what is between and after them. */
export class StreamParser {
  /** Zero bytes after the last stream. */
  paddingBytes = 0;
  /** Bytes behind the last stream that are none of one, and the first of them. */
  trailing: Trailing | undefined;
  readonly #window: BitWindow;
  readonly #workspace: Bzip2Workspace;
  readonly #resync: boolean;
  #phase: Phase = 'stream-header';
  #blockBytesMax = BLOCK_BYTES_MAX;
  /** Number of blocks and damaged parts so far. */
  #found = 0;
  /** Start of the current block or stream end in the whole input. */
  #startBit = 0;
  #streamCrc = 0;
  /** True if no block of the stream was lost, so that its CRC can be compared. */
  #isStreamWhole = true;
  #damage: { readonly error: Bzip2Error; readonly startBit: number } | undefined;
  #stretchesLost = 0;

  constructor(resync: boolean, workspace: Bzip2Workspace) {
    this.#resync = resync;
    this.#workspace = workspace;
    this.#window = workspace.openWindow(resync);
  }

  push(chunk: Uint8Array): void {
    this.#window.push(chunk);
  }

  end(): void {
    this.#window.end();
  }

  /** Advances to the next block. @throws Bzip2Error `truncated`, `corrupt`, `unsupported`. */
  next(): Parsed {
    for (;;) {
      try {
        const parsed = this.#step();
        if (parsed !== undefined) return parsed;
      } catch (error) {
        if (!(error instanceof Bzip2Error) || this.#phase === 'seek' || this.#phase === 'failed') throw error;
        this.skip(error, this.#startBit);
      }
    }
  }

  /**
   * Searches for the next mark after `startBit`, because of `error` in what starts there. Call it for a block that
   * turned out to be damaged, with its number, before the next one is read. @throws Bzip2Error that `error`, without
   * `resync` or if too much was damaged.
   */
  skip(error: Bzip2Error, startBit: number, number: number = this.#found): void {
    this.#startSeek(error, startBit);
    this.#found = number;
    this.#window.bit = this.#window.toLocal(startBit) + 1;
  }

  /** Begins the search for the next mark, from where the window is. */
  #startSeek(error: Bzip2Error, startBit: number): void {
    const mayGoOn = this.#resync && ++this.#stretchesLost <= STRETCHES_LOST_MAX;
    this.#damage = { error, startBit };
    this.#phase = mayGoOn ? 'seek' : 'failed';
    if (!mayGoOn) throw error;
    this.#isStreamWhole = false;
    this.#blockBytesMax = BLOCK_BYTES_MAX;
  }

  /** Runs one phase; `undefined` if it is done and has nothing to return. */
  #step(): Parsed | undefined {
    switch (this.#phase) {
      case 'stream-header':
        return this.#readStreamHeader();
      case 'mark':
        return this.#readMark();
      case 'block-header':
        return this.#readBlockHeader();
      case 'symbols':
        return this.#readSymbols();
      case 'after-stream':
        return this.#readAfterStream();
      case 'padding':
        return this.#readPadding();
      case 'trailing':
        return this.#readTrailing();
      case 'seek':
        return this.#seek();
      case 'failed':
        throw this.#damage?.error;
    }
  }

  /** Returns true if `bits` are in the window, or all that there will ever be. */
  #has(bits: number): boolean {
    const window = this.#window;
    while (window.bitsLeft < bits && !window.isComplete) if (!this.#fill()) return false;
    return true;
  }

  /** With `resync`, unverified input is kept, because the search goes back to its start. */
  #fill(): boolean {
    const isKept = this.#resync && this.#phase !== 'seek' && this.#phase !== 'trailing';
    return this.#window.fill(isKept ? this.#startBit : this.#window.position);
  }

  #readStreamHeader(): Parsed | undefined {
    if (!this.#has(STREAM_HEADER_BITS)) return 'input-missing';
    const window = this.#window;
    this.#startBit = window.position;
    for (const byte of STREAM_HEADER) {
      if (window.readBits(8) !== byte) throw corruptAt(window, 'There is no bzip2 stream here');
    }
    const level = window.readBits(8) - 0x30;
    if (level < 1 || level > 9) throw corruptAt(window, 'The level of the stream is none of 1 to 9');
    this.#blockBytesMax = level * LEVEL_BYTES;
    this.#streamCrc = 0;
    this.#isStreamWhole = true;
    this.#phase = 'mark';
    return undefined;
  }

  #readMark(): Parsed | undefined {
    if (!this.#has(MAGIC_BITS + 32)) return 'input-missing';
    const window = this.#window;
    this.#startBit = window.position;
    if (isMagicAt(window, window.bit, BLOCK_MAGIC)) {
      window.bit += MAGIC_BITS;
      this.#phase = 'block-header';
      return undefined;
    }
    if (!isMagicAt(window, window.bit, END_MAGIC)) {
      if (isMagicCutAt(window, window.bit)) throw window.truncated();
      throw corruptAt(window, 'Neither a block nor the end of the stream is here');
    }
    window.bit += MAGIC_BITS;
    const crc = window.readUint32();
    if (this.#isStreamWhole && crc !== this.#streamCrc) {
      throw corruptAt(window, 'The CRC of the stream is not that of its blocks');
    }
    window.bit = Math.ceil(window.bit / 8) * 8;
    this.#phase = 'after-stream';
    return undefined;
  }

  #readBlockHeader(): Parsed | undefined {
    if (!this.#has(HEADER_BYTES_MAX * 8)) return 'input-missing';
    const { header, symbols } = this.#workspace;
    header.read(this.#window);
    symbols.start(header, this.#blockBytesMax);
    this.#phase = 'symbols';
    return undefined;
  }

  #readSymbols(): Parsed | undefined {
    const window = this.#window;
    const { header, symbols } = this.#workspace;
    while (!symbols.resume(window, header)) if (!this.#fill() && !window.isComplete) return 'input-missing';
    if (header.origin >= symbols.length) throw corruptAt(window, 'The origin of the block lies outside it');
    this.#streamCrc = (((this.#streamCrc << 1) | (this.#streamCrc >>> 31)) ^ header.crc) >>> 0;
    this.#phase = 'mark';
    const { crc } = header;
    return { kind: 'block', number: this.#found++, crc, startBit: this.#startBit, endBit: window.position };
  }

  #readAfterStream(): Parsed | undefined {
    if (!this.#has(STREAM_HEADER_BITS)) return 'input-missing';
    const window = this.#window;
    if (window.bitsLeft === 0) return 'finished';
    const isStream = STREAM_HEADER.every(
      (byte, index) => index * 8 >= window.bitsLeft || window.peekBits(window.bit + index * 8, 8) === byte,
    );
    this.#phase = isStream ? 'stream-header' : window.peekBits(window.bit, 8) === 0 ? 'padding' : 'trailing';
    return undefined;
  }

  /** What follows a whole archive is none of its concern, unless there is a mark in it: then it is a damaged stream. */
  #readTrailing(): Parsed | undefined {
    const window = this.#window;
    if (!this.trailing) {
      if (!this.#has(TRAILING_HEAD_BYTES * 8)) return 'input-missing';
      this.#startBit = window.position;
      const from = window.bit >>> 3;
      this.trailing = { bytes: 0, head: window.bytes.slice(from, Math.min(from + TRAILING_HEAD_BYTES, window.length)) };
    }
    let isFound = seekMagic(window);
    while (!isFound && this.#fill()) isFound = seekMagic(window);
    if (isFound) {
      this.trailing = undefined;
      const bit = this.#startBit;
      this.#startSeek(new Bzip2Error('corrupt', 'There is no bzip2 stream here', { bit }), bit);
      return undefined;
    }
    if (!window.isComplete) return 'input-missing';
    this.trailing = { ...this.trailing, bytes: (window.endPosition - this.#startBit) / 8 };
    return 'finished';
  }

  #readPadding(): Parsed | undefined {
    const window = this.#window;
    do {
      this.#startBit = window.position;
      const from = window.bit >>> 3;
      let at = from;
      while (at < window.length && window.bytes[at] === 0) at++;
      window.bit = at * 8;
      this.paddingBytes += at - from;
      if (at < window.length) {
        this.#phase = 'trailing';
        return undefined;
      }
    } while (this.#fill());
    return window.isComplete ? 'finished' : 'input-missing';
  }

  #seek(): Parsed | undefined {
    const window = this.#window;
    let isFound = seekMagic(window);
    while (!isFound && this.#fill()) isFound = seekMagic(window);
    if (!isFound && !window.isComplete) return 'input-missing';
    if (!this.#damage) return undefined;
    const { error, startBit } = this.#damage;
    this.#phase = isFound ? 'mark' : 'failed';
    // An archive that merely ends too early has lost nothing in the middle.
    if (!isFound && error.code === 'truncated') throw error;
    const endBit = isFound ? window.position : window.endPosition;
    const isRunaway = error.code === 'truncated';
    const code = isRunaway ? 'corrupt' : error.code;
    const reason = isRunaway ? 'The block runs into the end of the archive' : error.message;
    return { kind: 'block-lost', block: this.#found++, startBit, endBit, code, reason };
  }
}
