import { unpackLines } from './spool-batch.ts';

/** A few batches are kept unpacked, because a batch often takes several slices, and sinks stand side by side. Bytes. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

interface Unpacked {
  readonly lines: readonly string[];
  readonly bytes: number;
}

/** Batches of the spool that were unpacked last. A batch above the bound is kept alone. */
export class UnpackedBatches {
  /** The one that was asked for last stands at the end. */
  readonly #kept = new Map<number, Unpacked>();
  #bytes = 0;

  /** The records of a batch; `undefined` when its body is damaged. `readBody` is asked only when it is not kept. */
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

  /** Forgets what no sink asks for again. */
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
    // Whatever the codec says: these are not the bytes that were written.
    return undefined;
  }
}
