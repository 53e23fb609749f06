import type { Clock } from '../base/index.ts';

/** Groups of intervals that are stretched together: slow modules, all status polls, all log reads. */
export type BudgetedActivity = 'slow' | 'status' | 'logs';

/** Bytes of one UTC day (`2025-10-26`). */
export interface BytesUsed {
  readonly day: string;
  readonly bytes: number;
}

interface ByteBudgetOptions {
  /** 0: no budget; nothing is stretched, but bytes are still counted. */
  readonly bytesPerDay: number;
  readonly clock: Clock;
  /** {@link ByteBudget.used} of the previous process or settings. Default: nothing used. */
  readonly used?: BytesUsed | undefined;
}

const DAY_MS = 86_400_000;

/**
 * Order in which activities are slowed down. Slow modules (inventory, counts) change rarely. Status drives alerts, but
 * a late state is still seen. Log lines that the router deletes are lost, so logs come last. Above factor 8 the pause
 * limits the rate.
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

/** Nothing is stretched above this pace: the first cycles of a day may use up to 3 % of the budget. */
const PACE_FREE = 0.97;
/** Each step of the ladder starts this much lower: all steps take effect long before the budget runs out. */
const PACE_STEP = 0.01;
/** Below this pace (0.88) the ladder has no further step, and everything pauses until the day has caught up. */
const PACE_PAUSE = PACE_FREE - (LADDER.length - 1) * PACE_STEP;
/**
 * Longest pause while any budget is left, so that one large download does not stop the rest of the day. Long enough to
 * spread about 20 runs over a day.
 */
const PAUSE_MS_MAX = 2 * 3_600_000;

/**
 * Keeps one router within its daily byte budget (UTC) by stretching intervals early.
 *
 * The pace is the share of the budget that is left, divided by the share of the day that is left. Below 1, the average
 * rate so far would use up the budget before the day ends. Above 0.97 nothing is stretched. Each hundredth below adds
 * one step: slow modules 2, 4, 8 times, then all status 2, 4, 8 times, then logs 2, 4, 8 times. Below 0.88 everything
 * pauses until time has restored the pace. A router that needs more than its budget therefore uses all of it, spread
 * over the day. When the budget is used up, everything pauses until midnight.
 *
 * When the pace drops suddenly (a large download, a smaller budget, a clock set back), recovering could take the rest
 * of the day. The pause therefore ends after two hours, and the pace is then measured relative to what was left.
 *
 * A wall clock that goes back never grants bytes. Back over midnight, bytes still count for the later day, and nothing
 * is reset at the next midnight. Back by more than a day, the earlier day takes over all bytes of the later one, and a
 * return to the later day does not start a new one.
 */
export class ByteBudget {
  readonly #bytesPerDay: number;
  readonly #clock: Clock;
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
    if (!Number.isInteger(usedDay)) return;
    this.#day = usedDay;
    this.#bytes = options.used.bytes;
  }

  record(bytes: number): void {
    this.#followClock();
    this.#bytes += bytes;
  }

  intervalMultiplier(kind: BudgetedActivity): number {
    const below = Math.ceil((PACE_FREE - this.#measurePace()) / PACE_STEP);
    return LADDER[Math.min(Math.max(0, below), LADDER.length - 1)]?.[kind] ?? 1;
  }

  /** True while the budget is used up, or consumption is so far ahead of the day that stretching is not enough. */
  get isPaused(): boolean {
    return this.#measurePace() < PACE_PAUSE;
  }

  /** End of the pause: wall time in milliseconds since the Unix epoch; `undefined` without a pause. */
  get pausedUntilMs(): number | undefined {
    if (!this.isPaused) return undefined;
    if (this.isSpent) return this.nextDayMs;
    // The pace grows as the rest of the day shrinks: it is 0.88 of #fullPace when this much of the day is left.
    const restMs = ((1 - this.#bytes / this.#bytesPerDay) * DAY_MS) / (PACE_PAUSE * this.#fullPace);
    return Math.ceil(Math.max(this.#clock.now(), this.nextDayMs - restMs));
  }

  get isSpent(): boolean {
    this.#followClock();
    return this.#bytesPerDay > 0 && this.#bytes >= this.#bytesPerDay;
  }

  get nextDayMs(): number {
    this.#followClock();
    return (this.#day + 1) * DAY_MS;
  }

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

  /** 0 if the budget is used up, 1 without a budget. */
  #measurePace(): number {
    if (this.#bytesPerDay === 0) return 1;
    if (this.isSpent) return 0;
    const restMs = Math.min(this.nextDayMs - this.#clock.now(), DAY_MS);
    const pace = (1 - this.#bytes / this.#bytesPerDay) / (restMs / DAY_MS);
    if (restMs > PAUSE_MS_MAX) {
      // Without use, the pace grows as the rest of the day shrinks; this bound lets it recover within the longest
      // pause.
      this.#fullPace = Math.min(this.#fullPace, pace / (PACE_PAUSE * (1 - PAUSE_MS_MAX / restMs)));
    }
    // A recovered pace counts in full again: otherwise the savings could be spent all at once.
    this.#fullPace = Math.min(1, Math.max(this.#fullPace, pace));
    return pace / this.#fullPace;
  }
}

function toDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}

/** Part of a budget that is charged: `common` for everything, `status` for status polls while `common` pauses. */
export type BudgetPart = 'common' | 'status';

/** Bytes of one UTC day, and how many of them were charged to the status part. */
interface SharedBytesUsed extends BytesUsed {
  /** Default: 0. */
  readonly statusBytes?: number | undefined;
}

interface SharedBudgetOptions {
  /** 0: no budget; nothing is stretched or paused, but bytes are still counted. */
  readonly bytesPerDay: number;
  /** Share kept for status polls, above 0 and below 1. */
  readonly statusShare: number;
  readonly clock: Clock;
  /** {@link SharedBudget.used} of the previous process or settings. */
  readonly used?: SharedBytesUsed | undefined;
}

/** Factor of all intervals while the status part is charged. */
const STRETCH_MAX = 8;

/**
 * The daily byte budget of one router, in two parts, so that logs cannot use up the bytes of status polls. The common
 * part is charged for polls and logs and stretches their intervals ({@link ByteBudget}). While it pauses, no logs are
 * read, and polls are charged to the status part: whole polls at eight times the interval while its pace suffices,
 * otherwise a liveness probe of one resource. When it pauses as well, nothing is requested.
 */
export class SharedBudget {
  readonly #common: ByteBudget;
  readonly #status: ByteBudget;

  constructor({ bytesPerDay, statusShare, clock, used }: SharedBudgetOptions) {
    const statusBytes = used?.statusBytes ?? 0;
    this.#common = new ByteBudget({
      bytesPerDay: bytesPerDay * (1 - statusShare),
      clock,
      used: used && { day: used.day, bytes: Math.max(0, used.bytes - statusBytes) },
    });
    this.#status = new ByteBudget({
      bytesPerDay: bytesPerDay * statusShare,
      clock,
      used: used && { day: used.day, bytes: statusBytes },
    });
  }

  record(bytes: number, part: BudgetPart): void {
    (part === 'status' ? this.#status : this.#common).record(bytes);
  }

  intervalMultiplier(kind: BudgetedActivity): number {
    return this.#common.intervalMultiplier(kind);
  }

  /** The part that is charged for status polls now; `undefined` while the router is not polled. */
  get statusPart(): BudgetPart | undefined {
    if (!this.#common.isPaused) return 'common';
    return this.#status.isPaused ? undefined : 'status';
  }

  /** Factor for the intervals of resources in a status poll; `Infinity` while a poll is only a liveness probe. */
  pollMultiplier(isSlow: boolean): number {
    if (!this.#common.isPaused) return this.intervalMultiplier(isSlow ? 'slow' : 'status');
    return this.#status.intervalMultiplier('slow') === 1 ? STRETCH_MAX : Number.POSITIVE_INFINITY;
  }

  get isPaused(): boolean {
    return this.#common.isPaused;
  }

  /** Ends of the pauses as wall time in milliseconds since the Unix epoch; `undefined` without a pause. */
  get pauses(): { readonly logs: number | undefined; readonly status: number | undefined } {
    const logs = this.#common.pausedUntilMs;
    const status = this.#status.pausedUntilMs;
    return { logs, status: logs === undefined || status === undefined ? undefined : Math.min(logs, status) };
  }

  isSpent(part: BudgetPart): boolean {
    return part === 'status' ? this.#status.isSpent : this.#common.isSpent;
  }

  get nextDayMs(): number {
    return this.#common.nextDayMs;
  }

  get usedBytes(): number {
    return this.#common.usedBytes + this.#status.usedBytes;
  }

  /** Bytes used today; persist this over a restart. */
  get used(): SharedBytesUsed {
    const { day, bytes } = this.#common.used;
    const statusBytes = this.#status.used.bytes;
    return { day, bytes: bytes + statusBytes, ...(statusBytes > 0 && { statusBytes }) };
  }
}
