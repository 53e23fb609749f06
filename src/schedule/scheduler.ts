import { type Clock, hashToUnit, Steps, type Timer, yieldToLoop } from '../base/index.ts';
import type { Activity, RunEnded, RunOutcome, TriggerOutcome } from './activity.ts';
import { DueQueue, FixedRateSchedule } from './due-times.ts';
import { type RunLoad, RunPool } from './run-pool.ts';

/** Clock and limits of the runs. */
export interface SchedulerOptions {
  /** Clock for due times (monotonic) and timers. */
  readonly clock: Clock;
  /** Called after every run that was not aborted. */
  readonly report: (event: RunEnded) => void;
  /** Maximum number of concurrent runs over all routers. Default 256. */
  readonly runsMax?: number;
}

const RUNS_MAX = 256;
/**
 * Part of all places that is for downloads. A poll that waits for the download of its router holds a place meanwhile, so there are
 * more places for polls.
 */
const DOWNLOADS_SHARE = 1 / 3;
/**
 * Runs that one turn of the event loop begins at most: each works for some tenths of a millisecond until it waits for its router,
 * and again when it answers.
 */
const RUNS_PER_TURN_MAX = 8;
/** So many recoveries in this time, and of at least this share of what failed, mean that more is over than one fault. */
const RECOVERY_MS = 60_000;
const RECOVERIES_LEAST = 3;
const RECOVERY_SHARE = 1 / 20;
/** From this number of failing routers on, every tenth is a scout, and at least as many as the recoveries that are needed. */
const MANY_FAILING = 20;
const SCOUT_EVERY = 10;
/** First runs are spread over at most this long per activity, so that a small fleet starts quickly. */
const START_SPREAD_MS = 20;

interface Entry {
  readonly activity: Activity;
  readonly queue: SerialQueue;
  readonly schedule: FixedRateSchedule;
  /** Changes as drawn at {@link Scheduler}. */
  state: 'resting' | 'waiting' | 'running' | 'removed';
  /** Resolves all triggers since the last run ended. */
  awaited: PromiseWithResolvers<TriggerOutcome> | undefined;
}

/** A router and its queue of activities. */
interface SerialQueue {
  readonly name: string;
  readonly entries: Set<Entry>;
  /** The activity that holds the queue: running, or ready and waiting for a place. */
  holder: Entry | undefined;
  /** The poll that runs, or is ready, beside the holder. */
  poll: Entry | undefined;
  /** In the order in which they were due. */
  readonly waiting: Set<Entry>;
}

interface RunInProgress {
  readonly abort: AbortController;
  ended: Promise<void>;
}

/**
 * Decides when each activity runs: on a fixed schedule (first run plus whole intervals), so that slow runs are late but
 * never pile up; one run at a time per serial key, and a poll beside a download; a failing activity backs off in whole intervals.
 * Polls and downloads have places of their own.
 *
 * ```
 *   resting ── due, or triggered ──▶ waiting ── queue and place free ──▶ running ── ended ──▶ resting
 *      ▲                                └── paused ──▶ resting
 *      └── due, but held back by multiplier or pause: skipped            any ── remove() ──▶ removed
 * ```
 */
export class Scheduler {
  readonly #clock: Clock;
  readonly #report: (event: RunEnded) => void;
  readonly #polls = new RunPool<Entry>(0);
  readonly #downloads = new RunPool<Entry>(0);
  readonly #entries = new Map<string, Entry>();
  readonly #queues = new Map<string, SerialQueue>();
  readonly #dueTimes = new DueQueue<Entry>();
  readonly #running = new Map<Entry, RunInProgress>();
  /** Runs that this turn of the event loop has begun: many that are due at once are spread over turns. */
  #begun = 0;
  /** Polls whose last scheduled run failed, and whether they are scouts. */
  readonly #failing = new Map<Entry, { readonly isScout: boolean }>();
  /** Number of recoveries since a monotonic time. */
  #recovered = { sinceMs: -Infinity, count: 0 };
  #isStarted = false;
  #isStopped = false;
  #timer: Timer | undefined;
  /** Time at which a run last started or ended. Monotonic milliseconds. */
  #progressedMs: number;

  constructor(options: SchedulerOptions) {
    this.#clock = options.clock;
    this.#progressedMs = options.clock.monotonic();
    this.#report = options.report;
    this.limitRuns(options.runsMax ?? RUNS_MAX);
  }

  /**
   * Adds an activity at any time; replaces one with the same key. Its first run is scheduled as described at {@link
   * start}.
   */
  add(activity: Activity): void {
    void this.remove(activity.key);
    const queue = this.#queues.get(activity.serialKey) ?? {
      name: activity.serialKey,
      entries: new Set(),
      holder: undefined,
      poll: undefined,
      waiting: new Set(),
    };
    this.#queues.set(queue.name, queue);
    const schedule = new FixedRateSchedule(activity.intervalMs);
    const entry: Entry = { activity, queue, schedule, state: 'resting', awaited: undefined };
    queue.entries.add(entry);
    this.#entries.set(activity.key, entry);
    if (!this.#isStarted) return;
    this.#scheduleFirst(entry);
    this.#arm();
  }

  /** Starts scheduling. First runs come within the shorter of the interval and 20 ms per registered activity. */
  start(): void {
    this.#isStarted = true;
    for (const entry of this.#entries.values()) {
      this.#scheduleFirst(entry);
      // Already triggered, but without a scheduled time that would resolve the trigger.
      if (!entry.awaited || Number.isFinite(entry.schedule.dueMs)) continue;
      this.#dueTimes.remove(entry);
      this.#enqueue(entry);
    }
    this.#proceed();
  }

  /**
   * Removes an activity, aborts its run if there is one, and resolves when that run has ended. Other activities of the
   * queue continue. Pending triggers resolve with `gone`.
   */
  async remove(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (!entry) return;
    const { queue } = entry;
    this.#entries.delete(key);
    this.#failing.delete(entry);
    queue.entries.delete(entry);
    entry.state = 'removed';
    this.#dueTimes.remove(entry);
    queue.waiting.delete(entry);
    this.#poolOf(entry).remove(entry);
    this.#answer(entry, 'gone');
    const run = this.#running.get(entry);
    if (!run) {
      // A run in progress keeps the queue until it has ended: nothing else may be done to the router until then.
      this.#release(queue, entry);
      return;
    }
    run.abort.abort();
    await run.ended;
  }

  /**
   * Requests a run as soon as the queue is free, and resolves with its outcome; `failed` also if the activity is paused.
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
      this.#dueTimes.remove(entry);
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

  /**
   * Milliseconds since a run last started or ended although one is due or in progress; 0 if there is none. Every run
   * has a time limit, so a value above the longest of them means that something hangs.
   */
  get stalledMs(): number {
    if (!this.#isStarted || this.#isStopped) return 0;
    const { waiting, heldBack } = this.load;
    const isBusy = this.#running.size > 0 || waiting > 0 || heldBack > 0;
    const dueMs = isBusy ? this.#progressedMs : (this.#dueTimes.nextDueMs ?? Infinity);
    return Math.max(0, this.#clock.monotonic() - Math.max(this.#progressedMs, dueMs));
  }

  /** Runs under way and runs that wait because too many are. */
  get load(): RunLoad {
    const [polls, downloads] = [this.#polls.load, this.#downloads.load];
    return {
      running: polls.running + downloads.running,
      waiting: polls.waiting + downloads.waiting,
      heldBack: polls.heldBack + downloads.heldBack,
      max: polls.max + downloads.max,
    };
  }

  /** Changes the limit of concurrent runs: a third of the places are for downloads, the others for polls, one at least. Runs under way go on. */
  limitRuns(runsMax: number): void {
    const downloadsMax = Math.max(1, Math.floor(runsMax * DOWNLOADS_SHARE));
    this.#downloads.setMax(downloadsMax);
    this.#polls.setMax(Math.max(1, runsMax - downloadsMax));
    if (this.#isStarted) this.#proceed();
  }

  /** Resolves when nothing is running. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #scheduleFirst(entry: Entry): void {
    // Whole milliseconds: with fractions, rounding would occasionally schedule a run one interval late.
    const nowMs = Math.ceil(this.#clock.monotonic());
    const spreadMs = Math.min(entry.activity.intervalMs, START_SPREAD_MS * this.#entries.size);
    // One connection serves everything that is due for a router at the same time, so a new activity joins what is due
    // soon.
    const others = [...entry.queue.entries].map(({ schedule }) => schedule.dueMs);
    const soon = others.filter((dueMs) => dueMs >= nowMs && dueMs <= nowMs + spreadMs);
    const ownMs = nowMs + Math.floor(hashToUnit(entry.queue.name) * spreadMs);
    entry.schedule.begin(soon.length > 0 ? Math.min(...soon) : ownMs);
    this.#dueTimes.push(entry.schedule.dueMs, entry);
  }

  #arm(): void {
    this.#timer?.cancel();
    const dueMs = this.#dueTimes.nextDueMs;
    if (dueMs === undefined || this.#isStopped) return;
    this.#timer = this.#clock.setTimer(dueMs - this.#clock.monotonic(), () => this.#dispatch());
  }

  #dispatch(): void {
    const nowMs = this.#clock.monotonic();
    const steps = new Steps(this.#clock);
    // What is left is due at once, after everybody else had a turn.
    while (!steps.isDue) {
      const entry = this.#dueTimes.popDue(nowMs);
      if (!entry) break;
      const { activity, schedule } = entry;
      // Checked before it is queued as well: an activity that will not run must not make a long run of the queue yield.
      if (activity.isPaused?.() || !schedule.admits(activity.intervalMultiplier?.() ?? 1)) this.#skip(entry);
      else this.#enqueue(entry);
    }
    this.#proceed();
  }

  #enqueue(entry: Entry): void {
    const { queue } = entry;
    entry.state = 'waiting';
    if (queue.poll || (queue.holder && entry.activity.isPoll !== true)) {
      queue.waiting.add(entry);
      return;
    }
    if (queue.holder) queue.poll = entry;
    else queue.holder = entry;
    this.#wait(entry);
  }

  /** Waits for a place. */
  #wait(entry: Entry): void {
    this.#poolOf(entry).push(entry, entry.schedule.isFailing);
  }

  #poolOf({ activity }: Entry): RunPool<Entry> {
    return activity.isPoll === true ? this.#polls : this.#downloads;
  }

  #proceed(): void {
    for (const pool of [this.#polls, this.#downloads]) {
      while (!this.#isStopped && this.#begun < RUNS_PER_TURN_MAX) {
        const entry = pool.take();
        if (!entry) break;
        if (this.#begun++ === 0) void this.#awaitTurn();
        this.#begin(entry);
      }
    }
    this.#arm();
  }

  /** Goes on in the next turn of the event loop. */
  async #awaitTurn(): Promise<void> {
    await yieldToLoop();
    this.#begun = 0;
    this.#proceed();
  }

  #begin(entry: Entry): void {
    if (entry.activity.isPaused?.()) {
      this.#poolOf(entry).release(entry);
      this.#skip(entry);
      this.#release(entry.queue, entry);
      return;
    }
    entry.state = 'running';
    const run = { abort: new AbortController(), ended: Promise.resolve() };
    this.#running.set(entry, run);
    run.ended = this.#run(entry, run.abort.signal);
  }

  /** Skips a run and puts the entry back to rest. */
  #skip(entry: Entry): void {
    entry.schedule.skip(this.#clock.monotonic());
    this.#answer(entry, 'failed');
    this.#rest(entry);
  }

  async #run(entry: Entry, signal: AbortSignal): Promise<void> {
    const { activity, schedule, queue } = entry;
    const startedMs = this.#clock.monotonic();
    this.#progressedMs = startedMs;
    const lagMs = schedule.lagAt(startedMs);
    const isTriggered = entry.awaited !== undefined;
    let outcome: RunOutcome = 'failed';
    let error: unknown;
    try {
      outcome = await activity.run(signal, { isAwaited: () => queue.waiting.size > 0, isTriggered });
    } catch (cause) {
      error = cause;
    }
    const endedMs = this.#clock.monotonic();
    this.#progressedMs = endedMs;
    if (!signal.aborted) {
      const durationMs = endedMs - startedMs;
      this.#report({ type: 'run-ended', key: activity.key, outcome, isTriggered, lagMs, durationMs, error });
    }
    schedule.settle(startedMs, endedMs, outcome);
    if (entry.state !== 'removed' && activity.isPoll === true) this.#noteHealth(entry, endedMs);
    this.#running.delete(entry);
    this.#poolOf(entry).release(entry);
    if (entry.state !== 'removed') this.#rest(entry);
    this.#answer(entry, outcome);
    this.#release(queue, entry);
    this.#proceed();
  }

  /**
   * Ends the back-off of the others when many routers recover at once: a network or the power of a region is back. The
   * others of them are then due at their next scheduled time instead of after their back-off. So that it is noticed soon, some
   * of many that fail, the scouts, do not back off.
   */
  #noteHealth(entry: Entry, nowMs: number): void {
    const { schedule } = entry;
    if (schedule.isFailing) {
      const { size } = this.#failing;
      const { isScout } = this.#failing.get(entry) ?? { isScout: size < RECOVERIES_LEAST || size % SCOUT_EVERY === 0 };
      this.#failing.set(entry, { isScout });
      if (isScout && this.#failing.size >= MANY_FAILING) schedule.hasten(nowMs);
      return;
    }
    if (!this.#failing.delete(entry)) return;
    if (nowMs - this.#recovered.sinceMs > RECOVERY_MS) this.#recovered = { sinceMs: nowMs, count: 0 };
    const count = ++this.#recovered.count;
    if (count < RECOVERIES_LEAST || count < RECOVERY_SHARE * (this.#failing.size + count)) return;
    this.#recovered.count = 0;
    for (const one of this.#failing.keys()) {
      one.schedule.hasten(nowMs);
      if (one.state === 'resting') this.#dueTimes.push(one.schedule.dueMs, one);
    }
  }

  #rest(entry: Entry): void {
    entry.state = 'resting';
    this.#dueTimes.push(entry.schedule.dueMs, entry);
  }

  #answer(entry: Entry, outcome: TriggerOutcome): void {
    entry.awaited?.resolve(outcome);
    entry.awaited = undefined;
  }

  /** Gives up the place of an entry, if it has one, and lets the next one of its queue go on. */
  #release(queue: SerialQueue, entry: Entry): void {
    if (queue.holder === entry) queue.holder = undefined;
    if (queue.poll === entry) queue.poll = undefined;
    if (queue.holder || queue.poll) return;
    const [next] = queue.waiting;
    queue.holder = next;
    if (next && queue.waiting.delete(next)) this.#wait(next);
    else if (queue.entries.size === 0) this.#queues.delete(queue.name);
  }
}
