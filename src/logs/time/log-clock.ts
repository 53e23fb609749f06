/** State of a router's clock as shown by its lines. Stored with the position. */
export interface ClockState {
  /** Last time of a line, by the router's clock. */
  lastUtcMs?: number | undefined;
  /** Earlier times are of a clock that fell back and was not set again. */
  unsyncedBelowMs?: number | undefined;
  isAhead: boolean;
  epoch: number;
}

/** `unsynced`: the clock was not set since the router started. `ahead`: the time is in the future. */
export type ClockVerdict = 'sane' | 'unsynced' | 'ahead';

/** A step of the router's clock. */
export interface ClockJump {
  readonly beforeUtcMs: number;
  readonly afterUtcMs: number;
}

interface LineWindow {
  /** Start of the last read to the end of the log; `undefined` if there was none. */
  readonly notBeforeMs: number | undefined;
  /** Time at which the line was read. The start of the run is too early: a run may take minutes. */
  readonly notAfterMs: number;
}

/** Earlier times are of a clock that was never set, because no router is older. Milliseconds since the Unix epoch. */
export const FLOOR_MS = Date.UTC(2020, 0, 1);
/** Several processes may write lines slightly out of order. Milliseconds. */
const BACKWARD_SLACK_MS = 5000;
/** A larger step back is a restart without a battery, not a correction. Milliseconds. */
export const UNSYNCED_STEP_MS = 86_400_000;
/** Sinks reject times further ahead. Milliseconds. */
const AHEAD_SLACK_MS = 10 * 60_000;
/** Tolerance while the zone is unknown: the largest zone offset. Milliseconds. */
const ZONE_SLACK_MS = 14 * 3_600_000;
/** Maximum drift between the clocks between two runs, request times included. Milliseconds. */
const DRIFT_MS = 60_000;

/**
 * Judges the times of lines in order. The skew to the agent's clock is learnt from new lines, so that a jump is
 * detected even if lines are rare.
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

  /** Continues after a line of which only the time is known. */
  begin(lastUtcMs: number | undefined, nowMs: number): void {
    this.state.lastUtcMs = lastUtcMs;
    this.state.isAhead = lastUtcMs !== undefined && isFuture(lastUtcMs, nowMs, this.#isZoneKnown);
  }

  judge(utcMs: number, window: LineWindow): { readonly verdict: ClockVerdict; readonly jump: ClockJump | undefined } {
    const { state } = this;
    const before = state.lastUtcMs;
    // A time can only become a future one if the agent's clock was set back.
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
    const isSkewed = this.#recordSkew(utcMs, window);
    state.lastUtcMs = utcMs;
    state.isAhead = isAhead;
    const hasJumped = before !== undefined && (isBack || isForward || isSkewed);
    if (hasJumped) state.epoch++;
    return {
      verdict: isUnsynced ? 'unsynced' : isAhead ? 'ahead' : 'sane',
      jump: hasJumped ? { beforeUtcMs: before, afterUtcMs: utcMs } : undefined,
    };
  }

  /** Returns true if {@link judge} would find a set clock without a jump. */
  isOrdinary(utcMs: number, { notBeforeMs, notAfterMs }: LineWindow): boolean {
    const { lastUtcMs, unsyncedBelowMs, isAhead } = this.state;
    if (lastUtcMs === undefined || unsyncedBelowMs !== undefined || isAhead || lastUtcMs < FLOOR_MS) return false;
    if (utcMs < FLOOR_MS || utcMs < lastUtcMs - BACKWARD_SLACK_MS) return false;
    if (isFuture(utcMs, notAfterMs, this.#isZoneKnown)) return false;
    return notBeforeMs === undefined || !this.#isOutside(utcMs - notAfterMs, utcMs - notBeforeMs);
  }

  /** Accepts the clock: nothing set it until the end of the file. */
  trust(): void {
    this.state.unsyncedBelowMs = undefined;
  }

  #recordSkew(utcMs: number, { notBeforeMs, notAfterMs }: LineWindow): boolean {
    if (notBeforeMs === undefined) return false;
    const skew = this.#skew;
    const [minMs, maxMs] = [utcMs - notAfterMs, utcMs - notBeforeMs];
    const isOutside = this.#isOutside(minMs, maxMs);
    const narrowed = { minMs: Math.max(skew.minMs, minMs), maxMs: Math.min(skew.maxMs, maxMs) };
    Object.assign(skew, isOutside || narrowed.minMs > narrowed.maxMs ? { minMs, maxMs } : narrowed);
    return isOutside;
  }

  #isOutside(minMs: number, maxMs: number): boolean {
    return minMs > this.#skew.maxMs + DRIFT_MS || maxMs < this.#skew.minMs - DRIFT_MS;
  }
}

/** Returns true if a time is further ahead than sinks accept. */
export function isFuture(utcMs: number, nowMs: number, isZoneKnown: boolean): boolean {
  return utcMs > nowMs + AHEAD_SLACK_MS + (isZoneKnown ? 0 : ZONE_SLACK_MS);
}

/** Bounds of the router's clock minus the agent's. */
export interface SkewBounds {
  minMs: number;
  maxMs: number;
}

/** Returns unlimited bounds. */
export function createSkewBounds(): SkewBounds {
  return { minMs: Number.NEGATIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };
}
