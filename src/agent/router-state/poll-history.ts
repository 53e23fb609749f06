import { createNumbers } from '../../base/index.ts';
import type { HistoryPoint, PollFault, PollPoint, PollSummary } from '../../web/index.ts';
import type { Moment } from '../times.ts';

/** What went wrong in a poll. */
interface PollProblem {
  /** Reason why it did not reach the router. */
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
  /** First failure, also if the router was reached. */
  readonly fault: PollFault | undefined;
}

interface Poll extends PollProblem {
  /** Start: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
}

const NO_PROBLEM: PollProblem = { failure: undefined, fault: undefined };

/** Polls kept as numbers, for plots. An hour at the usual interval: 1,260 bytes for each router. */
const POINTS_MAX = 60;
/** The newest of them, of which it is kept what went wrong. */
const RECENT_MAX = 12;
/** Failed polls kept beyond those, so that a failure at night can still be seen in the morning. */
const FAILED_MAX = 12;
/** Partial failures are counted apart, so that one broken resource cannot evict real outages. */
const PARTIAL_MAX = 4;

/** The last polls of a router, in columns of numbers, because a fleet has ten thousand of these; those that failed are kept longer. */
export class RecentPolls {
  readonly #atMs = createNumbers(Float64Array, POINTS_MAX);
  readonly #durationsMs = createNumbers(Float64Array, POINTS_MAX);
  /** 1 if the poll succeeded. */
  readonly #isOk = createNumbers(Uint8Array, POINTS_MAX);
  /** The longest lag of the logs; NaN if there was none. */
  readonly #lagsMs = createNumbers(Float32Array, POINTS_MAX);
  #count = 0;
  /** What went wrong in each of the recent polls, the newest first. */
  #problems: readonly PollProblem[] = [];
  readonly #failed: Poll[] = [];
  readonly #partial: Poll[] = [];

  /** Duration of the last poll; `undefined` before the first. Milliseconds. */
  get lastDurationMs(): number | undefined {
    return this.#count === 0 ? undefined : this.#durationsMs[(this.#count - 1) % POINTS_MAX];
  }

  /** Records a poll. `lagMs`: the longest lag of the logs, if there is one. */
  add({ atMs, durationMs, failure, fault }: Poll, lagMs: number | undefined): void {
    const oldest = this.#listRecent()[RECENT_MAX - 1];
    if (oldest?.failure) keep(this.#failed, oldest, FAILED_MAX);
    else if (oldest?.fault) keep(this.#partial, oldest, PARTIAL_MAX);
    const problem = failure || fault ? { failure, fault } : NO_PROBLEM;
    this.#problems = [problem].concat(this.#problems.slice(0, RECENT_MAX - 1));
    const slot = this.#count % POINTS_MAX;
    this.#atMs[slot] = atMs;
    this.#durationsMs[slot] = durationMs;
    this.#isOk[slot] = Number(!failure);
    this.#lagsMs[slot] = lagMs ?? Number.NaN;
    this.#count++;
  }

  /** The recent polls and the failed ones that are kept beyond those, the newest first. */
  describe(): readonly PollSummary[] {
    const kept = [...this.#failed, ...this.#partial].toSorted((a, b) => b.atMs - a.atMs);
    return [...this.#listRecent(), ...kept].map(({ atMs, durationMs, failure, fault }) => ({
      at: new Date(atMs).toISOString(),
      durationSeconds: durationMs / 1000,
      ok: failure === undefined,
      reason: failure?.reason ?? null,
      error: failure?.error ?? null,
      fault: fault ?? null,
    }));
  }

  /** The oldest first. */
  describePoints(): readonly PollPoint[] {
    const first = Math.max(0, this.#count - POINTS_MAX);
    return Array.from({ length: this.#count - first }, (_, index) => {
      const slot = (first + index) % POINTS_MAX;
      const lagMs = this.#lagsMs[slot] ?? Number.NaN;
      return {
        at: new Date(this.#atMs[slot] ?? 0).toISOString(),
        durationSeconds: Math.round(this.#durationsMs[slot] ?? 0) / 1000,
        ok: this.#isOk[slot] === 1,
        logLagSeconds: Number.isNaN(lagMs) ? null : Math.round(lagMs) / 1000,
      };
    });
  }

  #listRecent(): readonly Poll[] {
    return this.#problems.map((problem, index) => {
      const slot = (this.#count - 1 - index) % POINTS_MAX;
      return { atMs: this.#atMs[slot] ?? 0, durationMs: this.#durationsMs[slot] ?? 0, ...problem };
    });
  }
}

function keep(polls: Poll[], poll: Poll, max: number): void {
  polls.unshift(poll);
  if (polls.length > max) polls.pop();
}

/** Length of one slot of the history. Milliseconds. */
const SLOT_MS = 3 * 60_000;
/** Slots of the history of a router: six hours. */
const SLOTS = 120;
/** Stands for "no value". */
const NONE = -32768;
const NUMBER_MAX = 32767;

/** Letters of a slot without a poll, with polls that reached the router, that failed, and of both kinds. */
const LETTERS = { none: '-', up: 'u', down: 'd', mixed: 'm' } as const;
/** Reused for each router: a list of the fleet has the letters of ten thousand. */
const RESULTS = Buffer.alloc(SLOTS);

/** One poll in the history. */
interface HistoryEntry {
  /** True if the poll reached the router. */
  readonly isUp: boolean;
  /** Strength of the signal, in its own unit; `undefined` without a modem. */
  readonly signal: number | undefined;
  /** Longest lag of the logs; `undefined` without any. Milliseconds. */
  readonly lagMs: number | undefined;
  /** Response time of the poll. Milliseconds. */
  readonly durationMs: number;
}

/** Numbers of the slots of a router, in columns: a fleet has ten thousand of these. */
class Slots {
  /** 1 if a poll reached the router. */
  readonly reached = createNumbers(Uint8Array, SLOTS);
  /** 1 if a poll failed. */
  readonly failed = createNumbers(Uint8Array, SLOTS);
  /** Of the last poll, in tenths of its unit: finer than any plot, as the others. */
  readonly signal = createNumbers(Int16Array, SLOTS);
  readonly weakest = createNumbers(Int16Array, SLOTS);
  readonly strongest = createNumbers(Int16Array, SLOTS);
  /** Seconds. */
  readonly lag = createNumbers(Int16Array, SLOTS);
  /** Hundredths of a second. */
  readonly response = createNumbers(Int16Array, SLOTS);

  constructor() {
    for (let slot = 0; slot < SLOTS; slot++) this.clear(slot);
  }

  clear(slot: number): void {
    this.reached[slot] = 0;
    this.failed[slot] = 0;
    for (const values of [this.signal, this.weakest, this.strongest, this.lag, this.response]) values[slot] = NONE;
  }

  addSignal(slot: number, signal: number): void {
    const [weakest = NONE, strongest = NONE] = [this.weakest[slot], this.strongest[slot]];
    this.signal[slot] = signal;
    this.weakest[slot] = weakest === NONE ? signal : Math.min(weakest, signal);
    this.strongest[slot] = Math.max(strongest, signal);
  }

  resultOf(slot: number): keyof typeof LETTERS {
    const [isReached, hasFailed] = [this.reached[slot] === 1, this.failed[slot] === 1];
    if (isReached && hasFailed) return 'mixed';
    return isReached ? 'up' : hasFailed ? 'down' : 'none';
  }
}

/**
 * The last six hours of one router in slots of three minutes. A slot has the last value of each kind, the weakest and the
 * strongest signal, and tells if any poll failed in it.
 */
export class RouterHistory {
  #slots: Slots | undefined;
  /** Number of the newest slot on the monotonic clock, so that a change of the wall clock moves nothing. */
  #newest = 0;

  /** Records a poll that has ended at `nowMs`, monotonic. */
  add({ isUp, signal, lagMs, durationMs }: HistoryEntry, nowMs: number): void {
    const number = Math.floor(nowMs / SLOT_MS);
    if (!this.#slots) this.#newest = number;
    this.#slots ??= new Slots();
    this.#advance(this.#slots, number);
    const slot = number % SLOTS;
    (isUp ? this.#slots.reached : this.#slots.failed)[slot] = 1;
    if (signal !== undefined) this.#slots.addSignal(slot, pack(signal * 10));
    if (lagMs !== undefined) this.#slots.lag[slot] = pack(lagMs / 1000);
    if (isUp) this.#slots.response[slot] = pack(durationMs / 10);
  }

  /** The slots of the last six hours, the oldest first; empty before the first poll. */
  describe({ ms, wallMs }: Moment): readonly HistoryPoint[] {
    const slots = this.#slots;
    if (!slots) return [];
    const first = toFirstNumber(ms);
    return Array.from({ length: SLOTS }, (_, index): HistoryPoint => {
      const number = first + index;
      const slot = toSlot(number);
      // A slot after the newest entry still has the values of six hours before.
      const isKnown = number <= this.#newest;
      const read = (values: Int16Array, divisor: number) => (isKnown ? unpack(values[slot] ?? NONE, divisor) : null);
      const result = isKnown ? slots.resultOf(slot) : 'none';
      return {
        at: new Date(wallMs - ms + number * SLOT_MS).toISOString(),
        result: result === 'none' ? null : result,
        signal: read(slots.signal, 10),
        signalMin: read(slots.weakest, 10),
        signalMax: read(slots.strongest, 10),
        logLagSeconds: read(slots.lag, 1),
        responseSeconds: read(slots.response, 100),
      };
    });
  }

  /** The results alone, as {@link describe} has them: one letter for each slot, `u`, `d`, `m`, and `-` for none. */
  describeResults(nowMs: number): string {
    const slots = this.#slots;
    if (!slots) return '';
    const first = toFirstNumber(nowMs);
    for (let index = 0; index < SLOTS; index++) {
      const result = first + index > this.#newest ? 'none' : slots.resultOf(toSlot(first + index));
      RESULTS[index] = LETTERS[result].charCodeAt(0);
    }
    return RESULTS.toString('latin1');
  }

  /** Empties the slots between the newest entry and this one. */
  #advance(slots: Slots, number: number): void {
    for (let next = Math.max(this.#newest + 1, number - SLOTS + 1); next <= number; next++) slots.clear(next % SLOTS);
    this.#newest = Math.max(this.#newest, number);
  }
}

/** Number of the oldest slot of the last six hours on the monotonic clock. */
function toFirstNumber(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS) - SLOTS + 1;
}

/** Place of a slot; those before the start of the clock have negative numbers. */
function toSlot(number: number): number {
  return ((number % SLOTS) + SLOTS) % SLOTS;
}

function pack(value: number): number {
  return Number.isFinite(value) ? Math.max(-NUMBER_MAX, Math.min(NUMBER_MAX, Math.round(value))) : NONE;
}

function unpack(value: number, divisor: number): number | null {
  return value === NONE ? null : value / divisor;
}
