/** Polynomial of the CRC-32 that bzip2 uses, most significant bit first. */
const POLYNOMIAL = 0x04c11db7;
/** Bytes per round of the sliced sum. */
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

/** The sum before any byte. */
export const CRC_START = -1;

/** The sum after `bytes[from]` to `bytes[to - 1]`, from the sum before them. The finished CRC is {@link finishCrc} of it. */
export function updateCrc(sum: number, bytes: Uint8Array, from: number, to: number): number {
  const tables = TABLES;
  let crc = sum;
  let at = from;
  for (; at + SLICES <= to; at += SLICES) {
    crc =
      (tables[1792 + ((crc >>> 24) ^ (bytes[at] as number))] as number) ^
      (tables[1536 + (((crc >>> 16) & 0xff) ^ (bytes[at + 1] as number))] as number) ^
      (tables[1280 + (((crc >>> 8) & 0xff) ^ (bytes[at + 2] as number))] as number) ^
      (tables[1024 + ((crc & 0xff) ^ (bytes[at + 3] as number))] as number) ^
      (tables[768 + (bytes[at + 4] as number)] as number) ^
      (tables[512 + (bytes[at + 5] as number)] as number) ^
      (tables[256 + (bytes[at + 6] as number)] as number) ^
      (tables[bytes[at + 7] as number] as number);
  }
  for (; at < to; at++) crc = (crc << 8) ^ (tables[(crc >>> 24) ^ (bytes[at] as number)] as number);
  return crc;
}

/** The CRC as it stands in the archive, unsigned. */
export function finishCrc(sum: number): number {
  return ~sum >>> 0;
}
