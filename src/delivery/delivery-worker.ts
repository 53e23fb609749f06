import { renderErrorChain } from '../base/index.ts';
import { Attempts } from './attempts.ts';
import type { DeliveryWorkerOptions, StepOptions, StepOutcome } from './contracts.ts';
import { DeliveryError } from './errors.ts';
import { InFlightBatch, type Outcome, readBatch } from './in-flight-batch.ts';
import { Probe } from './probe.ts';
import { RepeatAfterLoss } from './repeat-after-loss.ts';

/**
 * Carries records from the spool to one sink, one attempt per step, in order. This is the loop; what is done when the sink refuses,
 * may have lost or may take nothing, is decided by three policies: {@link InFlightBatch} (bisect), {@link RepeatAfterLoss} and
 * {@link Probe}.
 *
 * ```
 *   empty ── read a slice ──▶ loaded ── all settled: dead letters stored, cursor moved ──▶ empty
 *                              │  ▲
 *              attempt ────────┘  └── accepted, or a single record rejected: next attempt
 *                                 └── rejected as a whole: half of it
 *                                 └── failed: the same again (the caller waits), or after three timeouts or broken connections
 *                                     half of it
 *                                 └── failed, maybe because of the records, and one of another router is accepted: half of it
 *   loaded ── failed, maybe because of the records, and nothing is accepted: nothing is settled (the caller waits) ──▶ empty
 *
 *   when a sink that may lose accepted records has failed or ended its connection:
 *   any ── the spool returns the last accepted records again ──▶ empty
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
 * A sink that is about to go to another worker gets the rest of a batch of which it has taken a part, and nothing else.
 */
export class DeliveryWorker<Cursor> {
  readonly #options: DeliveryWorkerOptions<Cursor>;
  readonly #attempts: Attempts;
  readonly #loss: RepeatAfterLoss<Cursor>;
  readonly #probe: Probe<Cursor>;
  #batch: InFlightBatch | undefined;
  /** The term of the sink at the last step. */
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
      this.#noteDone();
    }
  }

  /** Resolves when no step is under way and the sink has taken no part of what is in flight: then nothing has to be settled. */
  whenDone(): Promise<void> {
    return new Promise((resolve) => {
      this.#doneWaiters.push(resolve);
      this.#noteDone();
    });
  }

  /** True if the sink has answered for all records in flight, and only the cursor or dead letters are still to be stored. */
  get isSettling(): boolean {
    return this.#batch?.isSettled === true;
  }

  /**
   * Another worker serves the sink now, or has: drops what was read, for that would come behind newer records, and takes it that the
   * sink may have lost what it took.
   */
  abandon(): void {
    this.#loss.assume();
    this.#batch = undefined;
    this.#noteDone();
  }

  #noteDone(): void {
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
      const isNewFirst = this.#probe.areLettersDoubtful;
      const read = await readBatch(this.#options, { isLast, isNewFirst, attemptMax });
      if (!(read instanceof InFlightBatch)) return read;
      this.#batch = read;
    }
    const batch = this.#batch;
    if (!batch.isSettled) await this.#attempt(batch, signal);
    if (!batch.isSettled) return 'more';
    await batch.store();
    this.#batch = undefined;
    this.#noteSettled(batch);
    return 'more';
  }

  /** Drops what another worker may have delivered meanwhile, or is to deliver. What was delivered here only has to be settled. */
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
      if (!signal.aborted) this.#loss.noteFailure(cause);
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
      this.#loss.noteTaken();
      this.#probe.noteTaken(batch);
      if (isRepeat) report({ type: 'records-repeated', records, bytes });
      else report({ type: 'records-delivered', records, duplicates, bytes });
    }
    if (refusedUnnamed) report({ type: isRepeat ? 'repeats-refused' : 'records-rejected', ...refusedUnnamed });
    if (warning !== undefined) report({ type: 'sink-warned', message: warning });
    // A retry without a wait is no failure: the sink merely ran out of time.
    if (!retry || retry.retryAfterMs === 0) return;
    const { indexes, reason, retryAfterMs } = retry;
    const message = `Sink ${sink.name} did not take ${indexes.length} records yet: ${reason}`;
    throw new DeliveryError('throttled', message, { disposition: 'retry', retryAfterMs });
  }

  #noteSettled(batch: InFlightBatch): void {
    const { kind, letters, hasTaken } = batch;
    const [first] = letters;
    if (first) {
      const refused = { records: letters.length, reason: first.reason };
      const isAnswered = letters.some(({ code }) => code !== undefined);
      this.#options.report(
        kind === 'repeats'
          ? { type: 'repeats-refused', ...refused }
          : { type: 'records-refused', ...refused, isAnswered },
      );
    }
    if (kind !== 'repeats' && hasTaken) this.#loss.noteProgress();
    this.#probe.noteSettled(batch);
  }
}
