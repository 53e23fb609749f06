import { LineTable, unpackLines } from '../base/index.ts';
import type { GivenBytes } from '../model/index.ts';

/**
 * Cache size in bytes. A sink that keeps up takes a batch right after it was written, a batch often takes several slices, and
 * sinks are often at the same position. Room for five batches of a long archive, so that a slow disk makes no sink unpack
 * them again.
 */
const KEPT_BYTES_MAX = 12 * 1024 * 1024;

/** A batch in memory. */
export class UnpackedBatch {
  #lines: LineTable | undefined;
  readonly #size: number;
  #onFree: (() => void) | undefined;
  /** The cache, and all who have not released it yet. */
  #users = 1;

  /** `free`: called when nobody looks at the lines any more. */
  constructor(lines: LineTable, free?: () => void) {
    this.#lines = lines;
    this.#size = lines.memory.buffer.byteLength;
    this.#onFree = free;
  }

  /** The records. Not to be looked at after {@link release}; `undefined` then. */
  get lines(): LineTable | undefined {
    return this.#lines;
  }

  /** Bytes of memory, which may be more than those of the records. */
  get size(): number {
    return this.#size;
  }

  /** Somebody more looks at the records. */
  retain(): this {
    this.#users++;
    return this;
  }

  /** One of those does not look at them any more; after the last one the memory is used for other records. */
  release(): void {
    if (--this.#users > 0) return;
    this.#lines = undefined;
    this.#onFree?.();
    this.#onFree = undefined;
  }
}

/** The most recently written or unpacked batches of the spool. A batch above the limit is kept alone. */
export class UnpackedBatches {
  /** In order of use; the most recently used is last. */
  readonly #kept = new Map<number, UnpackedBatch>();
  #bytes = 0;

  /**
   * Returns a batch, to be released; `undefined` if its body is damaged. `readBody` is called only if the batch is not
   * cached.
   */
  use(batch: number, records: number, readBody: () => Uint8Array | undefined): UnpackedBatch | undefined {
    const kept = this.#kept.get(batch);
    if (kept) {
      this.#kept.delete(batch);
      this.#kept.set(batch, kept);
      return kept.retain();
    }
    const unpacked = unpack(readBody(), records);
    if (!unpacked) return undefined;
    this.#add(batch, unpacked);
    return unpacked.retain();
  }

  /** Keeps the `records` of a batch: its lines, separated by line feeds. */
  keep(batch: number, records: number, { bytes, free }: GivenBytes): void {
    this.#add(batch, new UnpackedBatch(new LineTable(bytes, records), free));
  }

  #add(batch: number, unpacked: UnpackedBatch): void {
    this.#kept.set(batch, unpacked);
    this.#bytes += unpacked.size;
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX || oldest === batch) break;
      this.forget(oldest);
    }
  }

  forget(batch: number): void {
    const kept = this.#kept.get(batch);
    if (!kept) return;
    this.#bytes -= kept.size;
    this.#kept.delete(batch);
    kept.release();
  }

  /** Drops batches that no sink will need again. */
  forgetBefore(batch: number): void {
    for (const kept of this.#kept.keys()) if (kept < batch) this.forget(kept);
  }
}

function unpack(body: Uint8Array | undefined, records: number): UnpackedBatch | undefined {
  if (!body) return undefined;
  try {
    const lines = unpackLines(body);
    return lines.length === records ? new UnpackedBatch(lines) : undefined;
  } catch {
    // Whatever the codec reports: these are not the bytes that were written.
    return undefined;
  }
}
