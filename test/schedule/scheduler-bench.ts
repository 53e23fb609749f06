import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { type Activity, type RunEnded, Scheduler } from '../../src/schedule/index.ts';

export const MINUTE_MS = 60_000;

interface BegunTurn {
  readonly key: string;
  readonly startedMs: number;
  readonly isTriggered: boolean;
}

/** A scheduler on a stepped clock, and what it did. */
export function createBench(runsMax?: number) {
  const clock = createSteppedClock(0);
  const ended: RunEnded[] = [];
  const turns: BegunTurn[] = [];
  const scheduler = new Scheduler({
    clock,
    report: (event) => void ended.push(event),
    ...(runsMax !== undefined && { runsMax }),
  });
  const add = (key: string, options: Partial<Activity> = {}) =>
    scheduler.add({
      key,
      serialKey: key,
      intervalMs: MINUTE_MS,
      ...options,
      run: (signal, turn) => {
        turns.push({ key, startedMs: clock.monotonic(), isTriggered: turn.isTriggered });
        return options.run?.(signal, turn) ?? Promise.resolve('done');
      },
    });
  const startsOf = (key: string) => turns.filter((turn) => turn.key === key).map(({ startedMs }) => startedMs);
  const lagsOf = (key: string) => ended.filter((event) => event.key === key).map(({ lagMs }) => lagMs);
  return { clock, scheduler, add, turns, ended, startsOf, lagsOf, settle: () => scheduler.whenIdle() };
}

export function differences(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}

/** A run that takes `durationMs` of the clock's time. */
export function lasting(clock: SteppedClock, durationMs: number): Activity['run'] {
  return async (signal) => {
    await clock.sleep(durationMs, signal);
    return 'done';
  };
}

/** A run that ends on request, and the state of its signal. */
export function createGate() {
  const { promise, resolve } = Promise.withResolvers<'done' | 'failed'>();
  const signals: AbortSignal[] = [];
  const run: Activity['run'] = (signal) => {
    signals.push(signal);
    return promise;
  };
  return { run, open: resolve, signals };
}

/** What `promise` has come to by now, or `pending`. */
export async function peek<T>(promise: Promise<T>): Promise<T | 'pending'> {
  await new Promise((resolve) => setImmediate(resolve));
  return Promise.race([promise, Promise.resolve('pending' as const)]);
}
