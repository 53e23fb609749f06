const UNDERSCORE = 0x5f;

/**
 * Whether a letter of UTF-8 was broken by the log daemon, which writes `_` for the bytes 0x80 to 0x9F: a lead byte that
 * is followed by `_` where a byte of its letter should be.
 */
export function isScrambled(bytes: Uint8Array): boolean {
  for (let index = bytes.indexOf(UNDERSCORE); index >= 0; index = bytes.indexOf(UNDERSCORE, index + 1)) {
    for (let back = 1; back <= 3; back++) {
      const byte = bytes[index - back] ?? 0;
      if (lengthOfLetter(byte) > back) return true;
      if (!isContinuation(byte) && byte !== UNDERSCORE) break;
    }
  }
  return false;
}

/** Bytes of the letter that begins with this one; 0 for a byte that begins none. */
function lengthOfLetter(byte: number): number {
  if (byte >= 0xc2 && byte <= 0xdf) return 2;
  if (byte >= 0xe0 && byte <= 0xef) return 3;
  return byte >= 0xf0 && byte <= 0xf4 ? 4 : 0;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}
