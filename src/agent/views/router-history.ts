import { type Clock, createNumbers } from '../../base/index.ts';
import type { HistoryPoint } from '../../web/index.ts';

/** Length of one slot of the history. Milliseconds. */
const SLOT_MS = 3 * 60_000;
/** Slots of the history of a router: six hours. */
const SLOTS = 120;
/** Numbers kept for each slot: result, last, weakest and strongest signal, log lag and response time. */
const COLUMNS = 6;
const [RESULT, SIGNAL, WEAKEST, STRONGEST, LAG, RESPONSE] = [0, 1, 2, 3, 4, 5];
/** Bits of the result of a slot. */
const [REACHED, FAILED] = [1, 2];
/** Stands for "no value" in every column but the result. */
const NONE = -32768;
const NUMBER_MAX = 32767;

/** Memory that the history of one router takes once it was polled. Bytes. */
export const HISTORY_BYTES = SLOTS * COLUMNS * Int16Array.BYTES_PER_ELEMENT;

/** Letters of no poll, up, down and both. */
const LETTERS = Buffer.from('-udm');
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

/**
 * The last six hours of one router in slots of three minutes. A slot has the last value of each kind, the weakest and the
 * strongest signal, and tells if any poll failed in it. The numbers are packed, because a fleet has ten thousand of these: {@link HISTORY_BYTES} each.
 */
export class RouterHistory {
  readonly #clock: Clock;
  #values: Int16Array | undefined;
  /** Number of the newest slot on the monotonic clock, so that a change of the wall clock moves nothing. */
  #newest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a poll that has ended now. */
  add({ isUp, signal, lagMs, durationMs }: HistoryEntry): void {
    const slot = Math.floor(this.#clock.monotonic() / SLOT_MS);
    this.#values ??= this.#createValues(slot);
    this.#advance(this.#values, slot);
    const at = (slot % SLOTS) * COLUMNS;
    this.#values[at + RESULT] = (this.#values[at + RESULT] ?? 0) | (isUp ? REACHED : FAILED);
    // Tenths of a unit, seconds, and hundredths of a second: finer than any plot.
    if (signal !== undefined) this.#addSignal(this.#values, at, pack(signal * 10));
    if (lagMs !== undefined) this.#values[at + LAG] = pack(lagMs / 1000);
    if (isUp) this.#values[at + RESPONSE] = pack(durationMs / 10);
  }

  #addSignal(values: Int16Array, at: number, signal: number): void {
    const [weakest = NONE, strongest = NONE] = [values[at + WEAKEST], values[at + STRONGEST]];
    values[at + SIGNAL] = signal;
    values[at + WEAKEST] = weakest === NONE ? signal : Math.min(weakest, signal);
    values[at + STRONGEST] = Math.max(strongest, signal);
  }

  /** The slots of the last six hours, the oldest first; empty before the first poll. */
  describe(): readonly HistoryPoint[] {
    const values = this.#values;
    if (!values) return [];
    const { clock, newest } = this.#range();
    return Array.from({ length: SLOTS }, (_, index): HistoryPoint => {
      const slot = newest - SLOTS + 1 + index;
      const at = (((slot % SLOTS) + SLOTS) % SLOTS) * COLUMNS;
      // A slot after the newest entry still has the values of six hours before.
      const read = (column: number) => (slot > this.#newest ? NONE : (values[at + column] ?? NONE));
      const result = slot > this.#newest ? 0 : (values[at + RESULT] ?? 0);
      return {
        at: new Date(clock + slot * SLOT_MS).toISOString(),
        result: result === 0 ? null : result === REACHED ? 'up' : result === FAILED ? 'down' : 'mixed',
        signal: unpack(read(SIGNAL), 10),
        signalMin: unpack(read(WEAKEST), 10),
        signalMax: unpack(read(STRONGEST), 10),
        logLagSeconds: unpack(read(LAG), 1),
        responseSeconds: unpack(read(RESPONSE), 100),
      };
    });
  }

  /** The results alone, as {@link describe} has them: one letter for each slot, `u`, `d`, `m`, and `-` for none. */
  describeResults(): string {
    const values = this.#values;
    if (!values) return '';
    const { newest } = this.#range();
    for (let index = 0; index < SLOTS; index++) {
      const slot = newest - SLOTS + 1 + index;
      const at = (((slot % SLOTS) + SLOTS) % SLOTS) * COLUMNS;
      RESULTS[index] = LETTERS[slot > this.#newest ? 0 : (values[at + RESULT] ?? 0)] ?? 0;
    }
    return RESULTS.toString('latin1');
  }

  #createValues(slot: number): Int16Array {
    this.#newest = slot;
    const values = createNumbers(Int16Array, SLOTS * COLUMNS);
    for (let index = 0; index < SLOTS; index++) clear(values, index);
    return values;
  }

  /** Empties the slots between the newest entry and this one. */
  #advance(values: Int16Array, slot: number): void {
    for (let next = Math.max(this.#newest + 1, slot - SLOTS + 1); next <= slot; next++) clear(values, next % SLOTS);
    this.#newest = Math.max(this.#newest, slot);
  }

  #range(): { readonly clock: number; readonly newest: number } {
    const nowMs = this.#clock.monotonic();
    return { clock: this.#clock.now() - nowMs, newest: Math.floor(nowMs / SLOT_MS) };
  }
}

function clear(values: Int16Array, index: number): void {
  values.fill(NONE, index * COLUMNS, (index + 1) * COLUMNS);
  values[index * COLUMNS + RESULT] = 0;
}

function pack(value: number): number {
  return Number.isFinite(value) ? Math.max(-NUMBER_MAX, Math.min(NUMBER_MAX, Math.round(value))) : NONE;
}

function unpack(value: number, divisor: number): number | null {
  return value === NONE ? null : value / divisor;
}
