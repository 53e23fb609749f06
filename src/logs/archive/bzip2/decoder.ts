import { ArchiveError } from '../archive-error.ts';
import type { ArchiveLimits, BlockLost, BlockRecovered } from '../archive-item.ts';
import { describeExcess } from '../output-meter.ts';
import { CRC_START, finishCrc, updateCrc } from './crc.ts';
import { LANES_MAX, walk } from './inverse-transform.ts';
import { type Parsed, type ParsedBlock, StreamParser } from './stream-parser.ts';
import { Bzip2Workspace } from './workspace.ts';

/** The archive was read to its end. */
export interface Bzip2End {
  readonly kind: 'end';
  readonly outputBytes: number;
  readonly blocks: number;
  readonly blocksLost: number;
  readonly paddingBytes: number;
}

/** Decoded bytes are a view that is valid until the next call of the decoder. */
export type Bzip2Item = Uint8Array | BlockLost | BlockRecovered | Bzip2End;

/**
 * Decodes bzip2, fed with chunks of any size: `push` input, `read` until it returns `undefined`, and so on; `end` after
 * the last input, then `read` until it returns `undefined` again. The last item is a {@link Bzip2End}.
 *
 * A block's bytes come out only after its CRC was found right. Streams that follow each other are one output. Memory
 * does not depend on the input. Randomised blocks are refused as `unsupported`.
 */
export class Bzip2Decoder {
  readonly #limits: ArchiveLimits;
  readonly #workspace: Bzip2Workspace;
  readonly #parser: StreamParser;
  readonly #lanesMax: number;
  /** Waiting for their walk, which several blocks make together. */
  #parsed: ParsedBlock[] = [];
  /** Waiting for their turn to be verified and read. */
  #walked: ParsedBlock[] = [];
  /** Bytes of the verified block that the expander's buffer holds and that are not read yet. */
  #expandedBytes = 0;
  #isExpanding = false;
  #failure: ArchiveError | undefined;
  #isStarved = false;
  #isFinished = false;
  #isEndRead = false;
  #outputBytes = 0;
  #blocks = 0;
  #blocksLost = 0;

  /** A `workspace` may be used by one decoder after the other, never by two at a time. */
  constructor(limits: ArchiveLimits, workspace: Bzip2Workspace = new Bzip2Workspace()) {
    this.#limits = limits;
    this.#workspace = workspace;
    this.#parser = new StreamParser(limits.resync === true, workspace);
    // With `resync` the input is kept back to the start of a block until that block is verified: one at a time.
    this.#lanesMax = limits.resync === true ? 1 : LANES_MAX;
  }

  /** Hands over the next input, which must not change until {@link read} returns `undefined`. Only to be called after that. */
  push(chunk: Uint8Array): void {
    this.#isStarved = false;
    this.#parser.push(chunk);
  }

  /** Says that more input will take a while: blocks that wait to be decoded together with later ones come out alone. */
  flush(): void {
    this.#isStarved = true;
  }

  /** Says that all input has been pushed. */
  end(): void {
    this.#parser.end();
  }

  /**
   * The next item; `undefined` when input is missing, and after the last item.
   * @throws ArchiveError once everything good before the fault has been read, and again at every further call.
   */
  read(): Bzip2Item | undefined {
    for (;;) {
      const piece = this.#readPiece();
      if (piece) return piece;
      const block = this.#walked.shift();
      if (block) {
        const marker = this.#verify(block);
        if (marker) return marker;
        continue;
      }
      if (this.#failure) throw this.#failure;
      if (this.#isFinished) return this.#readEnd();
      const collected = this.#collect();
      if (typeof collected === 'object') {
        this.#blocksLost++;
        return { ...collected, outputOffset: this.#outputBytes };
      }
      if (collected === 'input-missing' && (this.#parsed.length === 0 || !this.#isStarved)) return undefined;
      walk(this.#parsed.map(({ lane }) => lane));
      this.#walked = this.#parsed;
      this.#parsed = [];
    }
  }

  /** Parses until as many blocks wait as may walk together, or nothing more can be parsed. */
  #collect(): 'ready' | Exclude<Parsed, ParsedBlock | 'finished'> {
    while (this.#parsed.length < this.#lanesMax) {
      try {
        const parsed = this.#parser.next(this.#workspace.lane(this.#parsed.length));
        if (parsed === 'finished') {
          this.#isFinished = true;
          return 'ready';
        }
        if (parsed === 'input-missing' || parsed.kind === 'block-lost') return parsed;
        this.#parsed.push(parsed);
      } catch (error) {
        // The blocks before it are whole and come out first.
        this.#failure = toArchiveError(error);
        return 'ready';
      }
    }
    return 'ready';
  }

  /** Compares the CRC of a block's output and prepares reading it. Returns what has to be said before its bytes. */
  #verify(block: ParsedBlock): BlockRecovered | undefined {
    const { expander } = this.#workspace;
    const { number, startBit, endBit } = block;
    let bytes = 0;
    let sum = CRC_START;
    expander.start(block.lane.text);
    // A block is at most fifty times its 900 kB: going through a damaged one to its end is cheaper than to call it a bomb.
    for (;;) {
      const filled = expander.fill();
      if (filled === 0) break;
      sum = updateCrc(sum, expander.buffer, 0, filled);
      bytes += filled;
      this.#expandedBytes = filled;
    }
    if (expander.isCut || finishCrc(sum) !== block.crc) {
      this.#expandedBytes = 0;
      this.#reject(block, new ArchiveError('corrupt', `The CRC of block ${number} is wrong`, { bit: startBit }));
      return undefined;
    }
    const excess = describeExcess(this.#outputBytes + bytes, endBit / 8, this.#limits);
    if (excess !== undefined) {
      this.#expandedBytes = 0;
      this.#fail(new ArchiveError('too-large', excess, { bit: startBit }));
      return undefined;
    }
    // Most blocks fit the buffer and are still in it; the others are expanded again, piece by piece.
    if (bytes !== this.#expandedBytes) {
      this.#expandedBytes = 0;
      expander.start(block.lane.text);
    }
    this.#isExpanding = true;
    this.#blocks++;
    const outputOffset = this.#outputBytes;
    return this.#blocksLost > 0
      ? { kind: 'block-recovered', block: number, startBit, endBit, outputOffset }
      : undefined;
  }

  #readPiece(): Uint8Array | undefined {
    if (!this.#isExpanding) return undefined;
    const { expander } = this.#workspace;
    const length = this.#expandedBytes || expander.fill();
    this.#expandedBytes = 0;
    this.#isExpanding = !expander.isDone;
    this.#outputBytes += length;
    return length > 0 ? expander.buffer.subarray(0, length) : undefined;
  }

  #reject(block: ParsedBlock, error: ArchiveError): void {
    try {
      this.#parser.skip(error, block.startBit, block.number);
    } catch {
      this.#fail(error);
    }
  }

  #fail(error: ArchiveError): void {
    this.#failure = error;
    this.#walked = [];
    this.#parsed = [];
  }

  #readEnd(): Bzip2End | undefined {
    if (this.#isEndRead) return undefined;
    this.#isEndRead = true;
    return {
      kind: 'end',
      outputBytes: this.#outputBytes,
      blocks: this.#blocks,
      blocksLost: this.#blocksLost,
      paddingBytes: this.#parser.paddingBytes,
    };
  }
}

function toArchiveError(error: unknown): ArchiveError {
  if (error instanceof ArchiveError) return error;
  throw error;
}
