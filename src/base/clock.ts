import { setImmediate } from 'node:timers/promises';

/** A pending timer. `cancel` is idempotent and does nothing after the timer has fired. */
export interface Timer {
  cancel(): void;
}

/**
 * The source of time for all code that waits or reads the time, so that tests control when time passes. Wall time may
 * jump; monotonic time never does. All values are milliseconds.
 */
export interface Clock {
  /** Returns the wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Returns milliseconds since an arbitrary start; never goes back. Use it for measurements and due times. */
  monotonic(): number;
  /**
   * Calls `fire` once after `delayMs`. Keeps the process alive until then, because something may be waiting for it, unless
   * `keepsAlive` is false: cancel timers that are no longer needed.
   */
  setTimer(delayMs: number, fire: () => void, keepsAlive?: boolean): Timer;
  /** Resolves after `delayMs`. Rejects with the signal's reason when aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Longest supported delay: `setTimeout` fires immediately for a longer one. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** Creates a clock that reads the system time. */
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

/** A class, because a function for each timer takes four times as much memory, and each router of a fleet has one or two. */
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
  /**
   * Moves both times forward by `durationMs`, stopping at every timer that falls due. Awaits `settle` after each stop,
   * so that the work started by a timer has finished before the next one fires.
   */
  advance(durationMs: number, settle?: () => Promise<void>): Promise<void>;
  /** Moves only the wall time, forward or back, as setting the clock by hand or by NTP does. */
  jump(offsetMs: number): void;
}

/** Creates a stepped clock. `startMs` is its first wall time, in milliseconds since the Unix epoch. */
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
        // One turn of the event loop lets the work that the timer started register before `settle` looks for it.
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

/** Yields to the event loop. Long-running work is done in steps and awaits this between them. */
export function yieldToLoop(): Promise<void> {
  return setImmediate();
}

/** Longest piece of work between two turns of everybody else; a collection of garbage in it may take seven times as long. Milliseconds. */
const STEP_MS_MAX = 2;

const SYSTEM_CLOCK = createSystemClock();
/** Start of the first step of this turn, by clock. Monotonic milliseconds. */
const turnBegan = new WeakMap<object, number>();

/**
 * Divides work that cannot wait for anything into steps of a few milliseconds:
 * `for (const one of many) { work(one); if (steps.isDue) await steps.next(); }`. Several loops that share them, because each waits
 * now and then, share the milliseconds. What begins when other work in steps ends belongs to the step of that.
 */
export class Steps {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #beganMs: number;
  /** Set while a step has ended and the next one has not begun. */
  #pause: Promise<void> | undefined;

  constructor(clock: Pick<Clock, 'monotonic'> = SYSTEM_CLOCK) {
    this.#clock = clock;
    this.#beganMs = turnBegan.get(clock) ?? this.#begin();
  }

  /** True if this step has taken long enough. */
  get isDue(): boolean {
    return this.#clock.monotonic() - this.#beganMs >= STEP_MS_MAX;
  }

  /** Ends the step; the next one begins when everybody else had a turn. */
  next(): Promise<void> {
    // Loops that share them go on together: if each had a pause of its own, each would begin a step of full length in the next turn.
    this.#pause ??= this.#rest();
    return this.#pause;
  }

  async #rest(): Promise<void> {
    await yieldToLoop();
    this.#pause = undefined;
    this.#beganMs = this.#begin();
  }

  #begin(): number {
    const nowMs = this.#clock.monotonic();
    if (!turnBegan.has(this.#clock)) void endWithTurn(this.#clock);
    turnBegan.set(this.#clock, nowMs);
    return nowMs;
  }
}

async function endWithTurn(clock: object): Promise<void> {
  await yieldToLoop();
  turnBegan.delete(clock);
}

/** A turn of the event loop in which others worked no longer leaves room for what gives way to them. Milliseconds. */
const CALM_MS = 5;

/**
 * Shares the main thread between many that each have a short piece of work to do: `await queue.next(); work();`. Each begins when
 * the one before waits for something else, and those that do not fit into a step of {@link Steps} in a later turn of the event loop.
 */
export class StepQueue {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #giveWayMsMax: number;
  readonly #waiting: (() => void)[] = [];
  #isWorking = false;

  /** `giveWayMsMax`: time for which a step waits at most until the others have little to do. Milliseconds; 0: for one turn. */
  constructor(clock: Pick<Clock, 'monotonic'>, giveWayMsMax: number) {
    this.#clock = clock;
    this.#giveWayMsMax = giveWayMsMax;
  }

  /** Resolves when the caller may do its piece of work. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isWorking) void this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    const steps = new Steps(this.#clock);
    while (this.#waiting.length > 0) {
      await this.#giveWay(steps);
      do {
        this.#waiting.shift()?.();
        await untilAllWait();
      } while (this.#waiting.length > 0 && !steps.isDue);
    }
    this.#isWorking = false;
  }

  async #giveWay(steps: Steps): Promise<void> {
    const untilMs = this.#clock.monotonic() + this.#giveWayMsMax;
    for (;;) {
      const beganMs = this.#clock.monotonic();
      await steps.next();
      const nowMs = this.#clock.monotonic();
      if (nowMs - beganMs <= CALM_MS || nowMs >= untilMs) return;
    }
  }
}

/** Resolves when all promises have gone on as far as they can: that is when a tick comes that a promise asks for. */
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
