import { Bzip2Error } from './bzip2-error.ts';
import type { BlockRecovered, Bzip2End, Bzip2Item } from './bzip2-item.ts';
import { CRC_START, finishCrc, updateCrc } from './crc.ts';
import { type Bzip2Limits, describeExcess } from './limits.ts';
import { type ParsedBlock, StreamParser } from './stream-parser.ts';
import { Bzip2Workspace } from './workspace.ts';

/**
 * Decodes bzip2 from chunks of any size: `push` input, `read` until it returns `undefined`, and so on; `end` after the
 * last input, then `read` until it returns `undefined` again. The last item is a {@link Bzip2End}. The bytes of a block
 * are returned only after its CRC was verified. Concatenated streams give one output. Memory does not depend on the
 * input. Randomised blocks are rejected as `unsupported`.
 */
export class Bzip2Decoder {
  readonly #limits: Bzip2Limits;
  readonly #workspace: Bzip2Workspace;
  readonly #parser: StreamParser;
  /** Number of unread bytes of the verified block in the expander's buffer. */
  #expandedBytes = 0;
  #isExpanding = false;
  #failure: Bzip2Error | undefined;
  #isEndRead = false;
  #outputBytes = 0;
  #blocks = 0;
  #blocksLost = 0;

  /** A `workspace` may be reused by one decoder after another, but not by two at a time. */
  constructor(limits: Bzip2Limits, workspace: Bzip2Workspace = new Bzip2Workspace()) {
    this.#limits = limits;
    this.#workspace = workspace;
    this.#parser = new StreamParser(limits.resync === true, workspace);
  }

  /** Adds the next input, which must not change until {@link read} returns `undefined`. Call only after that. */
  push(chunk: Uint8Array): void {
    this.#parser.push(chunk);
  }

  /** Signals that all input has been pushed. */
  end(): void {
    this.#parser.end();
  }

  /**
   * Returns the next item; `undefined` if more input is needed, and after the last item. @throws Bzip2Error once
   * everything valid before the fault has been read, and again on every further call.
   */
  read(): Bzip2Item | undefined {
    for (;;) {
      const piece = this.#readPiece();
      if (piece) return piece;
      if (this.#failure) throw this.#failure;
      try {
        const parsed = this.#parser.next();
        if (parsed === 'input-missing') return undefined;
        if (parsed === 'finished') return this.#readEnd();
        if (parsed.kind === 'block-lost') {
          this.#blocksLost++;
          return { ...parsed, outputOffset: this.#outputBytes };
        }
        const marker = this.#verify(parsed);
        if (marker) return marker;
      } catch (error) {
        if (error instanceof Bzip2Error) this.#failure = error;
        throw error;
      }
    }
  }

  /**
   * Verifies the CRC of a block's output and prepares reading it. Returns the marker that precedes its bytes, if any.
   */
  #verify(block: ParsedBlock): BlockRecovered | undefined {
    const { expander, header, symbols, transform } = this.#workspace;
    const { number, startBit, endBit } = block;
    let bytes = 0;
    let sum = CRC_START;
    const text = transform.invert(symbols, header.origin);
    expander.start(text);
    // A block expands to at most fifty times its 900 kB: expanding a damaged one to its end is cheaper than treating it
    // as a bomb.
    for (;;) {
      const filled = expander.fill();
      if (filled === 0) break;
      sum = updateCrc(sum, expander.buffer, 0, filled);
      bytes += filled;
      this.#expandedBytes = filled;
    }
    if (expander.isCut || finishCrc(sum) !== block.crc) {
      this.#expandedBytes = 0;
      const error = new Bzip2Error('corrupt', `The CRC of block ${number} is wrong`, { bit: startBit });
      this.#parser.skip(error, startBit, number);
      return undefined;
    }
    const excess = describeExcess(this.#outputBytes + bytes, endBit / 8, this.#limits);
    if (excess !== undefined) {
      this.#expandedBytes = 0;
      throw new Bzip2Error('too-large', excess, { bit: startBit });
    }
    // Most blocks fit the buffer and are still in it; larger ones are expanded again, piece by piece.
    if (bytes !== this.#expandedBytes) {
      this.#expandedBytes = 0;
      expander.start(text);
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

  #readEnd(): Bzip2End | undefined {
    if (this.#isEndRead) return undefined;
    this.#isEndRead = true;
    return {
      kind: 'end',
      outputBytes: this.#outputBytes,
      blocks: this.#blocks,
      blocksLost: this.#blocksLost,
      paddingBytes: this.#parser.paddingBytes,
      trailing: this.#parser.trailing,
    };
  }
}
