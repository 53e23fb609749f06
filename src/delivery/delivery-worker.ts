import { LineRanges, openDeadline, renderDuration, renderErrorChain } from '../base/index.ts';
import type { Completion } from '../model/index.ts';
import { AttemptSize } from './attempt-size.ts';
import type {
  DeadLetter,
  DeliveryReport,
  DeliveryWorkerOptions,
  StepOptions,
  StepOutcome,
  WatchedConnection,
} from './contracts.ts';
import { DeliveryError } from './errors.ts';
import { InFlightBatch, type Outgoing, toRecords } from './in-flight-batch.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Records in flight, and what to do once all are settled. */
interface Load {
  /** `letters`: dead letters that an operator wants to retry; `repeats`: records that the sink may have lost. */
  readonly kind: 'new' | 'repeats' | 'letters';
  readonly inFlight: InFlightBatch;
  readonly settle: (refused: readonly DeadLetter[]) => Completion;
  /** Number of records to send; the others are certain to be rejected. */
  readonly sendable: number;
  /** True when the sink has accepted one of them. */
  hasTaken: boolean;
  /** Reason for rejections without identified records. */
  unnamedReason?: string | undefined;
}

/** Failures that may pass, after which records may be their reason. With the waits in between this takes some seconds. */
const DOUBTS_MAX = 5;
/**
 * Connections that end while one record is sent, after which it is the record, if no other one waits that could tell. With the waits in
 * between this takes a quarter of an hour or more: longer than a restart of a receiver.
 */
const CUT_OFFS_MAX = 15;
/** Answers in a row that cannot be read, after which it is said that the receiver may have the records. */
const UNREAD_MAX = 3;
/** A sink that rejects every record of this many batches in a row counts as misconfigured. */
const REFUSED_BATCHES_MAX = 3;
/**
 * Maximum number of times that possibly lost records are repeated before new ones are sent: otherwise a receiver that is
 * merely busy (5xx) would never get new records.
 */
const PASSES_MAX = 3;

/**
 * Carries records from the spool to one sink, one attempt per step, in order.
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
  #load: Load | undefined;
  /** Set while the sink may have lost accepted records. Initially set: it may have failed while this process did not run. */
  #lost: { readonly endedMs?: number | undefined } | undefined = {};
  /** True when the sink has accepted records since its last failure. */
  #hasTaken = false;
  /** Number of repeats since the sink last accepted new records. */
  #passes = 0;
  /** The term of the sink at the last step. */
  #term: number | undefined;
  #refusedBatches = 0;
  /** Number of failures since the last settled records that may be of the records and may pass. */
  #doubts = 0;
  /** Number of records of other routers that the sink did not accept either, since the last settled ones. */
  #others = 0;
  /** Set since dead letters have failed that may be the reason: true once the sink has accepted new records since. */
  #hasTakenSinceLetters: boolean | undefined;
  readonly #size: AttemptSize;
  /** Answers that could not be read since the last one that could. */
  #unread = 0;
  /** Number of records sent alone while every batch was rejected. */
  #probes = 0;
  #isStepping = false;
  #doneWaiters: (() => void)[] = [];

  constructor(options: DeliveryWorkerOptions<Cursor>) {
    this.#options = options;
    const { batch, timeoutMs } = options.sink;
    this.#size = new AttemptSize(batch.recordsMax, timeoutMs);
  }

  /** Makes one attempt. Throws when it failed; the next step retries the same records. */
  async step(signal: AbortSignal, options: StepOptions = {}): Promise<StepOutcome> {
    this.#isStepping = true;
    try {
      return await this.#step(signal, options);
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
    return this.#load?.inFlight.isSettled === true;
  }

  #noteDone(): void {
    if (this.#isStepping || this.#load?.hasTaken) return;
    for (const resolve of this.#doneWaiters.splice(0)) resolve();
  }

  async #step(signal: AbortSignal, { isLast = false }: StepOptions): Promise<StepOutcome> {
    const { sink, spool } = this.#options;
    const isServed = spool.serves?.(sink.name) ?? true;
    this.#dropOutdated();
    if (!isServed) this.abandon();
    else if (sink.connection) await this.#repeatLost(sink.connection);
    if (!this.#load) {
      const mayBegin = isServed && !spool.isLeaving?.(sink.name);
      const outcome = mayBegin ? await this.#read(isLast) : 'idle';
      if (outcome !== 'loaded') return outcome;
    }
    const load = this.#load;
    if (!load) return 'more';
    const { inFlight } = load;
    if (!inFlight.isSettled) {
      try {
        await this.#attempt(load, signal);
      } catch (cause) {
        if (!signal.aborted) this.#recordFailure(cause);
        throw cause;
      }
    }
    if (!inFlight.isSettled) return 'more';
    await load.settle(inFlight.letters);
    this.#load = undefined;
    // Repeats may come after each failure, and say nothing about new records.
    if (load.kind !== 'repeats') {
      this.#doubts = 0;
      this.#others = 0;
    }
    if (load.kind === 'letters') this.#hasTakenSinceLetters = undefined;
    this.#recordSettled(load);
    return 'more';
  }

  /**
   * Another worker serves the sink now, or has: drops what was read, for that would come behind newer records, and takes it that the
   * sink may have lost what it took.
   */
  abandon(): void {
    this.#lost = {};
    this.#drop();
    this.#noteDone();
  }

  /** Drops what another worker may have delivered meanwhile, or is to deliver. What was delivered here only has to be settled. */
  #dropOutdated(): void {
    const { sink, spool } = this.#options;
    const term = spool.termOf?.(sink.name);
    const isOutdated = term !== this.#term;
    this.#term = term;
    const load = this.#load;
    if (!load || load.inFlight.isSettled) return;
    const isLeft = !load.hasTaken && (spool.isLeaving?.(sink.name) ?? false);
    if (isOutdated || isLeft) this.#drop();
  }

  #drop(): void {
    this.#load = undefined;
  }

  /** Rewinds the spool to the records that the sink may have lost. */
  async #repeatLost(connection: WatchedConnection): Promise<void> {
    const { sink, spool } = this.#options;
    const end = await connection.takeEnd();
    this.#lost ??= end;
    if (!this.#lost) return;
    await spool.repeat(sink.name, this.#lost.endedMs);
    this.#lost = undefined;
    // The sink may have lost the settled part of a partly settled batch.
    this.#load = undefined;
  }

  #recordFailure(cause: unknown): void {
    const { connection } = this.#options.sink;
    if (!connection || !(cause instanceof DeliveryError) || !mayHaveLost(cause)) return;
    // Nothing was accepted since the last failure, so nothing more can be lost.
    if (!this.#hasTaken) return;
    // What is not repeated now may still be lost with the connection.
    if (cause.code !== 'unreachable' && ++this.#passes > PASSES_MAX) return;
    this.#hasTaken = false;
    this.#lost = {};
  }

  #recordSettled({ kind, inFlight, hasTaken, sendable, unnamedReason }: Load): void {
    const { report } = this.#options;
    const { letters } = inFlight;
    const [first] = letters;
    const records = letters.length;
    if (kind === 'repeats') {
      if (first) report({ type: 'repeats-refused', records, reason: first.reason });
      return;
    }
    if (hasTaken) this.#passes = 0;
    if (first) {
      const isAnswered = letters.some(({ code }) => code !== undefined);
      report({ type: 'records-refused', records, reason: first.reason, isAnswered });
    }
    if (hasTaken) this.#refusedBatches = 0;
    else if (kind === 'new' && sendable > 0 && ++this.#refusedBatches === REFUSED_BATCHES_MAX) {
      throw this.#toMisconfigured(letters.at(-1)?.reason ?? unnamedReason);
    }
  }

  #toMisconfigured(reason = 'no reason given'): DeliveryError {
    const { sink } = this.#options;
    return new DeliveryError(
      'misconfigured',
      `Sink ${sink.name} refused every record of ${REFUSED_BATCHES_MAX} batches in a row: ${reason}`,
      {
        disposition: 'operator',
        hint: 'Check type, url and format of this sink, and the limits of the receiver; then replay the dead letters',
      },
    );
  }

  /** Reads dead letters to retry, and else new records; these first once, if the letters may be why the sink failed. */
  async #read(isLast: boolean): Promise<StepOutcome | 'loaded'> {
    const outcome = this.#hasTakenSinceLetters === false ? this.#readSlice(isLast) : 'idle';
    if (outcome === 'loaded') return outcome;
    return (await this.#readReplayed()) ?? this.#readSlice(isLast);
  }

  /** Reads dead letters to retry. */
  async #readReplayed(): Promise<'loaded' | undefined> {
    const { sink, deadLetters } = this.#options;
    const letters = await deadLetters.readReplayed(sink.name, sink.batch);
    if (letters.length === 0) return undefined;
    const records = letters.map(({ line }) => new OutgoingRecord(line));
    this.#open('letters', records, async (refused) => {
      const stay = new Set(refused.map(({ uid }) => uid));
      const taken = letters.filter(({ uid }) => !stay.has(uid));
      await deadLetters.add(
        sink.name,
        refused,
        taken.map(({ id }) => id),
      );
    });
    return 'loaded';
  }

  #readSlice(isLast: boolean): StepOutcome | 'loaded' {
    const { sink, spool, deadLetters, clock, isWanted, isSelected, report } = this.#options;
    const { recordsMax, bytesMax, waitMs } = sink.batch;
    const slice = spool.readSlice(sink.name, { recordsMax, bytesMax, isWanted });
    if (!slice) return 'idle';
    const { isRepeat } = slice;
    if (!slice.isFull && !isRepeat && !isLast && slice.lines.length > 0) {
      const ageMs = clock.now() - slice.oldestMs;
      // A wall clock that was set back must not delay records beyond `waitMs`.
      if (ageMs >= 0 && ageMs < waitMs) return { waitMs: waitMs - ageMs };
    }
    const { lines } = slice;
    const records = isSelected ? toRecords(lines).filter(({ fields }) => isSelected(fields)) : lines;
    const settle = async (refused: readonly DeadLetter[]) => {
      // In this order: a crash in between repeats the rejection; the reverse order would lose the record.
      if (refused.length > 0 && !isRepeat) await deadLetters.add(sink.name, refused);
      await spool.acknowledge(sink.name, slice.next);
      const skipped = slice.skipped + lines.length - records.length;
      if (skipped > 0 && !isRepeat) report({ type: 'records-skipped', records: skipped });
    };
    this.#open(isRepeat ? 'repeats' : 'new', records, settle);
    return 'loaded';
  }

  #open(kind: Load['kind'], records: Outgoing, settle: Load['settle']): void {
    const { sink, clock } = this.#options;
    const nowMs = clock.now();
    const refused: DeadLetter[] = [];
    const findRefusal = sink.findRefusal?.bind(sink);
    const isSendable = (record: OutgoingRecord) => {
      const refusal = findRefusal?.(record, nowMs);
      if (refusal) refused.push({ uid: record.fields.uid, line: record.line, ...refusal });
      return !refusal;
    };
    const sendable = findRefusal ? toRecords(records).filter(isSendable) : records;
    const inFlight = new InFlightBatch(sendable, refused, this.#size.max);
    this.#load = {
      kind,
      inFlight,
      settle,
      sendable: sendable.length,
      hasTaken: false,
    };
  }

  async #attempt(load: Load, signal: AbortSignal): Promise<void> {
    const { inFlight } = load;
    const lines = this.#options.sink.deliverLines ? inFlight.untouched : undefined;
    const outcome = await this.#deliver(load, lines ?? inFlight.attempt, signal);
    const isTrying = load.kind === 'new' && this.#refusedBatches >= REFUSED_BATCHES_MAX;
    if (outcome instanceof DeliveryError && (outcome.mayBeOfRecords || outcome.isCutOff))
      await this.#judge(load, outcome, signal);
    else if (isTrying && isAllRefused(outcome, inFlight.attempt)) await this.#probe(load, outcome, signal);
    else this.#settle(load, outcome);
  }

  /**
   * Records may have failed because of themselves, or because of the sink, which then accepts no record of another router
   * either. When none waits, the rest of their batch tells: a part of it was accepted, or not. Of dead letters, the new records tell
   * that are delivered next. Of one record with which the connection ends, any other record tells; without one, that it ends so often.
   */
  async #judge(load: Load, failure: DeliveryError, signal: AbortSignal): Promise<void> {
    if (failure.disposition === 'retry' && ++this.#doubts < DOUBTS_MAX) throw failure;
    const isOfLetters = load.kind === 'letters' && this.#hasTakenSinceLetters === true;
    const other = isOfLetters ? undefined : this.#readOther(load, failure.isCutOff);
    const isGivenUp = this.#doubts >= CUT_OFFS_MAX && this.#refusedBatches < REFUSED_BATCHES_MAX;
    const isSilent = failure.isCutOff ? isGivenUp : load.hasTaken;
    const isOfRecords = other ? await this.#takes(load, other, signal) : isOfLetters || isSilent;
    if (!isOfRecords) {
      if (load.kind === 'letters') this.#hasTakenSinceLetters = false;
      // The next step reads it again, together with newer records, which may tell.
      if (!load.hasTaken) this.#load = undefined;
      throw failure;
    }
    if (other || isOfLetters) this.#refusedBatches = 0;
    const what = `The connection ended ${this.#doubts} times before an answer for this record`;
    this.#settle(load, failure.isCutOff ? rephrase(failure, what) : failure);
  }

  /**
   * The sink keeps rejecting whole batches. If it does not judge records individually, a single bad record may block the
   * others, so one record is sent alone, a different one each time. Once one is accepted, its batch is retried in halves.
   * All records of one router may be bad, and more of them wait than a batch holds: once one of another router is accepted,
   * theirs become dead letters. That one is delivered again in its turn.
   */
  async #probe(load: Load, outcome: DeliveryReport | DeliveryError, signal: AbortSignal): Promise<void> {
    const { attempt } = load.inFlight;
    const one = attempt.slice(this.#probes++ % attempt.length).slice(0, 1);
    if (outcome instanceof DeliveryError && attempt.length > 1) {
      const alone = await this.#deliver(load, one, signal);
      if (hasAccepted(alone, one)) {
        this.#refusedBatches = 0;
        return;
      }
    }
    const other = this.#readOther(load);
    if (other && (await this.#takes(load, other, signal))) {
      this.#refusedBatches = 0;
      this.#settle(load, outcome);
      return;
    }
    // The next step reads it again, together with newer records.
    this.#load = undefined;
    if (outcome instanceof DeliveryError) throw this.#toMisconfigured(renderErrorChain(outcome));
    throw this.#toMisconfigured(outcome.refused?.[0]?.reason ?? outcome.refusedUnnamed?.reason);
  }

  /** Delivers one record beside those in flight, which is delivered again in its turn. Resolves to true if the sink accepts it. */
  async #takes(load: Load, record: OutgoingRecord, signal: AbortSignal): Promise<boolean> {
    const isTaken = hasAccepted(await this.#deliver(load, [record], signal), [record]);
    if (!isTaken) this.#others++;
    return isTaken;
  }

  /**
   * Returns the next record of a router that has none in the attempt (`isAnyRouter`: or that has), or one behind it after each that the
   * sink did not accept; `undefined` if none is near.
   */
  #readOther({ inFlight }: Load, isAnyRouter = false): OutgoingRecord | undefined {
    const { sink, spool, clock, isWanted, isSelected } = this.#options;
    const { recordsMax, bytesMax } = sink.batch;
    const routers = new Set(isAnyRouter ? [] : inFlight.attempt.map(({ fields }) => fields.router));
    const tried = new Set([...inFlight.letters, ...inFlight.attempt.map(({ fields }) => fields)].map(({ uid }) => uid));
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

  #settle(load: Load, outcome: DeliveryReport | DeliveryError): void {
    const { report } = this.#options;
    const { inFlight } = load;
    const attempted = inFlight.attemptLength;
    if (outcome instanceof DeliveryError) {
      const refusal = { reason: renderErrorChain(outcome), code: outcome.answer };
      const isSplit = inFlight.refuse(refusal);
      if (isSplit) report({ type: 'batch-split', records: attempted, reason: refusal.reason });
      return;
    }
    const { refused = [], refusedUnnamed, retry, duplicates = 0, bytes = 0, warning } = outcome;
    const again = retry?.indexes ?? [];
    const lost = refusedUnnamed?.records ?? 0;
    const records = attempted - refused.length - again.length - lost;
    inFlight.settle(refused, again);
    load.unnamedReason = refusedUnnamed?.reason;
    if (records > 0) {
      load.hasTaken = true;
      this.#hasTaken = true;
      if (load.kind === 'new' && this.#hasTakenSinceLetters === false) this.#hasTakenSinceLetters = true;
    }
    if (load.kind === 'repeats') {
      if (records > 0) report({ type: 'records-repeated', records, bytes });
      if (refusedUnnamed) report({ type: 'repeats-refused', ...refusedUnnamed });
    } else {
      if (records > 0) report({ type: 'records-delivered', records, duplicates, bytes });
      if (refusedUnnamed) report({ type: 'records-rejected', ...refusedUnnamed });
    }
    if (warning !== undefined) report({ type: 'sink-warned', message: warning });
    // A retry without a wait is no failure: the sink merely ran out of time.
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

  /** Delivers the attempt. Returns a rejection that is or may be permanent as a value. */
  async #deliver(load: Load, records: Outgoing, signal: AbortSignal): Promise<DeliveryReport | DeliveryError> {
    signal.throwIfAborted();
    const { sink, clock } = this.#options;
    const { timeoutMs } = sink;
    const startMs = clock.monotonic();
    using deadline = timeoutMs === undefined ? undefined : openDeadline(clock, timeoutMs, signal);
    try {
      const ends = deadline?.signal ?? signal;
      const report =
        records instanceof LineRanges && sink.deliverLines
          ? await sink.deliverLines(records, ends)
          : await sink.deliver(toRecords(records), ends, load.kind === 'repeats');
      this.#noteInTime(load, records.length, startMs);
      return report;
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (deadline?.signal.aborted) {
        this.#noteUnanswered(load, records.length, false);
        const limit = renderDuration(timeoutMs ?? 0);
        throw new DeliveryError('timeout', `Sink ${sink.name} did not answer within ${limit}`, {
          disposition: 'retry',
        });
      }
      if (cause instanceof DeliveryError && cause.isCutOff) {
        this.#noteUnanswered(load, records.length, true);
        if (records.length === 1) return cause;
      }
      const isOutcome = cause instanceof DeliveryError && (cause.disposition === 'dead-letter' || cause.mayBeOfRecords);
      if (!isOutcome && !this.#isUnread(cause)) throw cause;
      if (!isOutcome) {
        const them = `the receiver, which may have these ${records.length} records several times`;
        throw rephrase(cause, `Sink ${sink.name} cannot read the answers of ${them}`);
      }
      // A record that fails must not be sent alone for ever: others may be needed to judge it.
      this.#noteInTime(load, records.length, startMs);
      return cause;
    }
  }

  /** True if the answers to so many attempts in a row could not be read that the receiver may have the same records several times. */
  #isUnread(cause: unknown): cause is DeliveryError {
    if (!(cause instanceof DeliveryError) || cause.code !== 'protocol_error') return false;
    return ++this.#unread >= UNREAD_MAX;
  }

  #noteUnanswered({ inFlight }: Load, records: number, isCutOff: boolean): void {
    this.#size.noteUnanswered(records, isCutOff);
    inFlight.limit(this.#size.max);
  }

  #noteInTime({ inFlight }: Load, records: number, startMs: number): void {
    this.#unread = 0;
    this.#size.noteInTime(records, this.#options.clock.monotonic() - startMs);
    inFlight.limit(this.#size.max);
  }
}

/** Says what failed in other words, with those of the failure behind them. */
function rephrase(cause: DeliveryError, what: string): DeliveryError {
  const { code, disposition, retryAfterMs, answer } = cause;
  return new DeliveryError(code, what, { disposition, retryAfterMs, answer, cause });
}

/** True when the sink permanently rejected every record. */
function isAllRefused(outcome: DeliveryReport | DeliveryError, attempt: readonly OutgoingRecord[]): boolean {
  if (outcome instanceof DeliveryError) return true;
  const { refused = [], refusedUnnamed } = outcome;
  return refused.length + (refusedUnnamed?.records ?? 0) >= attempt.length;
}

/** True when the sink accepted a record; one that it asks to be sent again later is not. */
function hasAccepted(outcome: DeliveryReport | DeliveryError, attempt: readonly OutgoingRecord[]): boolean {
  if (outcome instanceof DeliveryError) return false;
  const { refused = [], refusedUnnamed, retry } = outcome;
  return attempt.length > refused.length + (refusedUnnamed?.records ?? 0) + (retry?.indexes.length ?? 0);
}

/** True when a receiver may have lost accepted records: its connection broke, or it answered 5xx. */
function mayHaveLost({ code, answer = '', mayBeOfRecords }: DeliveryError): boolean {
  if (mayBeOfRecords) return false;
  return code === 'unreachable' || code === 'timeout' || code === 'protocol_error' || /^5\d\d$/.test(answer);
}
