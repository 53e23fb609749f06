import { type Clock, createNumbers } from '../../base/index.ts';
import type { HistoryPoint } from '../../web/index.ts';

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
export interface HistoryEntry {
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
  readonly #clock: Clock;
  #slots: Slots | undefined;
  /** Number of the newest slot on the monotonic clock, so that a change of the wall clock moves nothing. */
  #newest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a poll that has ended now. */
  add({ isUp, signal, lagMs, durationMs }: HistoryEntry): void {
    const number = Math.floor(this.#clock.monotonic() / SLOT_MS);
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
  describe(): readonly HistoryPoint[] {
    const slots = this.#slots;
    if (!slots) return [];
    const nowMs = this.#clock.monotonic();
    const first = this.#firstNumber;
    return Array.from({ length: SLOTS }, (_, index): HistoryPoint => {
      const number = first + index;
      const slot = toSlot(number);
      // A slot after the newest entry still has the values of six hours before.
      const isKnown = number <= this.#newest;
      const read = (values: Int16Array, divisor: number) => (isKnown ? unpack(values[slot] ?? NONE, divisor) : null);
      const result = isKnown ? slots.resultOf(slot) : 'none';
      return {
        at: new Date(this.#clock.now() - nowMs + number * SLOT_MS).toISOString(),
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
  describeResults(): string {
    const slots = this.#slots;
    if (!slots) return '';
    const first = this.#firstNumber;
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

  /** Number of the oldest slot of the last six hours on the monotonic clock. */
  get #firstNumber(): number {
    return Math.floor(this.#clock.monotonic() / SLOT_MS) - SLOTS + 1;
  }
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
