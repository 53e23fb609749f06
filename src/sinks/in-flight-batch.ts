import { LineRanges } from '../base/index.ts';
import type { Completion } from '../model/index.ts';
import type {
  DeadLetter,
  DeliveryError,
  DeliveryReport,
  DeliveryWorkerOptions,
  Refusal,
  StepOutcome,
} from './contracts.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Records to deliver: as lines while their fields are not needed. */
export type Outgoing = readonly OutgoingRecord[] | LineRanges;

export type Outcome = DeliveryReport | DeliveryError;

export function toRecords(outgoing: Outgoing): readonly OutgoingRecord[] {
  return outgoing instanceof LineRanges ? outgoing.map((line) => new OutgoingRecord(line)) : outgoing;
}

/** Returns how many of `sent` records the sink has not rejected permanently. */
export function countLeft({ refused = [], refusedUnnamed }: DeliveryReport, sent: number): number {
  return sent - refused.length - (refusedUnnamed?.records ?? 0);
}

interface Load {
  /** `dead-letters`: dead letters to retry; `repeats`: records that the sink may have lost. */
  readonly kind: 'new' | 'repeats' | 'dead-letters';
  readonly records: Outgoing;
  readonly refused: readonly DeadLetter[];
  readonly settle: (refused: readonly DeadLetter[]) => Completion;
}

/**
 * The first policy: bisect what was rejected. Records read for a sink and not settled yet. When the sink permanently rejects
 * a batch, the attempt is halved until it isolates the rejected record; afterwards it grows again.
 */
export class InFlightBatch {
  readonly kind: Load['kind'];
  /** Number of records to send; the others are certain to be rejected. */
  readonly sendable: number;
  /** Reason for rejections without identified records. */
  unnamedReason: string | undefined;
  /** True when the sink has accepted one of them. */
  hasTaken = false;
  readonly #deadLetters: DeadLetter[];
  readonly #settle: Load['settle'];
  #pending: Outgoing;
  #batchMax: number;
  #attemptMax: number;

  /** `batchMax`: maximum number of records per attempt. */
  constructor({ kind, records, refused, settle }: Load, batchMax: number) {
    this.kind = kind;
    this.sendable = records.length;
    this.#pending = records;
    this.#deadLetters = [...refused];
    this.#settle = settle;
    this.#batchMax = batchMax;
    this.#attemptMax = batchMax;
  }

  limit(batchMax: number): void {
    this.#batchMax = batchMax;
    this.#attemptMax = Math.min(this.#attemptMax, batchMax);
  }

  get isSettled(): boolean {
    return this.#pending.length === 0;
  }

  /** The records to send next as lines, if they are complete and not converted to records yet. */
  get untouched(): LineRanges | undefined {
    return this.#pending instanceof LineRanges && this.#pending.length <= this.#attemptMax ? this.#pending : undefined;
  }

  /** The records to send next; empty when every record is settled. */
  get attempt(): readonly OutgoingRecord[] {
    const pending = toRecords(this.#pending);
    this.#pending = pending;
    return pending.length <= this.#attemptMax ? pending : pending.slice(0, this.#attemptMax);
  }

  get attemptLength(): number {
    return Math.min(this.#pending.length, this.#attemptMax);
  }

  /** Permanently rejected records, with the reasons. */
  get deadLetters(): readonly DeadLetter[] {
    return this.#deadLetters;
  }

  /** Settles the attempt, except for the records to send again, which stay in front. Returns how many the sink accepted. */
  take(report: DeliveryReport): number {
    const { refused = [], refusedUnnamed, retry } = report;
    const again = retry?.indexes ?? [];
    const accepted = countLeft(report, this.attemptLength) - again.length;
    this.unnamedReason = refusedUnnamed?.reason;
    this.hasTaken ||= accepted > 0;
    if (this.untouched && refused.length === 0 && again.length === 0) this.#pending = [];
    else {
      const { attempt } = this;
      for (const { index, ...refusal } of refused) this.#refuse(attempt[index], refusal);
      const left = again.flatMap((index) => attempt[index] ?? []);
      this.#pending = [...left, ...toRecords(this.#pending).slice(attempt.length)];
    }
    if (again.length === 0) this.#attemptMax = Math.min(this.#batchMax, this.#attemptMax * 2);
    return accepted;
  }

  /** Rejects the whole attempt. Returns true when it was halved, false when it was a single record, which is settled now. */
  refuse(refusal: Refusal): boolean {
    const { attemptLength } = this;
    if (attemptLength > 1) this.#attemptMax = Math.ceil(attemptLength / 2);
    else this.take({ refused: [{ index: 0, ...refusal }] });
    return attemptLength > 1;
  }

  /** Stores the result of the batch, once all its records are settled. */
  async store(): Promise<void> {
    await this.#settle(this.#deadLetters);
  }

  #refuse(record: OutgoingRecord | undefined, refusal: Refusal): void {
    if (record) this.#deadLetters.push({ uid: record.fields.uid, line: record.line, ...refusal });
  }
}

interface ReadOptions {
  readonly isLast: boolean;
  readonly isNewFirst: boolean;
  readonly attemptMax: number;
}

/** Reads dead letters to retry, otherwise records of the spool. Resolves to an outcome when there is nothing to send. */
export async function readBatch<Cursor>(
  worker: DeliveryWorkerOptions<Cursor>,
  { isLast, isNewFirst, attemptMax }: ReadOptions,
): Promise<InFlightBatch | StepOutcome> {
  const first = isNewFirst ? readSlice(worker, isLast) : 'idle';
  const load = isLoad(first) ? first : ((await readReplayed(worker)) ?? readSlice(worker, isLast));
  return isLoad(load) ? new InFlightBatch(refuseUnsent(worker, load), attemptMax) : load;
}

function isLoad(read: Load | StepOutcome): read is Load {
  return typeof read === 'object' && 'kind' in read;
}

async function readReplayed<Cursor>(worker: DeliveryWorkerOptions<Cursor>): Promise<Load | undefined> {
  const { sink } = worker;
  const deadLetters = await worker.deadLetters.readReplayed(sink.name, sink.batch);
  if (deadLetters.length === 0) return undefined;
  const settle = async (refused: readonly DeadLetter[]) => {
    const stay = new Set(refused.map(({ uid }) => uid));
    const taken = deadLetters.filter(({ uid }) => !stay.has(uid)).map(({ id }) => id);
    await worker.deadLetters.add(sink.name, refused, taken);
  };
  return {
    kind: 'dead-letters',
    records: deadLetters.map(({ line }) => new OutgoingRecord(line)),
    refused: [],
    settle,
  };
}

/** Reads records of the spool, or returns the wait until the batch must be sent. */
function readSlice<Cursor>(worker: DeliveryWorkerOptions<Cursor>, isLast: boolean): Load | StepOutcome {
  const { sink, spool, deadLetters, clock, isWanted, isSelected, report } = worker;
  const { recordsMax, bytesMax, waitMs } = sink.batch;
  const slice = spool.readSlice(sink.name, { recordsMax, bytesMax, isWanted });
  if (!slice) return 'idle';
  const { isRepeat, lines } = slice;
  if (!slice.isFull && !isRepeat && !isLast && lines.length > 0) {
    const ageMs = clock.now() - slice.oldestMs;
    // A wall clock that was set back must not delay records beyond `waitMs`.
    if (ageMs >= 0 && ageMs < waitMs) return { waitMs: waitMs - ageMs };
  }
  const records = isSelected ? toRecords(lines).filter(({ fields }) => isSelected(fields)) : lines;
  const settle = async (refused: readonly DeadLetter[]) => {
    // In this order: a crash in between repeats the rejection; the reverse order would lose the record.
    if (refused.length > 0 && !isRepeat) await deadLetters.add(sink.name, refused);
    await spool.acknowledge(sink.name, slice.next);
    const skipped = slice.skipped + lines.length - records.length;
    if (skipped > 0 && !isRepeat) report({ type: 'records-skipped', records: skipped });
  };
  return { kind: isRepeat ? 'repeats' : 'new', records, refused: [], settle };
}

/** Rejects the records that the sink is certain to reject. */
function refuseUnsent<Cursor>({ sink, clock }: DeliveryWorkerOptions<Cursor>, load: Load): Load {
  if (!sink.findRefusal) return load;
  const nowMs = clock.now();
  const refused: DeadLetter[] = [];
  const records = toRecords(load.records).filter((record) => {
    const refusal = sink.findRefusal?.(record, nowMs);
    if (refusal) refused.push({ uid: record.fields.uid, line: record.line, ...refusal });
    return !refusal;
  });
  return { ...load, records, refused };
}
