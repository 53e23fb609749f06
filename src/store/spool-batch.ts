import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** The fastest level already shrinks JSON lines about eightfold; higher ones cost more time than they save space. */
const ZSTD_LEVEL = 1;
/** A batch is made by this program, but its bytes come from a disk; this bounds what a damaged one can expand to. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024;

/** Packs records to one body; a record holds no line feed, because JSON escapes it. */
export function packLines(lines: Iterable<string> & { readonly bytes?: Uint8Array | undefined }): Uint8Array {
  return zstdCompressSync(lines.bytes ?? [...lines].join('\n'), {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  });
}

/** The records of a body made by {@link packLines}. Throws whatever the codec throws when the checksum is wrong. */
export function unpackLines(body: Uint8Array): string[] {
  return zstdDecompressSync(body, { maxOutputLength: BATCH_BYTES_MAX }).toString('utf8').split('\n');
}
