import type { Clock, Timer } from '../../base/index.ts';
import type { FleetMinute } from '../../web/index.ts';

type FleetCounts = Omit<FleetMinute, 'at'>;

const MINUTE_MS = 60_000;
/** Six hours: 5.6 KiB for a fleet of any size. */
const MINUTES = 360;
const COLUMNS = 4;

/** Numbers of routers that were up, down, stale, and not polled, minute by minute. */
export class FleetHistory {
  readonly #clock: Clock;
  readonly #count: () => FleetCounts;
  readonly #values = new Uint32Array(MINUTES * COLUMNS);
  /** Monotonic time of the last entry; -Infinity before the first. */
  #lastMs = Number.NEGATIVE_INFINITY;
  #length = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, count: () => FleetCounts) {
    this.#clock = clock;
    this.#count = count;
  }

  start(): void {
    this.#timer = this.#clock.setTimer(MINUTE_MS, () => {
      this.start();
      this.#add(this.#count());
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Returns the last six hours and the current numbers, the oldest first. */
  describe(): readonly FleetMinute[] {
    const offsetMs = this.#clock.now() - this.#clock.monotonic();
    const first = Math.max(0, this.#length - MINUTES);
    const past = Array.from({ length: this.#length - first }, (_, index): FleetMinute => {
      const at = ((first + index) % MINUTES) * COLUMNS;
      const [up = 0, down = 0, stale = 0, other = 0] = this.#values.subarray(at, at + COLUMNS);
      const atMs = offsetMs + this.#lastMs - (this.#length - first - 1 - index) * MINUTE_MS;
      return { at: new Date(atMs).toISOString(), up, down, stale, other };
    });
    return [...past, { at: new Date(this.#clock.now()).toISOString(), ...this.#count() }];
  }

  #add({ up, down, stale, other }: FleetCounts): void {
    this.#values.set([up, down, stale, other], (this.#length % MINUTES) * COLUMNS);
    this.#length++;
    this.#lastMs = this.#clock.monotonic();
  }
}
