import type { BlockLost, BlockRecovered } from '../../position/gap.ts';
import { ArchiveError } from '../../reading/errors.ts';
import { BitWindow } from './bit-window.ts';
import { BLOCK_BYTES_MAX, BlockHeader, corruptAt, HEADER_BYTES_MAX, SymbolReader } from './block.ts';
import { InverseTransform } from './inverse-transform.ts';
import { RunExpander } from './run-expander.ts';

/** Length in bits of the magic numbers that start a block and end a stream. */
const MAGIC_BITS = 48;
/** First and second half of the magic number that starts a block: the digits of pi. */
const BLOCK_MAGIC = [0x314159, 0x265359] as const;
/** First and second half of the magic number that ends a stream: the digits of the square root of pi. */
const END_MAGIC = [0x177245, 0x385090] as const;

/**
 * By 16 bits on a byte boundary: mask of the bit offsets (0 to 7) at which a magic number that started in the previous
 * byte would show these bits.
 */
const OFFSETS_BY_WORD = createOffsets();

function createOffsets(): Uint8Array {
  const offsets = new Uint8Array(0x10000);
  for (const [high, low] of [BLOCK_MAGIC, END_MAGIC]) {
    const magic = (BigInt(high) << 24n) | BigInt(low);
    for (let offset = 0; offset < 8; offset++) {
      const word = Number((magic >> BigInt(MAGIC_BITS - 16 - (8 - offset))) & 0xffffn);
      offsets[word] = (offsets[word] as number) | (1 << offset);
    }
  }
  return offsets;
}

function isMagicAt(window: BitWindow, bit: number, magic: readonly [number, number]): boolean {
  return window.peekBits(bit, 24) === magic[0] && window.peekBits(bit + 24, 24) === magic[1];
}

function isMagicCutAt(window: BitWindow, bit: number): boolean {
  const bits = window.length * 8 - bit;
  if (bits >= MAGIC_BITS) return false;
  const isCut = ([high, low]: readonly [number, number]) =>
    bits <= 24
      ? bits <= 0 || window.peekBits(bit, bits) === high >>> (24 - bits)
      : window.peekBits(bit, 24) === high && window.peekBits(bit + 24, bits - 24) === low >>> (48 - bits);
  return isCut(BLOCK_MAGIC) || isCut(END_MAGIC);
}

/** Moves to the next magic number at any bit offset. If false, to the first bit that more input could complete. */
function seekMagic(window: BitWindow): boolean {
  const { bytes } = window;
  const lastBit = window.length * 8 - MAGIC_BITS;
  const firstBit = window.bit;
  for (let at = firstBit >>> 3; at * 8 <= lastBit; at++) {
    const word = ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    const offsets = OFFSETS_BY_WORD[word] as number;
    if (offsets === 0) continue;
    for (let offset = 0; offset < 8; offset++) {
      const bit = at * 8 + offset;
      if ((offsets & (1 << offset)) === 0 || bit < firstBit || bit > lastBit) continue;
      if (isMagicAt(window, bit, BLOCK_MAGIC) || isMagicAt(window, bit, END_MAGIC)) {
        window.bit = bit;
        return true;
      }
    }
  }
  window.bit = Math.max(firstBit, lastBit + 1);
  return false;
}

/** Enough for a block header and for moving input in larger pieces. */
const WINDOW_BYTES = 128 * 1024;
/** Enough to go back to the start of a damaged block: its symbols take at most 2.25 MB, its header 40 KiB. */
const RESYNC_WINDOW_BYTES = 3 * 1024 * 1024;

/** Reusable memory of a decoder: 21 MB, of which a typical archive uses 8 MB. */
export class Bzip2Workspace {
  readonly header = new BlockHeader();
  readonly symbols = new SymbolReader();
  readonly transform = new InverseTransform();
  readonly expander = new RunExpander();
  readonly #windows = new Map<number, BitWindow>();

  /** Opens an empty window, large enough to go back to the start of a block if `resync` is set. */
  openWindow(resync: boolean): BitWindow {
    const sizeBytes = resync ? RESYNC_WINDOW_BYTES : WINDOW_BYTES;
    const window = this.#windows.get(sizeBytes) ?? new BitWindow(sizeBytes);
    this.#windows.set(sizeBytes, window);
    window.reset();
    return window;
  }
}

interface Trailing {
  readonly bytes: number;
  readonly head: Uint8Array;
}

export interface Bzip2End {
  readonly kind: 'end';
  /** Bytes after the last stream that are neither zeros nor a stream. */
  readonly trailing: Trailing | undefined;
}

/** Decoded bytes are valid until the next call of the decoder. */
export type Bzip2Item = Uint8Array | BlockLost | BlockRecovered | Bzip2End;

/** Bounds the time for forged archives, because each damaged part costs the work of a whole block. */
const STRETCHES_LOST_MAX = 64;
/** Length in bits of `BZh` and a digit. */
const STREAM_HEADER_BITS = 32;
const STREAM_HEADER = [0x42, 0x5a, 0x68] as const;
/** Trailing bytes kept to detect text. */
const TRAILING_HEAD_BYTES = 256;
/** Bytes of a block per unit of the level in the stream header. */
const LEVEL_BYTES = 100_000;

/** A block whose decoded symbols are in the workspace, not verified yet. */
export interface ParsedBlock {
  readonly kind: 'block';
  readonly number: number;
  readonly crc: number;
  readonly startBit: number;
  readonly endBit: number;
}

type Parsed = ParsedBlock | Omit<BlockLost, 'outputOffset'> | 'input-missing' | 'finished';

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

/** Parses the structure of an archive: streams, blocks, padding and trailing bytes. */
export class StreamParser {
  /** Bytes after the last stream. */
  trailing: Trailing | undefined;
  readonly #window: BitWindow;
  readonly #workspace: Bzip2Workspace;
  readonly #resync: boolean;
  #phase: Phase = 'stream-header';
  #blockBytesMax = BLOCK_BYTES_MAX;
  #found = 0;
  #startBit = 0;
  #streamCrc = 0;
  /** True if no block of the stream was lost, so that its CRC can be compared. */
  #isStreamWhole = true;
  #damage: { readonly error: ArchiveError; readonly startBit: number } | undefined;
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

  /** Advances to the next block. @throws ArchiveError `truncated`, `corrupt`, `unsupported`. */
  next(): Parsed {
    for (;;) {
      try {
        const parsed = this.#step();
        if (parsed !== undefined) return parsed;
      } catch (error) {
        if (!(error instanceof ArchiveError) || this.#phase === 'seek' || this.#phase === 'failed') throw error;
        this.skip(error, this.#startBit);
      }
    }
  }

  /**
   * Searches for the next mark after `startBit` because of `error`. Call it for a damaged block, with its number,
   * before the next one is read. @throws ArchiveError `error`, without `resync` or after too many damaged parts.
   */
  skip(error: ArchiveError, startBit: number, number: number = this.#found): void {
    this.#startSeek(error, startBit);
    this.#found = number;
    this.#window.bit = this.#window.toLocal(startBit) + 1;
  }

  #startSeek(error: ArchiveError, startBit: number): void {
    const mayGoOn = this.#resync && ++this.#stretchesLost <= STRETCHES_LOST_MAX;
    this.#damage = { error, startBit };
    this.#phase = mayGoOn ? 'seek' : 'failed';
    if (!mayGoOn) throw error;
    this.#isStreamWhole = false;
    this.#blockBytesMax = BLOCK_BYTES_MAX;
  }

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

  /** True if `bits` are in the window, or the input has ended. */
  #has(bits: number): boolean {
    const window = this.#window;
    while (window.bitsLeft < bits && !window.isComplete) if (!this.#fill()) return false;
    return true;
  }

  /** With `resync`, unverified input is kept, because the search restarts at its beginning. */
  #fill(): boolean {
    const isKept = this.#resync && this.#phase !== 'seek' && this.#phase !== 'trailing';
    return this.#window.fill(isKept ? this.#startBit : this.#window.position);
  }

  #readStreamHeader(): Parsed | undefined {
    if (!this.#has(STREAM_HEADER_BITS)) return 'input-missing';
    const window = this.#window;
    this.#startBit = window.position;
    for (const byte of STREAM_HEADER) {
      if (window.readBits(8) !== byte) throw corruptAt(window, 'No bzip2 stream was found');
    }
    const level = window.readBits(8) - 0x30;
    if (level < 1 || level > 9) throw corruptAt(window, 'The level of the stream is not 1 to 9');
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
      throw corruptAt(window, 'Found neither a block nor the end of the stream');
    }
    window.bit += MAGIC_BITS;
    const crc = window.readUint32();
    if (this.#isStreamWhole && crc !== this.#streamCrc) {
      throw corruptAt(window, 'The CRC of the stream does not match its blocks');
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

  /** Bytes after a whole archive are ignored, unless they contain a mark: then they are a damaged stream. */
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
      this.#startSeek(new ArchiveError('corrupt', 'No bzip2 stream was found', { bit }), bit);
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
    // An archive that only ends early has no damage in the middle.
    if (!isFound && error.code === 'truncated') throw error;
    const endBit = isFound ? window.position : window.endPosition;
    return { kind: 'block-lost', block: this.#found++, startBit, endBit };
  }
}
