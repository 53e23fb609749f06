/** State of a router's clock as its lines have shown it so far; stored with the position of the log. */
export interface ClockState {
  /** UTC of the last line with a time, as the router's clock had it. */
  lastUtcMs: number | undefined;
  /** Times before this are those of a clock that has fallen back and was not set again yet. */
  unsyncedBelowMs: number | undefined;
  /** True if the last time was in the future. */
  isAhead: boolean;
  /** Jumps of the clock so far. */
  epoch: number;
}

/**
 * `sane`: as it should be. `unsynced`: the clock has not been set since the router started. `ahead`: the time is yet to come.
 */
export type ClockVerdict = 'sane' | 'unsynced' | 'ahead';

/** A step of the router's clock that no time between two lines explains. */
export interface ClockJump {
  readonly beforeUtcMs: number;
  readonly afterUtcMs: number;
}

/** The bounds within which a line must have been written, by the agent's clock. */
interface LineWindow {
  /** Start of the last look that read the log to its end, without this line; `undefined` when there was none. */
  readonly notBeforeMs: number | undefined;
  /** Time at which the line was read. Not the start of the run: a run over many logs takes minutes, and routers go on writing. */
  readonly notAfterMs: number;
}

/** No router was made before this; a clock that shows less was never set. UTC, milliseconds since the Unix epoch. */
export const FLOOR_MS = Date.UTC(2020, 0, 1);
/** Lines of several processes are now and then written in another order than stamped. */
const BACKWARD_SLACK_MS = 5000;
/** Falling back further than this is a clock without a battery at a restart, and not one that was corrected. */
export const UNSYNCED_STEP_MS = 86_400_000;
/** Sinks refuse times that are further ahead. */
const AHEAD_SLACK_MS = 10 * 60_000;
/** While the zone is not known, a time may be ahead by the largest offset of any zone. */
const ZONE_SLACK_MS = 14 * 3_600_000;
/** Maximum drift between the clocks of router and agent from one check to the next, request times included. */
const DRIFT_MS = 60_000;

/**
 * Judges the times of lines in their order. What the router's clock is ahead of the agent's is learnt from lines that
 * came between two looks at the log, so that a jump shows even when lines are rare.
 */
export class LogClock {
  readonly state: ClockState;
  readonly #isZoneKnown: boolean;
  readonly #skew: SkewBounds;

  constructor(state: ClockState, isZoneKnown: boolean, skew: SkewBounds = createSkewBounds()) {
    this.state = state;
    this.#isZoneKnown = isZoneKnown;
    this.#skew = skew;
  }

  /** Goes on behind a line of which only the time is known. */
  begin(lastUtcMs: number | undefined, nowMs: number): void {
    this.state.lastUtcMs = lastUtcMs;
    this.state.isAhead = lastUtcMs !== undefined && isFuture(lastUtcMs, nowMs, this.#isZoneKnown);
  }

  /** The next line's time. */
  judge(utcMs: number, window: LineWindow): { readonly verdict: ClockVerdict; readonly jump: ClockJump | undefined } {
    const { state } = this;
    const before = state.lastUtcMs;
    // What was not of the future and is now was so before the agent's own clock was set back.
    const wasAhead = state.isAhead || (before !== undefined && isFuture(before, window.notAfterMs, this.#isZoneKnown));
    const isBack = before !== undefined && utcMs < before - BACKWARD_SLACK_MS;
    if (isBack && !wasAhead && before >= FLOOR_MS && utcMs < before - UNSYNCED_STEP_MS) {
      state.unsyncedBelowMs = before - UNSYNCED_STEP_MS;
    }
    const isUnsynced = utcMs < FLOOR_MS || (state.unsyncedBelowMs !== undefined && utcMs < state.unsyncedBelowMs);
    const wasUnsynced = before !== undefined && (before < FLOOR_MS || state.unsyncedBelowMs !== undefined);
    if (!isUnsynced) state.unsyncedBelowMs = undefined;
    const isAhead = isFuture(utcMs, window.notAfterMs, this.#isZoneKnown);
    const isForward = (before !== undefined && isAhead && !wasAhead) || (wasUnsynced && !isUnsynced);
    const isSkewed = this.#noteSkew(utcMs, window);
    state.lastUtcMs = utcMs;
    state.isAhead = isAhead;
    const hasJumped = before !== undefined && (isBack || isForward || isSkewed);
    if (hasJumped) state.epoch++;
    return {
      verdict: isUnsynced ? 'unsynced' : isAhead ? 'ahead' : 'sane',
      jump: hasJumped ? { beforeUtcMs: before, afterUtcMs: utcMs } : undefined,
    };
  }

  /** True if {@link judge} would find a set clock that runs on. */
  isOrdinary(utcMs: number, { notBeforeMs, notAfterMs }: LineWindow): boolean {
    const { lastUtcMs, unsyncedBelowMs, isAhead } = this.state;
    if (lastUtcMs === undefined || unsyncedBelowMs !== undefined || isAhead || lastUtcMs < FLOOR_MS) return false;
    if (utcMs < FLOOR_MS || utcMs < lastUtcMs - BACKWARD_SLACK_MS) return false;
    if (isFuture(utcMs, notAfterMs, this.#isZoneKnown)) return false;
    return notBeforeMs === undefined || !this.#isOutside(utcMs - notAfterMs, utcMs - notBeforeMs);
  }

  /** Nothing has set the clock until the end of a file: what fell back was right, as far as anybody can tell. */
  trust(): void {
    this.state.unsyncedBelowMs = undefined;
  }

  /** Narrows what is known of the clock's lead; true when the line contradicts it, which begins it anew. */
  #noteSkew(utcMs: number, { notBeforeMs, notAfterMs }: LineWindow): boolean {
    if (notBeforeMs === undefined) return false;
    const skew = this.#skew;
    const [minMs, maxMs] = [utcMs - notAfterMs, utcMs - notBeforeMs];
    const isOutside = this.#isOutside(minMs, maxMs);
    const narrowed = { minMs: Math.max(skew.minMs, minMs), maxMs: Math.min(skew.maxMs, maxMs) };
    Object.assign(skew, isOutside || narrowed.minMs > narrowed.maxMs ? { minMs, maxMs } : narrowed);
    return isOutside;
  }

  /** True if a lead between these bounds contradicts what is known. */
  #isOutside(minMs: number, maxMs: number): boolean {
    return minMs > this.#skew.maxMs + DRIFT_MS || maxMs < this.#skew.minMs - DRIFT_MS;
  }
}

/** True if a time is further in the future than sinks accept. */
export function isFuture(utcMs: number, nowMs: number, isZoneKnown: boolean): boolean {
  return utcMs > nowMs + AHEAD_SLACK_MS + (isZoneKnown ? 0 : ZONE_SLACK_MS);
}

/** By how much a router's clock can be ahead of the agent's, as far as fresh lines have shown it. */
export interface SkewBounds {
  minMs: number;
  maxMs: number;
}

/** Nothing is known. */
export function createSkewBounds(): SkewBounds {
  return { minMs: Number.NEGATIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };
}
