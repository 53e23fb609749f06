import type { Clock, Timer } from '../base/index.ts';

/** Time between two looks at the event loop while there is work. Milliseconds. */
const LOOK_MS = 100;
/** A turn of the event loop that lasts longer makes polls, deliveries and scrapes wait. Milliseconds. */
const LATE_MS = 100;
/** A turn that lasts no longer leaves room for more. Milliseconds. */
const CALM_MS = 25;
/** Each late turn takes this part of the work that was under way; each calm one gives this part back, and one more. */
const SHRINK = 0.7;
const GROW = 0.1;
/** So much work fits into a turn of usual length, whatever else makes the turns long. */
const WORK_LEAST = 32;

/** What the gate watches and moves. */
export interface WorkGateOptions {
  /** Clock whose timers are late when the event loop is. */
  readonly clock: Clock;
  /** Returns how much work is under way. */
  readonly countWork: () => number;
  /** Called when the limit of concurrent work changes; `Infinity`: there is none. */
  readonly onChange: (workMax: number) => void;
}

/**
 * Bounds the work that is under way at a time by the length of a turn of the event loop. One turn serves everything that has
 * arrived: with hundreds of logs on their way at once, each needs only milliseconds, and polls, sinks and scrapes would still
 * get their next turn after seconds. Less at a time takes no longer, because the processor is what it waits for. On links
 * that are slow instead, the turns stay short, and nothing is bounded.
 */
export class WorkGate {
  readonly #options: WorkGateOptions;
  #timer: Timer | undefined;
  #workMax = Number.POSITIVE_INFINITY;
  /** True if the turn before was late: one alone may be a collection of garbage. */
  #wasLate = false;

  constructor(options: WorkGateOptions) {
    this.#options = options;
  }

  /** Watches for as long as there is work. */
  watch(): void {
    if (this.#timer) return;
    const { clock } = this.#options;
    const dueMs = clock.monotonic() + LOOK_MS;
    this.#timer = clock.setTimer(LOOK_MS, () => this.#look(clock.monotonic() - dueMs));
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(lateMs: number): void {
    this.#timer = undefined;
    const work = this.#options.countWork();
    if (lateMs > LATE_MS) {
      if (this.#wasLate) this.#limit(Math.max(WORK_LEAST, Math.floor(Math.min(this.#workMax, work) * SHRINK)));
      this.#wasLate = true;
    } else {
      this.#wasLate = false;
      if (lateMs <= CALM_MS) this.#grow(work);
    }
    if (work > 0) this.watch();
  }

  /** A limit that nothing comes near any more is none. */
  #grow(work: number): void {
    if (this.#workMax === Infinity) return;
    const isFree = work < this.#workMax / 2;
    this.#limit(isFree ? Infinity : this.#workMax + Math.ceil(this.#workMax * GROW) + 1);
  }

  #limit(workMax: number): void {
    if (workMax === this.#workMax) return;
    this.#workMax = workMax;
    this.#options.onChange(workMax);
  }
}
