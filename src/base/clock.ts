import { setImmediate } from 'node:timers/promises';

/** A pending timer. `cancel` is idempotent and has no effect after the timer has fired. */
export interface Timer {
  cancel(): void;
}

/** The source of time, so that tests control it. Wall time may jump; monotonic time never does. All values are milliseconds. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. For measurements and due times. */
  monotonic(): number;
  /** Calls `fire` once after `delayMs`. Keeps the process alive until then unless `keepsAlive` is false. */
  setTimer(delayMs: number, fire: () => void, keepsAlive?: boolean): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason when aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** `setTimeout` fires immediately for a longer delay. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** Creates a clock on the system time. */
export function createSystemClock(): Clock {
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    setTimer(delayMs, fire, keepsAlive = true) {
      const handle = setTimeout(fire, Math.min(Math.max(0, delayMs), TIMEOUT_MS_MAX));
      if (!keepsAlive) handle.unref();
      return new SystemTimer(handle);
    },
    sleep: (delayMs, signal) => sleepOn(clock, delayMs, signal),
  };
  return clock;
}

/** A class, because a closure for each timer takes four times as much memory, and each router of a fleet has one or two timers. */
class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout;

  constructor(handle: NodeJS.Timeout) {
    this.#handle = handle;
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/** A clock that stands still until a test advances it. */
export interface SteppedClock extends Clock {
  /** Advances both times, stopping at every timer that falls due. Awaits `settle` after each stop, before the next timer fires. */
  advance(durationMs: number, settle?: () => Promise<void>): Promise<void>;
  /** Changes only the wall time, forward or back, as setting the clock by hand or NTP does. */
  jump(offsetMs: number): void;
}

/** Creates a stepped clock whose wall time starts at `startMs` (milliseconds since the Unix epoch). */
export function createSteppedClock(startMs: number): SteppedClock {
  let elapsedMs = 0;
  let wallOffsetMs = startMs;
  let order = 0;
  const timers = new Set<{ dueMs: number; order: number; fire: () => void }>();

  const nextDue = (untilMs: number) => {
    let next: { dueMs: number; order: number; fire: () => void } | undefined;
    for (const timer of timers) {
      if (timer.dueMs > untilMs) continue;
      if (!next || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order)) next = timer;
    }
    return next;
  };

  const clock: SteppedClock = {
    now: () => wallOffsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    setTimer(delayMs, fire) {
      const timer = { dueMs: elapsedMs + Math.max(0, delayMs), order: order++, fire };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    sleep: (delayMs, signal) => sleepOn(clock, delayMs, signal),
    async advance(durationMs, settle = async () => {}) {
      const untilMs = elapsedMs + durationMs;
      for (let timer = nextDue(untilMs); timer; timer = nextDue(untilMs)) {
        timers.delete(timer);
        elapsedMs = Math.max(elapsedMs, timer.dueMs);
        timer.fire();
        // One event-loop iteration lets the work that the timer started register before `settle` looks for it.
        await setImmediate();
        await settle();
      }
      elapsedMs = untilMs;
    },
    jump(offsetMs) {
      wallOffsetMs += offsetMs;
    },
  };
  return clock;
}

/** Yields to the event loop. Use {@link forEachYielding} for lists. */
export function yieldToLoop(): Promise<void> {
  return setImmediate();
}

/** Longest piece of work between two yields; a garbage collection in it may take seven times as long. Milliseconds. */
const STEP_MS_MAX = 2;

/** End of the current step, shared by all loops because their work adds up in one event-loop iteration. Monotonic milliseconds. */
let stepEndsMs = 0;
/** Set between the end of a step and the start of the next. */
let pause: Promise<void> | undefined;

/** Calls `work` for each item in order, awaits it, and yields to the event loop every few milliseconds. Rejects with what `work` throws. */
export async function forEachYielding<Item>(items: Iterable<Item>, work: (item: Item) => unknown): Promise<void> {
  for (const item of items) {
    await work(item);
    if (performance.now() < stepEndsMs) continue;
    pause ??= beginStep();
    await pause;
  }
}

async function beginStep(): Promise<void> {
  await yieldToLoop();
  pause = undefined;
  stepEndsMs = performance.now() + STEP_MS_MAX;
}

/** An event-loop iteration longer than this means that other work holds the thread. Milliseconds. */
const CALM_MS = 5;

/**
 * Shares the main thread among many callers with short pieces of work: `await queue.next(); work();`. A piece starts when the one before
 * ends or awaits something; after a few milliseconds the rest continues in a later event-loop iteration.
 */
export class StepQueue {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #giveWayMsMax: number;
  readonly #waiting: (() => void)[] = [];
  #isWorking = false;

  /** `giveWayMsMax`: longest wait of a step for the event loop to become calm. Milliseconds; 0: one iteration. */
  constructor(clock: Pick<Clock, 'monotonic'>, giveWayMsMax: number) {
    this.#clock = clock;
    this.#giveWayMsMax = giveWayMsMax;
  }

  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isWorking) void this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      await this.#giveWay();
      const endsMs = this.#clock.monotonic() + STEP_MS_MAX;
      do {
        this.#waiting.shift()?.();
        await untilAllWait();
      } while (this.#waiting.length > 0 && this.#clock.monotonic() < endsMs);
    }
    this.#isWorking = false;
  }

  async #giveWay(): Promise<void> {
    const untilMs = this.#clock.monotonic() + this.#giveWayMsMax;
    for (;;) {
      const beganMs = this.#clock.monotonic();
      await yieldToLoop();
      const nowMs = this.#clock.monotonic();
      if (nowMs - beganMs <= CALM_MS || nowMs >= untilMs) return;
    }
  }
}

/** Resolves when all promise callbacks have run: a tick requested from a microtask comes after them. */
function untilAllWait(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

/** Implements `Clock.sleep` with the timers of any clock. */
export function sleepOn(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
