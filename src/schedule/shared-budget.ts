import type { Clock } from '../base/index.ts';
import { type BudgetedActivity, ByteBudget, type BytesUsed } from './byte-budget.ts';

/** The part of a budget that pays: `common` pays for everything, `status` for status polls while `common` pauses. */
export type BudgetPart = 'common' | 'status';

/** Bytes of one UTC day, and those among them that the part of status polls has paid. */
export interface SharedBytesUsed extends BytesUsed {
  /** Absent: none. */
  readonly statusBytes?: number | undefined;
}

/** Bytes that may be spent in a day, and how they are shared. */
export interface SharedBudgetOptions {
  /** Daily budget in bytes. 0 means no budget: nothing is stretched or paused, but bytes are still counted. */
  readonly bytesPerDay: number;
  /** Share of it that is kept for status polls, above 0 and below 1. */
  readonly statusShare: number;
  /** Clock whose wall time defines the UTC day. */
  readonly clock: Clock;
  /** The value of {@link SharedBudget.used} when the previous process, or the previous settings, ended. */
  readonly used?: SharedBytesUsed | undefined;
}

/** Factor of all intervals while the part of status polls pays. */
const STRETCH_MAX = 8;

/**
 * The daily byte budget of one router, in two parts, so that logs cannot spend what tells if a router is alive. The common
 * part pays for polls and logs and stretches their intervals ({@link ByteBudget}). While it pauses, no logs are read, and
 * status polls are paid by the other part: whole polls at eight times the interval while that part keeps pace with the
 * day, else one resource only, as a sign of life. When it pauses as well, nothing is asked.
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

  /** Counts bytes sent or received over the wire. */
  record(bytes: number, part: BudgetPart): void {
    (part === 'status' ? this.#status : this.#common).record(bytes);
  }

  /** Returns the current factor for the intervals of `kind`: 1, 2, 4 or 8. */
  intervalMultiplier(kind: BudgetedActivity): number {
    return this.#common.intervalMultiplier(kind);
  }

  /** The part that pays for status polls now; `undefined` while none does and the router is not polled. */
  get statusPart(): BudgetPart | undefined {
    if (!this.#common.isPaused) return 'common';
    return this.#status.isPaused ? undefined : 'status';
  }

  /** Factor for the intervals of resources in a status poll; `Infinity` while a poll is only a sign of life. */
  pollMultiplier(isSlow: boolean): number {
    if (!this.#common.isPaused) return this.intervalMultiplier(isSlow ? 'slow' : 'status');
    return this.#status.intervalMultiplier('slow') === 1 ? STRETCH_MAX : Number.POSITIVE_INFINITY;
  }

  /** True while logs and backups pause. */
  get isPaused(): boolean {
    return this.#common.isPaused;
  }

  /** Ends of the pauses, wall time in milliseconds since the Unix epoch; `undefined` where there is no pause. */
  get pauses(): { readonly logs: number | undefined; readonly status: number | undefined } {
    const logs = this.#common.pausedUntilMs;
    const status = this.#status.pausedUntilMs;
    return { logs, status: logs === undefined || status === undefined ? undefined : Math.min(logs, status) };
  }

  /** True if a part of the day's budget is used up. */
  isSpent(part: BudgetPart): boolean {
    return part === 'status' ? this.#status.isSpent : this.#common.isSpent;
  }

  /** Start of the next budget day: wall time in milliseconds since the Unix epoch. */
  get nextDayMs(): number {
    return this.#common.nextDayMs;
  }

  /** Bytes used today, those of status included, without the day. */
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
