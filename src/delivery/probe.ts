import { renderErrorChain } from '../base/index.ts';
import type { Attempts } from './attempts.ts';
import type { DeliveryWorkerOptions } from './contracts.ts';
import { DeliveryError } from './errors.ts';
import { countLeft, type InFlightBatch, type Outcome } from './in-flight-batch.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Failures that may pass, after which records may be their reason. With the waits in between this takes some seconds. */
const DOUBTS_MAX = 5;
/**
 * Connections that end while one record is sent, after which it is the record, if no other one waits that could tell. With the waits in
 * between this takes a quarter of an hour or more: longer than a restart of a receiver.
 */
const CUT_OFFS_MAX = 15;
/** A sink that rejects every record of this many batches in a row counts as misconfigured. */
const REFUSED_BATCHES_MAX = 3;

/** What to do after an attempt; without an outcome and a failure, it is made again. */
interface Verdict {
  /** Settles the records of the attempt. */
  readonly outcome?: Outcome;
  /** Settles none of them. */
  readonly failure?: DeliveryError;
  /** True: the next step reads the batch again, together with newer records, which may tell. */
  readonly isPutBack?: boolean;
}

/**
 * The third policy: probe a receiver that may be misconfigured. It tells whether a failure or a rejection is of the records, or of
 * the receiver, which then accepts no record of another router either.
 */
export class Probe<Cursor> {
  readonly #options: DeliveryWorkerOptions<Cursor>;
  readonly #attempts: Attempts;
  /** Number of batches in a row of which the sink has accepted no record. */
  #refusedBatches = 0;
  /** Number of records sent alone while every batch was rejected. */
  #alone = 0;
  /** Number of failures since the last settled records that may be of the records and may pass. */
  #doubts = 0;
  /** Number of records of other routers that the sink did not accept either, since the last settled ones. */
  #others = 0;
  /** Set since dead letters have failed that may be the reason: true once the sink has accepted new records since. */
  #hasTakenSinceLetters: boolean | undefined;

  constructor(options: DeliveryWorkerOptions<Cursor>, attempts: Attempts) {
    this.#options = options;
    this.#attempts = attempts;
  }

  /** True while the dead letters to retry may be why the sink failed: new records go before them. */
  get areLettersDoubtful(): boolean {
    return this.#hasTakenSinceLetters === false;
  }

  /** The sink has accepted records of the batch. */
  noteTaken({ kind }: InFlightBatch): void {
    if (kind === 'new' && this.areLettersDoubtful) this.#hasTakenSinceLetters = true;
  }

  /** All records of the batch are settled. Throws `misconfigured` when the sink has rejected too many batches. */
  noteSettled({ kind, hasTaken, sendable, letters, unnamedReason }: InFlightBatch): void {
    // Repeats may come after each failure, and say nothing about new records.
    if (kind === 'repeats') return;
    this.#doubts = 0;
    this.#others = 0;
    if (kind === 'letters') this.#hasTakenSinceLetters = undefined;
    if (hasTaken) this.#refusedBatches = 0;
    else if (kind === 'new' && sendable > 0 && ++this.#refusedBatches === REFUSED_BATCHES_MAX) {
      throw this.#toMisconfigured(letters.at(-1)?.reason ?? unnamedReason);
    }
  }

  /** Judges the outcome of an attempt. */
  async judge(batch: InFlightBatch, outcome: Outcome, signal: AbortSignal): Promise<Verdict> {
    if (outcome instanceof DeliveryError && (outcome.mayBeOfRecords || outcome.isCutOff)) {
      return await this.#judgeFailure(batch, outcome, signal);
    }
    const isTrying = batch.kind === 'new' && this.#refusedBatches >= REFUSED_BATCHES_MAX;
    const isRefused = outcome instanceof DeliveryError || countLeft(outcome, batch.attemptLength) <= 0;
    return isTrying && isRefused ? await this.#judgeRefusal(batch, outcome, signal) : { outcome };
  }

  /**
   * Records may have failed because of themselves, or because of the sink, which then accepts no record of another router
   * either. When none waits, the rest of their batch tells: a part of it was accepted, or not. Of dead letters, the new records tell
   * that are delivered next. Of one record with which the connection ends, any other record tells; without one, that it ends so often.
   */
  async #judgeFailure(batch: InFlightBatch, failure: DeliveryError, signal: AbortSignal): Promise<Verdict> {
    if (failure.disposition === 'retry' && ++this.#doubts < DOUBTS_MAX) return { failure };
    const isOfLetters = batch.kind === 'letters' && this.#hasTakenSinceLetters === true;
    const other = isOfLetters ? undefined : this.#readOther(batch, failure.isCutOff);
    const isGivenUp = this.#doubts >= CUT_OFFS_MAX && this.#refusedBatches < REFUSED_BATCHES_MAX;
    const isSilent = failure.isCutOff ? isGivenUp : batch.hasTaken;
    const isOfRecords = other ? await this.#takes(batch, other, signal) : isOfLetters || isSilent;
    if (!isOfRecords) {
      if (batch.kind === 'letters') this.#hasTakenSinceLetters = false;
      return { failure, isPutBack: !batch.hasTaken };
    }
    if (other || isOfLetters) this.#refusedBatches = 0;
    const what = `The connection ended ${this.#doubts} times before an answer for this record`;
    return { outcome: failure.isCutOff ? failure.reworded(what) : failure };
  }

  /**
   * The sink keeps rejecting whole batches. If it does not judge records individually, a single bad record may block the
   * others, so one record is sent alone, a different one each time. Once one is accepted, its batch is retried in halves.
   * All records of one router may be bad, and more of them wait than a batch holds: once one of another router is accepted,
   * theirs become dead letters. That one is delivered again in its turn.
   */
  async #judgeRefusal(batch: InFlightBatch, outcome: Outcome, signal: AbortSignal): Promise<Verdict> {
    const { attempt } = batch;
    const one = attempt[this.#alone++ % attempt.length];
    if (outcome instanceof DeliveryError && attempt.length > 1 && one && (await this.#accepts(batch, one, signal))) {
      this.#refusedBatches = 0;
      return {};
    }
    const other = this.#readOther(batch);
    if (other && (await this.#takes(batch, other, signal))) {
      this.#refusedBatches = 0;
      return { outcome };
    }
    const reason =
      outcome instanceof DeliveryError
        ? renderErrorChain(outcome)
        : (outcome.refused?.[0]?.reason ?? outcome.refusedUnnamed?.reason);
    return { failure: this.#toMisconfigured(reason), isPutBack: true };
  }

  /** Delivers one record beside those in flight, which is delivered again in its turn. Resolves to true if the sink accepts it. */
  async #takes(batch: InFlightBatch, record: OutgoingRecord, signal: AbortSignal): Promise<boolean> {
    const isTaken = await this.#accepts(batch, record, signal);
    if (!isTaken) this.#others++;
    return isTaken;
  }

  /** Delivers one record. Resolves to true if the sink accepts it; one that it asks to be sent again later, it does not. */
  async #accepts(batch: InFlightBatch, record: OutgoingRecord, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#attempts.deliver(batch, [record], signal);
    return !(outcome instanceof DeliveryError) && countLeft(outcome, 1) > (outcome.retry?.indexes.length ?? 0);
  }

  /**
   * Returns the next record of a router that has none in the attempt (`isAnyRouter`: or that has), or one behind it after each that the
   * sink did not accept; `undefined` if none is near.
   */
  #readOther({ attempt, letters }: InFlightBatch, isAnyRouter = false): OutgoingRecord | undefined {
    const { sink, spool, clock, isWanted, isSelected } = this.#options;
    const { recordsMax, bytesMax } = sink.batch;
    const routers = new Set(isAnyRouter ? [] : attempt.map(({ fields }) => fields.router));
    const tried = new Set([...letters, ...attempt.map(({ fields }) => fields)].map(({ uid }) => uid));
    const slice = spool.readSlice(sink.name, {
      recordsMax,
      bytesMax,
      isWanted: (router, component) => !routers.has(router) && isWanted(router, component),
    });
    const others: OutgoingRecord[] = [];
    for (const line of slice && !slice.isRepeat ? slice.lines : []) {
      if (others.length > this.#others) break;
      const record = new OutgoingRecord(line.text);
      const isLeftOut = tried.has(record.fields.uid) || isSelected?.(record.fields) === false;
      if (!isLeftOut && !sink.findRefusal?.(record, clock.now())) others.push(record);
    }
    return others[this.#others % others.length];
  }

  #toMisconfigured(reason = 'no reason given'): DeliveryError {
    return new DeliveryError(
      'misconfigured',
      `Sink ${this.#options.sink.name} refused every record of ${REFUSED_BATCHES_MAX} batches in a row: ${reason}`,
      {
        disposition: 'operator',
        hint: 'Check type, url and format of this sink, and the limits of the receiver; then replay the dead letters',
      },
    );
  }
}
