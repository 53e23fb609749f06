import { hash } from 'node:crypto';

/**
 * Proof that a file begins with bytes that were read before: a chain of SHA-256 over blocks, so that reading can go on
 * from `base`, a short way before the end of the prefix, without the bytes before that.
 */
export interface PrefixProof {
  /** Start of the block from which reading can go on. */
  readonly base: number;
  /** The chain up to there, as hex. */
  readonly baseSha: string;
  /** The chain up to the end of the prefix, as hex. */
  readonly sha: string;
}

const BLOCK_BYTES = 4096;
const SHA_BYTES = 32;
/** A file that is asked for in part must at least show this much of what was read before. */
const OVERLAP_BYTES_MIN = 256;
const NOTHING = '0'.repeat(2 * SHA_BYTES);

/** The proof of an empty prefix. */
export const EMPTY_PROOF: PrefixProof = { base: 0, baseSha: NOTHING, sha: NOTHING };

/** Computes the chain over bytes as they come. */
export class PrefixHash {
  /** The chain so far, then the block that is being filled. */
  readonly #buffer = Buffer.alloc(SHA_BYTES + BLOCK_BYTES);
  #filled = 0;
  /** Start of the block that is being filled. */
  #blockStart: number;
  /** The chain before the last whole block, once there was one. */
  #before: Buffer | undefined;

  /** Begins at the `base` of a proof, or at the beginning of a file. */
  constructor({ base, baseSha }: Pick<PrefixProof, 'base' | 'baseSha'> = EMPTY_PROOF) {
    this.#blockStart = base;
    this.#buffer.write(baseSha, 0, 'hex');
  }

  update(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + BLOCK_BYTES - this.#filled);
      this.#buffer.set(part, SHA_BYTES + this.#filled);
      this.#filled += part.length;
      from += part.length;
      if (this.#filled < BLOCK_BYTES) return;
      this.#before = Buffer.from(this.#buffer.subarray(0, SHA_BYTES));
      hash('sha256', this.#buffer, 'buffer').copy(this.#buffer);
      this.#blockStart += BLOCK_BYTES;
      this.#filled = 0;
    }
  }

  /** The proof of everything up to here. */
  prove(): PrefixProof {
    const chain = this.#buffer.subarray(0, SHA_BYTES);
    const sha =
      this.#filled === 0 ? chain.toString('hex') : hash('sha256', this.#buffer.subarray(0, SHA_BYTES + this.#filled));
    if (this.#filled >= OVERLAP_BYTES_MIN || !this.#before) {
      return { base: this.#blockStart, baseSha: chain.toString('hex'), sha };
    }
    return { base: this.#blockStart - BLOCK_BYTES, baseSha: this.#before.toString('hex'), sha };
  }
}
