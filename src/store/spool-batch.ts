import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/**
 * The fastest level already shrinks JSON lines about eightfold; higher levels cost more time than the space is worth.
 */
const ZSTD_LEVEL = 1;
/** Limits the decompressed size of a batch: this program writes the batches, but the disk may damage them. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024;

/** Packs records into one body. A record contains no line feed, because JSON escapes it. */
export function packLines(lines: Iterable<string> & { readonly bytes?: Uint8Array | undefined }): Uint8Array {
  return zstdCompressSync(lines.bytes ?? [...lines].join('\n'), {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  });
}

/** Returns the records of a body made by {@link packLines}. Throws the codec's error if the checksum is wrong. */
export function unpackLines(body: Uint8Array): string[] {
  return zstdDecompressSync(body, { maxOutputLength: BATCH_BYTES_MAX }).toString('utf8').split('\n');
}
