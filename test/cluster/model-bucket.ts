import type { BucketEntry, ClusterView } from '../../src/cluster/view.ts';

/** A bucket as the engine keeps it, with watchers that a test serves when it likes. */
export class ModelBucket {
  readonly #entries: BucketEntry[] = [];
  readonly #last = new Map<string, number>();

  /** Writes a key. Returns its sequence; `undefined` if the last one is not `expected`. */
  put(key: string, value: string | Uint8Array | undefined, expected?: number, isExpired = false): number | undefined {
    if (expected !== undefined && (this.#last.get(key) ?? 0) !== expected) return undefined;
    const seq = this.#entries.length + 1;
    this.#last.set(key, seq);
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    this.#entries.push({ key, seq, value: bytes, isExpired, storedMs: seq * 1000 });
    return seq;
  }

  /** Lets a view see everything up to a sequence. Returns that sequence. */
  show(view: ClusterView, from: number, to = this.#entries.length): number {
    for (const entry of this.#entries.slice(from, to)) view.apply(entry);
    return to;
  }

  get length(): number {
    return this.#entries.length;
  }
}
