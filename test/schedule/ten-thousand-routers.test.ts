import { expect, test } from 'vitest';
import { sampled, sampleNote } from '../support/sampled.ts';
import { createBench, lasting, MINUTE_MS } from './scheduler-bench.ts';

const SECOND_MS = 1000;
const ROUTERS = sampled('long properties', 10_000, 2000);
/** Slots that this many routers need, with a reserve; a third is for downloads. */
const RUNS_MAX = 0.12 * ROUTERS;
/** Eight requests of 0.4 s. */
const POLL_MS = 3200;
const CONNECT_TIMEOUT_MS = 5 * SECOND_MS;
/** Every third router is dead. */
const isDead = (index: number) => index % 3 === 0;

test(`ten thousand routers, a third of them dead, are polled every minute with no poll of the others late by more than a second${sampleNote('long properties')}`, async () => {
  const { clock, scheduler, add, ended } = createBench(RUNS_MAX);
  for (let index = 0; index < ROUTERS; index++) {
    const run = lasting(clock, isDead(index) ? CONNECT_TIMEOUT_MS : POLL_MS);
    add(`router-${index}`, {
      isPoll: true,
      run: async (signal, current) => {
        await run(signal, current);
        return isDead(index) ? 'failed' : 'done';
      },
    });
  }
  scheduler.start();
  await clock.advance(3 * MINUTE_MS);
  ended.length = 0;
  await clock.advance(MINUTE_MS);
  const healthy = ended.filter(({ outcome }) => outcome === 'done');
  expect(healthy).toHaveLength(
    Array.from({ length: ROUTERS }, (_, index) => index).filter((index) => !isDead(index)).length,
  );
  expect(Math.max(...healthy.map(({ lagMs = 0 }) => lagMs))).toBeLessThan(SECOND_MS);
  expect(scheduler.load.running).toBeLessThanOrEqual(RUNS_MAX);
  const stopped = scheduler.stop();
  await clock.advance(CONNECT_TIMEOUT_MS);
  await stopped;
});
