import { hash } from 'node:crypto';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** Characters of the hash part of a uid: 80 bits, so that two files collide in no fleet. */
const HASH_LENGTH = 16;
/** Digits of the offset part: enough for 2.8 TB. */
const OFFSET_DIGITS = 8;
/** Bytes of a block of a {@link PrefixProof}. */
const BLOCK_BYTES = 4096;
const SHA_BYTES = 32;
/** A file that is asked for in part must at least show this much of what was read before. */
const OVERLAP_BYTES_MIN = 256;
const NOTHING = '0'.repeat(2 * SHA_BYTES);

/** Identity of a log file among all others: see {@link createUidPrefix}. */
interface FileIdentity {
  /** SHA-256 of the bytes up to the end of the first complete line, as hex. */
  readonly key: string;
  /** Counts files that begin alike, which a router without a battery-backed clock makes at each boot. */
  readonly gen: number;
}

/**
 * The part that all uids of one file share. It depends on the configured name of the router, the component and the
 * content of the file, and on nothing that a restart, a re-reading or a second agent could change.
 */
export function createUidPrefix(router: string, component: string, identity: FileIdentity): string {
  return toBase32(['line', router, component, identity.key, String(identity.gen)]);
}

/** A block of an archive that was read behind damage. */
export interface RecoveredBlock {
  readonly block: number;
  /** Offset of its first byte among the decoded ones. */
  readonly offset: number;
}

/**
 * The uid of a line: the file's prefix and the line's start in decompressed bytes. Behind a damaged stretch of an archive, where the place
 * in the file is not known, it is counted from the block that was `recovered`.
 */
export function renderUid(prefix: string, offset: number, recovered?: RecoveredBlock): string {
  if (recovered) return `${prefix}-b${recovered.block}-${(offset - recovered.offset).toString(36)}`;
  return `${prefix}-${offset.toString(36).padStart(OFFSET_DIGITS, '0')}`;
}

/** The uid of a synthetic record about a place in a log; differs from that of the line at this place. */
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

/** The proof of an empty prefix. */
export const EMPTY_PROOF: PrefixProof = { base: 0, baseSha: NOTHING, sha: NOTHING };

/** Buffers of ended chains, for the next ones: a fleet begins one for each log at each look. */
const spare: Buffer[] = [];
const SPARE_MAX = 64;

/** Computes the chain over bytes as they come. */
export class PrefixHash implements Disposable {
  /** The chain so far, then the block that is being filled. */
  readonly #buffer = spare.pop() ?? Buffer.alloc(SHA_BYTES + BLOCK_BYTES);
  #filled = 0;
  /** Start of the block that is being filled. */
  #blockStart: number;
  /** The chain so far, and before the last whole block once there was one, as hex. */
  #chain: string;
  #before: string | undefined;
  #isEnded = false;

  /** Begins at the `base` of a proof, or at the beginning of a file. */
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
      // As text, which takes less time than a buffer for each block.
      this.#chain = hash('sha256', this.#buffer);
      this.#buffer.write(this.#chain, 0, 'hex');
      this.#blockStart += BLOCK_BYTES;
      this.#filled = 0;
    }
  }

  /** Ends the chain: it is not asked for anything any more. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (spare.length < SPARE_MAX) spare.push(this.#buffer);
  }

  /** The proof of everything up to here. */
  prove(): PrefixProof {
    const chain = this.#chain;
    const sha = this.#filled === 0 ? chain : hash('sha256', this.#buffer.subarray(0, SHA_BYTES + this.#filled));
    if (this.#filled >= OVERLAP_BYTES_MIN || this.#before === undefined) {
      return { base: this.#blockStart, baseSha: chain, sha };
    }
    return { base: this.#blockStart - BLOCK_BYTES, baseSha: this.#before, sha };
  }
}
