import { renderErrorChain } from '../base/index.ts';
import { Attempts } from './attempts.ts';
import {
  DeliveryError,
  type DeliveryWorkerOptions,
  type Sink,
  type StepOptions,
  type StepOutcome,
} from './contracts.ts';
import { InFlightBatch, type Outcome, readBatch } from './in-flight-batch.ts';
import { Probe } from './probe.ts';

/**
 * Delivers records from the spool to one sink, in order, one attempt per step. This is the loop. Three policies decide what
 * follows a rejection, a possible loss and a receiver that accepts nothing: {@link InFlightBatch} (bisect), {@link
 * RepeatAfterLoss} and {@link Probe}.
 *
 * ```
 *   empty ── read a slice ──▶ loaded ── all settled: dead letters stored, cursor moved ──▶ empty
 *                              │  ▲
 *              attempt ────────┘  └── accepted, or a single record rejected: next attempt
 *                                 └── rejected as a whole: half of it
 *                                 └── failed: the same again (the caller waits); half of it after three timeouts or
 *                                     broken connections
 *                                 └── failed, maybe because of the records, and one of another router is accepted: half
 *   loaded ── failed, maybe because of the records, and nothing is accepted: nothing is settled (the caller waits) ──▶ empty
 *
 *   when a sink that may lose accepted records has failed or closed its connection:
 *   any ── the spool redelivers the last accepted records ──▶ empty
 *
 *   after a sink has rejected every record of three batches in a row:
 *   loaded ── rejected as a whole, and so is one record alone, and one of another router: nothing is settled (the caller
 *          │  waits) ──▶ empty
 *          └─ one is accepted ──▶ as before
 * ```
 *
 * A crash after the sink accepted records and before the cursor moved repeats them, with the same uids. Dead letters are
 * stored before the cursor moves, so a record is always in the spool or among the dead letters.
 *
 * A sink that is about to move to another worker gets the rest of a batch that it has accepted in part, and nothing else.
 */
export class DeliveryWorker<Cursor> {
  readonly #options: DeliveryWorkerOptions<Cursor>;
  readonly #attempts: Attempts;
  readonly #loss: RepeatAfterLoss<Cursor>;
  readonly #probe: Probe<Cursor>;
  #batch: InFlightBatch | undefined;
  /** The sink's term at the last step: see `termOf`. */
  #term: number | undefined;
  #isStepping = false;
  #doneWaiters: (() => void)[] = [];

  constructor(options: DeliveryWorkerOptions<Cursor>) {
    this.#options = options;
    this.#attempts = new Attempts(options);
    this.#loss = new RepeatAfterLoss(options);
    this.#probe = new Probe(options, this.#attempts);
  }

  /** Makes one attempt. Throws when it failed; the next step retries the same records. */
  async step(signal: AbortSignal, { isLast = false }: StepOptions = {}): Promise<StepOutcome> {
    this.#isStepping = true;
    try {
      return await this.#step(signal, isLast);
    } finally {
      this.#isStepping = false;
      this.#resolveDone();
    }
  }

  /**
   * Resolves when no step is running and the sink has accepted no part of the batch in flight, so that nothing has to be
   * settled.
   */
  whenDone(): Promise<void> {
    return new Promise((resolve) => {
      this.#doneWaiters.push(resolve);
      this.#resolveDone();
    });
  }

  /** True if the sink has answered for all records in flight, and only the cursor or dead letters are still to be stored. */
  get isSettling(): boolean {
    return this.#batch?.isSettled === true;
  }

  /**
   * Call when another worker serves the sink or has served it: drops the batch in flight, because newer records may have been
   * delivered, and assumes that accepted records were lost.
   */
  abandon(): void {
    this.#loss.assume();
    this.#batch = undefined;
    this.#resolveDone();
  }

  #resolveDone(): void {
    if (this.#isStepping || this.#batch?.hasTaken) return;
    for (const resolve of this.#doneWaiters.splice(0)) resolve();
  }

  async #step(signal: AbortSignal, isLast: boolean): Promise<StepOutcome> {
    const { sink, spool } = this.#options;
    const isServed = spool.serves?.(sink.name) ?? true;
    this.#dropOutdated();
    if (!isServed) this.abandon();
    // The sink may have lost the settled part of a partly settled batch.
    else if (sink.connection && (await this.#loss.rewind(sink.connection))) this.#batch = undefined;
    if (!this.#batch) {
      if (!isServed || spool.isLeaving?.(sink.name)) return 'idle';
      const { recordsMax: attemptMax } = this.#attempts;
      const isNewFirst = this.#probe.areDeadLettersSuspect;
      const read = await readBatch(this.#options, { isLast, isNewFirst, attemptMax });
      if (!(read instanceof InFlightBatch)) return read;
      this.#batch = read;
    }
    const batch = this.#batch;
    if (!batch.isSettled) await this.#attempt(batch, signal);
    if (!batch.isSettled) return 'more';
    await batch.store();
    this.#batch = undefined;
    this.#reportSettled(batch);
    return 'more';
  }

  /** Drops a batch that another worker may have delivered or will deliver. A settled one only has to be stored. */
  #dropOutdated(): void {
    const { sink, spool } = this.#options;
    const term = spool.termOf?.(sink.name);
    const isOutdated = term !== this.#term;
    this.#term = term;
    if (!this.#batch || this.#batch.isSettled) return;
    const isLeft = !this.#batch.hasTaken && (spool.isLeaving?.(sink.name) ?? false);
    if (isOutdated || isLeft) this.#batch = undefined;
  }

  async #attempt(batch: InFlightBatch, signal: AbortSignal): Promise<void> {
    try {
      const lines = this.#options.sink.deliverLines ? batch.untouched : undefined;
      const attempted = await this.#attempts.deliver(batch, lines ?? batch.attempt, signal);
      const { outcome, failure, isPutBack } = await this.#probe.judge(batch, attempted, signal);
      if (isPutBack) this.#batch = undefined;
      if (failure) throw failure;
      if (outcome) this.#settle(batch, outcome);
    } catch (cause) {
      if (!signal.aborted) this.#loss.onFailure(cause);
      throw cause;
    }
  }

  #settle(batch: InFlightBatch, outcome: Outcome): void {
    const { sink, report } = this.#options;
    if (outcome instanceof DeliveryError) {
      const { attemptLength: records } = batch;
      const reason = renderErrorChain(outcome);
      if (batch.refuse({ reason, code: outcome.answer })) report({ type: 'batch-split', records, reason });
      return;
    }
    const { refusedUnnamed, retry, duplicates = 0, bytes = 0, warning } = outcome;
    const isRepeat = batch.kind === 'repeats';
    const records = batch.take(outcome);
    if (records > 0) {
      this.#loss.onTaken();
      this.#probe.onTaken(batch);
      if (isRepeat) report({ type: 'records-repeated', records, bytes });
      else report({ type: 'records-delivered', records, duplicates, bytes });
    }
    if (refusedUnnamed) report({ type: isRepeat ? 'repeats-refused' : 'records-rejected', ...refusedUnnamed });
    if (warning !== undefined) report({ type: 'sink-warned', message: warning });
    // A retry without a wait is no failure: the sink ran out of time.
    if (!retry || retry.retryAfterMs === 0) return;
    const { indexes, reason, retryAfterMs } = retry;
    const message = `Sink ${sink.name} did not take ${indexes.length} records yet: ${reason}`;
    throw new DeliveryError('throttled', message, { disposition: 'retry', retryAfterMs });
  }

  #reportSettled(batch: InFlightBatch): void {
    const { kind, deadLetters, hasTaken } = batch;
    const [first] = deadLetters;
    if (first) {
      const refused = { records: deadLetters.length, reason: first.reason };
      const isAnswered = deadLetters.some(({ code }) => code !== undefined);
      this.#options.report(
        kind === 'repeats'
          ? { type: 'repeats-refused', ...refused }
          : { type: 'records-refused', ...refused, isAnswered },
      );
    }
    if (kind !== 'repeats' && hasTaken) this.#loss.onProgress();
    this.#probe.onSettled(batch);
  }
}

/**
 * Maximum number of times that possibly lost records are repeated before new ones are sent: otherwise a receiver that is
 * merely busy (5xx) would never get new records.
 */
const PASSES_MAX = 3;

/**
 * The second policy: repeat after loss. When a sink that may lose accepted records has failed or closed its connection, the
 * spool redelivers the last accepted records.
 */
class RepeatAfterLoss<Cursor> {
  readonly #options: Pick<DeliveryWorkerOptions<Cursor>, 'sink' | 'spool'>;
  /** Set while the sink may have lost accepted records. Initially set: it may have failed while this process did not run. */
  #lost: { readonly endedMs?: number | undefined } | undefined = {};
  /** True when the sink has accepted records since its last failure. */
  #hasTaken = false;
  /** Number of repeats since the sink last accepted new records. */
  #passes = 0;

  constructor(options: Pick<DeliveryWorkerOptions<Cursor>, 'sink' | 'spool'>) {
    this.#options = options;
  }

  /** Assumes a loss: another worker serves the sink now, or has. */
  assume(): void {
    this.#lost = {};
  }

  onTaken(): void {
    this.#hasTaken = true;
  }

  /** Call when new records are settled, and the sink has accepted some. */
  onProgress(): void {
    this.#passes = 0;
  }

  onFailure(cause: unknown): void {
    if (!this.#options.sink.connection || !(cause instanceof DeliveryError) || !mayHaveLost(cause)) return;
    // Nothing was accepted since the last failure, so nothing more can be lost.
    if (!this.#hasTaken) return;
    // A broken connection may lose accepted records even after the limit.
    if (cause.code !== 'unreachable' && ++this.#passes > PASSES_MAX) return;
    this.#hasTaken = false;
    this.#lost = {};
  }

  /** Rewinds the spool to the records that the sink may have lost. Resolves to true if it did: the batch in flight is outdated. */
  async rewind(connection: NonNullable<Sink['connection']>): Promise<boolean> {
    const { sink, spool } = this.#options;
    const end = await connection.takeEnd();
    this.#lost ??= end;
    if (!this.#lost) return false;
    await spool.repeat(sink.name, this.#lost.endedMs);
    this.#lost = undefined;
    return true;
  }
}

function mayHaveLost({ code, answer = '', mayBeOfRecords }: DeliveryError): boolean {
  if (mayBeOfRecords) return false;
  return code === 'unreachable' || code === 'timeout' || code === 'protocol_error' || /^5\d\d$/.test(answer);
}
