import { setImmediate } from 'node:timers/promises';
import type { SteppedClock } from '../../src/base/index.ts';

const STEPS_MAX = 3600;
/** Turns of the event loop between two steps, for what the network brings. */
const TURNS = 20;

/** Moves the clock in steps until the promise has settled, for work that waits for the clock and is waited for. */
export async function advanceUntil<T>(promise: Promise<T>, clock: SteppedClock, stepMs: number): Promise<T> {
  const state = { isSettled: false };
  const settle = () => {
    state.isSettled = true;
  };
  promise.then(settle, settle);
  for (let step = 0; step < STEPS_MAX && !state.isSettled; step++) {
    await clock.advance(stepMs);
    for (let turn = 0; turn < TURNS; turn++) await setImmediate();
  }
  return promise;
}
