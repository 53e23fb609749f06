import { LineRanges } from '../base/index.ts';
import type { DeadLetter, Refusal } from './contracts.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Records to deliver: as lines as long as nobody looks at one of them. */
export type Outgoing = readonly OutgoingRecord[] | LineRanges;

/** Returns the records of the lines, which are looked at one by one from now on. */
export function toRecords(outgoing: Outgoing): readonly OutgoingRecord[] {
  return outgoing instanceof LineRanges ? outgoing.map((line) => new OutgoingRecord(line)) : outgoing;
}

/**
 * Records in flight: read for a sink and not settled yet, oldest first. When the sink permanently rejects a batch, the
 * attempt is halved until it isolates the rejected record; afterwards it grows again.
 */
export class InFlightBatch {
  #batchMax: number;
  #pending: Outgoing;
  #attemptMax: number;
  readonly #letters: DeadLetter[];

  /** `refused` are rejected without being sent; `batchMax` is the maximum number of records per attempt. */
  constructor(records: Outgoing, refused: readonly DeadLetter[], batchMax: number) {
    this.#pending = records;
    this.#letters = [...refused];
    this.#batchMax = batchMax;
    this.#attemptMax = batchMax;
  }

  /** Changes the maximum number of records per attempt. */
  limit(batchMax: number): void {
    this.#batchMax = batchMax;
    this.#attemptMax = Math.min(this.#attemptMax, batchMax);
  }

  /** True when every record is settled. */
  get isSettled(): boolean {
    return this.#pending.length === 0;
  }

  /** The records to send next, if they are all there were and nobody has looked at one of them. */
  get untouched(): LineRanges | undefined {
    return this.#pending instanceof LineRanges && this.#pending.length <= this.#attemptMax ? this.#pending : undefined;
  }

  /** The records to send next; empty when every record is settled. */
  get attempt(): readonly OutgoingRecord[] {
    const pending = toRecords(this.#pending);
    this.#pending = pending;
    return pending.length <= this.#attemptMax ? pending : pending.slice(0, this.#attemptMax);
  }

  /** Number of the records to send next. */
  get attemptLength(): number {
    return Math.min(this.#pending.length, this.#attemptMax);
  }

  /** Permanently rejected records, with the reasons. */
  get letters(): readonly DeadLetter[] {
    return this.#letters;
  }

  /** Settles the attempt except for the records at the indexes `again`, which stay in front. */
  settle(refused: readonly ({ readonly index: number } & Refusal)[], again: readonly number[]): void {
    let left: readonly OutgoingRecord[] = [];
    if (this.untouched && refused.length === 0 && again.length === 0) this.#pending = [];
    else {
      const { attempt } = this;
      for (const { index, ...refusal } of refused) this.#refuse(attempt[index], refusal);
      left = again.flatMap((index) => attempt[index] ?? []);
      this.#pending = [...left, ...toRecords(this.#pending).slice(attempt.length)];
    }
    if (left.length === 0) this.#attemptMax = Math.min(this.#batchMax, this.#attemptMax * 2);
  }

  /** Rejects the whole attempt. Returns `true` when it was halved, `false` when it was a single record, which is settled now. */
  refuse(refusal: Refusal): boolean {
    const { attemptLength } = this;
    if (attemptLength > 1) {
      this.#attemptMax = Math.ceil(attemptLength / 2);
      return true;
    }
    this.settle([{ index: 0, ...refusal }], []);
    return false;
  }

  #refuse(record: OutgoingRecord | undefined, refusal: Refusal): void {
    if (record) this.#letters.push({ uid: record.fields.uid, line: record.line, ...refusal });
  }
}
