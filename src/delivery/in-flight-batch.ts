import type { DeadLetter, Refusal } from './contracts.ts';
import type { OutgoingRecord } from './outgoing-record.ts';

/**
 * Records in flight: read for a sink and not settled yet, oldest first. When the sink permanently rejects a batch, the
 * attempt is halved until it isolates the rejected record; afterwards it grows again.
 */
export class InFlightBatch {
  readonly #batchMax: number;
  #pending: readonly OutgoingRecord[];
  #attemptMax: number;
  readonly #letters: DeadLetter[];

  /** `refused` are rejected without being sent; `batchMax` is the maximum number of records per attempt. */
  constructor(records: readonly OutgoingRecord[], refused: readonly DeadLetter[], batchMax: number) {
    this.#pending = records;
    this.#letters = [...refused];
    this.#batchMax = batchMax;
    this.#attemptMax = batchMax;
  }

  /** The records to send next; empty when every record is settled. */
  get attempt(): readonly OutgoingRecord[] {
    return this.#pending.length <= this.#attemptMax ? this.#pending : this.#pending.slice(0, this.#attemptMax);
  }

  /** Permanently rejected records, with the reasons. */
  get letters(): readonly DeadLetter[] {
    return this.#letters;
  }

  /** Settles the attempt except for the records at the indexes `again`, which stay in front. */
  settle(refused: readonly ({ readonly index: number } & Refusal)[], again: readonly number[]): void {
    const { attempt } = this;
    for (const { index, ...refusal } of refused) this.#refuse(attempt[index], refusal);
    const left = again.flatMap((index) => attempt[index] ?? []);
    this.#pending = [...left, ...this.#pending.slice(attempt.length)];
    if (left.length === 0) this.#attemptMax = Math.min(this.#batchMax, this.#attemptMax * 2);
  }

  /** Rejects the whole attempt. Returns `true` when it was halved, `false` when it was a single record, which is settled now. */
  refuse(refusal: Refusal): boolean {
    const { attempt } = this;
    if (attempt.length > 1) {
      this.#attemptMax = Math.ceil(attempt.length / 2);
      return true;
    }
    this.settle([{ index: 0, ...refusal }], []);
    return false;
  }

  #refuse(record: OutgoingRecord | undefined, refusal: Refusal): void {
    if (record) this.#letters.push({ uid: record.fields.uid, line: record.line, ...refusal });
  }
}
