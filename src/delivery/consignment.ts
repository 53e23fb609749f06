import type { DeadLetter, Refusal } from './contracts.ts';
import type { OutgoingRecord } from './outgoing-record.ts';

/**
 * Records that were read for a sink and are not settled yet, oldest first. What is tried at once is halved when the sink
 * refuses a batch for good, so that the record that it means stands alone in the end; after that it grows again.
 */
export class Consignment {
  readonly #batchMax: number;
  #pending: readonly OutgoingRecord[];
  #attemptMax: number;
  readonly #letters: DeadLetter[];

  /** `refused` were not even sent; `batchMax`: most records that are tried at once. */
  constructor(records: readonly OutgoingRecord[], refused: readonly DeadLetter[], batchMax: number) {
    this.#pending = records;
    this.#letters = [...refused];
    this.#batchMax = batchMax;
    this.#attemptMax = batchMax;
  }

  /** What is to be tried next; empty when every record is settled. */
  get attempt(): readonly OutgoingRecord[] {
    return this.#pending.length <= this.#attemptMax ? this.#pending : this.#pending.slice(0, this.#attemptMax);
  }

  /** Records that were refused for good, with the reasons. */
  get letters(): readonly DeadLetter[] {
    return this.#letters;
  }

  /** The attempt is settled but for the records at `indexes`, which stay in front. */
  settle(refused: readonly ({ readonly index: number } & Refusal)[], again: readonly number[]): void {
    const { attempt } = this;
    for (const { index, ...refusal } of refused) this.#refuse(attempt[index], refusal);
    const left = again.flatMap((index) => attempt[index] ?? []);
    this.#pending = [...left, ...this.#pending.slice(attempt.length)];
    if (left.length === 0) this.#attemptMax = Math.min(this.#batchMax, this.#attemptMax * 2);
  }

  /** The attempt was refused as a whole. `true` when it is smaller now, `false` when it was one record, which is settled. */
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
