import { setImmediate } from 'node:timers/promises';
import { type Clock, sleepOn, type Timer } from '../../base/index.ts';

/** A clock that follows another clock and can be moved ahead of it. */
export interface AdvanceableClock extends Clock {
  /**
   * Moves both times forward by `durationMs`. Timers that fall due in between fire in order, including those set by
   * other timers.
   */
  advance(durationMs: number): Promise<void>;
}

interface Waiting {
  readonly dueMs: number;
  readonly fire: () => void;
  timer: Timer;
}

/** Creates a clock that shows the same time as `clock` until it is advanced. */
export function createAdvanceableClock(clock: Clock): AdvanceableClock {
  let aheadMs = 0;
  const waiting = new Set<Waiting>();
  const monotonic = () => clock.monotonic() + aheadMs;
  const finish = (entry: Waiting) => {
    waiting.delete(entry);
    entry.timer.cancel();
    entry.fire();
  };
  const arm = (entry: Omit<Waiting, 'timer'>) =>
    clock.setTimer(entry.dueMs - monotonic(), () => finish(entry as Waiting));

  const ahead: AdvanceableClock = {
    now: () => clock.now() + aheadMs,
    monotonic,
    setTimer(delayMs, fire) {
      const entry: Waiting = { dueMs: monotonic() + Math.max(0, delayMs), fire, timer: { cancel: () => {} } };
      entry.timer = arm(entry);
      waiting.add(entry);
      return {
        cancel() {
          waiting.delete(entry);
          entry.timer.cancel();
        },
      };
    },
    sleep: (delayMs, signal) => sleepOn(ahead, delayMs, signal),
    async advance(durationMs) {
      const untilMs = monotonic() + durationMs;
      for (let next = findNext(waiting, untilMs); next; next = findNext(waiting, untilMs)) {
        aheadMs += Math.max(0, next.dueMs - monotonic());
        finish(next);
        // One turn of the event loop lets the code behind the timer set its next timer.
        await setImmediate();
      }
      aheadMs += Math.max(0, untilMs - monotonic());
      for (const entry of waiting) {
        entry.timer.cancel();
        entry.timer = arm(entry);
      }
    },
  };
  return ahead;
}

function findNext(waiting: ReadonlySet<Waiting>, untilMs: number): Waiting | undefined {
  let next: Waiting | undefined;
  for (const entry of waiting) if (entry.dueMs <= untilMs && (!next || entry.dueMs < next.dueMs)) next = entry;
  return next;
}
