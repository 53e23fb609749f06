import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { equals, RouterClient } from '../../src/client/index.ts';
import type { Config } from '../../src/config/index.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import type { EventSummary } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const ENTRIES = 'router_config_entries{router="sim-1",section="administration",resource="users"}';
const CHANGES = 'router_config_changes_total{router="sim-1",section="administration",resource="users"}';

/** For days of the clock that are to pass quickly. */
const RARELY_POLLED = {
  poll: {
    interval: 10 * MINUTE_MS,
    timeout: 10_000,
    connect_timeout: 5000,
    deadline: 45_000,
    stale_after: HOUR_MS,
  },
  logs: { enabled: false, interval: 30_000, start: 'all', components: ['*'] },
} as const;

function readSeries(metrics: string, series: string): number {
  const line = metrics.split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

function openAdmin({ simulator, clock }: { simulator: Simulator; clock: Fleet['clock'] }): RouterClient {
  const [router] = simulator.routers;
  if (!router) throw new RangeError('There is no router');
  return new RouterClient({
    url: router.url,
    username: 'admin',
    password: 'simulated',
    tls: { caPem: simulator.caPem },
    clock,
  });
}

/** Adds a user to the running profile and activates it. */
async function addUser(fleet: Fleet, username: string): Promise<void> {
  await using admin = openAdmin(fleet);
  const entry = { parameters: { username, password: 'secret-of-the-user', group: 'status', active: '1' } };
  await admin.configuration.addEntries('administration/users', [entry], { activate: true });
}

/** With few modules: those that see a change, and one that says that the router is there. */
function withFewModules(config: Config): Config {
  const isWanted = ({ name }: { readonly name: string }) => ['configuration', 'profiles', 'system'].includes(name);
  const routers = config.routers.map((router) => ({ ...router, modules: router.modules.filter(isWanted) }));
  return { ...config, routers };
}

/** A fleet that is polled rarely and backed up at three in the afternoon, three hours from its start. */
function startBackedUp(path: string, format: 'binary' | 'ascii'): Promise<Fleet> {
  return startFleet({
    router: RARELY_POLLED,
    config: (config) => ({ ...withFewModules(config), backup: { schedule: '0 15 * * *', path, keep: 3, format } }),
  });
}

/** Kept versions of the profile in use; a simulated router has another one that never changes. */
async function listFiles(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.filter((name) => /\/Profile-[^/]*\/.*\.(tar|txt)$/.test(name)).toSorted();
}

test('a changed list of the configuration is counted, with its number of entries, and the others are not', async () => {
  await using fleet = await startFleet({ config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  const before = await fleet.metrics();
  await addUser(fleet, 'somebody');

  await fleet.advance(HOUR_MS);
  const after = await fleet.metrics();

  expect([readSeries(before, ENTRIES), readSeries(before, CHANGES)]).toEqual([3, 0]);
  expect([readSeries(after, ENTRIES), readSeries(after, CHANGES)]).toEqual([4, 1]);
  const changed = after.split('\n').filter((line) => /^router_config_changes_total\{.*\} [1-9]/.test(line));
  expect(changed).toEqual([`${CHANGES} 1`]);
  // On the page it stands first.
  const page = await fleet.metrics('/router/sim-1?view=configuration');
  expect(/<h2>Configuration.*?<th scope="row"><bdi>(.*?)<\/bdi>/s.exec(page)?.[1]).toBe('administration · users');
});

test('a profile that was changed and is not active needs attention on the fleet page until it is', async () => {
  await using fleet = await startFleet({ config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  const attention = async () => />([^<]*changed profile[^<]*)<\/a>/.exec(await fleet.metrics('/'))?.[1];
  expect(await attention()).toBeUndefined();
  await using admin = openAdmin(fleet);
  const entry = { parameters: { username: 'somebody', password: 'secret-of-the-user', group: 'status', active: '1' } };
  await admin.configuration.addEntries('administration/users', [entry]);
  await fleet.advance(10 * MINUTE_MS);
  expect(await attention()).toBe('1 router with a changed profile or an unexpected configuration');
  const listEvents = async () => {
    const answer = JSON.parse(await fleet.metrics('/api/v1/events?kind=router.config')) as { events: EventSummary[] };
    return answer.events.flatMap(({ message, details }) => ('profile' in details ? [message] : []));
  };
  const pending = 'Profile Profile: unchanged → changed since its activation';
  expect(await listEvents()).toEqual([pending]);
  expect(await fleet.metrics('/?state=drift')).toContain('href="router/sim-1"');
  await addUser(fleet, 'another');
  await fleet.advance(10 * MINUTE_MS);
  expect(await attention()).toBeUndefined();
  expect(await listEvents()).toEqual(['Profile Profile: changed since its activation → unchanged', pending]);
});

test('a content that changed without a change of numbers is counted as well', async () => {
  await using fleet = await startFleet({ config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  await using admin = openAdmin(fleet);
  const { list } = await admin.configuration.read('administration/users', { filter: [equals('username', 'status')] });
  const entry = { list_uid: list[0]?.uid ?? '', parameters: { group: 'read' } };
  await admin.configuration.changeEntries('administration/users', [entry], { activate: true });

  await fleet.advance(HOUR_MS);

  const metrics = await fleet.metrics();
  expect([readSeries(metrics, ENTRIES), readSeries(metrics, CHANGES)]).toEqual([3, 1]);
});

test('a change that was made while the agent was down is counted, and counters go on', async () => {
  await using fleet = await startFleet({ config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  await addUser(fleet, 'first');
  await fleet.advance(HOUR_MS);
  await fleet.stopAgent();
  await addUser(fleet, 'second');
  await fleet.startAgent();
  await fleet.advance(10 * MINUTE_MS);

  const metrics = await fleet.metrics();
  expect([readSeries(metrics, ENTRIES), readSeries(metrics, CHANGES)]).toEqual([5, 2]);
});

test('the count of changes remains when the router is gone, and the numbers of entries expire', async () => {
  await using fleet = await startFleet({ config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  await addUser(fleet, 'somebody');
  await fleet.advance(HOUR_MS);
  await fleet.router().fault('down');
  await fleet.advance(10 * MINUTE_MS);

  const metrics = await fleet.metrics();
  expect([readSeries(metrics, ENTRIES), readSeries(metrics, CHANGES)]).toEqual([Number.NaN, 1]);
});

test('a configuration that stays is asked for once, however long it stays', async () => {
  await using fleet = await startFleet({ router: RARELY_POLLED, config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  const count = () =>
    Object.entries(fleet.router().counters.requests)
      .filter(([name]) => name.includes('/configuration/'))
      .reduce((sum, [, requests]) => sum + requests, 0);
  const first = count();
  await fleet.advance(12 * HOUR_MS);

  expect(first).toBeGreaterThan(10);
  expect(count()).toBe(first);
});

test('profiles are backed up on schedule and after a change, each version once, and only for the owner', async () => {
  const path = await mkdtemp(join(tmpdir(), 'router-exporter-backups-'));
  try {
    await using fleet = await startBackedUp(path, 'ascii');
    await fleet.advance(10 * MINUTE_MS);
    expect(await listFiles(path)).toEqual([]);

    // Three in the afternoon at the zone of the machine, and the spread of the fleet.
    await fleet.advance(24 * HOUR_MS);
    const [scheduled = '', ...others] = await listFiles(path);
    expect(others).toEqual([]);
    expect((await stat(join(path, scheduled))).mode & 0o777).toBe(0o600);
    const early = await fleet.metrics();
    expect(early).toContain('router_backup_versions{router="sim-1",profile="Profile"} 1\n');
    expect(early).toContain('router_backup_success{router="sim-1",profile="Profile"} 1\n');

    await addUser(fleet, 'somebody');
    await fleet.advance(21 * MINUTE_MS);
    const versions = await listFiles(path);
    expect(versions).toHaveLength(2);
    const texts = await Promise.all(versions.map((name) => readFile(join(path, name), 'utf8')));
    expect(texts.filter((text) => text.includes('somebody'))).toHaveLength(1);
    const page = await fleet.metrics('/router/sim-1?view=configuration');
    const rows = [
      ...page.slice(page.indexOf('<h2>Backups</h2>')).matchAll(/<th scope="row">(.*?)<\/th>.*<td>(\w+)<\/td>/g),
    ];
    expect(rows.map(([, profile, reason]) => `${profile} ${reason}`)).toEqual([
      '<bdi>Profile</bdi>, version 1 change',
      expect.stringMatching(/schedule$/),
      expect.stringMatching(/schedule$/),
    ]);
    expect(page.split('>from the version before<')).toHaveLength(2);
    expect(page.split('<td>none before it is kept<')).toHaveLength(3);
    // Which keys have changed, and no value.
    expect(page).not.toContain('id="changes"');
    const address =
      page.match(/<td><a href="(\?view=configuration[^"#]*)#changes"/)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const changed = await fleet.metrics(`/router/sim-1${address}`);
    const changes = /<pre [^>]*aria-labelledby="changes">(.*?)<\/pre>/s.exec(changed)?.[1]?.split('\n');
    const fields = ['active', 'group', 'password', 'username'];
    expect(changes).toEqual(fields.map((field) => `+ administration.users.user4.${field}=…`));
    expect(changed).not.toMatch(/somebody|secret-of/);
    const none = await fleet.metrics('/router/sim-1?view=configuration&profile=Profile&version=2');
    expect(none).toContain('>there is no version 3; 2 are kept</pre>');

    // The next date finds the same and keeps nothing.
    await fleet.advance(24 * HOUR_MS);
    expect(await listFiles(path)).toEqual(versions);
    const late = await fleet.metrics();
    const series = 'router_backup_last_success_timestamp_seconds{router="sim-1",profile="Profile"}';
    expect(readSeries(late, series)).toBeGreaterThan(readSeries(early, series));
    expect(JSON.stringify(fleet.ownLog)).not.toContain('secret-of-the-user');
  } finally {
    await rm(path, { recursive: true, force: true });
  }
});

test('a backup that was due while the agent was down is made up for', async () => {
  const path = await mkdtemp(join(tmpdir(), 'router-exporter-backups-'));
  try {
    await using fleet = await startBackedUp(path, 'binary');
    await fleet.advance(24 * HOUR_MS);
    const series = 'router_backup_last_success_timestamp_seconds{router="sim-1",profile="Profile"}';
    const before = readSeries(await fleet.metrics(), series);
    await fleet.stopAgent();
    await fleet.advance(48 * HOUR_MS);
    await fleet.startAgent();
    const last = async () => readSeries(await fleet.metrics(), series);
    // The agent first reads from the disk when the last backup was, and the clock does not wait for that.
    for (let minute = 0; minute < 60 && !((await last()) > before); minute++) await fleet.advance(MINUTE_MS);

    expect(await last()).toBeGreaterThan(before + 2 * 86_400 - 60);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
});

test('a router that cannot be backed up says so, and its polls go on', async () => {
  const path = await mkdtemp(join(tmpdir(), 'router-exporter-backups-'));
  try {
    await using fleet = await startBackedUp(path, 'binary');
    await fleet.advance(24 * HOUR_MS);
    await fleet.router().fault('http_500', { path: '/download/profiles' });
    await fleet.advance(24 * HOUR_MS);

    const metrics = await fleet.metrics();
    expect(metrics).toContain('router_backup_success{router="sim-1",profile="Profile"} 0\n');
    expect(metrics).toContain('router_up{router="sim-1"} 1\n');
    expect(fleet.ownLog).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'A profile could not be backed up' }),
    );
  } finally {
    await rm(path, { recursive: true, force: true });
  }
});
