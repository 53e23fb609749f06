import { unpackLines } from './spool-batch.ts';

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
