import { type Clock, LineRanges, openDeadline, renderDuration } from '../base/index.ts';
import { DeliveryError, type Sink } from './contracts.ts';
import { type InFlightBatch, type Outcome, type Outgoing, toRecords } from './in-flight-batch.ts';

/**
 * Consecutive attempts without an answer after which less is sent at once: a slow line may never carry the batch in time, and
 * some receivers close the connection instead of rejecting a batch that is too large. The first attempts have the same bytes,
 * which some receivers recognise.
 */
const UNANSWERED_MAX = 3;
/** Answers in time after which the size that was too large is tried again. */
const ANSWERS_MAX = 100;
/** Consecutive unreadable answers after which the message says that the receiver may have the records. */
const UNREAD_MAX = 3;

/** Delivery attempts to one sink, each within its time limit. */
export class Attempts {
  readonly #sink: Sink;
  readonly #clock: Clock;
  readonly #size: AttemptSize;
  /** Unreadable answers since the last readable one. */
  #unread = 0;

  constructor({ sink, clock }: { readonly sink: Sink; readonly clock: Clock }) {
    this.#sink = sink;
    this.#clock = clock;
    this.#size = new AttemptSize(sink.batch.recordsMax, sink.timeoutMs);
  }

  get recordsMax(): number {
    return this.#size.max;
  }

  /**
   * Delivers records of a batch, or a probe record next to it. Returns a permanent, or possibly permanent, rejection as a
   * value.
   */
  async deliver(batch: InFlightBatch, records: Outgoing, signal: AbortSignal): Promise<Outcome> {
    signal.throwIfAborted();
    const { name, timeoutMs } = this.#sink;
    const startMs = this.#clock.monotonic();
    using deadline = timeoutMs === undefined ? undefined : openDeadline(this.#clock, timeoutMs, signal);
    try {
      const report = await this.#send(batch, records, deadline?.signal ?? signal);
      this.#onAnswer(records, startMs);
      return report;
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (deadline?.signal.aborted) {
        this.#size.onNoAnswer(records.length, false);
        const message = `Sink ${name} did not answer within ${renderDuration(timeoutMs ?? 0)}`;
        throw new DeliveryError('timeout', message, { disposition: 'retry' });
      }
      if (!(cause instanceof DeliveryError)) throw cause;
      if (cause.isCutOff) {
        this.#size.onNoAnswer(records.length, true);
        if (records.length === 1) return cause;
      }
      if (cause.disposition === 'dead-letter' || cause.mayBeOfRecords) {
        // A rejected record counts as answered: halving to single records for ever would take away the other records needed
        // to judge it.
        this.#onAnswer(records, startMs);
        return cause;
      }
      if (cause.code !== 'protocol_error' || ++this.#unread < UNREAD_MAX) throw cause;
      const them = `the receiver, which may have these ${records.length} records several times`;
      throw cause.reworded(`Sink ${name} cannot read the answers of ${them}`);
    } finally {
      batch.limit(this.#size.max);
    }
  }

  async #send({ kind }: InFlightBatch, records: Outgoing, signal: AbortSignal): Promise<Outcome> {
    const { deliverLines } = this.#sink;
    return records instanceof LineRanges && deliverLines
      ? await deliverLines(records, signal)
      : await this.#sink.deliver(toRecords(records), signal, kind === 'repeats');
  }

  #onAnswer({ length }: Outgoing, startMs: number): void {
    this.#unread = 0;
    this.#size.onAnswer(length, this.#clock.monotonic() - startMs);
  }
}

const NO_LIMIT = { records: Number.POSITIVE_INFINITY, isCutOff: false, answers: 0 } as const;

class AttemptSize {
  readonly #batchMax: number;
  readonly #timeoutMs: number;
  #max: number;
  #unanswered = 0;
  /** True if the sink has answered in time since `#max` was last lowered. */
  #isAnswering = false;
  /**
   * Number of records that were too many although the sink had answered before; `isCutOff`: it closed the connection;
   * `answers`: answers in time since.
   */
  #tooMany: { readonly records: number; readonly isCutOff: boolean; readonly answers: number } = NO_LIMIT;

  /** `batchMax`: records of a whole batch. `timeoutMs`: limit for an answer; `undefined` = none. */
  constructor(batchMax: number, timeoutMs: number | undefined) {
    this.#batchMax = batchMax;
    this.#timeoutMs = timeoutMs ?? Number.POSITIVE_INFINITY;
    this.#max = batchMax;
  }

  get max(): number {
    return this.#max;
  }

  /** Call after a timeout or a closed connection. After {@link UNANSWERED_MAX} in a row, halves the size. */
  onNoAnswer(records: number, isCutOff: boolean): void {
    if (++this.#unanswered < UNANSWERED_MAX) return;
    this.#unanswered = 0;
    // A sink that never answers says nothing about the number of records.
    if (this.#isAnswering) this.#tooMany = { records, isCutOff, answers: 0 };
    else if (isCutOff) this.#tooMany = NO_LIMIT;
    this.#isAnswering = false;
    this.#max = Math.ceil(records / 2);
  }

  /** Call after an answer in time. Doubles the size, unless the double was too many; after many answers that is tried again. */
  onAnswer(records: number, durationMs: number): void {
    this.#unanswered = 0;
    this.#isAnswering = true;
    if (records >= this.#tooMany.records) this.#tooMany = NO_LIMIT;
    if (records < this.#max) return;
    const next = Math.min(this.#batchMax, this.#max * 2);
    const isNear = this.#tooMany.isCutOff || durationMs > this.#timeoutMs / 2;
    if (isNear && next >= this.#tooMany.records) {
      const answers = this.#tooMany.answers + 1;
      this.#tooMany = { ...this.#tooMany, answers: answers % ANSWERS_MAX };
      if (answers < ANSWERS_MAX) return;
    }
    this.#max = next;
  }
}
