import { type Clock, hashToUnit, type Timer, yieldToLoop } from '../base/index.ts';
import type { Activity, RunEnded, RunOutcome, TriggerOutcome } from './activity.ts';
import { FixedRateSchedule } from './fixed-rate.ts';
import { DueQueue, type RunLoad, RunPool } from './run-queues.ts';

interface SchedulerOptions {
  readonly clock: Clock;
  readonly report: (event: RunEnded) => void;
  /** Maximum number of concurrent runs over all routers. Default 256. */
  readonly runsMax?: number;
}

const RUNS_MAX = 256;
/**
 * Share of slots for downloads. A poll that waits for its router's download holds a slot meanwhile, so polls get more.
 */
const DOWNLOADS_SHARE = 1 / 3;
/**
 * Runs begun in one iteration of the event loop: each takes some tenths of a millisecond until it waits for its router.
 */
const RUNS_PER_ITERATION_MAX = 8;
/** Due activities queued or skipped in one iteration of the event loop: some microseconds each. */
const DUE_PER_ITERATION_MAX = 500;
/** This many recoveries within this time, and this share of all failing routers, indicate the end of a common fault. */
const RECOVERY_MS = 60_000;
const RECOVERIES_LEAST = 3;
const RECOVERY_SHARE = 1 / 20;
/** From this number of failing routers on, every tenth is a probe that does not back off. */
const MANY_FAILING = 20;
const PROBE_EVERY = 10;
/** First runs are spread over at most this long per activity, so that a small fleet starts quickly. */
const START_SPREAD_MS = 20;

interface Entry {
  readonly activity: Activity;
  readonly queue: SerialQueue;
  readonly schedule: FixedRateSchedule;
  state: 'resting' | 'waiting' | 'running' | 'removed';
  awaited: PromiseWithResolvers<TriggerOutcome> | undefined;
}

interface SerialQueue {
  readonly name: string;
  readonly entries: Set<Entry>;
  /** The activity that runs, or waits for a slot. */
  holder: Entry | undefined;
  /** The poll that runs, or waits for a slot, concurrently with the holder. */
  poll: Entry | undefined;
  /** In the order of due times. */
  readonly waiting: Set<Entry>;
}

interface RunInProgress {
  readonly abort: AbortController;
  ended: Promise<void>;
}

/**
 * Decides when each activity runs: on a fixed schedule (first run plus whole intervals), so that slow runs are late but
 * never pile up; one run at a time per serial key, except a poll concurrent with a download; failing activities back
 * off in whole intervals. Polls and downloads have separate slots.
 *
 * ```
 *   resting ── due, or triggered ──▶ waiting ── queue and slot free ──▶ running ── ended ──▶ resting
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
  #begun = 0;
  readonly #failing = new Map<Entry, { readonly isProbe: boolean }>();
  #recovered = { sinceMs: -Infinity, count: 0 };
  #isStarted = false;
  #isStopped = false;
  #timer: Timer | undefined;
  /** Monotonic time at which a run last started or ended, in milliseconds. */
  #progressedMs: number;

  constructor(options: SchedulerOptions) {
    this.#clock = options.clock;
    this.#progressedMs = options.clock.monotonic();
    this.#report = options.report;
    this.limitRuns(options.runsMax ?? RUNS_MAX);
  }

  /**
   * Adds an activity, or replaces the one with the same key. Its first run is scheduled as described at {@link start}.
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
      // A trigger without a scheduled time that would resolve it.
      if (!entry.awaited || Number.isFinite(entry.schedule.dueMs)) continue;
      this.#dueTimes.remove(entry);
      this.#enqueue(entry);
    }
    this.#proceed();
  }

  /**
   * Removes an activity, aborts its run if there is one, and resolves when that run has ended. Pending triggers resolve
   * with `gone`.
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
      // A run in progress keeps the queue until it has ended: no other run may use the router until then.
      this.#release(queue, entry);
      return;
    }
    run.abort.abort();
    await run.ended;
  }

  /**
   * Requests a run as soon as the queue is free and resolves with its outcome; `failed` if the activity is paused. All
   * triggers before a run has ended share it. A triggered run serves scheduled times that pass before it has ended. A
   * trigger before {@link start} resolves with the first run.
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
   * has a time limit, so a longer stall means a hang.
   */
  get stalledMs(): number {
    if (!this.#isStarted || this.#isStopped) return 0;
    const { waiting, heldBack } = this.load;
    const isBusy = this.#running.size > 0 || waiting > 0 || heldBack > 0;
    const dueMs = isBusy ? this.#progressedMs : (this.#dueTimes.nextDueMs ?? Infinity);
    return Math.max(0, this.#clock.monotonic() - Math.max(this.#progressedMs, dueMs));
  }

  get load(): RunLoad {
    const [polls, downloads] = [this.#polls.load, this.#downloads.load];
    return {
      running: polls.running + downloads.running,
      waiting: polls.waiting + downloads.waiting,
      heldBack: polls.heldBack + downloads.heldBack,
      max: polls.max + downloads.max,
    };
  }

  /**
   * Changes the limit of concurrent runs: a third of the slots for downloads, the rest for polls, at least one each.
   * Runs under way continue.
   */
  limitRuns(runsMax: number): void {
    const downloadsMax = Math.max(1, Math.floor(runsMax * DOWNLOADS_SHARE));
    this.#downloads.setMax(downloadsMax);
    this.#polls.setMax(Math.max(1, runsMax - downloadsMax));
    if (this.#isStarted) this.#proceed();
  }

  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #scheduleFirst(entry: Entry): void {
    // Whole milliseconds: with fractions, rounding would occasionally schedule a run one interval late.
    const nowMs = Math.ceil(this.#clock.monotonic());
    const spreadMs = Math.min(entry.activity.intervalMs, START_SPREAD_MS * this.#entries.size);
    // A new activity joins what is due soon for its router: one connection serves both.
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
    // The rest is due at once, in the next iteration of the event loop.
    for (let count = 0; count < DUE_PER_ITERATION_MAX; count++) {
      const entry = this.#dueTimes.popDue(nowMs);
      if (!entry) break;
      const { activity, schedule } = entry;
      // Checked before queueing: an activity that will not run must not make a long run yield.
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

  #wait(entry: Entry): void {
    this.#poolOf(entry).push(entry, entry.schedule.isFailing);
  }

  #poolOf({ activity }: Entry): RunPool<Entry> {
    return activity.isPoll === true ? this.#polls : this.#downloads;
  }

  #proceed(): void {
    for (const pool of [this.#polls, this.#downloads]) {
      while (!this.#isStopped && this.#begun < RUNS_PER_ITERATION_MAX) {
        const entry = pool.take();
        if (!entry) break;
        if (this.#begun++ === 0) void this.#awaitIteration();
        this.#begin(entry);
      }
    }
    this.#arm();
  }

  async #awaitIteration(): Promise<void> {
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
    if (entry.state !== 'removed' && activity.isPoll === true) this.#recordHealth(entry, endedMs);
    this.#running.delete(entry);
    this.#poolOf(entry).release(entry);
    if (entry.state !== 'removed') this.#rest(entry);
    this.#answer(entry, outcome);
    this.#release(queue, entry);
    this.#proceed();
  }

  /**
   * Ends the back-off of failing routers when many recover at once (a network or the power of a region is back): they
   * are then due at their next scheduled time. Probes detect this early.
   */
  #recordHealth(entry: Entry, nowMs: number): void {
    const { schedule } = entry;
    if (schedule.isFailing) {
      const { size } = this.#failing;
      const { isProbe } = this.#failing.get(entry) ?? { isProbe: size < RECOVERIES_LEAST || size % PROBE_EVERY === 0 };
      this.#failing.set(entry, { isProbe });
      if (isProbe && this.#failing.size >= MANY_FAILING) schedule.hasten(nowMs);
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
