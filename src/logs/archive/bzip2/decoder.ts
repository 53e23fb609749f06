import type { BlockRecovered } from '../../position/gap.ts';
import { ArchiveError } from '../../reading/errors.ts';
import { type Bzip2End, type Bzip2Item, Bzip2Workspace, type ParsedBlock, StreamParser } from './stream-parser.ts';

/** Limits of one decoding. */
export interface Bzip2Limits {
  /** Maximum number of decoded bytes; the first byte beyond fails with `too-large`. */
  readonly outputBytesMax: number;
  /** Maximum decoded bytes per compressed byte of a layer, after the first 1 MiB. Default: unlimited. */
  readonly ratioMax?: number | undefined;
  /** Resume at the next block after a damaged one. Costs 3 MB of memory. Default: fail with `corrupt`. */
  readonly resync?: boolean | undefined;
}

/** The ratio does not apply to this output, because logs of one repeated line compress very well. */
const RATIO_FREE_BYTES = 1024 * 1024;

/** Throws `too-large` if `outputBytes` from `inputBytes` exceed the limits. `bit`: where they do. */
export function checkOutput(outputBytes: number, inputBytes: number, limits: Bzip2Limits, bit?: number): void {
  const { outputBytesMax, ratioMax = Number.POSITIVE_INFINITY } = limits;
  if (outputBytes > outputBytesMax)
    throw new ArchiveError('too-large', `The archive holds more than the ${outputBytesMax} bytes allowed`, { bit });
  if (outputBytes > RATIO_FREE_BYTES + ratioMax * inputBytes)
    throw new ArchiveError('too-large', `The archive expands more than ${ratioMax} times`, { bit });
}

/**
 * Decodes bzip2 from chunks of any size: `push` input, then `read` until it returns `undefined`; after the last input
 * `end`, then `read` until it returns `undefined`. The last item is a {@link Bzip2End}. A block is returned only after
 * its CRC was verified. Concatenated streams give one output. Memory is constant. Randomised blocks are `unsupported`.
 */
export class Bzip2Decoder {
  readonly #limits: Bzip2Limits;
  readonly #workspace: Bzip2Workspace;
  readonly #parser: StreamParser;
  #expandedBytes = 0;
  #isExpanding = false;
  #failure: ArchiveError | undefined;
  #isEndRead = false;
  #outputBytes = 0;
  #hasLost = false;

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

  end(): void {
    this.#parser.end();
  }

  /**
   * Returns the next item; `undefined` if more input is needed, and after the last item. @throws ArchiveError after
   * everything valid was read, and on every further call.
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
          this.#hasLost = true;
          return { ...parsed, outputOffset: this.#outputBytes };
        }
        const marker = this.#verify(parsed);
        if (marker) return marker;
      } catch (error) {
        if (error instanceof ArchiveError) this.#failure = error;
        throw error;
      }
    }
  }

  /** Verifies the CRC of a block. Returns the marker before its bytes, if any. */
  #verify(block: ParsedBlock): BlockRecovered | undefined {
    const { expander, header, symbols, transform } = this.#workspace;
    const { number, startBit, endBit } = block;
    let bytes = 0;
    const text = transform.invert(symbols, header.origin);
    expander.start(text);
    // A block expands to at most 50 times 900 kB, so expanding a damaged one costs little.
    for (let filled = expander.fill(); filled > 0; filled = expander.fill()) {
      expander.sum(filled);
      bytes += filled;
      this.#expandedBytes = filled;
    }
    if (expander.isCut || expander.crc !== block.crc) {
      const error = new ArchiveError('corrupt', `The CRC of block ${number} is wrong`, { bit: startBit });
      this.#parser.skip(error, startBit, number);
      return undefined;
    }
    checkOutput(this.#outputBytes + bytes, endBit / 8, this.#limits, startBit);
    // Most blocks are still in the buffer; larger ones are expanded again.
    if (bytes !== this.#expandedBytes) {
      this.#expandedBytes = 0;
      expander.start(text);
    }
    this.#isExpanding = true;
    return this.#hasLost ? { kind: 'block-recovered', block: number, outputOffset: this.#outputBytes } : undefined;
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
    return { kind: 'end', trailing: this.#parser.trailing };
  }
}
