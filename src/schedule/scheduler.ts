import { type Clock, hashToUnit, type Timer } from '../base/index.ts';
import type { Activity, TriggerOutcome, TurnEnded, TurnOutcome } from './activity.ts';
import { DueQueue } from './due-queue.ts';
import { FixedRateSchedule } from './fixed-rate-schedule.ts';

export interface SchedulerOptions {
  /** Clock for due times (monotonic) and timers. */
  readonly clock: Clock;
  /** Called after every run that was not aborted. */
  readonly report: (event: TurnEnded) => void;
  /** Maximum number of concurrent runs over all routers. Default 256. */
  readonly turnsMax?: number;
}

/** Enough for thousands of healthy routers, and a bound on sockets and memory if many are slow at once. */
const TURNS_MAX = 256;
/** First runs are spread over at most this long per activity, so that a small fleet starts quickly. */
const START_SPREAD_MS = 20;

interface Entry {
  readonly activity: Activity;
  readonly lane: Lane;
  readonly grid: FixedRateSchedule;
  /** Changes as drawn at {@link Scheduler}. */
  state: 'resting' | 'waiting' | 'running' | 'removed';
  /** Resolves all triggers since the last run ended. */
  awaited: PromiseWithResolvers<TriggerOutcome> | undefined;
}

/** A router and its queue of activities. */
interface Lane {
  readonly name: string;
  readonly entries: Set<Entry>;
  /** The activity that holds the lane: running, or ready and waiting for a free run. */
  holder: Entry | undefined;
  readonly waiting: Entry[];
}

interface TurnUnderWay {
  readonly abort: AbortController;
  ended: Promise<void>;
}

/**
 * Decides when each activity has its turn: on a fixed grid (first turn plus whole intervals), so that slow turns are
 * late but never pile up; one turn at a time per lane; a failing activity backs off in whole intervals.
 *
 * ```
 *   resting ── due, or asked for ──▶ waiting ── lane and a place free ──▶ running ── ended ──▶ resting
 *      ▲                                └── paused ──▶ resting
 *      └── due, but stretched or paused: the place passes        any ── remove() ──▶ removed
 * ```
 */
export class Scheduler {
  readonly #clock: Clock;
  readonly #report: (event: TurnEnded) => void;
  readonly #turnsMax: number;
  readonly #entries = new Map<string, Entry>();
  readonly #lanes = new Map<string, Lane>();
  readonly #queue = new DueQueue<Entry>();
  /** Activities that hold their lane and wait for a free run. */
  readonly #ready: Entry[] = [];
  readonly #running = new Map<Entry, TurnUnderWay>();
  #isStarted = false;
  #isStopped = false;
  #timer: Timer | undefined;

  constructor(options: SchedulerOptions) {
    this.#clock = options.clock;
    this.#report = options.report;
    this.#turnsMax = options.turnsMax ?? TURNS_MAX;
  }

  /**
   * Adds an activity at any time; replaces one with the same key. Its first run is scheduled as described at {@link
   * start}.
   */
  add(activity: Activity): void {
    void this.remove(activity.key);
    const lane = this.#lanes.get(activity.lane) ?? {
      name: activity.lane,
      entries: new Set(),
      holder: undefined,
      waiting: [],
    };
    this.#lanes.set(lane.name, lane);
    const grid = new FixedRateSchedule(activity.intervalMs);
    const entry: Entry = { activity, lane, grid, state: 'resting', awaited: undefined };
    lane.entries.add(entry);
    this.#entries.set(activity.key, entry);
    if (!this.#isStarted) return;
    this.#place(entry);
    this.#arm();
  }

  /** Starts scheduling. First runs come within the shorter of the interval and 20 ms per registered activity. */
  start(): void {
    this.#isStarted = true;
    for (const entry of this.#entries.values()) {
      this.#place(entry);
      // Already triggered, but without a scheduled time that would resolve the trigger.
      if (!entry.awaited || Number.isFinite(entry.grid.dueMs)) continue;
      this.#queue.remove(entry);
      this.#enqueue(entry);
    }
    this.#proceed();
  }

  /**
   * Removes an activity, aborts its run if there is one, and resolves when that run has ended. Other activities of the
   * lane continue. Pending triggers resolve with `gone`.
   */
  async remove(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (!entry) return;
    const { lane } = entry;
    this.#entries.delete(key);
    lane.entries.delete(entry);
    entry.state = 'removed';
    this.#queue.remove(entry);
    takeOut(lane.waiting, entry);
    takeOut(this.#ready, entry);
    this.#answer(entry, 'gone');
    const turn = this.#running.get(entry);
    if (!turn) {
      // A run in progress keeps the lane until it has ended: nothing else may be done to the router until then.
      if (lane.holder === entry || lane.holder === undefined) this.#releaseLane(lane);
      return;
    }
    turn.abort.abort();
    await turn.ended;
  }

  /**
   * Requests a run as soon as the lane is free, and resolves with its outcome; `failed` also if the activity is paused.
   * All triggers before a run has ended share it, including those made while it is running. A triggered run may come
   * ahead of its scheduled time; a scheduled time that passes before the run has ended is served by it. A trigger
   * before {@link start} resolves with the first run.
   */
  trigger(key: string): Promise<TriggerOutcome> {
    const entry = this.#entries.get(key);
    if (!entry || this.#isStopped) return Promise.resolve('gone');
    if (entry.state !== 'running' && entry.activity.isPaused?.()) return Promise.resolve('failed');
    entry.awaited ??= Promise.withResolvers();
    const { promise } = entry.awaited;
    if (entry.state === 'resting' && this.#isStarted) {
      this.#queue.remove(entry);
      this.#enqueue(entry);
      this.#proceed();
    }
    return promise;
  }

  /** Aborts the current runs and resolves when they have ended. No run starts after this. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    for (const { abort } of this.#running.values()) abort.abort();
    for (const entry of this.#entries.values()) this.#answer(entry, 'gone');
    await this.whenIdle();
  }

  /** Resolves when nothing is running. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #place(entry: Entry): void {
    // Whole milliseconds: with fractions, rounding would occasionally schedule a run one interval late.
    const nowMs = Math.ceil(this.#clock.monotonic());
    const spreadMs = Math.min(entry.activity.intervalMs, START_SPREAD_MS * this.#entries.size);
    // One connection serves everything that is due for a router at the same time, so a new activity joins what is due
    // soon.
    const others = [...entry.lane.entries].map(({ grid }) => grid.dueMs);
    const soon = others.filter((dueMs) => dueMs >= nowMs && dueMs <= nowMs + spreadMs);
    const ownMs = nowMs + Math.floor(hashToUnit(entry.lane.name) * spreadMs);
    entry.grid.begin(soon.length > 0 ? Math.min(...soon) : ownMs);
    this.#queue.push(entry.grid.dueMs, entry);
  }

  #arm(): void {
    this.#timer?.cancel();
    const dueMs = this.#queue.nextDueMs;
    if (dueMs === undefined || this.#isStopped) return;
    this.#timer = this.#clock.setTimer(dueMs - this.#clock.monotonic(), () => this.#dispatch());
  }

  #dispatch(): void {
    const nowMs = this.#clock.monotonic();
    for (let entry = this.#queue.popDue(nowMs); entry; entry = this.#queue.popDue(nowMs)) {
      const { activity, grid } = entry;
      // Checked before it is queued as well: an activity that will not run must not make a long run of the lane yield.
      if (activity.isPaused?.() || !grid.admits(activity.stretch?.() ?? 1)) this.#pass(entry);
      else this.#enqueue(entry);
    }
    this.#proceed();
  }

  #enqueue(entry: Entry): void {
    const { lane } = entry;
    entry.state = 'waiting';
    if (lane.holder) {
      lane.waiting.push(entry);
      return;
    }
    lane.holder = entry;
    this.#ready.push(entry);
  }

  #proceed(): void {
    while (this.#running.size < this.#turnsMax && !this.#isStopped) {
      const entry = this.#ready.shift();
      if (!entry) break;
      if (entry.activity.isPaused?.()) {
        this.#pass(entry);
        this.#releaseLane(entry.lane);
        continue;
      }
      entry.state = 'running';
      const turn = { abort: new AbortController(), ended: Promise.resolve() };
      this.#running.set(entry, turn);
      turn.ended = this.#take(entry, turn.abort.signal);
    }
    this.#arm();
  }

  /** Skips a run and puts the entry back to rest. */
  #pass(entry: Entry): void {
    entry.grid.pass(this.#clock.monotonic());
    this.#answer(entry, 'failed');
    this.#rest(entry);
  }

  async #take(entry: Entry, signal: AbortSignal): Promise<void> {
    const { activity, grid, lane } = entry;
    const startedMs = this.#clock.monotonic();
    const lagMs = grid.lagAt(startedMs);
    const isTriggered = entry.awaited !== undefined;
    let outcome: TurnOutcome = 'failed';
    let error: unknown;
    try {
      outcome = await activity.run(signal, { isAwaited: () => lane.waiting.length > 0, isTriggered });
    } catch (cause) {
      error = cause;
    }
    const endedMs = this.#clock.monotonic();
    if (!signal.aborted) {
      const durationMs = endedMs - startedMs;
      this.#report({ type: 'turn-ended', key: activity.key, outcome, isTriggered, lagMs, durationMs, error });
    }
    grid.settle(startedMs, endedMs, outcome);
    this.#running.delete(entry);
    if (entry.state !== 'removed') this.#rest(entry);
    this.#answer(entry, outcome);
    this.#releaseLane(lane);
    this.#proceed();
  }

  #rest(entry: Entry): void {
    entry.state = 'resting';
    this.#queue.push(entry.grid.dueMs, entry);
  }

  #answer(entry: Entry, outcome: TriggerOutcome): void {
    entry.awaited?.resolve(outcome);
    entry.awaited = undefined;
  }

  #releaseLane(lane: Lane): void {
    lane.holder = lane.waiting.shift();
    if (lane.holder) this.#ready.push(lane.holder);
    else if (lane.entries.size === 0) this.#lanes.delete(lane.name);
  }
}

function takeOut<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
