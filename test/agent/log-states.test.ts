import { expect, test } from 'vitest';
import { createLogError } from '../../src/logs/reading/errors.ts';
import { createBench } from './router-recorder-bench.ts';

test('RouterRecorder keeps the last 10 gaps, the newest first', async () => {
  const { clock, recorder, record } = createBench();
  for (let index = 0; index < 12; index++) {
    await clock.advance(1000);
    const bytesMin = index === 11 ? undefined : index;
    record({
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
  expect(recorder.describe().recentGaps).toHaveLength(10);
  expect(recorder.describe().recentGaps[0]).toEqual({
    at: '2026-11-21T00:00:12.000Z',
    component: 'network',
    certainty: 'certain',
    reason: 'expired',
    bytesMin: null,
    until: null,
  });
  expect(recorder.describe().recentGaps.at(-1)).toMatchObject({ at: '2026-11-21T00:00:03.000Z', bytesMin: 2 });
  expect(recorder.describeLogs()).toMatchObject([{ component: 'network', gaps: 12, position: null }]);
});

test('RouterRecorder knows since when lines may be lost, and when a file that is looked for becomes a gap', async () => {
  const { clock, recorder, record } = createBench();
  record({ type: 'log-retention', component: 'network', msToLoss: 5000, gapAtMs: Date.UTC(2026, 10, 21, 0, 1) });
  record({ type: 'log-retention', component: 'system', msToLoss: undefined });
  expect(recorder.describeLogs()).toMatchObject([
    { gapAt: '2026-11-21T00:01:00.000Z', lossSince: null },
    { gapAt: null, lossSince: null },
  ]);
  await clock.advance(7000);
  expect(recorder.summarize().logLossSince).toBe('2026-11-21T00:00:05.000Z');
  expect(recorder.describeLogs().map(({ lossSince }) => lossSince)).toEqual(['2026-11-21T00:00:05.000Z', null]);
  record({ type: 'log-retention', component: 'network', msToLoss: 5000 });
  expect(recorder.summarize().logLossSince).toBeNull();
  expect(recorder.describeLogs()[0]).toMatchObject({ gapAt: null });
});

test('RouterRecorder shows a log that is received and not shipped, until it is read to its end', () => {
  const { exposition, recorder, record } = createBench();
  const listStates = () =>
    exposition.listValues({ name: 'plant-7', labels: {} }, 'unshipped-logs').flatMap(({ samples }) => samples);
  const cause = createLogError('reversed', 'network/current');
  record({ type: 'log-failed', component: 'network', file: 'network/current', cause });
  record({ type: 'log-failed', component: 'system', file: 'system/current', cause: new RangeError('x') });
  expect(listStates()).toEqual([{ labels: { component: 'network', reason: 'reversed' }, value: 1 }]);
  expect(recorder.describeLogs().map(({ unshipped }) => unshipped?.state)).toEqual(['reversed', undefined]);
  expect(recorder.describeLogs()[0]?.unshipped?.message).toMatch(
    /^network\/current has its newest line first.*default_log/,
  );
  record({ type: 'log-caught-up', component: 'network', isWaitingForLineEnd: false });
  expect(listStates()).toEqual([]);
  expect(recorder.describeLogs()[0]).toMatchObject({ unshipped: null });
  record({ type: 'log-failed', component: 'network', file: 'network/current', cause });
  record({ type: 'logs-forgotten', components: ['network'] });
  expect(listStates()).toEqual([]);
});

test('RouterRecorder knows the lag of the log that is furthest behind, and the origin of the last record', async () => {
  const { clock, recorder, record } = createBench();
  const lag = () => recorder.summarize().logLagSeconds;
  expect(lag()).toBeNull();
  for (const component of ['network', 'system', 'modem']) {
    record({ type: 'log-caught-up', component, isWaitingForLineEnd: false });
    await clock.advance(1000);
  }
  record({ type: 'log-caught-up', component: 'network', isWaitingForLineEnd: false });
  expect(lag()).toBe(2);
  record({ type: 'records-stored', origin: { component: 'system', file: 'system/current', offset: 7 } });
  expect(recorder.describeLogs()[1]).toMatchObject({
    component: 'system',
    position: { file: 'system/current', offset: 7 },
    lagSeconds: 2,
  });
  await clock.advance(500);
  expect(lag()).toBe(2.5);
  record({ type: 'logs-forgotten', components: ['system'] });
  expect(lag()).toBe(1.5);
});
