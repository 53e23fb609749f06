import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { Scheduler } from '../../src/schedule/index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const ROUTERS = 60;
const REGION = 20;
const LOG_MS = 2 * MINUTE_MS;
/** Polls of the region come in between. */
const LATE_MS = 4 * SECOND_MS;

/** A fleet of which a region can be away; every router is polled and its logs are read each minute. */
function startFleet(runsMax: number) {
  const clock = createSteppedClock(0);
  const scheduler = new Scheduler({ clock, runsMax, report: () => {} });
  /** `away`: routers from this number on, below that of the region, are away. */
  const state = { away: REGION, logMs: SECOND_MS, failures: 0 };
  const polledMs = new Map<string, number>();
  for (let index = 0; index < ROUTERS; index++) {
    const name = `router-${index}`;
    const isGone = () => index < REGION && index >= state.away;
    scheduler.add({
      key: `${name}/status`,
      serialKey: name,
      intervalMs: MINUTE_MS,
      isPoll: true,
      async run(signal) {
        await clock.sleep(isGone() ? 5 * SECOND_MS : 400, signal);
        if (isGone()) {
          state.failures++;
          return 'failed';
        }
        polledMs.set(name, clock.monotonic());
        return 'done';
      },
    });
    scheduler.add({
      key: `${name}/logs`,
      serialKey: name,
      intervalMs: MINUTE_MS,
      isPaused: isGone,
      async run(signal) {
        await clock.sleep(index < REGION ? state.logMs : SECOND_MS, signal);
        return 'done';
      },
    });
  }
  scheduler.start();
  /** The longest time without a poll, of the region or of the others. */
  const oldestMs = (isOfRegion: boolean) =>
    Math.max(
      ...[...polledMs].flatMap(([name, atMs]) =>
        Number(name.slice('router-'.length)) < REGION === isOfRegion ? [clock.monotonic() - atMs] : [],
      ),
    );
  return { clock, scheduler, state, oldestMs, [Symbol.asyncDispose]: () => scheduler.stop() };
}

async function listOldest({ clock, oldestMs }: ReturnType<typeof startFleet>, minutes: number): Promise<number> {
  let oldest = 0;
  for (let second = 0; second < minutes * 60; second++) {
    await clock.advance(SECOND_MS);
    oldest = Math.max(oldest, oldestMs(false));
  }
  return oldest;
}

test('when a region returns with much to read, the others are polled as before, and the region within two intervals', async () => {
  await using fleet = startFleet(12);
  const { clock, state } = fleet;
  await clock.advance(3 * MINUTE_MS);
  const before = await listOldest(fleet, 3);
  state.away = 0;
  // Until it is known that they are dead, each of them holds a place for five seconds.
  await clock.advance(3 * MINUTE_MS);
  expect(await listOldest(fleet, 57)).toBeLessThanOrEqual(before + LATE_MS);
  expect(fleet.oldestMs(true)).toBeGreaterThan(59 * MINUTE_MS);
  // Its logs would take all places for minutes.
  Object.assign(state, { away: REGION, logMs: LOG_MS });
  expect(await listOldest(fleet, 2)).toBeLessThanOrEqual(before + LATE_MS);
  expect(fleet.oldestMs(true)).toBeLessThan(2 * MINUTE_MS);
});

test('a router or two that recover do not end the back-off of the others', async () => {
  await using fleet = startFleet(12);
  const { clock, state } = fleet;
  await clock.advance(3 * MINUTE_MS);
  state.away = 0;
  await clock.advance(30 * MINUTE_MS);
  state.away = 2;
  await clock.advance(5 * MINUTE_MS);
  state.failures = 0;
  await clock.advance(10 * MINUTE_MS);
  // One attempt of each in five minutes: those that recovered were scouts, and the third of them is.
  expect(state.failures).toBeLessThanOrEqual(2 * (REGION - 2));
});
