import { createHash } from 'node:crypto';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** Characters of the hash part of a uid: 80 bits, so that two files collide in no fleet. */
const HASH_LENGTH = 16;
/** Digits of the offset part: enough for 2.8 TB. */
const OFFSET_DIGITS = 8;

/** What tells one log file from every other: see {@link createUidPrefix}. */
export interface FileIdentity {
  /** SHA-256 of the bytes up to the end of the first line that carries a stamp, as hex. */
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

/** The uid of a line: the file's prefix and the line's start in decompressed bytes. */
export function renderUid(prefix: string, offset: number): string {
  return `${prefix}-${offset.toString(36).padStart(OFFSET_DIGITS, '0')}`;
}

/** The uid of a line behind a damaged stretch of an archive, whose place in the file is not known: counted from the block. */
export function renderRecoveredUid(prefix: string, block: number, offset: number): string {
  return `${prefix}-b${block}-${offset.toString(36)}`;
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
  const digest = createHash('sha256').update(parts.join('\0')).digest();
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
