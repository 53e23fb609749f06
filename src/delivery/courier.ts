import { type Clock, openDeadline, renderDuration, renderErrorChain } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';
import { Consignment } from './consignment.ts';
import type { DeadLetter, DeadLetterBox, DeliveryReport, Sink, Spool } from './contracts.ts';
import { DeliveryError } from './errors.ts';
import { OutgoingRecord } from './outgoing-record.ts';

export interface CourierOptions<Cursor> {
  readonly sink: Sink;
  readonly spool: Spool<Cursor>;
  readonly deadLetters: DeadLetterBox;
  readonly clock: Clock;
  /** Whether the sink gets a log at all. */
  readonly isWanted: (router: string, component: string) => boolean;
  /** Whether it gets a record of a log that it wants; absent: every one. Costs the parsing of each record. */
  readonly isSelected?: ((record: LogRecord) => boolean) | undefined;
  readonly report: (event: DeliveryEvent) => void;
}

/** What a step of delivery did. */
export type DeliveryEvent =
  /** The sink has these now; `duplicates` of them it had before. `bytes`: of the request, as far as they are known. */
  | {
      readonly type: 'records-delivered';
      readonly records: number;
      readonly duplicates: number;
      readonly bytes: number;
    }
  /** These are dead letters now; `reason` is that of the first. `isAnswered`: the sink itself has refused one of them. */
  | {
      readonly type: 'records-refused';
      readonly records: number;
      readonly reason: string;
      readonly isAnswered: boolean;
    }
  /** The sink refused so many of a batch and did not say which: they are lost to it. */
  | { readonly type: 'records-rejected'; readonly records: number; readonly reason: string }
  /** Not meant for this sink. */
  | { readonly type: 'records-skipped'; readonly records: number }
  /** A batch was refused for good as it is; it goes on in halves. */
  | { readonly type: 'batch-split'; readonly records: number; readonly reason: string }
  | { readonly type: 'sink-warned'; readonly message: string };

/** What to do next: step again, wait for records, or step again after a while so that a batch can fill. */
export type StepOutcome = 'more' | 'idle' | { readonly waitMs: number };

export interface StepOptions {
  /** Whether a batch need not be waited for, because this is the end. */
  readonly isLast?: boolean | undefined;
}

/** Records under way, and what to do when each is settled. */
interface Load {
  readonly consignment: Consignment;
  readonly settle: (refused: readonly DeadLetter[]) => void;
}

/**
 * Carries records from the spool to one sink, one attempt per step, in order.
 *
 * ```
 *   empty ── read a slice ──▶ loaded ── all settled: dead letters stored, cursor moved ──▶ empty
 *                              │  ▲
 *              attempt ────────┘  └── taken, or refused alone: next attempt
 *                                 └── refused as a whole: half of it
 *                                 └── failed: the same again (the caller waits)
 * ```
 *
 * A crash after the sink took records and before the cursor moved repeats them, with the same uids; dead letters are
 * stored before the cursor moves, so that no record is ever in neither place.
 */
export class Courier<Cursor> {
  readonly #options: CourierOptions<Cursor>;
  #load: Load | undefined;

  constructor(options: CourierOptions<Cursor>) {
    this.#options = options;
  }

  /** Makes one attempt. Throws what stood in the way; then the same records are tried at the next step. */
  async step(signal: AbortSignal, { isLast = false }: StepOptions = {}): Promise<StepOutcome> {
    if (!this.#load) {
      const outcome = this.#readReplayed() ?? this.#readSlice(isLast);
      if (outcome !== 'loaded') return outcome;
    }
    const load = this.#load;
    if (!load) return 'more';
    const { consignment } = load;
    if (consignment.attempt.length > 0) await this.#attempt(consignment, signal);
    if (consignment.attempt.length > 0) return 'more';
    load.settle(consignment.letters);
    this.#load = undefined;
    const { letters } = consignment;
    const [first] = letters;
    if (first) {
      const isAnswered = letters.some(({ code }) => code !== undefined);
      this.#options.report({ type: 'records-refused', records: letters.length, reason: first.reason, isAnswered });
    }
    return 'more';
  }

  /** Dead letters that an operator wants to be tried again go before what is new. */
  #readReplayed(): 'loaded' | undefined {
    const { sink, deadLetters } = this.#options;
    const letters = deadLetters.readReplayed(sink.name, sink.batch);
    if (letters.length === 0) return undefined;
    const records = letters.map(({ line }) => new OutgoingRecord(line));
    this.#open(records, (refused) => {
      deadLetters.add(sink.name, refused);
      const stay = new Set(refused.map(({ uid }) => uid));
      deadLetters.remove(letters.filter(({ uid }) => !stay.has(uid)).map(({ id }) => id));
    });
    return 'loaded';
  }

  #readSlice(isLast: boolean): StepOutcome | 'loaded' {
    const { sink, spool, deadLetters, clock, isWanted, isSelected, report } = this.#options;
    const { recordsMax, bytesMax, waitMs } = sink.batch;
    const slice = spool.readSlice(sink.name, { recordsMax, bytesMax, isWanted });
    if (!slice) return 'idle';
    if (!slice.isFull && !isLast && slice.lines.length > 0) {
      const ageMs = clock.now() - slice.oldestMs;
      // A wall clock that was set back must not hold records for longer than they may wait.
      if (ageMs >= 0 && ageMs < waitMs) return { waitMs: waitMs - ageMs };
    }
    const all = slice.lines.map((line) => new OutgoingRecord(line));
    const records = isSelected ? all.filter(({ fields }) => isSelected(fields)) : all;
    this.#open(records, (refused) => {
      // In this order: a crash in between repeats the refusal, the other order would lose the record.
      if (refused.length > 0) deadLetters.add(sink.name, refused);
      spool.acknowledge(sink.name, slice.next);
      const skipped = slice.skipped + all.length - records.length;
      if (skipped > 0) report({ type: 'records-skipped', records: skipped });
    });
    return 'loaded';
  }

  #open(records: readonly OutgoingRecord[], settle: Load['settle']): void {
    const { sink, clock } = this.#options;
    const nowMs = clock.now();
    const refused: DeadLetter[] = [];
    const sendable = records.filter((record) => {
      const refusal = sink.findRefusal?.(record, nowMs);
      if (refusal) refused.push({ uid: record.fields.uid, line: record.line, ...refusal });
      return !refusal;
    });
    this.#load = { consignment: new Consignment(sendable, refused, sink.batch.recordsMax), settle };
  }

  async #attempt(consignment: Consignment, signal: AbortSignal): Promise<void> {
    const { report } = this.#options;
    const { attempt } = consignment;
    const outcome = await this.#deliver(attempt, signal);
    if (outcome instanceof DeliveryError) {
      const refusal = { reason: renderErrorChain(outcome), code: outcome.answer };
      const isSplit = consignment.refuse(refusal);
      if (isSplit) report({ type: 'batch-split', records: attempt.length, reason: refusal.reason });
      return;
    }
    const { refused = [], refusedUnnamed, retry, duplicates = 0, bytes = 0, warning } = outcome;
    const again = retry?.indexes ?? [];
    const lost = refusedUnnamed?.records ?? 0;
    const records = attempt.length - refused.length - again.length - lost;
    consignment.settle(refused, again);
    if (records > 0) report({ type: 'records-delivered', records, duplicates, bytes });
    if (refusedUnnamed) report({ type: 'records-rejected', ...refusedUnnamed });
    if (warning !== undefined) report({ type: 'sink-warned', message: warning });
    // Asked for at once, it is no failure: the sink has merely run out of its time.
    if (retry && retry.retryAfterMs !== 0) {
      throw new DeliveryError(
        'throttled',
        `Sink ${this.#options.sink.name} did not take ${again.length} records yet: ${retry.reason}`,
        {
          disposition: 'retry',
          retryAfterMs: retry.retryAfterMs,
        },
      );
    }
  }

  /** A refusal for good comes back as a value: it is no reason to wait. */
  async #deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport | DeliveryError> {
    const { sink, clock } = this.#options;
    const { timeoutMs } = sink;
    using deadline = timeoutMs === undefined ? undefined : openDeadline(clock, timeoutMs, signal);
    try {
      return await sink.deliver(records, deadline?.signal ?? signal);
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (deadline?.signal.aborted) {
        const limit = renderDuration(timeoutMs ?? 0);
        throw new DeliveryError('timeout', `Sink ${sink.name} did not answer within ${limit}`, {
          disposition: 'retry',
        });
      }
      if (cause instanceof DeliveryError && cause.disposition === 'dead-letter') return cause;
      throw cause;
    }
  }
}
