import type { Clock } from '../base/index.ts';

/** What is stretched as one: the modules that are slow anyway, every turn for status, every turn for logs. */
export type StretchKind = 'slow' | 'status' | 'logs';

/** Bytes of one UTC day (`2025-10-26`). */
export interface BytesUsed {
  readonly day: string;
  readonly bytes: number;
}

export interface ByteBudgetOptions {
  /** 0 = none: then nothing is ever stretched, but bytes are counted all the same. */
  readonly bytesPerDay: number;
  readonly clock: Clock;
  /** What {@link ByteBudget.used} was when the process before this one, or the settings before these, ended. */
  readonly used?: BytesUsed | undefined;
}

const DAY_MS = 86_400_000;

/**
 * What is given up first, from left to right. Slow modules (inventory, counts) change so rarely that eight times their
 * interval costs hardly anything; status is what alerts are made of, yet a state seen later is still seen; lines of a log
 * that the router has meanwhile deleted are gone for good, so logs come last. Factors above 8 are not needed: where
 * eightfold intervals are too much, the pause paces.
 */
const LADDER: readonly Readonly<Record<StretchKind, number>>[] = [
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

/** Down to this pace nothing is stretched: at the start of a day, this is room for first cycles worth 3 % of the budget. */
const PACE_FREE = 0.97;
/** Each step of the ladder begins so much lower. Small, so that the whole of it takes place long before the budget ends. */
const PACE_STEP = 0.01;
/** Below this (0.88), where the ladder has no further step, nothing is done until the day has caught up. */
const PACE_PAUSE = PACE_FREE - (LADDER.length - 1) * PACE_STEP;
/**
 * No pause is longer while anything is left, so that one large download in the morning does not cost the afternoon. Long
 * enough to spread some 20 turns over a day; a budget for fewer is used up turn by turn, one in two hours.
 */
const PAUSE_MS_MAX = 2 * 3_600_000;

/**
 * Keeps one router within its bytes of a UTC day by stretching intervals early instead of standing still late.
 *
 * The pace is the share of the budget that is left over the share of the day that is left. Below 1 the average rate of
 * the day so far, carried on, would use up the budget before the day ends. Above 0.97 nothing is stretched; then, for
 * each hundredth lower, one more step: slow modules 2, 4, 8 times, then all status 2, 4, 8 times, then logs 2, 4, 8
 * times; below 0.88 a pause, until time has brought the pace back. So the pace settles where what is used equals what
 * can be afforded; and since what is left is the pace times the rest of the day, a router that needs more than its budget
 * uses all of it, spread over the whole day. A budget that is used up is a pause until midnight.
 *
 * Where the pace drops at one go (a large download, a smaller budget, a clock set back), the pause until it has recovered
 * could take the rest of the day. So it ends after two hours, and from then on the pace is counted relative to what was
 * left: the ladder works for what the rest of the day can have as it does for a whole budget.
 *
 * A wall clock that goes back over midnight does not bring back the day before: bytes go on counting for the later day, as
 * if none of it had passed, and when midnight comes again nothing begins anew. A clock that goes back by more than a day
 * was wrong before: the earlier day takes over with all that the later one had used, and should the clock return to that,
 * it is not new either. So no jump backwards ever gives bytes. A clock that goes forward to another day begins that day.
 */
export class ByteBudget {
  readonly #bytesPerDay: number;
  readonly #clock: Clock;
  /** Days since the Unix epoch. */
  #day: number;
  #bytes = 0;
  /** The day that the clock left last by going back more than a day, and its bytes. */
  #left: { readonly day: number; readonly bytes: number } | undefined;
  /** The pace that counts as 1. */
  #fullPace = 1;

  constructor(options: ByteBudgetOptions) {
    this.#bytesPerDay = options.bytesPerDay;
    this.#clock = options.clock;
    this.#day = toDay(options.clock.now());
    if (!options.used) return;
    const usedDay = Date.parse(`${options.used.day}T00:00:00Z`) / DAY_MS;
    // What is no date is no knowledge either.
    if (!Number.isInteger(usedDay)) return;
    this.#day = usedDay;
    this.#bytes = options.used.bytes;
  }

  /** Counts bytes that went over the wire, in either direction. */
  note(bytes: number): void {
    this.#followClock();
    this.#bytes += bytes;
  }

  /** By how much the intervals of `kind` are to be multiplied now: 1, 2, 4 or 8. */
  stretch(kind: StretchKind): number {
    const below = Math.ceil((PACE_FREE - this.#measurePace()) / PACE_STEP);
    return LADDER[Math.min(Math.max(0, below), LADDER.length - 1)]?.[kind] ?? 1;
  }

  /** Whether nothing may be done now: the budget is used up, or so far ahead of the day that even stretching is too much. */
  get isPaused(): boolean {
    return this.#measurePace() < PACE_PAUSE;
  }

  /** Whether the budget of the day is used up. */
  get isSpent(): boolean {
    this.#followClock();
    return this.#bytesPerDay > 0 && this.#bytes >= this.#bytesPerDay;
  }

  /** When the budget begins anew. Wall time, milliseconds since the Unix epoch. */
  get nextDayMs(): number {
    this.#followClock();
    return (this.#day + 1) * DAY_MS;
  }

  /** What the day has used; to be kept over a restart. */
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

  /** The pace as the class describes it; 0 when the budget is used up, 1 without one. */
  #measurePace(): number {
    if (this.#bytesPerDay === 0) return 1;
    if (this.isSpent) return 0;
    const restMs = Math.min(this.nextDayMs - this.#clock.now(), DAY_MS);
    const pace = (1 - this.#bytes / this.#bytesPerDay) / (restMs / DAY_MS);
    if (restMs > PAUSE_MS_MAX) {
      // While nothing is used, the pace grows as the rest of the day shrinks: with this bound it grows enough in time.
      this.#fullPace = Math.min(this.#fullPace, pace / (PACE_PAUSE * (1 - PAUSE_MS_MAX / restMs)));
    }
    // Once it has come back above, it counts as before: otherwise what was saved could be lost again at one go.
    this.#fullPace = Math.min(1, Math.max(this.#fullPace, pace));
    return pace / this.#fullPace;
  }
}

function toDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}
