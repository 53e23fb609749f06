import { expect, test } from 'vitest';
import { LogStats } from '../../src/agent/stats/log-stats.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { FleetExposition } from '../../src/exposition/index.ts';
import { createLogError } from '../../src/logs/reading/errors.ts';

function createStats() {
  const clock = createSteppedClock(0);
  return { clock, stats: new LogStats({ name: 'plant-7', labels: {} }, new FleetExposition(), clock, new Map()) };
}

test('LogStats keeps the last 10 gaps, the newest first', async () => {
  const { clock, stats } = createStats();
  for (let index = 0; index < 12; index++) {
    await clock.advance(1000);
    const bytesMin = index === 11 ? undefined : index;
    stats.recordGap({
      type: 'log-gap-found',
      component: 'network',
      certainty: 'certain',
      reason: 'expired',
      bytesMin,
      uid: `${index}`,
      foundMs: clock.now(),
      untilUtcMs: undefined,
    });
  }
  expect(stats.gaps).toHaveLength(10);
  expect(stats.gaps[0]).toEqual({
    at: '1970-01-01T00:00:12.000Z',
    component: 'network',
    certainty: 'certain',
    reason: 'expired',
    bytesMin: null,
    until: null,
  });
  expect(stats.gaps.at(-1)).toMatchObject({ at: '1970-01-01T00:00:03.000Z', bytesMin: 2 });
  expect(stats.describe()).toMatchObject([{ component: 'network', gaps: 12, position: null }]);
});

test('LogStats knows since when lines may be lost, and when a file that is looked for becomes a gap', async () => {
  const { clock, stats } = createStats();
  stats.recordRetention({ type: 'log-retention', component: 'network', msToLoss: 5000, gapAtMs: 60_000 });
  stats.recordRetention({ type: 'log-retention', component: 'system', msToLoss: undefined });
  expect(stats.describe()).toMatchObject([
    { gapAt: '1970-01-01T00:01:00.000Z', lossSince: null },
    { gapAt: null, lossSince: null },
  ]);
  await clock.advance(7000);
  expect(stats.lossSinceMs).toBe(5000);
  expect(stats.describe().map(({ lossSince }) => lossSince)).toEqual(['1970-01-01T00:00:05.000Z', null]);
  stats.recordRetention({ type: 'log-retention', component: 'network', msToLoss: 5000 });
  expect(stats.lossSinceMs).toBeUndefined();
  expect(stats.describe()[0]).toMatchObject({ gapAt: null });
});

test('LogStats shows a log that is received and not shipped, until it is read to its end', () => {
  const exposition = new FleetExposition();
  const stats = new LogStats({ name: 'plant-7', labels: {} }, exposition, createSteppedClock(0), new Map());
  const listStates = () =>
    exposition.listValues({ name: 'plant-7', labels: {} }, 'unshipped-logs').flatMap(({ samples }) => samples);
  const cause = createLogError('reversed', 'network/current');
  stats.recordFailed({ type: 'log-failed', component: 'network', file: 'network/current', cause });
  stats.recordFailed({ type: 'log-failed', component: 'system', file: 'system/current', cause: new RangeError('x') });
  expect(listStates()).toEqual([{ labels: { component: 'network', reason: 'reversed' }, value: 1 }]);
  expect(stats.describe().map(({ unshipped }) => unshipped?.state)).toEqual(['reversed', undefined]);
  expect(stats.describe()[0]?.unshipped?.message).toMatch(/^network\/current has its newest line first.*default_log/);
  stats.recordCaughtUp({ type: 'log-caught-up', component: 'network', isWaitingForLineEnd: false });
  expect(listStates()).toEqual([]);
  expect(stats.describe()[0]).toMatchObject({ unshipped: null });
  stats.recordFailed({ type: 'log-failed', component: 'network', file: 'network/current', cause });
  stats.recordForgotten({ type: 'logs-forgotten', components: ['network'] });
  expect(listStates()).toEqual([]);
});

test('LogStats knows the lag of the log that is furthest behind, and the origin of the last record', async () => {
  const { clock, stats } = createStats();
  expect(stats.lagMs).toBeUndefined();
  for (const component of ['network', 'system', 'modem']) {
    stats.recordCaughtUp({ type: 'log-caught-up', component, isWaitingForLineEnd: false });
    await clock.advance(1000);
  }
  stats.recordCaughtUp({ type: 'log-caught-up', component: 'network', isWaitingForLineEnd: false });
  expect(stats.lagMs).toBe(2000);
  stats.recordOrigin({ component: 'system', file: 'system/current', offset: 7 });
  expect(stats.describe()[1]).toMatchObject({
    component: 'system',
    position: { file: 'system/current', offset: 7 },
    lagSeconds: 2,
  });
  await clock.advance(500);
  expect(stats.lagMs).toBe(2500);
  stats.recordForgotten({ type: 'logs-forgotten', components: ['system'] });
  expect(stats.lagMs).toBe(1500);
});
