import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type ByteLine, cutLines } from './byte-line.ts';

/**
 * The fastest level already shrinks JSON lines about eightfold; higher levels cost more time than the space is worth.
 */
const ZSTD_LEVEL = 1;
/** Limits the decompressed size of a batch: this program writes the batches, but the disk may damage them. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024;

/** Lines without line feeds, with the forms in which they exist already. */
export interface PackableLines extends Iterable<string> {
  /** All lines in UTF-8, separated by line feeds. */
  readonly bytes?: Uint8Array | undefined;
  /** All lines as {@link packLines} packs them. */
  readonly packed?: Uint8Array | undefined;
}

/** Packs lines into one body. */
export function packLines(lines: PackableLines): Uint8Array {
  return lines.packed ?? packBytes(lines.bytes ?? [...lines].join('\n'));
}

/** Packs lines that are separated by line feeds. */
export function packBytes(bytes: Uint8Array | string): Uint8Array {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  });
}

/** Returns the lines of a body made by {@link packLines}. Throws the codec's error if the checksum is wrong. */
export function unpackLines(body: Uint8Array): ByteLine[] {
  return cutLines(zstdDecompressSync(body, { maxOutputLength: BATCH_BYTES_MAX }));
}
