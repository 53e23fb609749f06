import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import type { SimulatedRouter } from '../../src/simulator/index.ts';
import { load, SHIPPED_MODULES } from '../config/configuration-folder.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const STATUS = 'GET /status/sysdetail/system';
const FILES = 'GET /download/log?list_files';

interface Written {
  /** Keys of the router, one a line. */
  readonly router?: string;
  /** Other sections. */
  readonly sections?: string;
}

/** What the agent has of a configuration file with these keys, apart from addresses and paths. */
async function read({ router = '', sections = '' }: Written): Promise<(simulated: Config) => Config> {
  const text = `${sections}\nrouters:\n  - name: plant-7\n    url: https://192.0.2.10\n    username: u\n    password: p\n${router.replace(/^(?=.)/gm, '    ')}\n`;
  const { config, lines } = await load(text, { options: { shippedModules: SHIPPED_MODULES } });
  expect(lines).toEqual([]);
  const [own] = config?.routers ?? [];
  if (!config || !own) throw new RangeError('The configuration has no router');
  return (simulated) => ({
    ...config,
    web: { ...config.web, listen: simulated.web.listen },
    storage: { ...config.storage, path: simulated.storage.path },
    sinks: config.sinks.length > 0 ? config.sinks : simulated.sinks,
    routers: simulated.routers.map(({ name, url, tls, username, password }) => {
      return { ...own, name, url, tls, username, password };
    }),
  });
}

async function startWith(written: Written): Promise<Fleet> {
  return await startFleet({ config: await read(written) });
}

const countOf = (fleet: Fleet, name: string) => fleet.router().counters.requests[name] ?? 0;
const messagesOf = ({ records }: Fleet) =>
  records.flatMap(({ message, event }) => (event === undefined ? [message] : []));

test.each([
  ['', 6],
  ['poll: { interval: 10s }', 31],
  ['poll: { interval: 2m30s }', 3],
])('a router with {%s} is polled so often in five minutes', async (router, polls) => {
  await using fleet = await startWith({ router: `modules: [system]\n${router}` });
  await fleet.advance(5 * MINUTE_MS);
  expect(Math.abs(countOf(fleet, STATUS) - polls)).toBeLessThanOrEqual(1);
});

/** Polls a router that gets this fault; returns how many seconds that takes, and how many resources were answered. */
async function pollOnce(poll: string, ...fault: Parameters<SimulatedRouter['fault']>) {
  await using fleet = await startWith({ router: `logs: { enabled: false }\n${poll}` });
  const count = () => {
    const answered = Object.entries(fleet.router().counters.requests).filter(([name]) =>
      name.startsWith('GET /status/'),
    );
    return answered.reduce((sum, [, requests]) => sum + requests, 0);
  };
  await fleet.advance(MINUTE_MS);
  await fleet.router().fault(...fault);
  const before = count();
  const { polls } = fleet.agent.summary();
  let seconds = 0;
  while (fleet.agent.summary().polls === polls && seconds < 200) {
    await fleet.clock.advance(SECOND_MS);
    // Such a poll is not idle while time stands still.
    await takeTurns(50);
    seconds++;
  }
  return { seconds, answered: count() - before };
}

test('poll.timeout ends a request', async () => {
  const long = await pollOnce('', 'hang', { path: '/status' });
  const short = await pollOnce('poll: { timeout: 3s }', 'hang', { path: '/status' });
  // More than one request is tried.
  expect(long.seconds).toBeGreaterThan(short.seconds + 6);
});

test('poll.deadline ends a poll', async () => {
  const [long, short] = [
    await pollOnce('', 'slow', { path: '/status', delayMs: 4000 }),
    await pollOnce('poll: { deadline: 10s, timeout: 9s }', 'slow', { path: '/status', delayMs: 4000 }),
  ];
  expect(long.answered).toBeGreaterThan(6);
  expect(short.answered).toBeLessThan(4);
});

test.each([
  ['', 2, 5],
  ['poll: { stale_after: 20m }', 18, 24],
])('the values of a router that has gone are served for as long as {%s} says', async (poll, before, after) => {
  await using fleet = await startWith({ router: `modules: [system]\n${poll}` });
  await fleet.advance(MINUTE_MS);
  await fleet.router().fault('down');
  const page = async () => {
    const response = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/sim-1`);
    return ((await response.json()) as { readonly state: string }).state;
  };
  await fleet.advance(before * MINUTE_MS);
  expect(await fleet.metrics()).toContain('router_uptime_seconds{router="sim-1"}');
  const stateBefore = await page();
  await fleet.advance((after - before) * MINUTE_MS);
  expect(await fleet.metrics()).not.toContain('router_uptime_seconds{');
  expect([stateBefore, await page()]).toEqual(['down', 'down']);
});

test.each([
  ['', 11],
  ['logs: { interval: 5m }', 2],
  ['logs: { enabled: false }', 0],
])('the logs of a router with {%s} are listed so often in five minutes', async (logs, lists) => {
  await using fleet = await startWith({ router: `modules: []\n${logs}` });
  fleet.router().appendLog('network', 'one');
  await fleet.advance(5 * MINUTE_MS);
  expect(Math.abs(countOf(fleet, FILES) - lists)).toBeLessThanOrEqual(lists === 0 ? 0 : 1);
  expect(messagesOf(fleet)).toEqual(lists === 0 ? [] : ['one']);
});

test.each([
  ['', ['network: old', 'system: old', 'network: new', 'system: new']],
  ['logs: { start: now }', ['network: new', 'system: new']],
  ['logs: { start: 10m }', ['network: new', 'system: new']],
  ['logs: { start: 1d }', ['network: old', 'system: old', 'network: new', 'system: new']],
  ['logs: { components: ["*", "!sys*"] }', ['network: old', 'network: new']],
])('of the logs of a router with {%s} these lines are read', async (logs, expected) => {
  await using fleet = await startFleet({ config: await read({ router: `modules: []\n${logs}` }), isStopped: true });
  for (const component of ['network', 'system']) fleet.router().appendLog(component, 'old');
  await fleet.clock.advance(60 * MINUTE_MS);
  await fleet.startAgent();
  await fleet.advance(MINUTE_MS);
  for (const component of ['network', 'system']) fleet.router().appendLog(component, 'new');
  await fleet.advance(MINUTE_MS);
  // What is left out as the configuration says is no loss.
  expect(fleet.agent.summary().gaps).toBe(0);
  const lines = fleet.records.flatMap((record) =>
    record.event === undefined ? [`${record.component}: ${record.message}`] : [],
  );
  expect(lines).toEqual(expected);
});

test('timezone and labels of a router stand in its lines, events and series', async () => {
  await using fleet = await startWith({
    router: 'modules: [system]\ntimezone: Asia/Tokyo\nlabels: { site: munich }\nlogs: { start: now }',
  });
  fleet.router().appendLog('network', 'old');
  await fleet.advance(MINUTE_MS);
  const nowMs = fleet.clock.now();
  fleet.router().appendLog('network', 'new');
  await fleet.advance(MINUTE_MS);
  const [record] = fleet.records.filter(({ message }) => message === 'new');
  // The router is in Berlin, eight hours behind Tokyo.
  expect(Math.round((Date.parse(record?.timestamp ?? '') - nowMs) / 3_600_000)).toBe(-8);
  expect(fleet.records.length).toBeGreaterThan(1);
  for (const { labels } of fleet.records) expect(labels).toEqual({ site: 'munich' });
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1",site="munich"} 1\n');
  expect(metrics).toContain('router_uptime_seconds{router="sim-1",site="munich"}');
  expect(metrics).toMatch(/^router_clock_offset_seconds\{router="sim-1",site="munich"\} -28800/m);
});

test.each([
  ['modules: []', false, false],
  ['modules: [system]', true, false],
  ['modules: [system, device]\nmetrics: { deny: [router_uptime_seconds] }', false, true],
  ['modules: [system, device]\nmetrics: { allow: [router_uptime_seconds] }', true, false],
])('a router with {%s} has these metrics', async (router, hasUptime, hasBoard) => {
  await using fleet = await startWith({ router });
  await fleet.advance(MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics.includes('router_uptime_seconds{')).toBe(hasUptime);
  expect(metrics.includes('router_board_info{')).toBe(hasBoard);
});

test('byte_budget.status_share is kept for polls: logs have the rest, and no more', async () => {
  const lists: number[] = [];
  for (const share of ['1%', '99%']) {
    await using fleet = await startWith({
      router: `modules: [system]\nbyte_budget: { per_day: 1MiB, status_share: ${share} }`,
    });
    await fleet.advance(2 * 60 * MINUTE_MS);
    expect(await fleet.metrics()).toContain('router_api_budget_bytes{router="sim-1"} 1048576\n');
    lists.push(countOf(fleet, FILES));
  }
  const [most = 0, few = 0] = lists;
  expect(few).toBeLessThan(most / 3);
});

test('state and state_until of a router', async () => {
  const until = '2026-11-21T12:10:00Z';
  await using fleet = await startWith({ router: `modules: [system]\nstate: paused\nstate_until: "${until}"` });
  await fleet.advance(9 * MINUTE_MS);
  expect(countOf(fleet, STATUS)).toBe(0);
  await fleet.advance(3 * MINUTE_MS);
  expect(countOf(fleet, STATUS)).toBeGreaterThan(0);
});

test('schedule.concurrent_runs, connections.max and storage.spool_max', async () => {
  await using fleet = await startWith({
    router: 'modules: []',
    sections: 'schedule: { concurrent_runs: 7 }\nconnections: { max: 9 }\nstorage: { spool_max: 2MiB }',
  });
  const metrics = await fleet.metrics('/metrics/agent');
  expect(metrics).toContain('router_exporter_runs_max 7\n');
  expect(metrics).toContain('router_exporter_connections_max 9\n');
  expect(metrics).toContain('router_exporter_spool_max_bytes 2097152\n');
});

test.each([
  ['', ['one']],
  ['storage: { recent: 0 }', []],
])('the pages have the last lines, or none, with {%s}', async (sections, expected) => {
  await using fleet = await startWith({ router: 'modules: []', sections });
  fleet.router().appendLog('network', 'one');
  await fleet.advance(MINUTE_MS);
  const response = await fetch(`${fleet.agent.urls[0]}/api/v1/records`);
  const { records } = (await response.json()) as { readonly records: readonly { readonly message: string }[] };
  expect(records.map(({ message }) => message)).toEqual(expected);
});

test('log_rules and redact', async () => {
  const rule =
    '{ name: router_own_total, help: Own., type: counter, components: [net*], pattern: "took (?P<n>\\\\d+) of (?P<what>\\\\w+)", labels: [what], fixed_labels: { by: us }, value: n }';
  await using fleet = await startWith({
    router: 'modules: []',
    sections: `log_rules: [${rule}]\nredact: ["pin=\\\\d+", { pattern: "pw=\\\\S+", replacement: "***" }]`,
  });
  fleet.router().appendLog('network', 'took 5 of water, pin=1 pw=2');
  fleet.router().appendLog('system', 'took 5 of water');
  await fleet.advance(MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_own_total{router="sim-1",component="network",what="water",by="us"} 5\n');
  expect(metrics).not.toContain('router_own_total{router="sim-1",component="system"');
  expect(messagesOf(fleet)).toContain('took 5 of water, [redacted] ***');
});

test('schedule, path, keep and format of backups', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-keys-'));
  await using fleet = await startWith({
    router: 'modules: []\nlogs: { enabled: false }',
    sections: `backup: { schedule: "30 * * * *", path: ${folder.path}, keep: 1, format: binary }`,
  });
  const list = async () =>
    (await readdir(folder.path, { recursive: true })).filter((name) => /\.(tar|txt)$/.test(name));
  await fleet.advance(29 * MINUTE_MS);
  expect(await list()).toEqual([]);
  await fleet.advance(31 * MINUTE_MS);
  const files = await list();
  expect(files).toHaveLength(2);
  expect(files.every((name) => name.endsWith('.tar'))).toBe(true);
});

test.each([
  ['', ['event', 'network: warning', 'network: info', 'system: warning', 'system: info']],
  ['components: ["*", "!sys*"]', ['event', 'network: warning', 'network: info']],
  ['severities: ["*", "!info"]', ['event', 'network: warning', 'system: warning']],
  ['events: [line]', ['network: warning', 'network: info', 'system: warning', 'system: info']],
  ['events: ["log.*"]', ['event']],
  ['routers: ["*", "!sim-1"]', []],
])('a sink with {%s} gets these records', async (keys, expected) => {
  const sections = `sinks: [{ name: console, type: stdout, ${keys} }]`;
  const config = await read({ router: 'modules: []\nlogs: { start: now }', sections });
  await using fleet = await startFleet({ config, isStopped: true, simulator: { logs: { severityBrackets: true } } });
  // They are left out, and an event reports it.
  for (const component of ['network', 'system']) fleet.router().appendLog(component, 'old');
  await fleet.clock.advance(MINUTE_MS);
  await fleet.startAgent();
  await fleet.advance(MINUTE_MS);
  for (const component of ['network', 'system']) {
    for (const severity of ['WARNING', 'INFO'] as const)
      fleet.router().appendLog(component, 'new', component, severity);
  }
  await fleet.advance(MINUTE_MS);
  const got = fleet.records.map((one) => (one.event === undefined ? `${one.component}: ${one.severity}` : 'event'));
  expect([...new Set(got)]).toEqual(expected);
});

test.each([
  ['oldest', ['one', 'two']],
  ['newest', ['two']],
])('a new sink with start: %s gets these of the lines that wait for another one', async (start, expected) => {
  const away = '{ name: away, type: http, url: "http://127.0.0.1:1/" }';
  const router = 'modules: []';
  await using fleet = await startWith({ router, sections: `sinks: [${away}]` });
  fleet.router().appendLog('network', 'one');
  await fleet.advance(MINUTE_MS);
  const next = await read({ router, sections: `sinks: [${away}, { name: console, type: stdout, start: ${start} }]` });
  expect((await fleet.reload((before) => ({ ...before, sinks: next(before).sinks }))).ok).toBe(true);
  fleet.router().appendLog('network', 'two');
  await fleet.advance(MINUTE_MS);
  expect(messagesOf(fleet)).toEqual(expected);
});

/** Asks for a page under the name of a host; resolves to the status and the body. */
function ask(
  fleet: Fleet,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly [number, string]> {
  return new Promise((resolve, reject) => {
    const sent = request(`${fleet.agent.urls[0]}${path}`, { headers }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on('end', () => resolve([response.statusCode ?? 0, body]));
    });
    sent.on('error', reject).end();
  });
}

test('allowed_hosts, grafana_url and access of the web server', async () => {
  const access = 'access: { open_health: true, tokens: [{ name: t, role: read, token: the-right-one }] }';
  await using fleet = await startWith({
    router: 'modules: []',
    sections: `web: { allowed_hosts: [pages.example.com], grafana_url: "https://grafana.example.com", ${access} }`,
  });
  const authorization = 'Bearer the-right-one';
  expect((await ask(fleet, '/', {}))[0]).toBe(401);
  expect((await ask(fleet, '/-/healthy', {}))[0]).toBe(200);
  expect((await ask(fleet, '/', { authorization, host: 'other.example.com' }))[0]).toBe(421);
  const [status, page] = await ask(fleet, '/router/sim-1', { authorization, host: 'pages.example.com' });
  expect(status).toBe(200);
  expect(page).toContain('https://grafana.example.com/');
});
