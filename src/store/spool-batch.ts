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

/** A position in the spool: everything before `index` of batch `batch` has been passed. */
export interface SpoolCursor {
  readonly batch: number;
  readonly index: number;
}

/** Tells whether one cursor stands before the other. */
export function isBefore(one: SpoolCursor, other: SpoolCursor): boolean {
  return one.batch < other.batch || (one.batch === other.batch && one.index < other.index);
}

/** Cache size in bytes. A batch often takes several slices, and sinks are often at the same position. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

interface Unpacked {
  readonly lines: readonly string[];
  readonly bytes: number;
}

/** The most recently unpacked batches of the spool. A batch above the limit is kept alone. */
export class UnpackedBatches {
  /** In order of use; the most recently used is last. */
  readonly #kept = new Map<number, Unpacked>();
  #bytes = 0;

  /**
   * Returns the records of a batch; `undefined` if its body is damaged. `readBody` is called only if the batch is not
   * cached.
   */
  take(batch: number, records: number, readBody: () => Uint8Array | undefined): readonly string[] | undefined {
    let unpacked = this.#kept.get(batch);
    if (!unpacked) {
      unpacked = unpack(readBody(), records);
      if (!unpacked) return undefined;
    }
    this.forget(batch);
    this.#kept.set(batch, unpacked);
    this.#bytes += unpacked.bytes;
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX || oldest === batch) break;
      this.forget(oldest);
    }
    return unpacked.lines;
  }

  forget(batch: number): void {
    this.#bytes -= this.#kept.get(batch)?.bytes ?? 0;
    this.#kept.delete(batch);
  }

  /** Drops batches that no sink will need again. */
  forgetBefore(batch: number): void {
    for (const kept of this.#kept.keys()) if (kept < batch) this.forget(kept);
  }
}

function unpack(body: Uint8Array | undefined, records: number): Unpacked | undefined {
  if (!body) return undefined;
  try {
    const lines = unpackLines(body);
    if (lines.length !== records) return undefined;
    return { lines, bytes: lines.reduce((sum, line) => sum + line.length, 0) };
  } catch {
    // Whatever the codec reports: these are not the bytes that were written.
    return undefined;
  }
}
