import { LineTable, unpackLines } from '../base/index.ts';

/**
 * Cache size in bytes. A sink that keeps up takes a batch right after it was written, a batch often takes several slices, and
 * sinks are often at the same position. Room for five batches of a long archive, so that a slow disk makes no sink unpack
 * them again.
 */
const KEPT_BYTES_MAX = 12 * 1024 * 1024;

/** The most recently written or unpacked batches of the spool. A batch above the limit is kept alone. */
export class UnpackedBatches {
  /** In order of use; the most recently used is last. */
  readonly #kept = new Map<number, LineTable>();
  #bytes = 0;

  /**
   * Returns the records of a batch; `undefined` if its body is damaged. `readBody` is called only if the batch is not
   * cached.
   */
  use(batch: number, records: number, readBody: () => Uint8Array | undefined): LineTable | undefined {
    const kept = this.#kept.get(batch);
    if (kept) {
      this.#kept.delete(batch);
      this.#kept.set(batch, kept);
      return kept;
    }
    const unpacked = unpack(readBody(), records);
    if (unpacked) this.#add(batch, unpacked);
    return unpacked;
  }

  /** Keeps the `records` of a batch: its lines, separated by line feeds. */
  keep(batch: number, records: number, lines: Buffer): void {
    this.#add(batch, new LineTable(lines, records));
  }

  #add(batch: number, unpacked: LineTable): void {
    this.#kept.set(batch, unpacked);
    this.#bytes += sizeOf(unpacked);
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX || oldest === batch) break;
      this.forget(oldest);
    }
  }

  forget(batch: number): void {
    const kept = this.#kept.get(batch);
    if (!kept) return;
    this.#bytes -= sizeOf(kept);
    this.#kept.delete(batch);
  }

  /** Drops batches that no sink will need again. */
  forgetBefore(batch: number): void {
    for (const kept of this.#kept.keys()) if (kept < batch) this.forget(kept);
  }
}

/** Bytes of memory, which may be more than those of the records. */
function sizeOf({ memory }: LineTable): number {
  return memory.buffer.byteLength;
}

function unpack(body: Uint8Array | undefined, records: number): LineTable | undefined {
  if (!body) return undefined;
  try {
    const lines = unpackLines(body);
    return lines.length === records ? lines : undefined;
  } catch {
    // Whatever the codec reports: these are not the bytes that were written.
    return undefined;
  }
}
