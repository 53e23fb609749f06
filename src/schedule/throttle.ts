/** How much a router is throttled: `usual` (not at all), or because it answers slowly or very slowly. */
export type ThrottleLevel = 'usual' | 'slow' | 'very_slow';

interface ThrottleFacts {
  /** Usual time of one answer. Milliseconds. */
  readonly responseMs: number;
  readonly isSignalPoor: boolean;
  readonly previous: ThrottleLevel;
}

/** Intervals of a router that throttling may stretch. */
export interface ThrottleIntervals {
  /** Interval of its status polls, without more frequent polls of single modules. Milliseconds. */
  readonly intervalMs: number;
  readonly staleAfterMs: number;
}

/** Intervals and bounds of one level. */
export interface Throttle {
  readonly level: ThrottleLevel;
  /**
   * Factor of the intervals of slow modules (slower than the status), and of logs unless lines are about to be lost.
   */
  readonly stretch: number;
  readonly statusStretch: number;
  /** Maximum number of resources of slow modules in one poll. */
  readonly slowResourcesMax: number;
}

/** Usual answer time from which a level applies. Milliseconds. */
const BEGINS_MS: Readonly<Record<ThrottleLevel, number>> = { usual: 0, slow: 2000, very_slow: 5000 };
/** A level ends below this part of the time from which it applies. */
const ENDS_AT = 1 / 2;
/**
 * Lower limit of `slow` for a router with a poor signal. One that answers faster is reached another way, or its link
 * copes. Milliseconds.
 */
const POOR_SIGNAL_MS = 500;
const STRETCHES: Readonly<Record<ThrottleLevel, number>> = { usual: 1, slow: 2, very_slow: 4 };
const SLOW_RESOURCES_MAX: Readonly<Record<ThrottleLevel, number>> = {
  usual: Number.POSITIVE_INFINITY,
  slow: 4,
  very_slow: 2,
};
/** Status is read at least this often within the time for which values are served. */
const POLLS_PER_STALE_AFTER = 3;

export function findThrottleLevel({ responseMs, isSignalPoor, previous }: ThrottleFacts): ThrottleLevel {
  const isAt = (level: ThrottleLevel, limitMs: number) =>
    responseMs >= (STRETCHES[previous] >= STRETCHES[level] ? limitMs * ENDS_AT : limitMs);
  if (isAt('very_slow', BEGINS_MS.very_slow)) return 'very_slow';
  return isAt('slow', isSignalPoor ? POOR_SIGNAL_MS : BEGINS_MS.slow) ? 'slow' : 'usual';
}

/**
 * Returns the throttle of a level. Status is read at least three times within `poll.stale_after`, so with the default
 * settings its interval is not stretched.
 */
export function toThrottle(level: ThrottleLevel, { intervalMs, staleAfterMs }: ThrottleIntervals): Throttle {
  const statusMax = Math.max(1, Math.floor(staleAfterMs / POLLS_PER_STALE_AFTER / intervalMs));
  return {
    level,
    stretch: STRETCHES[level],
    statusStretch: Math.min(STRETCHES[level], statusMax),
    slowResourcesMax: SLOW_RESOURCES_MAX[level],
  };
}

// Polls that are kept, and the fewest that decide.
const POLLS_MAX = 9;
const POLLS_LEAST = 5;

/** One poll that the router answered. */
export interface AnsweredPoll {
  /** Median time of an answer in this poll. Milliseconds. */
  readonly responseMs: number;
  readonly isSignalPoor: boolean;
}

/** Decides from a router's last polls how much it is throttled. The median decides, so that one bad poll does not. */
export class ThrottleMemory {
  readonly #intervals: ThrottleIntervals;
  #responsesMs: readonly number[] = [];
  #poorSignals: readonly boolean[] = [];
  #pace: Throttle;

  /** `previous`: answers before a restart; counts as much as the fewest polls that decide. */
  constructor(intervals: ThrottleIntervals, previous?: AnsweredPoll) {
    this.#intervals = intervals;
    this.#pace = toThrottle('usual', intervals);
    if (previous) Array.from({ length: POLLS_LEAST }, () => this.record(previous));
  }

  get pace(): Throttle {
    return this.#pace;
  }

  /** Usual time of an answer in milliseconds; `undefined` before there were enough polls. */
  get responseMs(): number | undefined {
    return this.#responsesMs.length < POLLS_LEAST ? undefined : findMedian(this.#responsesMs);
  }

  get isSignalPoor(): boolean {
    return this.#poorSignals.filter((isPoor) => isPoor).length * 2 > this.#poorSignals.length;
  }

  forget(): void {
    this.#responsesMs = [];
    this.#poorSignals = [];
    this.#pace = toThrottle('usual', this.#intervals);
  }

  /** Records a poll; returns true if the level has changed. */
  record(poll: AnsweredPoll): boolean {
    // Not push or spread: both allocate room for sixteen more.
    this.#responsesMs = this.#responsesMs.slice(1 - POLLS_MAX).concat(poll.responseMs);
    this.#poorSignals = this.#poorSignals.slice(1 - POLLS_MAX).concat(poll.isSignalPoor);
    const { responseMs, isSignalPoor } = this;
    if (responseMs === undefined) return false;
    const level = findThrottleLevel({ responseMs, isSignalPoor, previous: this.#pace.level });
    if (level === this.#pace.level) return false;
    this.#pace = toThrottle(level, this.#intervals);
    return true;
  }
}

/** Returns the median, the lower one of two; NaN for an empty list. */
export function findMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}
