import type { ReceivedBatch } from './cluster-world.ts';

/** A process that was stopped goes on. */
export interface GoesOn {
  readonly atMs: number;
  readonly replica: string;
}

/** What a sink got more than once. */
export interface SinkRepeats {
  readonly records: number;
  /** Requests with such records. */
  readonly batches: number;
  /** Those of them that no batch without an acknowledgement explains. */
  readonly unexplained: readonly string[];
}

/**
 * Looks for records that came more than once. A batch explains those with its records that come later, as long as its sender has sent
 * nothing new: new records show that the cursor has moved. And whoever was stopped with a batch in hand may still send that one.
 */
export function findRepeats(batches: readonly ReceivedBatch[], goesOn: readonly GoesOn[]): SinkRepeats {
  const lastOf = new Map<string, number>();
  const unexplained: string[] = [];
  /** Senders of batches with records that nobody had sent before; empty for others. */
  const newFrom: string[] = [];
  let [records, repeated] = [0, 0];
  for (const [at, batch] of batches.entries()) {
    const before = new Set<number>();
    for (const { uid } of batch.records) {
      const last = lastOf.get(uid);
      if (last !== undefined) {
        before.add(last);
        records++;
      } else newFrom[at] = batch.replica;
      lastOf.set(uid, at);
    }
    newFrom[at] ??= '';
    if (before.size === 0) continue;
    repeated++;
    const isFirst = goesOn.some(({ atMs, replica }) => {
      const next = batches.findIndex((one) => one.replica === replica && one.atMs >= atMs);
      return next === at;
    });
    for (const index of before) {
      const sender = batches[index]?.replica;
      const isLast = index < at && sender !== undefined && !newFrom.slice(index + 1, at).includes(sender);
      if (!isLast && !isFirst) unexplained.push(`${toText(batches, at)} repeats ${toText(batches, index)}`);
    }
  }
  return { records, batches: repeated, unexplained };
}

function toText(batches: readonly ReceivedBatch[], index: number): string {
  const { replica = '', atMs = 0, records = [] } = batches[index] ?? {};
  return `batch ${index} of ${replica} with ${records.length} records at ${atMs.toFixed(0)}`;
}
