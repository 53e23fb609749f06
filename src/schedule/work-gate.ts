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
/** So much goes on while polls are late: logs are read slowly then, but all of them. */
const WORK_LEAST_BEFORE_POLLS = 4;

/** The clock that the gate watches, and the limit that it moves. */
export interface WorkGateOptions {
  /** Clock whose timers are late when the event loop is. */
  readonly clock: Clock;
  /** Returns how much work is under way. */
  readonly countWork: () => number;
  /** True if polls begin late although there are places for them: then the processor is what they wait for. */
  readonly arePollsLate: () => boolean;
  /** Called when the limit of concurrent work changes; `Infinity`: there is none. */
  readonly onChange: (workMax: number) => void;
}

/**
 * Bounds the work that is under way at a time by the length of a turn of the event loop. One turn serves everything that has
 * arrived: with hundreds of logs on their way at once, each needs only milliseconds, and polls, sinks and scrapes would still
 * get their next turn after seconds. Less at a time takes no longer, because the processor is what it waits for. On links
 * that are slow instead, the turns stay short, and nothing is bounded. A reading of logs takes many times the processor time
 * of a poll, so polls that are late all the same leave little work beside them until they have caught up.
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
    const { countWork, arePollsLate } = this.#options;
    const work = countWork();
    const isLate = lateMs > LATE_MS;
    if (arePollsLate()) this.#shrink(work, WORK_LEAST_BEFORE_POLLS);
    else if (isLate && this.#wasLate) this.#shrink(work, WORK_LEAST);
    else if (lateMs <= CALM_MS) this.#grow(work);
    this.#wasLate = isLate;
    if (work > 0) this.watch();
  }

  #shrink(work: number, least: number): void {
    const wanted = Math.max(least, Math.floor(Math.min(this.#workMax, work) * SHRINK));
    // A limit that polls have lowered further stays until turns are calm.
    this.#limit(Math.min(this.#workMax, wanted));
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
