import { type Clock, LineRanges, openDeadline, renderDuration } from '../base/index.ts';
import type { Sink } from './contracts.ts';
import { DeliveryError } from './errors.ts';
import { type InFlightBatch, type Outcome, type Outgoing, toRecords } from './in-flight-batch.ts';

/**
 * Attempts in a row without an answer after which less is sent at once: over a slow line, the same batch would never arrive in time,
 * and some receivers end the connection instead of saying that a batch is too large. The first attempts are the same bytes, which some
 * receivers recognise.
 */
const UNANSWERED_MAX = 3;
/** Answers in time after which as many records as were too many are tried again. */
const ANSWERS_MAX = 100;
/** Answers in a row that cannot be read, after which it is said that the receiver may have the records. */
const UNREAD_MAX = 3;

/** Attempts to deliver to one sink, each within its time limit. */
export class Attempts {
  readonly #sink: Sink;
  readonly #clock: Clock;
  readonly #size: AttemptSize;
  /** Answers that could not be read since the last one that could. */
  #unread = 0;

  constructor({ sink, clock }: { readonly sink: Sink; readonly clock: Clock }) {
    this.#sink = sink;
    this.#clock = clock;
    this.#size = new AttemptSize(sink.batch.recordsMax, sink.timeoutMs);
  }

  /** Maximum number of records of an attempt. */
  get recordsMax(): number {
    return this.#size.max;
  }

  /** Delivers records of a batch, or beside it. Returns a rejection that is or may be permanent as a value. */
  async deliver(batch: InFlightBatch, records: Outgoing, signal: AbortSignal): Promise<Outcome> {
    signal.throwIfAborted();
    const { name, timeoutMs } = this.#sink;
    const startMs = this.#clock.monotonic();
    using deadline = timeoutMs === undefined ? undefined : openDeadline(this.#clock, timeoutMs, signal);
    try {
      const report = await this.#send(batch, records, deadline?.signal ?? signal);
      this.#noteInTime(records, startMs);
      return report;
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (deadline?.signal.aborted) {
        this.#size.noteUnanswered(records.length, false);
        const message = `Sink ${name} did not answer within ${renderDuration(timeoutMs ?? 0)}`;
        throw new DeliveryError('timeout', message, { disposition: 'retry' });
      }
      if (!(cause instanceof DeliveryError)) throw cause;
      if (cause.isCutOff) {
        this.#size.noteUnanswered(records.length, true);
        if (records.length === 1) return cause;
      }
      if (cause.disposition === 'dead-letter' || cause.mayBeOfRecords) {
        // A record that fails must not be sent alone for ever: others may be needed to judge it.
        this.#noteInTime(records, startMs);
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

  #noteInTime({ length }: Outgoing, startMs: number): void {
    this.#unread = 0;
    this.#size.noteInTime(length, this.#clock.monotonic() - startMs);
  }
}

const NO_LIMIT = { records: Number.POSITIVE_INFINITY, isCutOff: false, answers: 0 } as const;

/** Finds how many records a sink takes at once. */
class AttemptSize {
  readonly #batchMax: number;
  readonly #timeoutMs: number;
  #max: number;
  /** Attempts without an answer since the last one in time. */
  #unanswered = 0;
  /** True if the sink has answered in time since {@link max} was last lowered. */
  #isAnswering = false;
  /**
   * Number of records that were too many although the sink had answered before, whether it ended the connection then, and answers in
   * time since.
   */
  #tooMany: { readonly records: number; readonly isCutOff: boolean; readonly answers: number } = NO_LIMIT;

  /** `batchMax`: records of a whole batch. `timeoutMs`: time for an answer; `undefined` = no limit. */
  constructor(batchMax: number, timeoutMs: number | undefined) {
    this.#batchMax = batchMax;
    this.#timeoutMs = timeoutMs ?? Number.POSITIVE_INFINITY;
    this.#max = batchMax;
  }

  /** Maximum number of records of an attempt. */
  get max(): number {
    return this.#max;
  }

  /** No answer to so many records came in time, or the sink ended the connection: once that is so too often, half of them are sent from now on. */
  noteUnanswered(records: number, isCutOff: boolean): void {
    if (++this.#unanswered < UNANSWERED_MAX) return;
    this.#unanswered = 0;
    // A sink that does not answer at all says nothing about the number of records.
    if (this.#isAnswering) this.#tooMany = { records, isCutOff, answers: 0 };
    else if (isCutOff) this.#tooMany = NO_LIMIT;
    this.#isAnswering = false;
    this.#max = Math.ceil(records / 2);
  }

  /** So many records were answered in time: more are sent from now on, unless more were too many; after many answers they are tried again. */
  noteInTime(records: number, durationMs: number): void {
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
