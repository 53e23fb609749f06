import { expect, test } from 'vitest';
import { renderStoredHistory } from '../../src/agent/router-state/stored-history.ts';
import { createLogError } from '../../src/logs/reading/errors.ts';
import { createBench, down, read, up } from './router-recorder-bench.ts';

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

test('RouterRecorder shows stored logs until the next listing, with the time since then, and in no metric', async () => {
  const before = createBench();
  const { clock } = before;
  before.poll(up([read('number')]));
  before.record({ type: 'log-caught-up', component: 'network', isWaitingForLineEnd: false });
  before.record({ type: 'log-retention', component: 'network', msToLoss: 90_000, gapAtMs: clock.now() + 5000 });
  before.record({
    type: 'log-failed',
    component: 'system',
    file: 'system/current',
    cause: createLogError('reversed', 'system/current'),
  });
  before.record({ type: 'log-caught-up', component: 'left-out', isWaitingForLineEnd: false });
  before.storeRecords([`{"component":"network","file":"network/current","offset":7}`]);
  before.poll(down());
  await clock.advance(60_000);
  const shown = before.recorder.describeLogs();
  expect(shown).toMatchObject([
    { component: 'network', lagSeconds: 60 },
    { component: 'system', lagSeconds: null },
    {},
  ]);
  const store = (bench: Pick<typeof before, 'recorder' | 'clock'>) =>
    renderStoredHistory(bench.recorder.state, { wallMs: bench.clock.now(), ms: bench.clock.monotonic() }) ?? '';
  const text = store(before);

  for (const [jumpMs, passedS] of [
    [120_000, 120],
    // A wall clock that was set back.
    [-86_400_000, 0],
  ] as const) {
    const { recorder, metrics, record, poll, clock: own } = createBench();
    own.jump(60_000 + jumpMs);
    const untouched = metrics();
    record({ type: 'history-recalled', text, isFollowed: (component) => component !== 'left-out' });
    const [network, system] = recorder.describeLogs();
    expect(network).toEqual({
      ...shown[0],
      lagSeconds: 60 + passedS,
      lossSince: passedS === 0 ? null : new Date(own.now() - 90_000).toISOString(),
    });
    expect(system).toEqual(shown[1]);
    expect(recorder.summarize()).toMatchObject({ logLagSeconds: 60 + passedS });
    expect(metrics()).toBe(untouched);
    // What is stored meanwhile has the same logs.
    poll(down());
    const again = createBench();
    again.clock.jump(60_000 + jumpMs);
    again.record({ type: 'history-recalled', text: store({ recorder, clock: own }), isFollowed: () => true });
    expect(again.recorder.describeLogs()).toEqual([network, system]);
    record({ type: 'logs-listed', archives: new Map([['network', 2]]), unknown: 0 });
    expect(recorder.describeLogs()).toMatchObject([
      { component: 'network', archives: 2, lagSeconds: null, lossSince: null },
    ]);
  }
});
