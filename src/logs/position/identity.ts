import { hash } from 'node:crypto';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** Characters of the hash in a uid: 80 bits, enough to avoid collisions in any fleet. */
const HASH_LENGTH = 16;
/** Digits of the offset in a uid: enough for 2.8 TB. */
const OFFSET_DIGITS = 8;
/** Block size of a {@link PrefixProof}. Bytes. */
const BLOCK_BYTES = 4096;
const SHA_BYTES = 32;
/** A resumed download must overlap the known prefix by at least this. Bytes. */
const OVERLAP_BYTES_MIN = 256;
const NOTHING = '0'.repeat(2 * SHA_BYTES);

interface FileIdentity {
  /** SHA-256 of the file up to the end of its first complete line, as hex. */
  readonly key: string;
  /** Number among files that begin alike, which a router without a battery-backed clock writes at each boot. */
  readonly gen: number;
}

/**
 * Returns the prefix of all uids of one file. It depends only on the configured router name, the component and the
 * content of the file, so a restart, another read or another agent gives the same uids.
 */
export function createUidPrefix(router: string, component: string, identity: FileIdentity): string {
  return toBase32(['line', router, component, identity.key, String(identity.gen)]);
}

/** A block read after a damaged part of an archive. */
export interface RecoveredBlock {
  readonly block: number;
  /** Offset of its first decompressed byte. */
  readonly offset: number;
}

/**
 * Returns the uid of a line: prefix and start of the line in decompressed bytes. After damage the offset in the file is
 * unknown, so it is counted from the `recovered` block.
 */
export function renderUid(prefix: string, offset: number, recovered?: RecoveredBlock): string {
  if (recovered) return `${prefix}-b${recovered.block}-${(offset - recovered.offset).toString(36)}`;
  return `${prefix}-${offset.toString(36).padStart(OFFSET_DIGITS, '0')}`;
}

/** Returns the uid of a synthetic record; differs from that of the line at the same offset. */
export function renderEventUid(
  event: string,
  router: string,
  component: string,
  about: string,
  offset: number,
): string {
  return renderUid(toBase32([event, router, component, about]), offset);
}

function toBase32(parts: readonly string[]): string {
  const digest = hash('sha256', parts.join('\0'), 'buffer');
  let text = '';
  let bits = 0;
  let bitCount = 0;
  for (const byte of digest) {
    bits = (bits << 8) | byte;
    bitCount += 8;
    while (bitCount >= 5 && text.length < HASH_LENGTH) {
      bitCount -= 5;
      text += BASE32[(bits >>> bitCount) & 31];
    }
    bits &= (1 << bitCount) - 1;
  }
  return text;
}

/**
 * Proof that a file begins with known bytes: a chain of SHA-256 over blocks. Reading can resume at `base`, shortly
 * before the end of the prefix, without the bytes before it.
 */
export interface PrefixProof {
  /** Start of the block at which reading can resume. */
  readonly base: number;
  /** Chain up to `base`, as hex. */
  readonly baseSha: string;
  /** Chain up to the end of the prefix, as hex. */
  readonly sha: string;
}

export const EMPTY_PROOF: PrefixProof = { base: 0, baseSha: NOTHING, sha: NOTHING };

/** Reused buffers: a fleet hashes each of its logs in every run. */
const spare: Buffer[] = [];
const SPARE_MAX = 64;

/** Computes the hash chain incrementally. */
export class PrefixHash implements Disposable {
  readonly #buffer = spare.pop() ?? Buffer.alloc(SHA_BYTES + BLOCK_BYTES);
  #filled = 0;
  #blockStart: number;
  /** As hex: the current chain, and the one before the last full block. */
  #chain: string;
  #before: string | undefined;
  #isEnded = false;

  /** Starts at the `base` of a proof, or at the beginning of a file. */
  constructor({ base, baseSha }: Pick<PrefixProof, 'base' | 'baseSha'> = EMPTY_PROOF) {
    this.#blockStart = base;
    this.#chain = baseSha;
    this.#buffer.write(baseSha, 0, 'hex');
  }

  update(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + BLOCK_BYTES - this.#filled);
      this.#buffer.set(part, SHA_BYTES + this.#filled);
      this.#filled += part.length;
      from += part.length;
      if (this.#filled < BLOCK_BYTES) return;
      this.#before = this.#chain;
      // Hex text is faster than a buffer for each block.
      this.#chain = hash('sha256', this.#buffer);
      this.#buffer.write(this.#chain, 0, 'hex');
      this.#blockStart += BLOCK_BYTES;
      this.#filled = 0;
    }
  }

  [Symbol.dispose](): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (spare.length < SPARE_MAX) spare.push(this.#buffer);
  }

  prove(): PrefixProof {
    const chain = this.#chain;
    const sha = this.#filled === 0 ? chain : hash('sha256', this.#buffer.subarray(0, SHA_BYTES + this.#filled));
    if (this.#filled >= OVERLAP_BYTES_MIN || this.#before === undefined) {
      return { base: this.#blockStart, baseSha: chain, sha };
    }
    return { base: this.#blockStart - BLOCK_BYTES, baseSha: this.#before, sha };
  }
}
