import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { RouterAnswer } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
/** One interval of logs, and what it takes to deliver. */
const INTERVAL_MS = 2 * MINUTE_MS;
const PAGE = '<html><head><title>Login</title></head><body>Please log in</body></html>\n';

interface Disguise extends AsyncDisposable {
  readonly fleet: Fleet;
  /** Content of each log, by component. */
  readonly logs: Map<string, string>;
  describe(): Promise<RouterAnswer>;
  metricsOf(family: string): Promise<string[]>;
}

/** The whole agent, and a router whose logs are these. */
async function startDisguise(logs: Map<string, string>): Promise<Disguise> {
  const server = createServer(({ url = '' }, response) => {
    const component = decodeURIComponent(/log_file=([^&]+)/.exec(url)?.[1] ?? '').split('/')[0] ?? '';
    if (url.includes('/auth/')) response.end(JSON.stringify({ access: 'access-token', refresh: 'refresh-token' }));
    else if (url.includes('list_files'))
      response.end(JSON.stringify({ log_files: [...logs.keys()].map((name) => `${name}/current`) }));
    else if (logs.has(component)) response.setHeader('Content-Type', 'text/plain').end(logs.get(component));
    else if (url.includes('device_info'))
      response.end(JSON.stringify({ status: { list: [{ board_type: 'M3CPU', serial_number: '1' }] } }));
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fleet = await startFleet({
    config: (config) => ({ ...config, routers: config.routers.map((router) => ({ ...router, url, timezone: 'UTC' })) }),
  });
  return {
    fleet,
    logs,
    async describe() {
      const response = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/sim-1`);
      return (await response.json()) as RouterAnswer;
    },
    async metricsOf(family) {
      return (await fleet.metrics()).split('\n').filter((line) => line.startsWith(`${family}{`));
    },
    async [Symbol.asyncDispose]() {
      await fleet[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

const AT = '2026-11-21T11:59:58';
const FORMS: readonly (readonly [name: string, line: string, record: object])[] = [
  ['utc', '2026-11-21 11:59:58Z [wan] up', { timestamp: AT, tag: 'wan', message: 'up' }],
  ['offset', '2026-11-21T13:59:58+02:00 [wan] up', { timestamp: AT, tag: 'wan', message: 'up' }],
  ['bare', '2026-11-21 11:59:58 wan is up', { timestamp: AT, message: 'wan is up' }],
  ['blanks', '2026-11-21  11:59:58  [wan] up', { timestamp: AT, tag: 'wan', message: 'up' }],
  ['tabs', '2026-11-21\t11:59:58\twan up', { timestamp: AT, message: 'wan up' }],
  ['short', '21.11.26 11:59:58 [wan] up', { timestamp: AT, tag: 'wan', message: 'up' }],
  ['noon', '2026-11-21 11:59:58 AM [wan] up', { timestamp: AT, tag: 'wan', message: 'up' }],
  [
    'priority',
    '<11>Nov 21 11:59:58 plant wan: down',
    { timestamp: AT, tag: 'wan', severity: 'error', message: 'down', original: expect.any(String) as string },
  ],
  ['level', '<11>2026-11-21 11:59:58 [wan] up', { timestamp: AT, tag: 'wan', severity: 'error', message: 'up' }],
  ['kernel', '[   12.345678] eth0: link up', { flags: ['unparsed'], message: '[   12.345678] eth0: link up' }],
  ['json', '{"level":"info","msg":"up"}', { flags: ['unparsed'], message: '{"level":"info","msg":"up"}' }],
  ['text', 'wan is up', { flags: ['unparsed'], message: 'wan is up' }],
];

test('case 103: a log of one short line is shipped after one interval, whatever the form of its lines', async () => {
  await using disguise = await startDisguise(new Map(FORMS.map(([name, line]) => [name, `${line}\n`])));
  const { fleet } = disguise;
  await fleet.advance(INTERVAL_MS);
  for (const [name, , record] of FORMS) {
    const own = fleet.records.filter(({ component }) => component === name);
    expect(own, name).toHaveLength(1);
    const [{ timestamp, ...rest } = {}] = own;
    expect({ ...rest, timestamp: timestamp?.slice(0, 19) }, name).toMatchObject(record);
  }
  expect(await disguise.metricsOf('router_log_unshipped')).toEqual([]);
  for (const [name, line] of FORMS) disguise.logs.set(name, `${line}\n${line} again\n`);
  await fleet.advance(INTERVAL_MS);
  expect(fleet.records).toHaveLength(2 * FORMS.length);
  expect(new Set(fleet.records.map(({ uid }) => uid)).size).toBe(2 * FORMS.length);
});

test('case 104: an error page instead of logs is named on the page and in the metrics, loses nothing, and ends', async () => {
  const line = (message: string) => `2026-11-21 11:59:58 [wan] ${message}\n`;
  await using disguise = await startDisguise(new Map(['network', 'system'].map((name) => [name, line('first')])));
  const { fleet, logs } = disguise;
  await fleet.advance(INTERVAL_MS);
  for (const text of [PAGE, '{"error":[{"log_file":"is busy"}]}', 'Please log in\n']) {
    for (const name of logs.keys()) logs.set(name, text);
    await fleet.advance(4 * MINUTE_MS);
    expect(await disguise.metricsOf('router_log_unshipped')).toEqual([
      'router_log_unshipped{router="sim-1",component="network",reason="error_page"} 1',
      'router_log_unshipped{router="sim-1",component="system",reason="error_page"} 1',
    ]);
    const { logs: shown } = await disguise.describe();
    expect(shown.map(({ unshipped, lagSeconds }) => [unshipped?.state, Number(lagSeconds) > 120])).toEqual([
      ['error_page', true],
      ['error_page', true],
    ]);
    for (const name of logs.keys()) logs.set(name, line('first') + line('second'));
    await fleet.advance(INTERVAL_MS);
    expect(await disguise.metricsOf('router_log_unshipped')).toEqual([]);
    expect((await disguise.describe()).logs.map(({ unshipped }) => unshipped)).toEqual([null, null]);
  }
  expect(fleet.records.map(({ message }) => message).toSorted()).toEqual(['first', 'first', 'second', 'second']);
});

test('case 105: a log with the newest line first is named and not shipped, and goes on once the oldest is first', async () => {
  const lineAt = (minute: number) => `2026-11-21 11:${String(minute).padStart(2, '0')}:00 [wan] minute ${minute}\n`;
  const lines = (count: number) => Array.from({ length: count }, (_, minute) => lineAt(minute));
  await using disguise = await startDisguise(new Map([['network', lines(40).toReversed().join('')]]));
  const { fleet, logs } = disguise;
  await fleet.advance(INTERVAL_MS);
  logs.set('network', lines(42).toReversed().join(''));
  await fleet.advance(INTERVAL_MS);
  expect(fleet.records).toEqual([]);
  expect(await disguise.metricsOf('router_log_unshipped')).toEqual([
    'router_log_unshipped{router="sim-1",component="network",reason="reversed"} 1',
  ]);
  expect((await disguise.describe()).logs[0]?.unshipped?.message).toContain('default_log_reverse');
  logs.set('network', lines(43).join(''));
  await fleet.advance(INTERVAL_MS);
  expect(fleet.records.map(({ message }) => message)).toEqual(lines(43).map((_, minute) => `minute ${minute}`));
  logs.set('network', lines(45).toReversed().join(''));
  await fleet.advance(INTERVAL_MS);
  logs.set('network', lines(45).join(''));
  await fleet.advance(INTERVAL_MS);
  expect(fleet.records).toHaveLength(45);
  expect(await disguise.metricsOf('router_log_unshipped')).toEqual([]);
});
