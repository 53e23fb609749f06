import type { Clock } from '../../base/index.ts';

const SLOT_MS = 5000;
/** Slots of the last minute. */
const SLOTS = 12;

/** Counts records per second over the last minute, or since it was created when that is shorter. */
export class DeliveryRate {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #counts = new Float64Array(SLOTS);
  #newest: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonic();
    this.#newest = Math.floor(this.#startMs / SLOT_MS);
  }

  /** Counts records that were delivered now. */
  add(records: number): void {
    this.#advance();
    const slot = this.#newest % SLOTS;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + records;
  }

  /** Records per second. */
  get perSecond(): number {
    this.#advance();
    const nowMs = this.#clock.monotonic();
    // The newest slot has only begun.
    const spanMs = nowMs - Math.max(this.#startMs, (this.#newest - SLOTS + 1) * SLOT_MS);
    return this.#counts.reduce((sum, count) => sum + count, 0) / (Math.max(spanMs, SLOT_MS) / 1000);
  }

  /** Empties the slots since the newest one. */
  #advance(): void {
    const slot = Math.floor(this.#clock.monotonic() / SLOT_MS);
    for (let next = Math.max(this.#newest + 1, slot - SLOTS + 1); next <= slot; next++) this.#counts[next % SLOTS] = 0;
    this.#newest = slot;
  }
}
