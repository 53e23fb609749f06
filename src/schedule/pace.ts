/** Pace of a router: `usual`, or reduced because it answers slowly or very slowly. */
export type PaceLevel = 'usual' | 'slow' | 'very_slow';

/** Usual answers of a router, and its settings. */
export interface PaceFacts {
  /** Usual time of one answer. Milliseconds. */
  readonly responseMs: number;
  /** True if its mobile signal is poor most of the time. */
  readonly isSignalPoor: boolean;
  /** The level before, so that a router at a limit does not change it all the time. */
  readonly previous: PaceLevel;
}

/** Intervals of a router. */
export interface PaceIntervals {
  /** Interval of its status polls, without polls for single modules that are read more often. Milliseconds. */
  readonly intervalMs: number;
  /** Time for which its values are served. Milliseconds. */
  readonly staleAfterMs: number;
}

/** Intervals and bounds of one level. */
export interface Pace {
  readonly level: PaceLevel;
  /** Factor of the intervals of slow modules (slower than the status), and of logs while no line is about to be lost. */
  readonly stretch: number;
  /** Factor of the interval of the status. */
  readonly statusStretch: number;
  /** Most resources of slow modules in one poll. */
  readonly slowResourcesMax: number;
}

/** An answer that usually takes this long, in milliseconds, begins a level. */
const BEGINS_MS: Readonly<Record<PaceLevel, number>> = { usual: 0, slow: 2000, very_slow: 5000 };
/** A level ends below this part of where it begins. */
const ENDS_AT = 1 / 2;
/**
 * A poor signal counts for `slow` from here. A router that answers faster is reached another way, or its link copes.
 * Milliseconds.
 */
const POOR_SIGNAL_MS = 500;
const STRETCHES: Readonly<Record<PaceLevel, number>> = { usual: 1, slow: 2, very_slow: 4 };
const SLOW_RESOURCES_MAX: Readonly<Record<PaceLevel, number>> = {
  usual: Number.POSITIVE_INFINITY,
  slow: 4,
  very_slow: 2,
};
/** Status is read at least this often while its values are served. */
const POLLS_PER_STALE_AFTER = 3;

/** Returns the level of a router that answers so. */
export function findPaceLevel({ responseMs, isSignalPoor, previous }: PaceFacts): PaceLevel {
  const isAt = (level: PaceLevel, limitMs: number) =>
    responseMs >= (STRETCHES[previous] >= STRETCHES[level] ? limitMs * ENDS_AT : limitMs);
  if (isAt('very_slow', BEGINS_MS.very_slow)) return 'very_slow';
  return isAt('slow', isSignalPoor ? POOR_SIGNAL_MS : BEGINS_MS.slow) ? 'slow' : 'usual';
}

/**
 * Returns how a router of this level is asked. Its status is read at least three times while values are served
 * (`poll.stale_after`), so with the default settings its interval is not stretched at all.
 */
export function toPace(level: PaceLevel, { intervalMs, staleAfterMs }: PaceIntervals): Pace {
  const statusMax = Math.max(1, Math.floor(staleAfterMs / POLLS_PER_STALE_AFTER / intervalMs));
  return {
    level,
    stretch: STRETCHES[level],
    statusStretch: Math.min(STRETCHES[level], statusMax),
    slowResourcesMax: SLOW_RESOURCES_MAX[level],
  };
}

/** Polls that are remembered, and how many there must be before anything is stretched. */
const POLLS_MAX = 9;
const POLLS_LEAST = 5;

/** One poll that the router answered. */
export interface AnsweredPoll {
  /** Usual time of an answer in this poll. Milliseconds. */
  readonly responseMs: number;
  readonly isSignalPoor: boolean;
}

/** Learns from the last polls of a router how much it is to be spared. The median decides, so that one bad poll does not. */
export class PaceMemory {
  readonly #intervals: PaceIntervals;
  /** Of the last polls: the time of an answer, and whether the signal was poor. */
  #responsesMs: readonly number[] = [];
  #poorSignals: readonly boolean[] = [];
  #pace: Pace;

  /** `previous`: how the router usually answered before a restart; counts as much as the fewest polls that suffice. */
  constructor(intervals: PaceIntervals, previous?: AnsweredPoll) {
    this.#intervals = intervals;
    this.#pace = toPace('usual', intervals);
    if (previous) Array.from({ length: POLLS_LEAST }, () => this.record(previous));
  }

  get pace(): Pace {
    return this.#pace;
  }

  /** Usual time of an answer; `undefined` before there were enough polls. Milliseconds. */
  get responseMs(): number | undefined {
    return this.#responsesMs.length < POLLS_LEAST ? undefined : findMedian(this.#responsesMs);
  }

  /** True if the signal was poor in most of the last polls. */
  get isSignalPoor(): boolean {
    return this.#poorSignals.filter((isPoor) => isPoor).length * 2 > this.#poorSignals.length;
  }

  /** Forgets all polls, because another router answers. */
  forget(): void {
    this.#responsesMs = [];
    this.#poorSignals = [];
    this.#pace = toPace('usual', this.#intervals);
  }

  /** Records a poll; returns true if the pace has changed. */
  record(poll: AnsweredPoll): boolean {
    // Neither pushed nor spread: both leave room for sixteen more.
    this.#responsesMs = this.#responsesMs.slice(1 - POLLS_MAX).concat(poll.responseMs);
    this.#poorSignals = this.#poorSignals.slice(1 - POLLS_MAX).concat(poll.isSignalPoor);
    const { responseMs, isSignalPoor } = this;
    if (responseMs === undefined) return false;
    const level = findPaceLevel({ responseMs, isSignalPoor, previous: this.#pace.level });
    if (level === this.#pace.level) return false;
    this.#pace = toPace(level, this.#intervals);
    return true;
  }
}

/** Returns the middle of some numbers, the lower one of two; NaN of none. */
export function findMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}
