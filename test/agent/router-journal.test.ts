import { expect, test } from 'vitest';
import { renderStoredHistory } from '../../src/agent/router-state/stored-history.ts';
import { JournalKeeper } from '../../src/agent/routers/journal-keeper.ts';
import { listEvents } from '../../src/agent/views/list-events.ts';
import { type EventRecord, type FactsCommit, type LogCommit, StoreError } from '../../src/model/index.ts';
import type { PollResult } from '../../src/status/index.ts';
import { createBench, down, read, up } from './router-recorder-bench.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The stored journal and records of one router, and what the next commit fails with. */
class Disk {
  text: string | undefined;
  fault: StoreError | undefined;
  readonly records: EventRecord[] = [];
  commits = 0;

  readonly openRouter = () => Promise.resolve();
  readonly readJournal = () => this.text;
  readonly commit = async (...commits: (LogCommit | FactsCommit)[]) => {
    if (this.fault) throw this.fault;
    this.commits++;
    for (const one of commits) {
      if (!('position' in one)) continue;
      expect(one).toMatchObject({ router: 'plant-7', component: '' });
      this.text = one.position;
      for (const line of one.lines) this.records.push(JSON.parse(line) as EventRecord);
    }
  };

  get kinds(): readonly string[] {
    return this.records.map(({ event }) => event);
  }
}

/** An agent of one router on a disk; the next one on the same disk is the agent after a restart or a kill. */
function startAgent(
  disk: Disk,
  options: { readonly wanted?: string; readonly eventsMax?: number; readonly atMs?: number } = {},
) {
  const bench = createBench(0, 'active', { labels: { site: 'munich' } });
  if (options.atMs !== undefined) bench.clock.jump(options.atMs - bench.clock.now());
  const { recorder, clock, settings } = bench;
  const keeper = new JournalKeeper({
    settings,
    records: disk,
    recorder,
    isWanted: (kind) => options.wanted === undefined || kind === options.wanted,
    eventsMax: () => options.eventsMax ?? 100,
    onUnstored: (cause) => expect.unreachable(cause.message),
  });
  return {
    ...bench,
    poll: async (result: PollResult, afterMs = MINUTE_MS) => {
      await clock.advance(afterMs);
      bench.poll(result);
      await keeper.store();
    },
    store: () => keeper.store(),
    events: (query: Partial<Parameters<typeof listEvents>[2]> = {}) =>
      listEvents([{ settings, recorder }], { events: [] }, { max: 1000, ...query }, clock.now()),
  };
}

const full = new StoreError('full', 'The spool is full', { disposition: 'hold-back' });
const fenced = new StoreError('fenced', 'Another replica has it', { disposition: 'retry' });

function report(families: Readonly<Record<string, readonly (readonly [object, number])[]>>, changes: object = {}) {
  return read('sysdetail/system', {
    families: Object.entries(families).map(([name, samples]) => ({
      name,
      help: 'Something.',
      type: 'gauge',
      samples: samples.map(([labels, value]) => ({ labels: labels as Record<string, string>, value })),
    })),
    ...changes,
  });
}

const running = (seconds: number, readAtMs: number) =>
  up([report({ router_uptime_seconds: [[{}, seconds]] }, { readAtMs })]);
const first = <T>(values: readonly T[]): T | undefined => values[0];

test('first contact is no event; an outage and its end are one event each, with one record each', async () => {
  const disk = new Disk();
  const { poll, events, clock } = startAgent(disk);
  const startMs = clock.now();
  await poll(up([]));
  expect([events(), disk.records]).toEqual([[], []]);
  await poll(down());
  await poll(down());
  await poll(up([]), 3 * MINUTE_MS);
  const at = (minutes: number) => new Date(startMs + minutes * MINUTE_MS).toISOString();
  expect(events().map(({ kind, at: then }) => [kind, then])).toEqual([
    ['router.up', at(6)],
    ['router.down', at(2)],
  ]);
  expect(first(disk.records)).toEqual({
    observed_timestamp: at(2),
    router: 'plant-7',
    message: 'The router is down: No connection',
    uid: expect.stringMatching(/^[a-z2-7]{16}-\w+$/) as string,
    labels: { site: 'munich' },
    event: 'router.down',
    details: { reason: 'connect', step: 'connect', error: 'No connection' },
  });
  expect(disk.records[1]).toMatchObject({
    message: 'The router is up again after 4 min',
    details: { down_since: at(2), down_seconds: 240 },
  });
  expect(disk.records.map(({ uid }) => uid).toSorted()).toEqual(
    events()
      .map(({ uid }) => uid)
      .toSorted(),
  );
});

test('a poll that changes nothing is not written', async () => {
  const disk = new Disk();
  const { poll } = startAgent(disk);
  await poll(up([]));
  const { commits } = disk;
  for (let count = 0; count < 5; count++) await poll(up([]));
  const again = startAgent(disk);
  await again.poll(up([]));
  expect([disk.commits, commits]).toEqual([1, 1]);
});

test('a state whose begin was not seen is still one after a restart', async () => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(up([]));
  const { since } = before.recorder.summarize();
  const after = startAgent(disk, { atMs: before.clock.now() + HOUR_MS });
  await after.poll(up([]));
  expect(after.recorder.summarize()).toMatchObject({ state: 'up', since, isFirstState: true });
});

test('an agent that starts in an outage shows it as before, and repeats no event', async () => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(up([]));
  await before.poll(down());
  await before.poll(down());
  const { state, since, lastSuccess, firmware } = before.recorder.summarize();
  const after = startAgent(disk, { atMs: before.clock.now() + HOUR_MS });
  const shown = { state, since, lastSuccess, firmware, isFirstState: false, failure: { reason: 'connect' } };
  expect(after.recorder.summarize()).toMatchObject(shown);
  expect(after.recorder.state.reach).toBe('unknown');
  await after.poll(down());
  expect(after.recorder.summarize()).toMatchObject(shown);
  expect(disk.kinds).toEqual(['router.down']);
  await after.poll(up([]));
  expect(after.recorder.summarize()).toMatchObject({ state: 'up', isFirstState: false });
  expect(disk.kinds).toEqual(['router.down', 'router.up']);
  const third = startAgent(disk, { atMs: after.clock.now() + HOUR_MS });
  // What was true before is not claimed as long as it is not known.
  expect(third.recorder.summarize()).toMatchObject({ state: 'unknown', lastSuccess: null });
  await third.poll(up([]));
  expect(third.recorder.summarize().since).toBe(after.recorder.summarize().since);
  expect(disk.kinds).toHaveLength(2);
});

test('an outage that began or ended while no agent ran is one event, whose time is that of the first poll', async () => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(up([]));
  const after = startAgent(disk, { atMs: before.clock.now() + HOUR_MS });
  await after.poll(down());
  expect(disk.kinds).toEqual(['router.down']);
  // It may have begun before.
  expect(after.recorder.summarize().isFirstState).toBe(true);
});

test.for([
  { what: 'stored', fault: undefined },
  { what: 'not stored', fault: full },
])('a kill after a commit that was $what neither repeats nor omits an event', async ({ fault }) => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(up([]));
  disk.fault = fault;
  await before.poll(down());
  disk.fault = undefined;
  const after = startAgent(disk, { atMs: before.clock.now() + MINUTE_MS });
  await after.poll(down());
  await after.poll(up([]));
  expect(disk.kinds).toEqual(['router.down', 'router.up']);
  expect(new Set(disk.records.map(({ uid }) => uid)).size).toBe(2);
});

test('events that could not be stored wait, are shown meanwhile, and are stored in their order, each once', async () => {
  const disk = new Disk();
  const { poll, events } = startAgent(disk);
  await poll(up([]));
  disk.fault = full;
  await poll(down());
  await poll(up([]));
  expect(events()).toHaveLength(2);
  expect(disk.kinds).toEqual([]);
  disk.fault = undefined;
  await poll(down());
  expect(disk.kinds).toEqual(['router.down', 'router.up', 'router.down']);
  await poll(up([]));
  expect(disk.kinds).toHaveLength(4);
});

test('a replica that lost the router continues from what the other one has stored', async () => {
  const disk = new Disk();
  const one = startAgent(disk);
  await one.poll(up([]));
  const other = startAgent(disk, { atMs: one.clock.now() });
  await other.poll(down());
  disk.fault = fenced;
  await one.poll(down());
  expect(disk.kinds).toEqual(['router.down']);
  disk.fault = undefined;
  await one.poll(down());
  expect(one.recorder.summarize().since).toBe(other.recorder.summarize().since);
  expect(disk.kinds).toEqual(['router.down']);
  await one.poll(up([]));
  expect(disk.kinds).toEqual(['router.down', 'router.up']);
});

test('a journal that is lost or damaged is a first contact, and later events have other uids', async () => {
  for (const text of ['', 'x', '[]', '{"next":-1}', '{"next":1,"reach":"up","since":null,"events":[{"kind":"x"}]}']) {
    const disk = new Disk();
    const before = startAgent(disk);
    await before.poll(up([]));
    await before.poll(down());
    disk.text = text;
    const after = startAgent(disk, { atMs: before.clock.now() + MINUTE_MS });
    expect(after.events()).toEqual([]);
    await after.poll(up([]));
    await after.poll(down());
    expect(disk.kinds).toEqual(['router.down', 'router.down']);
    expect(new Set(disk.records.map(({ uid }) => uid)).size).toBe(2);
  }
});

test('uptime that goes back is a restart, and a clock that jumps is none', async () => {
  const disk = new Disk();
  const { poll, clock } = startAgent(disk);
  const runFor = (seconds: number) => poll(running(seconds, clock.monotonic() + MINUTE_MS));
  await runFor(1000);
  await runFor(1060);
  clock.jump(2 * HOUR_MS);
  await runFor(1120);
  clock.jump(-5 * HOUR_MS);
  await runFor(1180);
  expect(disk.kinds).toEqual([]);
  await runFor(20);
  await runFor(80);
  expect(disk.kinds).toEqual(['router.boot']);
  expect(first(disk.records)).toMatchObject({
    message: 'The router was restarted; uptime at the poll: 20 s',
    details: { uptime_seconds: 20 },
  });
  // Longer uptime than before, and yet a restart in an outage of two days.
  await poll(down(), 48 * HOUR_MS);
  await runFor((47 * HOUR_MS) / 1000);
  expect(disk.kinds.filter((kind) => kind === 'router.boot')).toHaveLength(2);
  // And one while no agent ran.
  const after = startAgent(disk, { atMs: clock.now() + 24 * HOUR_MS });
  await after.poll(running(HOUR_MS / 1000, MINUTE_MS));
  expect(disk.kinds.filter((kind) => kind === 'router.boot')).toHaveLength(3);
  const third = startAgent(disk, { atMs: after.clock.now() + 24 * HOUR_MS });
  await third.poll(running((25 * HOUR_MS) / 1000 + 30, MINUTE_MS));
  expect(disk.kinds.filter((kind) => kind === 'router.boot')).toHaveLength(3);
});

test('a change of firmware, device, WAN chain, SIM card, modem and configuration is an event, also during a restart', async () => {
  const disk = new Disk();
  const state = (chain: string, sim: string, online: number, changes: Partial<PollResult> = {}) =>
    up(
      [
        report({
          router_wan_active_info: [[{ chain }, 1]],
          router_modem_used_sim: [[{ modem: 'lte2', used_sim: sim }, 1]],
          router_modem_online: [[{ modem: 'lte2' }, online]],
        }),
      ],
      { configHash: 'aaaa', ...changes },
    );
  const before = startAgent(disk);
  await before.poll(state('wan1', 'SIM 1', 1));
  await before.poll(state('wan1', 'SIM 1', 1));
  await before.poll(state('wan2', 'SIM 1', 0));
  const messages = () => disk.records.map(({ message }) => message).toSorted();
  expect(messages()).toEqual(['Active WAN chain: wan1 → wan2', 'Modem lte2: online → offline']);
  const after = startAgent(disk, { atMs: before.clock.now() + HOUR_MS });
  const changed = { firmwareVersion: '9.9', serialNumber: '4712', configHash: 'bbbb' };
  await after.poll(state('wan2', 'SIM 2', 0, changed));
  await after.poll(state('wan2', 'SIM 2', 0, changed));
  expect(messages().slice(0, 1)).toEqual(['Active WAN chain: wan1 → wan2']);
  expect(messages()).toEqual([
    'Active WAN chain: wan1 → wan2',
    'Another device answers, serial number: 4711 → 4712',
    'Firmware: 6.1 → 9.9',
    'Modem lte2: online → offline',
    'SIM card of lte2: SIM 1 → SIM 2',
    'The configuration was changed',
  ]);
});

test('a profile that is changed and not activated is an event, and so is its activation, also during a restart', async () => {
  const disk = new Disk();
  const state = (...modified: readonly (readonly [profile: string, value: number])[]) =>
    up([report({ router_profile_modified: modified.map(([profile, value]) => [{ profile }, value]) })]);
  const before = startAgent(disk);
  // What is so at the first contact is no event, and a profile without a name is a profile as well.
  await before.poll(state(['a', 0], ['b', 1]));
  await before.poll(state(['a', 1], ['b', 1], ['', 0]));
  const after = startAgent(disk, { atMs: before.clock.now() + HOUR_MS });
  await after.poll(state(['a', 1], ['b', 0], ['', 1]));
  expect(disk.records.map(({ event, message, details }) => [event, message, details])).toEqual([
    [
      'router.config',
      'Profile a: unchanged → changed since its activation',
      { profile: 'a', before: 'unchanged', after: 'changed since its activation' },
    ],
    [
      'router.config',
      'Profile b: changed since its activation → unchanged',
      { profile: 'b', before: 'changed since its activation', after: 'unchanged' },
    ],
    [
      'router.config',
      'Profile : unchanged → changed since its activation',
      { profile: '', before: 'unchanged', after: 'changed since its activation' },
    ],
  ]);
});

test('profiles that are gone leave their place to others, and one that comes back is a new one', async () => {
  const disk = new Disk();
  const { poll } = startAgent(disk);
  const modem = { router_modem_used_sim: [[{ modem: 'lte2', used_sim: 'SIM 1' }, 1]] } as const;
  const list = (names: readonly string[], value: number, others = {}) =>
    up([report({ router_profile_modified: names.map((profile) => [{ profile }, value]), ...others })]);
  for (let day = 0; day < 60; day++) await poll(list(['kept', `day-${day}`], 1));
  await poll(up([]));
  await poll(list(['kept', 'day-0'], 0, modem));
  await poll(list(['kept'], 0, { router_modem_used_sim: [[{ modem: 'lte2', used_sim: 'SIM 2' }, 1]] }));
  expect(disk.records.map(({ message }) => message)).toEqual([
    'Profile kept: changed since its activation → unchanged',
    'SIM card of lte2: SIM 1 → SIM 2',
  ]);
});

test('a hash of the configuration that is another one in every answer tells nothing', async () => {
  const disk = new Disk();
  const { poll } = startAgent(disk);
  for (let count = 0; count < 5; count++) await poll(up([report({})], { configHash: `hash ${count}` }));
  expect(disk.kinds).toEqual([]);
});

test('records are rendered only for events that a sink wants, and the journal is stored all the same', async () => {
  const disk = new Disk();
  const { poll, events } = startAgent(disk, { wanted: 'router.up' });
  await poll(up([]));
  await poll(down());
  expect([disk.kinds, events().length, disk.text?.includes('router.down')]).toEqual([[], 1, true]);
  await poll(up([]));
  expect(disk.kinds).toEqual(['router.up']);
});

test('events of logs have the uids of their records, and one that was not stored before a kill is recalled', async () => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(up([]));
  const gap = {
    component: 'network',
    certainty: 'certain',
    reason: 'expired',
    bytesMin: 7,
    untilUtcMs: undefined,
  } as const;
  const [one, other] = ['one', 'other'].map((uid) => ({ ...gap, uid, foundMs: before.clock.now() }));
  if (!one || !other) expect.unreachable();
  before.record({ type: 'log-gap-found', ...one });
  before.record({ type: 'log-gap-found', ...one });
  before.record({ type: 'log-gap-ended', component: 'network', uid: 'end', gapUid: 'one', untilUtcMs: 0 });
  before.record({ type: 'log-reset', component: 'network', uid: 'reset', reason: 'wiped' });
  await before.store();
  const after = startAgent(disk, { atMs: before.clock.now() + MINUTE_MS });
  after.record({ type: 'gaps-recalled', gaps: [other, one] });
  expect(
    after
      .events({ kind: 'log.*' })
      .map(({ uid }) => uid)
      .toSorted(),
  ).toEqual(['end', 'one', 'other', 'reset']);
  expect(after.events({ kind: 'log.gap' })[0]).toMatchObject({
    message: 'Gap in the log network (certain): expired',
    details: { component: 'network', certainty: 'certain', reason: 'expired', bytes_min: 7 },
  });
  expect(after.events({ kind: 'log.gap_end' })[0]?.details).toEqual({
    component: 'network',
    gap_uid: 'one',
    until: '1970-01-01T00:00:00.000Z',
  });
  // Before the first poll, the state that is known stays.
  await after.store();
  expect(disk.text).toContain('"reach":"up"');
  // Their records were stored by the steps of the log.
  expect(disk.records).toEqual([]);
});

test('a router that has many events keeps the newest, in a short text, and those of its logs take half of it', async () => {
  const disk = new Disk();
  const { poll, record, events, clock } = startAgent(disk, { eventsMax: 20 });
  for (let count = 0; count < 60; count++) {
    record({ type: 'log-reset', component: 'network', uid: `reset ${count}`, reason: 'wiped' });
    await poll(count % 2 === 0 ? up([]) : down(new Error('x'.repeat(100_000))));
  }
  expect(events()).toHaveLength(20);
  expect(events({ kind: 'log.*' })).toHaveLength(10);
  expect(disk.text?.length).toBeLessThan(10_000);
  expect(disk.kinds).toHaveLength(59);
  await clock.advance(31 * 24 * HOUR_MS);
  expect(events()).toEqual([]);
});

test('events after the wall clock was set back are neither lost nor kept from the sinks', async () => {
  const disk = new Disk();
  const ahead = startAgent(disk, { eventsMax: 10, atMs: Date.UTC(2036, 0, 1) });
  for (let count = 0; count < 6; count++) {
    await ahead.poll(up([]));
    await ahead.poll(down());
  }
  const before = disk.records.length;
  const back = startAgent(disk, { eventsMax: 10, atMs: Date.UTC(2026, 10, 29) });
  await back.poll(up([]));
  await back.poll(down());
  expect(disk.kinds.slice(before)).toEqual(['router.up', 'router.down']);
  expect(back.events().filter(({ at }) => at.startsWith('2026'))).toHaveLength(2);
  const again = startAgent(disk, { eventsMax: 10, atMs: back.clock.now() });
  expect(again.events()).toEqual(back.events());
});

test.each([1e308, Number.MAX_VALUE, Number.NaN])('an uptime of %s leaves the journal readable', async (seconds) => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(up([]));
  await before.poll(down());
  await before.poll(running(seconds, before.clock.monotonic()));
  const after = startAgent(disk, { atMs: before.clock.now() });
  expect(after.events().map(({ kind }) => kind)).toEqual(['router.up', 'router.down']);
});

test('a clock that was set forward during a restart of the agent is no restart of the router', async () => {
  const disk = new Disk();
  const before = startAgent(disk);
  await before.poll(running(5 * 86_400, before.clock.monotonic()));
  const moment = { wallMs: before.clock.now(), ms: before.clock.monotonic() };
  const text = renderStoredHistory(before.recorder.state, moment) ?? '';
  const boots = async (seconds: number) => {
    const own = Object.assign(new Disk(), { text: disk.text });
    const after = startAgent(own, { atMs: moment.wallMs + HOUR_MS });
    after.recorder.record({ type: 'history-recalled', text, isFollowed: () => true });
    await after.poll(running(seconds, after.clock.monotonic()));
    return own.kinds;
  };
  expect(await boots(5 * 86_400 + 60)).toEqual([]);
  expect(await boots(600)).toEqual(['router.boot']);
});
