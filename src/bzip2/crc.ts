/** Polynomial of the CRC-32 that bzip2 uses, most significant bit first. */
const POLYNOMIAL = 0x04c11db7;
/** Bytes per round of the sliced computation. */
const SLICES = 8;

/** Eight tables in one: entry `slice * 256 + byte` is what `byte` adds to the sum when `slice` more bytes follow in the round. */
const TABLES = createTables();

function createTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ POLYNOMIAL : sum << 1;
    tables[byte] = sum;
  }
  for (let index = 256; index < tables.length; index++) {
    const shorter = tables[index - 256] as number;
    tables[index] = (shorter << 8) ^ (tables[shorter >>> 24] as number);
  }
  return tables;
}

/** CRC state before any byte. */
export const CRC_START = -1;

/** Updates the CRC state with `bytes[from]` to `bytes[to - 1]`. Pass the final state to {@link finishCrc}. */
export function updateCrc(sum: number, bytes: Uint8Array, from: number, to: number): number {
  const tables = TABLES;
  let crc = sum;
  let at = from;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (; at + SLICES <= to; at += SLICES) {
    const high = crc ^ view.getInt32(at);
    const low = view.getInt32(at + 4);
    crc =
      (tables[1792 + (high >>> 24)] as number) ^
      (tables[1536 + ((high >>> 16) & 0xff)] as number) ^
      (tables[1280 + ((high >>> 8) & 0xff)] as number) ^
      (tables[1024 + (high & 0xff)] as number) ^
      (tables[768 + (low >>> 24)] as number) ^
      (tables[512 + ((low >>> 16) & 0xff)] as number) ^
      (tables[256 + ((low >>> 8) & 0xff)] as number) ^
      (tables[low & 0xff] as number);
  }
  for (; at < to; at++) crc = (crc << 8) ^ (tables[(crc >>> 24) ^ (bytes[at] as number)] as number);
  return crc;
}

/** Returns the CRC as stored in the archive, unsigned. */
export function finishCrc(sum: number): number {
  return ~sum >>> 0;
}
