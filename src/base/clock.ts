import { setImmediate } from 'node:timers/promises';

/** A timer that has been set; `cancel` is idempotent and a fired timer ignores it. */
export interface Timer {
  cancel(): void;
}

/**
 * Everything that waits or asks for the time takes a `Clock`, so that a test decides when time passes.
 * Wall time may jump; monotonic time never does. All values are milliseconds.
 */
export interface Clock {
  /** Wall time as milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. For measuring and for due times. */
  monotonic(): number;
  /**
   * Calls `fire` once after `delayMs`. Keeps the process alive until then, because somebody may wait for it: cancel what is
   * not needed any more.
   */
  setTimer(delayMs: number, fire: () => void): Timer;
  /** Resolves after `delayMs`. Rejects with the signal's reason when aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** `setTimeout` fires at once for a longer delay, so longer ones are cut to this many milliseconds. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** The machine's own clock. */
export function createSystemClock(): Clock {
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    setTimer(delayMs, fire) {
      const handle = setTimeout(fire, Math.min(Math.max(0, delayMs), TIMEOUT_MS_MAX));
      return { cancel: () => clearTimeout(handle) };
    },
    sleep: (delayMs, signal) => sleepOn(clock, delayMs, signal),
  };
  return clock;
}

/** A clock that stands still until it is told to move. */
export interface SteppedClock extends Clock {
  /**
   * Moves both times forward by `durationMs`, stopping at every timer that falls due. After each stop `settle` is
   * awaited, so that the work a timer began has finished before the next one fires.
   */
  advance(durationMs: number, settle?: () => Promise<void>): Promise<void>;
  /** Moves the wall time alone, forward or back: what a clock set by hand or by NTP does. */
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
        // One turn of the event loop lets what the timer woke up register as work before `settle` looks for it.
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

/** Lets everything else happen that is due: what takes long does it in steps and awaits this between them. */
export function yieldToLoop(): Promise<void> {
  return setImmediate();
}

/** `Clock.sleep` by the timers of any clock. */
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
