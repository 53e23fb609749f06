import { type Clock, hashToUnit, type Timer } from '../base/index.ts';
import { DueQueue } from './due-queue.ts';

/** Something that is done to one router again and again. */
export interface Activity {
  /** Unique. */
  readonly key: string;
  /**
   * The router. Activities of one lane never overlap, and its hash fixes their place within the interval, the same after
   * every restart: what is due for a router at the same time is done in the order of adding, in one go.
   */
  readonly lane: string;
  readonly intervalMs: number;
  /**
   * One turn; `isAwaited` says whether another activity of the lane is due, so that a long turn can make way. Resolves with
   * whether the router did its part. A rejection is a fault of the program: it is reported.
   */
  readonly run: (signal: AbortSignal, isAwaited: () => boolean) => Promise<'done' | 'failed'>;
}

export interface TurnEnded {
  readonly type: 'turn-ended';
  readonly key: string;
  readonly outcome: 'done' | 'failed';
  /** How late the turn began. Milliseconds. */
  readonly lagMs: number;
  readonly durationMs: number;
  /** What the turn rejected with, if it did. */
  readonly error?: unknown;
}

export interface SchedulerOptions {
  readonly clock: Clock;
  readonly report: (event: TurnEnded) => void;
  /** Turns under way at once, over all routers. Default 256. */
  readonly turnsMax?: number;
}

/** Enough for thousands of healthy routers, and a bound for sockets and memory when many are slow at once. */
const TURNS_MAX = 256;
/** At start the first turns are spread over no more than this per activity, so that a small fleet is up at once. */
const START_SPREAD_MS = 20;
/** A failing router is asked ever less often, but no later than the first turn of its grid after this time. */
const BACKOFF_CEILING_MS = 5 * 60_000;

interface Entry {
  readonly activity: Activity;
  dueMs: number;
  failures: number;
}

/**
 * Decides when each activity has its turn: on a fixed grid (first turn plus whole intervals), so that slow turns are
 * late but never pile up; one turn at a time per lane; a failing activity backs off in whole intervals.
 */
export class Scheduler {
  readonly #clock: Clock;
  readonly #report: (event: TurnEnded) => void;
  readonly #turnsMax: number;
  readonly #queue = new DueQueue<Entry>();
  readonly #entries: Entry[] = [];
  readonly #busyLanes = new Map<string, Entry[]>();
  readonly #ready: Entry[] = [];
  readonly #turns = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #timer: Timer | undefined;

  constructor(options: SchedulerOptions) {
    this.#clock = options.clock;
    this.#report = options.report;
    this.#turnsMax = options.turnsMax ?? TURNS_MAX;
  }

  /** Adds an activity; to be called before {@link start}. */
  add(activity: Activity): void {
    this.#entries.push({ activity, dueMs: 0, failures: 0 });
  }

  /** Begins. The first turns come within the shorter of the interval and 20 ms per activity. */
  start(): void {
    // Whole milliseconds: with fractions, rounding would now and then put a turn one interval too late on its grid.
    const nowMs = Math.ceil(this.#clock.monotonic());
    for (const entry of this.#entries) {
      const spreadMs = Math.min(entry.activity.intervalMs, START_SPREAD_MS * this.#entries.length);
      entry.dueMs = nowMs + Math.floor(hashToUnit(entry.activity.lane) * spreadMs);
      this.#queue.push(entry.dueMs, entry);
    }
    this.#arm();
  }

  /** Aborts the turns under way and resolves when they have ended. No turn begins after this. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    await this.whenIdle();
  }

  /** Resolves when no turn is under way. */
  async whenIdle(): Promise<void> {
    while (this.#turns.size > 0) await Promise.all(this.#turns);
  }

  #arm(): void {
    this.#timer?.cancel();
    const dueMs = this.#queue.nextDueMs;
    if (dueMs === undefined || this.#stop.signal.aborted) return;
    this.#timer = this.#clock.setTimer(dueMs - this.#clock.monotonic(), () => this.#dispatch());
  }

  #dispatch(): void {
    const nowMs = this.#clock.monotonic();
    for (let entry = this.#queue.popDue(nowMs); entry; entry = this.#queue.popDue(nowMs)) {
      const waiting = this.#busyLanes.get(entry.activity.lane);
      if (waiting) waiting.push(entry);
      else {
        this.#busyLanes.set(entry.activity.lane, []);
        this.#ready.push(entry);
      }
    }
    this.#fill();
    this.#arm();
  }

  #fill(): void {
    while (this.#turns.size < this.#turnsMax && !this.#stop.signal.aborted) {
      const entry = this.#ready.shift();
      if (!entry) return;
      const turn = this.#take(entry).finally(() => {
        this.#turns.delete(turn);
        this.#fill();
      });
      this.#turns.add(turn);
    }
  }

  async #take(entry: Entry): Promise<void> {
    const { activity } = entry;
    const startedMs = this.#clock.monotonic();
    let outcome: 'done' | 'failed' = 'failed';
    let error: unknown;
    try {
      outcome = await activity.run(this.#stop.signal, () => this.#isAwaited(activity.lane));
    } catch (cause) {
      error = cause;
    }
    const endedMs = this.#clock.monotonic();
    if (!this.#stop.signal.aborted) {
      const lagMs = startedMs - entry.dueMs;
      this.#report({ type: 'turn-ended', key: activity.key, outcome, lagMs, durationMs: endedMs - startedMs, error });
    }
    entry.failures = outcome === 'failed' ? entry.failures + 1 : 0;
    entry.dueMs = computeNextDueMs(entry, endedMs);
    this.#queue.push(entry.dueMs, entry);
    this.#releaseLane(activity.lane);
    this.#arm();
  }

  #isAwaited(lane: string): boolean {
    const waiting = this.#busyLanes.get(lane);
    return waiting !== undefined && waiting.length > 0;
  }

  #releaseLane(lane: string): void {
    const next = this.#busyLanes.get(lane)?.shift();
    if (next) this.#ready.push(next);
    else this.#busyLanes.delete(lane);
  }
}

/** The first place on the activity's grid that is still to come and respects its back-off. */
function computeNextDueMs(entry: Entry, nowMs: number): number {
  const { intervalMs } = entry.activity;
  const doublings = Math.min(Math.max(0, entry.failures - 1), 30);
  const waitMs = Math.min(intervalMs * 2 ** doublings, Math.max(intervalMs, BACKOFF_CEILING_MS));
  const earliestMs = Math.max(entry.dueMs + waitMs, nowMs);
  return entry.dueMs + Math.ceil((earliestMs - entry.dueMs) / intervalMs) * intervalMs;
}
