import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RouterClient } from '../../src/client/index.ts';
import { type Fleet, type FleetOptions, startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const MIB = 1024 * 1024;
const LINE_BYTES = 512;
/** Of the byte budget. */
const STATUS_SHARE = 0.2;
const LOG_FILE = '/download/log?log_file';
/** Iterations of the event loop in which network data arrives between two timers. */
const TURNS = 40;
const LOOKS_MAX = 1000;
/** The most that a router has, and those that it has from the start. */
const [PROFILES, FIRST_PROFILES] = [16, 2];

/** A router with `bytes` of lines in the log `bulk`, and one line in the log `small`. */
async function startSlowFleet(
  bytes: number,
  features: NonNullable<FleetOptions['simulator']>['features'] = {},
  config: NonNullable<FleetOptions['config']> = (one) => one,
) {
  const fleet = await startFleet({
    isStopped: true,
    config,
    simulator: { plainHttp: true, features, logs: { maxSizeBytes: 32 * MIB } },
  });
  const message = 'x'.repeat(LINE_BYTES - 'yyyy-mm-dd hh:mm:ss [bulk] 00000000 \n'.length);
  for (let line = 0; line < bytes / LINE_BYTES; line++) {
    fleet.router().appendLog('bulk', `${String(line).padStart(8, '0')} ${message}`);
  }
  fleet.router().appendLog('small', 'a line of another log');
  return fleet;
}

/** Moves time on while downloads go on, and calls `look` every ten seconds. */
async function advance(fleet: Fleet, durationMs: number, look: () => Promise<void> = async () => {}): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 10 * SECOND_MS) {
    await fleet.clock.advance(10 * SECOND_MS, () => takeTurns(TURNS));
    await look();
  }
}

/** Starts the agent and lets its first poll end. */
async function startAndPoll(fleet: Fleet): Promise<void> {
  await fleet.startAgent();
  await fleet.clock.advance(SECOND_MS);
  for (let look = 0; look < LOOKS_MAX && Number.isNaN(await readUp(fleet)); look++) await takeTurns(TURNS);
}

async function readSeries(fleet: Fleet, series: string): Promise<number> {
  return findValue(await fleet.metrics(), series);
}

function findValue(metrics: string, series: string): number {
  const line = metrics.split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

const ANSWERS = 'Router answers on a second connection during downloads; polls use it';
const ANSWERS_NO_MORE = 'Router no longer answers on a second connection; polls wait for downloads';
const logOf = (fleet: Fleet, pattern: RegExp) =>
  fleet.ownLog.map(({ message }) => message).filter((message) => pattern.test(message));

async function countConnections(fleet: Fleet): Promise<number> {
  const states = await Promise.all(
    ['busy', 'idle'].map((state) => readSeries(fleet, `router_exporter_connections{state="${state}"}`)),
  );
  return states.reduce((sum, one) => sum + one, 0);
}

const readUp = (fleet: Fleet) => readSeries(fleet, 'router_up{router="sim-1"}');
const bulkLines = (fleet: Fleet) =>
  fleet.records.filter(({ component }) => component === 'bulk').map(({ message }) => Number(message?.slice(0, 8)));

/** Watches over ten seconds each: the values of `router_up`, and the longest time without a successful poll. */
function watch(fleet: Fleet) {
  const seen = { ups: new Set<number>(), ageMsMax: 0 };
  const look = async () => {
    const metrics = await fleet.metrics();
    seen.ups.add(findValue(metrics, 'router_up{router="sim-1"}'));
    const successMs = findValue(metrics, 'router_last_success_timestamp_seconds{router="sim-1"}') * 1000;
    seen.ageMsMax = Math.max(seen.ageMsMax, fleet.clock.now() - successMs);
  };
  return { seen, look };
}

test('a slow download gives way to every poll where the router sends parts of files, and every line comes once', async () => {
  await using fleet = await startSlowFleet(MIB, { rangeRequests: true });
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
  await startAndPoll(fleet);
  const { seen, look } = watch(fleet);
  await advance(fleet, 6 * MINUTE_MS, look);

  expect([...seen.ups]).toEqual([1]);
  expect(seen.ageMsMax).toBeLessThanOrEqual(75 * SECOND_MS);
  expect(bulkLines(fleet)).toEqual(Array.from({ length: MIB / LINE_BYTES }, (_, line) => line));
});

test('elsewhere polls go on a second connection, where the router answers meanwhile, and every line comes once', async () => {
  await using fleet = await startSlowFleet(MIB);
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
  await startAndPoll(fleet);
  const { seen, look } = watch(fleet);
  const open: number[] = [];
  await advance(fleet, 6 * MINUTE_MS, async () => {
    await look();
    const now = await countConnections(fleet);
    if (now !== open.at(-1)) open.push(now);
  });

  expect([...seen.ups]).toEqual([1]);
  expect(seen.ageMsMax).toBeLessThanOrEqual(75 * SECOND_MS);
  expect(bulkLines(fleet)).toEqual(Array.from({ length: MIB / LINE_BYTES }, (_, line) => line));
  expect(fleet.records.some(({ component }) => component === 'small')).toBe(true);
  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS]);
  // The second one goes with the download, and comes with the next.
  expect(open).toEqual([1, 2, 1, 2]);
});

test.each(['one_at_a_time', 'busy_beside_download'] as const)(
  'with a router that is %s a poll waits for the end of a slow download, meanwhile the router is up, and it comes before the next one',
  async (fault) => {
    await using fleet = await startSlowFleet(MIB);
    await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
    await fleet.router().fault(fault);
    await startAndPoll(fleet);
    const { seen, look } = watch(fleet);
    await advance(fleet, 10 * MINUTE_MS, look);

    expect([...seen.ups]).toEqual([1]);
    expect(seen.ageMsMax).toBeGreaterThan(2 * MINUTE_MS);
    expect(seen.ageMsMax).toBeLessThan(5 * MINUTE_MS);
    expect(bulkLines(fleet)).toHaveLength(MIB / LINE_BYTES);
    expect(fleet.records.some(({ component }) => component === 'small')).toBe(true);
    expect(await readSeries(fleet, 'router_exporter_polls_total{result="failure"}')).toBe(0);
    expect(logOf(fleet, /second connection/)).toEqual([]);
  },
);

test('a router that is busy during downloads from some time on is asked at their end again, without a failed poll', async () => {
  await using fleet = await startSlowFleet(MIB);
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
  await startAndPoll(fleet);
  await advance(fleet, 90 * SECOND_MS);
  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS]);
  await fleet.router().fault('busy_beside_download');
  const { seen, look } = watch(fleet);
  await advance(fleet, 8 * MINUTE_MS, look);

  expect([...seen.ups]).toEqual([1]);
  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS, ANSWERS_NO_MORE]);
  expect(await readSeries(fleet, 'router_exporter_polls_total{result="failure"}')).toBe(0);
  expect(bulkLines(fleet)).toHaveLength(MIB / LINE_BYTES);
});

test('a poll that fails half way during a download is completed at its end, and keeps what it had read', async () => {
  await using fleet = await startSlowFleet(MIB);
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
  await startAndPoll(fleet);
  await advance(fleet, 30 * SECOND_MS);
  const link = 'router_port_link_up{router="sim-1",resource="ethernet1",slot="1",port="3",net="net1"}';
  expect(await readSeries(fleet, link)).toBe(0);
  fleet.router().setStatus('ethernet1', { list: [{}, {}, { link: 'up' }] });
  await fleet.router().fault('busy_beside_download', { path: '/status/power2' });
  await advance(fleet, 4 * MINUTE_MS);

  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS, ANSWERS_NO_MORE]);
  expect(await readSeries(fleet, link)).toBe(1);
});

test('a download and a concurrent poll are counted together, and the poll does not fail when the download has spent the budget', async () => {
  const bytesPerSecond = 20_000;
  // Both are under way 130 seconds after the start.
  const byteBudget = (130 * bytesPerSecond) / (1 - STATUS_SHARE);
  await using fleet = await startSlowFleet(4 * MIB, {}, (config) => ({
    ...config,
    routers: config.routers.map((router) => ({
      ...router,
      byte_budget: { perDay: byteBudget, statusShare: STATUS_SHARE },
    })),
  }));
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond });
  // Near the end of the day nothing is slowed down before the budget is spent.
  await fleet.clock.advance(11.8 * 60 * MINUTE_MS);
  await startAndPoll(fleet);
  await advance(fleet, 100 * SECOND_MS);
  await fleet.router().fault('slow', { path: '/status', delayMs: 3000 });
  const { seen, look } = watch(fleet);
  await advance(fleet, 80 * SECOND_MS, look);

  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS]);
  expect(logOf(fleet, /The logs could not be read/)).toHaveLength(1);
  expect(logOf(fleet, /status resource could not be read/)).toEqual([]);
  expect([...seen.ups]).toEqual([1]);
  const received = await readSeries(fleet, 'router_api_received_bytes_total{router="sim-1"}');
  const sent = await readSeries(fleet, 'router_api_sent_bytes_total{router="sim-1"}');
  expect(await readSeries(fleet, 'router_api_budget_used_bytes{router="sim-1"}')).toBe(received + sent);
  expect(received).toBeGreaterThan(byteBudget * (1 - STATUS_SHARE) - sent);
});

test('a router that a reload removes is left at once while a download and a poll are under way, and read on when it is back', async () => {
  await using fleet = await startSlowFleet(MIB);
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
  await startAndPoll(fleet);
  await advance(fleet, 40 * SECOND_MS);
  await fleet.router().fault('slow', { path: '/status', delayMs: 5000 });
  await advance(fleet, 30 * SECOND_MS);
  expect(await readSeries(fleet, 'router_exporter_connections{state="busy"}')).toBe(2);

  expect(await fleet.reload((config) => ({ ...config, routers: [] }))).toMatchObject({ ok: true });
  expect(await countConnections(fleet)).toBe(0);
  await fleet.router().clearFault('slow');
  expect(await fleet.reload((config) => config)).toMatchObject({ ok: true });
  await advance(fleet, 8 * MINUTE_MS);
  expect(await readUp(fleet)).toBe(1);
  expect(bulkLines(fleet)).toEqual(Array.from({ length: MIB / LINE_BYTES }, (_, line) => line));
  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS, ANSWERS]);
});

test('a router whose download stalls as it answers elsewhere is asked at the end of the next one, which is read whole', async () => {
  await using fleet = await startSlowFleet(MIB);
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 5000 });
  await fleet.router().fault('download_stalls');
  await startAndPoll(fleet);
  const { seen, look } = watch(fleet);
  await advance(fleet, 12 * MINUTE_MS, look);

  expect([...seen.ups]).toEqual([1]);
  expect(logOf(fleet, /second connection/)).toEqual([ANSWERS, ANSWERS_NO_MORE]);
  expect(await readSeries(fleet, 'router_exporter_polls_total{result="failure"}')).toBe(0);
  expect(bulkLines(fleet)).toEqual(Array.from({ length: MIB / LINE_BYTES }, (_, line) => line));
});

test('a download that takes longer than five minutes ends there, its lines are kept, and the poll and other logs come', async () => {
  await using fleet = await startSlowFleet(MIB);
  await fleet.router().fault('slow_body', { path: LOG_FILE, bytesPerSecond: 2000 });
  await startAndPoll(fleet);
  const { seen, look } = watch(fleet);
  await advance(fleet, 7 * MINUTE_MS, look);

  expect([...seen.ups]).toEqual([1]);
  expect(seen.ageMsMax).toBeLessThan(6 * MINUTE_MS);
  expect(bulkLines(fleet).length).toBeGreaterThan((280 * 2000) / LINE_BYTES);
  expect(fleet.records.some(({ component }) => component === 'small')).toBe(true);
});

test('a download of less than 100 bytes per second ends after half a minute, and polls and other logs go on', async () => {
  await using fleet = await startSlowFleet(MIB / 8);
  await fleet.router().fault('slow_body', { path: `${LOG_FILE}=bulk`, bytesPerSecond: 50 });
  await startAndPoll(fleet);
  const { seen, look } = watch(fleet);
  await advance(fleet, 5 * MINUTE_MS, look);

  expect([...seen.ups]).toEqual([1]);
  expect(seen.ageMsMax).toBeLessThan(105 * SECOND_MS);
  expect(fleet.ownLog).toContainEqual(
    expect.objectContaining({
      message: 'A log file could not be read',
      fields: expect.objectContaining({ error: expect.stringContaining('slower than 100 bytes per second') }),
    }),
  );
  expect(fleet.records.some(({ component }) => component === 'small')).toBe(true);
  await fleet.router().clearFault('slow_body');
  await advance(fleet, 5 * MINUTE_MS);
  expect(bulkLines(fleet)).toHaveLength(MIB / 8 / LINE_BYTES);
});

test('a backup of many slow profiles lets every poll come between two of them', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-backups-'));
  await using fleet = await startSlowFleet(LINE_BYTES, {}, (config) => ({
    ...config,
    // On a busy machine, this clock is ahead of the network by more than the limits that are the default.
    routers: config.routers.map((router) => ({
      ...router,
      poll: { ...router.poll, timeout: 30 * SECOND_MS, deadline: MINUTE_MS },
    })),
    backup: { schedule: '0 12 * * *', path: folder.path, keep: 3, format: 'binary' },
  }));
  await using admin = new RouterClient({
    url: fleet.router().url,
    username: 'admin',
    password: 'simulated',
    clock: fleet.clock,
  });
  const profiles = Array.from({ length: PROFILES - FIRST_PROFILES }, (_, index) => ({
    name: `p${index}`,
    template: 'running_profile',
  }));
  await admin.call({ method: 'POST', path: '/profiles', json: { profiles } });
  await fleet.router().fault('slow_body', { path: '/download/profiles', bytesPerSecond: 600 });
  await startAndPoll(fleet);
  // In requests, not in minutes: on a busy machine this clock may be minutes ahead of the network.
  const ups = new Set<number>();
  const count = (path: string) =>
    Object.entries(fleet.router().counters.requests).reduce((sum, [key, n]) => sum + (key.includes(path) ? n : 0), 0);
  let [statuses, downloads, downloadsInARow] = [0, 0, 0];
  const countVersions = async () => (await fleet.metrics()).match(/^router_backup_versions\{.*\} 1$/gm)?.length ?? 0;
  const look = async () => {
    ups.add(await readUp(fleet));
    if (count(' /status/') > statuses) [statuses, downloads] = [count(' /status/'), count(' /download/profiles')];
    downloadsInARow = Math.max(downloadsInARow, count(' /download/profiles') - downloads);
  };
  // A profile takes half a minute, all of them half of the quarter of an hour that a backup has: the network may be slower than this clock.
  for (let part = 0; part < 30 && (await countVersions()) < PROFILES; part++) {
    await advance(fleet, 10 * MINUTE_MS, look);
  }

  const lines = fleet.ownLog.map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`);
  expect(await countVersions(), lines.filter((line) => line.includes('rofile')).join('\n')).toBe(PROFILES);
  expect([...ups]).toEqual([1]);
  expect(downloads).toBe(PROFILES);
  // One lasts half a minute, and a poll is due after one.
  expect(downloadsInARow).toBeLessThanOrEqual(3);
});

test('a router that answers nothing from the start is down with a reason within a minute', async () => {
  await using fleet = await startSlowFleet(LINE_BYTES);
  await fleet.router().fault('hang');
  await fleet.startAgent();
  await advance(fleet, MINUTE_MS);

  expect(await readUp(fleet)).toBe(0);
  expect(await readSeries(fleet, 'router_failure_reason{router="sim-1",reason="timeout"}')).toBe(1);
  await fleet.router().clearFault('hang');
});
