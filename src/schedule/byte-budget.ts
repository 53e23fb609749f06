import type { Clock } from '../base/index.ts';

/** Groups of intervals that are stretched together: slow modules, all status polls, all log reads. */
export type BudgetedActivity = 'slow' | 'status' | 'logs';

/** Bytes of one UTC day (`2025-10-26`). */
export interface BytesUsed {
  readonly day: string;
  readonly bytes: number;
}

/** Bytes that may be spent in a day, and what was spent of them. */
export interface ByteBudgetOptions {
  /** Daily budget in bytes. 0 means no budget: nothing is stretched, but bytes are still counted. */
  readonly bytesPerDay: number;
  /** Clock whose wall time defines the UTC day. */
  readonly clock: Clock;
  /**
   * The value of {@link ByteBudget.used} when the previous process, or the previous settings, ended. Default: nothing
   * used.
   */
  readonly used?: BytesUsed | undefined;
}

const DAY_MS = 86_400_000;

/**
 * The order in which activities are slowed down, from left to right. Slow modules (inventory, counts) change so rarely
 * that eight times their interval costs almost nothing. Status drives alerts, but a state seen later is still seen. Log
 * lines deleted by the router in the meantime are lost for good, so logs come last. Factors above 8 are not needed: if
 * eightfold intervals use too much, the pause limits the rate.
 */
const LADDER: readonly Readonly<Record<BudgetedActivity, number>>[] = [
  { slow: 1, status: 1, logs: 1 },
  { slow: 2, status: 1, logs: 1 },
  { slow: 4, status: 1, logs: 1 },
  { slow: 8, status: 1, logs: 1 },
  { slow: 8, status: 2, logs: 1 },
  { slow: 8, status: 4, logs: 1 },
  { slow: 8, status: 8, logs: 1 },
  { slow: 8, status: 8, logs: 2 },
  { slow: 8, status: 8, logs: 4 },
  { slow: 8, status: 8, logs: 8 },
];

/**
 * Nothing is stretched above this pace: at the start of a day this leaves room for first cycles that use up to 3 % of
 * the budget.
 */
const PACE_FREE = 0.97;
/**
 * Each step of the ladder starts this much lower. Small, so that all steps take effect long before the budget runs out.
 */
const PACE_STEP = 0.01;
/** Below this pace (0.88) the ladder has no further step, and nothing runs until the day has caught up. */
const PACE_PAUSE = PACE_FREE - (LADDER.length - 1) * PACE_STEP;
/**
 * Longest pause while any budget is left, so that one large download in the morning does not cost the afternoon. Long
 * enough to spread about 20 runs over a day; a smaller budget is used up run by run, one every two hours.
 */
const PAUSE_MS_MAX = 2 * 3_600_000;

/**
 * Keeps one router within its daily byte budget (UTC) by stretching intervals early instead of stopping late.
 *
 * The pace is the share of the budget that is left, divided by the share of the day that is left. At a pace below 1 the
 * average rate of the day so far would use up the budget before the day ends. Above 0.97 nothing is stretched. Each
 * hundredth below adds one step: slow modules 2, 4, 8 times, then all status 2, 4, 8 times, then logs 2, 4, 8 times.
 * Below 0.88 everything pauses until time has restored the pace. So the pace settles where consumption equals what can
 * be afforded; and since what is left is the pace times the rest of the day, a router that needs more than its budget
 * uses all of it, spread over the whole day. When the budget is used up, everything pauses until midnight.
 *
 * When the pace drops suddenly (a large download, a smaller budget, a clock set back), recovering could take the rest
 * of the day. The pause therefore ends after two hours, and from then on the pace is measured relative to what was
 * left: the steps divide the remainder of the budget over the rest of the day as they would a whole budget.
 *
 * A wall clock that goes back over midnight does not restore the previous day: bytes still count for the later day, as
 * if none of it had passed, and nothing is reset at the next midnight. A clock that goes back by more than a day was
 * wrong before: the earlier day takes over everything that the later one had used, and if the clock returns to the
 * later day, that does not count as a new day either. So no jump backwards ever grants bytes. A clock that goes forward
 * to another day starts that day.
 */
export class ByteBudget {
  readonly #bytesPerDay: number;
  readonly #clock: Clock;
  /** Days since the Unix epoch. */
  #day: number;
  #bytes = 0;
  /** The previous day and its bytes, if the clock last went back by more than a day. */
  #left: { readonly day: number; readonly bytes: number } | undefined;
  /** The pace that is treated as 1. */
  #fullPace = 1;

  constructor(options: ByteBudgetOptions) {
    this.#bytesPerDay = options.bytesPerDay;
    this.#clock = options.clock;
    this.#day = toDay(options.clock.now());
    if (!options.used) return;
    const usedDay = Date.parse(`${options.used.day}T00:00:00Z`) / DAY_MS;
    // An invalid date gives no information.
    if (!Number.isInteger(usedDay)) return;
    this.#day = usedDay;
    this.#bytes = options.used.bytes;
  }

  /** Counts bytes sent or received over the wire. */
  record(bytes: number): void {
    this.#followClock();
    this.#bytes += bytes;
  }

  /** Returns the current factor for the intervals of `kind`: 1, 2, 4 or 8. */
  intervalMultiplier(kind: BudgetedActivity): number {
    const below = Math.ceil((PACE_FREE - this.#measurePace()) / PACE_STEP);
    return LADDER[Math.min(Math.max(0, below), LADDER.length - 1)]?.[kind] ?? 1;
  }

  /**
   * True while nothing may run: the budget is used up, or consumption is so far ahead of the day that stretching is not
   * enough.
   */
  get isPaused(): boolean {
    return this.#measurePace() < PACE_PAUSE;
  }

  /** End of the pause: wall time in milliseconds since the Unix epoch; `undefined` without a pause. */
  get pausedUntilMs(): number | undefined {
    if (!this.isPaused) return undefined;
    if (this.isSpent) return this.nextDayMs;
    // The pace grows as the rest of the day shrinks; it is 0.88 of what counts as 1 when this much is left of the day.
    const restMs = ((1 - this.#bytes / this.#bytesPerDay) * DAY_MS) / (PACE_PAUSE * this.#fullPace);
    return Math.ceil(Math.max(this.#clock.now(), this.nextDayMs - restMs));
  }

  /** True if the budget of the day is used up. */
  get isSpent(): boolean {
    this.#followClock();
    return this.#bytesPerDay > 0 && this.#bytes >= this.#bytesPerDay;
  }

  /** Start of the next budget day: wall time in milliseconds since the Unix epoch. */
  get nextDayMs(): number {
    this.#followClock();
    return (this.#day + 1) * DAY_MS;
  }

  /** Bytes used today, without the day. */
  get usedBytes(): number {
    this.#followClock();
    return this.#bytes;
  }

  /** Bytes used today; persist this over a restart. */
  get used(): BytesUsed {
    this.#followClock();
    return { day: new Date(this.#day * DAY_MS).toISOString().slice(0, 10), bytes: this.#bytes };
  }

  #followClock(): void {
    const today = toDay(this.#clock.now());
    if (today === this.#day || today === this.#day - 1) return;
    if (today < this.#day) {
      this.#left = { day: this.#day, bytes: this.#bytes };
    } else {
      this.#bytes = today === this.#left?.day ? Math.max(this.#left.bytes, this.#bytes) : 0;
      this.#fullPace = 1;
    }
    this.#day = today;
  }

  /** Returns the pace as defined by the class; 0 if the budget is used up, 1 without a budget. */
  #measurePace(): number {
    if (this.#bytesPerDay === 0) return 1;
    if (this.isSpent) return 0;
    const restMs = Math.min(this.nextDayMs - this.#clock.now(), DAY_MS);
    const pace = (1 - this.#bytes / this.#bytesPerDay) / (restMs / DAY_MS);
    if (restMs > PAUSE_MS_MAX) {
      // While nothing is used, the pace grows as the rest of the day shrinks; with this bound it recovers in time.
      this.#fullPace = Math.min(this.#fullPace, pace / (PACE_PAUSE * (1 - PAUSE_MS_MAX / restMs)));
    }
    // After it has recovered, it counts as before: otherwise the savings could be lost again all at once.
    this.#fullPace = Math.min(1, Math.max(this.#fullPace, pace));
    return pace / this.#fullPace;
  }
}

function toDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}
