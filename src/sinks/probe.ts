import { renderErrorChain } from '../base/index.ts';
import type { Attempts } from './attempts.ts';
import { DeliveryError, type DeliveryWorkerOptions } from './contracts.ts';
import { countLeft, type InFlightBatch, type Outcome } from './in-flight-batch.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Failures after which the records may be the cause. With the waits in between, this takes some seconds. */
const AMBIGUOUS_FAILURES_MAX = 5;
/**
 * Connections that end while a single record is sent, after which that record is rejected if no other waits for comparison.
 * With the waits in between, this takes a quarter of an hour or more: longer than a restart of a receiver.
 */
const CUT_OFFS_MAX = 15;
/** A sink that rejects every record of this many batches in a row counts as misconfigured. */
const REFUSED_BATCHES_MAX = 3;

interface Verdict {
  /** Settles the records of the attempt. */
  readonly outcome?: Outcome;
  /** Settles none of them. */
  readonly failure?: DeliveryError;
  /** True: the next step reads the batch again, together with newer records, for comparison. */
  readonly isPutBack?: boolean;
}

/**
 * The third policy: probe a receiver that may be misconfigured. Decides whether a failure or rejection is caused by the
 * records, or by the receiver, which then accepts no record of another router either.
 */
export class Probe<Cursor> {
  readonly #options: DeliveryWorkerOptions<Cursor>;
  readonly #attempts: Attempts;
  #refusedBatches = 0;
  /** Records sent alone while every batch was rejected. */
  #alone = 0;
  /** Failures, since the last settled records, that the records may have caused. */
  #ambiguousFailures = 0;
  /** Records of other routers that the sink did not accept either, since the last settled ones. */
  #others = 0;
  /** Set once dead letters to retry have failed and may be the cause: true once the sink has accepted new records since. */
  #hasTakenSinceDeadLetters: boolean | undefined;

  constructor(options: DeliveryWorkerOptions<Cursor>, attempts: Attempts) {
    this.#options = options;
    this.#attempts = attempts;
  }

  /** True while the dead letters to retry may be why the sink failed: new records go before them. */
  get areDeadLettersSuspect(): boolean {
    return this.#hasTakenSinceDeadLetters === false;
  }

  onTaken({ kind }: InFlightBatch): void {
    if (kind === 'new' && this.areDeadLettersSuspect) this.#hasTakenSinceDeadLetters = true;
  }

  /** Call when all records of the batch are settled. Throws `misconfigured` when the sink has rejected too many batches. */
  onSettled({ kind, hasTaken, sendable, deadLetters, unnamedReason }: InFlightBatch): void {
    // Repeats may come after each failure, and say nothing about new records.
    if (kind === 'repeats') return;
    this.#ambiguousFailures = 0;
    this.#others = 0;
    if (kind === 'dead-letters') this.#hasTakenSinceDeadLetters = undefined;
    if (hasTaken) this.#refusedBatches = 0;
    else if (kind === 'new' && sendable > 0 && ++this.#refusedBatches === REFUSED_BATCHES_MAX) {
      throw this.#toMisconfigured(deadLetters.at(-1)?.reason ?? unnamedReason);
    }
  }

  async judge(batch: InFlightBatch, outcome: Outcome, signal: AbortSignal): Promise<Verdict> {
    if (outcome instanceof DeliveryError && (outcome.mayBeOfRecords || outcome.isCutOff)) {
      return await this.#judgeFailure(batch, outcome, signal);
    }
    const isTrying = batch.kind === 'new' && this.#refusedBatches >= REFUSED_BATCHES_MAX;
    const isRefused = outcome instanceof DeliveryError || countLeft(outcome, batch.attemptLength) <= 0;
    return isTrying && isRefused ? await this.#judgeRefusal(batch, outcome, signal) : { outcome };
  }

  /**
   * Decides whether the records or the receiver caused a failure: sends a record of another router for comparison. If none
   * waits, the rest of the batch decides: whether a part of it was accepted. For dead letters, the new records that are
   * delivered next decide. For a single record with which the connection ends, any other record decides or, without one, the
   * number of such ends.
   */
  async #judgeFailure(batch: InFlightBatch, failure: DeliveryError, signal: AbortSignal): Promise<Verdict> {
    if (failure.disposition === 'retry' && ++this.#ambiguousFailures < AMBIGUOUS_FAILURES_MAX) return { failure };
    const isOfDeadLetters = batch.kind === 'dead-letters' && this.#hasTakenSinceDeadLetters === true;
    const other = isOfDeadLetters ? undefined : this.#readOther(batch, failure.isCutOff);
    const isLimitReached = this.#ambiguousFailures >= CUT_OFFS_MAX && this.#refusedBatches < REFUSED_BATCHES_MAX;
    const isSilent = failure.isCutOff ? isLimitReached : batch.hasTaken;
    const isOfRecords = other ? await this.#takes(batch, other, signal) : isOfDeadLetters || isSilent;
    if (!isOfRecords) {
      if (batch.kind === 'dead-letters') this.#hasTakenSinceDeadLetters = false;
      return { failure, isPutBack: !batch.hasTaken };
    }
    if (other || isOfDeadLetters) this.#refusedBatches = 0;
    const what = `The connection ended ${this.#ambiguousFailures} times before an answer for this record`;
    return { outcome: failure.isCutOff ? failure.reworded(what) : failure };
  }

  /**
   * Handles a sink that keeps rejecting whole batches. If it does not judge records individually, a single bad record may
   * block the others, so one record is sent alone, a different one each time. Once one is accepted, its batch is retried in
   * halves. All records of one router may be bad, and more of them wait than a batch holds: once one of another router is
   * accepted, theirs become dead letters. That one is delivered again in its place.
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

  /** Delivers one record next to those in flight; it is delivered again in its place. Resolves to true if the sink accepts it. */
  async #takes(batch: InFlightBatch, record: OutgoingRecord, signal: AbortSignal): Promise<boolean> {
    const isTaken = await this.#accepts(batch, record, signal);
    if (!isTaken) this.#others++;
    return isTaken;
  }

  async #accepts(batch: InFlightBatch, record: OutgoingRecord, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#attempts.deliver(batch, [record], signal);
    return !(outcome instanceof DeliveryError) && countLeft(outcome, 1) > (outcome.retry?.indexes.length ?? 0);
  }

  /**
   * Returns the next record of a router that has none in the attempt (`isAnyRouter`: of any router), or a later one after
   * each that the sink did not accept; `undefined` if none is near.
   */
  #readOther({ attempt, deadLetters }: InFlightBatch, isAnyRouter = false): OutgoingRecord | undefined {
    const { sink, spool, clock, isWanted, isSelected } = this.#options;
    const { recordsMax, bytesMax } = sink.batch;
    const routers = new Set(isAnyRouter ? [] : attempt.map(({ fields }) => fields.router));
    const tried = new Set([...deadLetters, ...attempt.map(({ fields }) => fields)].map(({ uid }) => uid));
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
