import { createNumbers } from '../../base/index.ts';
import type { HistoryPoint, PollFault, PollPoint, PollSummary } from '../../web/index.ts';

interface PollProblem {
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
  readonly fault: PollFault | undefined;
}

interface Poll extends PollProblem {
  /** Wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
}

const NO_PROBLEM: PollProblem = { failure: undefined, fault: undefined };

/** Polls kept as numbers for plots: an hour at the default interval, 1,260 bytes for each router. */
const POINTS_MAX = 60;
const RECENT_MAX = 12;
/** Older failed polls, so that a failure at night is still visible in the morning. */
const FAILED_MAX = 12;
/** Partial failures are counted apart, so that one broken resource cannot evict real outages. */
const PARTIAL_MAX = 4;

/**
 * The last polls of a router, in columns of numbers, because a fleet has ten thousand of these; failed ones are kept
 * longer.
 */
export class RecentPolls {
  readonly #atMs = createNumbers(Float64Array, POINTS_MAX);
  readonly #durationsMs = createNumbers(Float64Array, POINTS_MAX);
  readonly #isOk = createNumbers(Uint8Array, POINTS_MAX);
  /** The longest lag of the logs; NaN without any. */
  readonly #lagsMs = createNumbers(Float32Array, POINTS_MAX);
  #count = 0;
  #problems: readonly PollProblem[] = [];
  readonly #failed: Poll[] = [];
  readonly #partial: Poll[] = [];

  /** Duration of the last poll in milliseconds; `undefined` before the first. */
  get lastDurationMs(): number | undefined {
    return this.#count === 0 ? undefined : this.#durationsMs[(this.#count - 1) % POINTS_MAX];
  }

  /** Records a poll. `lagMs`: the longest lag of the logs. */
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
const SLOTS = 120;
/** No value. */
const NONE = -32768;
const NUMBER_MAX = 32767;

/** Letters for a slot without a poll, with successful polls, failed polls, and both. */
const LETTERS = { none: '-', up: 'u', down: 'd', mixed: 'm' } as const;
const RESULTS = Buffer.alloc(SLOTS);

interface HistoryEntry {
  readonly isUp: boolean;
  /** In its own unit; `undefined` without a modem. */
  readonly signal: number | undefined;
  /** Longest lag of the logs; `undefined` without any. Milliseconds. */
  readonly lagMs: number | undefined;
  /** Milliseconds. */
  readonly durationMs: number;
}

/** Columns of numbers by slot: a fleet has ten thousand of these. */
class Slots {
  readonly reached = createNumbers(Uint8Array, SLOTS);
  readonly failed = createNumbers(Uint8Array, SLOTS);
  /** Signals in tenths of their unit, finer than any plot. */
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
 * The last six hours of one router in slots of three minutes. A slot has the last value of each kind, the weakest and
 * the strongest signal, and whether polls succeeded or failed in it.
 */
export class RouterHistory {
  #slots: Slots | undefined;
  /** Number of the newest slot on the monotonic clock, so that changes of the wall clock have no effect. */
  #newest = 0;

  /** Records a poll that ended at `nowMs` (monotonic). */
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

  /** Returns the slots of the last six hours, the oldest first; empty before the first poll. */
  describe({ ms, wallMs }: { readonly ms: number; readonly wallMs: number }): readonly HistoryPoint[] {
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

  #advance(slots: Slots, number: number): void {
    for (let next = Math.max(this.#newest + 1, number - SLOTS + 1); next <= number; next++) slots.clear(next % SLOTS);
    this.#newest = Math.max(this.#newest, number);
  }
}

function toFirstNumber(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS) - SLOTS + 1;
}

/** Numbers before the start of the clock are negative. */
function toSlot(number: number): number {
  return ((number % SLOTS) + SLOTS) % SLOTS;
}

function pack(value: number): number {
  return Number.isFinite(value) ? Math.max(-NUMBER_MAX, Math.min(NUMBER_MAX, Math.round(value))) : NONE;
}

function unpack(value: number, divisor: number): number | null {
  return value === NONE ? null : value / divisor;
}
