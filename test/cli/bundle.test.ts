import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { type SimulatedRouter, type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { expandBundle, readBundleContent, writeBundleConfig, writeBundles } from '../support/bundles.ts';
import { runCommand } from './run-command.ts';

let folder: string;
let simulator: Simulator;
let config: string;
const MODELS = 6;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-bundle-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const getRouter = () => simulator.routers[0] as SimulatedRouter;

/** Values of fields that identify a device, a card, a person or a place, in what the routers answer. */
async function listIdentities(): Promise<ReadonlySet<string>> {
  const found = new Set<string>(['simulated']);
  const identifying = /^(?:IMEI|IMSI|USIM|serial_number|mac|mac_address|ip_address|hostname|location|ssid)$/;
  const walk = (value: unknown, name: string): void => {
    if (typeof value === 'object' && value !== null) for (const [key, one] of Object.entries(value)) walk(one, key);
    else if (identifying.test(name) && String(value).length > 3) found.add(String(value).replace(/\/\d+$/, ''));
  };
  for (const { name } of simulator.routers) {
    const { stdout } = await runCommand(['status', name, '--config.file', config]);
    walk(JSON.parse(stdout), '');
    for (const resource of ['overview', 'wlan1', 'sysdetail/dhcp_leases']) {
      const one = await runCommand(['status', name, resource, '--config.file', config]);
      if (one.code === 0) walk(JSON.parse(one.stdout), '');
    }
  }
  return found;
}

describe('bundle', () => {
  const start = async (routers: number) => {
    const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12, 0, 0));
    simulator = await startSimulator({ routers, clock, seed: 3, logs: { compressionMs: 0 } });
    await writeFile(join(folder, 'ca.pem'), simulator.caPem);
    config = await writeBundleConfig(folder, simulator.routers);
  };
  beforeEach(() => start(1));
  afterEach(() => simulator.close());

  test('shows what it holds, and writes nothing unless that is confirmed', async () => {
    const file = join(folder, 'b.json.gz');
    const args = ['bundle', 'sim-1', '--config.file', config, '--output', file];
    const unasked = await runCommand(args);
    expect(unasked).toMatchObject({ code: 2, stdout: '' });
    expect(unasked.stderr).toMatch(
      /^Bundle of sim-1:\n {2}doctor +\w+, \d+ steps, .*\n {2}answers +\d+: \d+ with 200, \d+ with 404; .*\n {2}log files {2}0 names, no lines/,
    );
    expect(unasked.stderr).toMatch(/^Write .*b\.json\.gz \([\d.]+ KiB\)\?\nThere is no terminal to ask on; add --yes/m);
    expect(await runCommand(args, { typed: 'n\n' })).toMatchObject({ code: 1 });
    await expect(stat(file)).rejects.toThrow('ENOENT');
    expect(await runCommand(args, { typed: 'y\n' })).toMatchObject({ code: 0 });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('holds the result of doctor, every answer with status and time, the list of logs and versions', async () => {
    getRouter().appendLog('network', 'a line');
    getRouter().rotate('network');
    await getRouter().fault('http_500', { path: '/status/power2' });
    await getRouter().fault('html_200', { path: '/status/sysstat/lan' });
    await getRouter().fault('forbidden', { path: '/status/device_features' });
    const [file = ''] = await writeBundles(simulator, folder);
    const { answers, doctor, versions, logs } = await readBundleContent(file);
    const find = (path: string) => answers.find((answer) => answer.path === path);
    expect(doctor).toMatchObject({ router: 'router', result: 'failed', learnt: { rights: { group: 'read' } } });
    expect(versions).toEqual({
      'router-exporter': expect.any(String) as string,
      node: process.version,
      platform: `linux ${process.arch}`,
    });
    expect(find('/status/lte2')).toMatchObject({
      status: 200,
      content_type: 'application/json',
      date: '2026-11-21T12:00:00.000Z',
    });
    expect(find('/status/lte2')?.duration_ms).toBeGreaterThanOrEqual(0);
    expect(find('/status/lte3')).toMatchObject({ status: 404 });
    expect(find('/status/power2')).toMatchObject({ status: 500 });
    expect(find('/status/device_features')).toMatchObject({ status: 403 });
    const page = find('/status/sysstat/lan');
    expect(page).toMatchObject({ status: 200, content_type: 'text/html' });
    expect(page).not.toHaveProperty('body');
    expect(find('/configuration/administration/users?return_size=1')?.body).toMatchObject({ config: { list_size: 3 } });
    expect(
      answers.filter(({ path }) => path.startsWith('/configuration/') && !path.endsWith('?return_size=1')),
    ).toEqual([]);
    expect(find('/download/log?list_files=1')?.body).toEqual({
      log_files: ['network/current', expect.stringMatching(/^network\/log-2026-11-21-12:00:00\.bz2$/)],
    });
    expect(logs).toBeUndefined();
  });

  test('says nothing that identifies a device, a card, a person or a place, and no secret', {
    timeout: 60_000,
  }, async () => {
    await simulator.close();
    await start(MODELS);
    const identities = await listIdentities();
    expect(identities.size).toBeGreaterThan(100);
    for (const router of simulator.routers) {
      router.appendLog(
        'system',
        `login of user monitor from 192.168.1.77, password=simulated, serial ${router.serial}`,
      );
    }
    const files = await writeBundles(simulator, folder, ['--logs']);
    const names = ['sim-1', 'sim-6', 'monitor', '192.168.1.77', ...simulator.routers.map(({ url }) => url)];
    for (const file of files) {
      const text = (await expandBundle(file)).toLowerCase();
      const isIn = (one: string) =>
        new RegExp(String.raw`(?<![\w.:])${RegExp.escape(one.toLowerCase())}(?![\w:])`).test(text);
      expect([...identities, ...names].filter(isIn)).toEqual([]);
    }
  });

  test('masks the same text in the same way everywhere, and keeps its form', async () => {
    const { serial } = getRouter();
    getRouter().setStatus('sysstat/lan', {
      unique: { note: `device ${serial}`, peer: '203.0.113.9', again: '203.0.113.9' },
    });
    const [file = ''] = await writeBundles(simulator, folder);
    const { answers } = await readBundleContent(file);
    const text = JSON.stringify(answers.find(({ path }) => path === '/status/device_info')?.body);
    const masked = /"serial_number":"(\d{8})"/.exec(text)?.[1];
    expect(masked).not.toBe(serial);
    const lan = JSON.stringify(answers.find(({ path }) => path === '/status/sysstat/lan')?.body);
    const [, first, second] = /"peer":"(198\.\d+\.\d+\.\d+)","again":"(198\.\d+\.\d+\.\d+)"/.exec(lan) ?? [];
    expect(first).toBe(second);
    const overview = JSON.stringify(answers.find(({ path }) => path === '/status/overview')?.body);
    expect(overview).toContain(`"serial_number":"${masked}"`);
  });

  test('keeps the fields of answers when an account has the name of one', async () => {
    const [file = ''] = await writeBundles(simulator, folder, [], { account: 'status' });
    const { answers } = await readBundleContent(file);
    const body = answers.find(({ path }) => path === '/status/lte2')?.body;
    expect(body).toMatchObject({ status: { unique: { sim_state: expect.any(String) as string } } });
  });

  test('has lines only with --logs: the first ones of live files, redacted as configured and masked', async () => {
    const router = getRouter();
    router.appendLog('network', 'badge 4711 opened from 192.0.2.7');
    for (let count = 0; count < 1000; count++) router.appendLog('system', `line ${count}`);
    const others = 'redact: ["badge [0-9]+"]\n';
    const [file = ''] = await writeBundles(simulator, folder, ['--logs'], { others });
    const { logs = {} } = await readBundleContent(file);
    expect(Object.keys(logs)).toEqual(['network/current', 'system/current']);
    expect(logs['network/current']).toEqual([expect.stringMatching(/\[redacted\] opened from 198\.\d+\.\d+\.\d+$/)]);
    expect(logs['system/current']?.length).toBeGreaterThan(100);
    expect(logs['system/current']?.length).toBeLessThan(1000);
    const [without = ''] = await writeBundles(simulator, folder);
    expect(await expandBundle(without)).not.toContain('opened from');
  });

  test('of a router that is down, holds the result of doctor and no answers', async () => {
    await getRouter().fault('down');
    const [file = ''] = await writeBundles(simulator, folder);
    expect(await readBundleContent(file)).toMatchObject({ doctor: { result: 'failed' }, answers: [] });
  });

  test('ends with exit code 2 for an unknown router, and 1 for a file that cannot be written', async () => {
    expect(await runCommand(['bundle', 'sim-9', '--config.file', config])).toMatchObject({ code: 2 });
    const output = join(folder, 'none', 'b.json.gz');
    const end = await runCommand(['bundle', 'sim-1', '--config.file', config, '--yes', '--output', output]);
    expect(end).toMatchObject({ code: 1 });
    expect(end.stderr).toContain('ENOENT');
  });

  test('is bounded and sound for a router that answers with much and odd JSON', { timeout: 60_000 }, async () => {
    const rows = Array.from({ length: 40_000 }, (_none, index) => ({ hostname: `h${index}.example.org` }));
    const many = JSON.stringify({ status: { list: rows } });
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
    const server = createServer(({ url = '' }, response) => {
      response.setHeader('Content-Type', `text/plain; x=${'y'.repeat(1000)}\u00e9`);
      if (url.endsWith('/overview')) response.end(many);
      else if (url.endsWith('/lte2')) response.end(deep);
      else if (url.endsWith('/lte3')) response.writeHead(999).end('{}');
      else response.end(url.includes('list_files') ? '{"log_files":[null,"\u001b[2J/current",7]}' : '"\u001b[2J"');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await writeFile(config, JSON.stringify({ routers: [{ name: 'odd', url, auth: 'none' }] }));
    const file = join(folder, 'odd.json.gz');
    const args = ['bundle', 'odd', '--config.file', config, '--yes', '--logs', '--output', file];
    const end = await runCommand(args, { isTerminal: true });
    server.close();
    expect(end).toMatchObject({ code: 0 });
    expect(end.stderr.replaceAll(/\r\p{Cc}\[2K/gu, '')).not.toMatch(/[^\P{Cc}\n]/u);
    expect((await stat(file)).size).toBeLessThan(4 * 1024 ** 2);
    const abort = new AbortController();
    const replay = await runCommand(['simulate', '--from', file, '--plain-http', '--listen', '127.0.0.1:0'], {
      signal: abort.signal,
      onStdout: () => abort.abort(),
    });
    expect(replay).toMatchObject({ code: 0, stderr: '' });
  });
});

const sound = { bundle: 1, made_at: '2026-11-21T12:00:00.000Z', versions: {}, doctor: {}, answers: [] };
const answer = { path: '/status/lte2', status: 200, duration_ms: 1, body: {} };

const REFUSED: Readonly<Record<string, readonly [content: string | Buffer, reason: RegExp]>> = {
  'no JSON': ['bundle', /its content: /],
  'other JSON': ['[]', /its content: .*expected object/],
  'another version': [JSON.stringify({ ...sound, bundle: 2 }), /bundle: /],
  'half a gzip file': [gzipSync(JSON.stringify(sound)).subarray(0, 40), /cannot be read: unexpected end of file/],
  'too much when expanded': [gzipSync(Buffer.alloc(65 * 1024 ** 2)), /cannot be read: .*larger than/],
  'too large a file': [Buffer.alloc(16 * 1024 ** 2 + 1), /more than 16777216 bytes/],
  'too many answers': [JSON.stringify({ ...sound, answers: Array.from({ length: 2001 }, () => answer) }), /answers: /],
  'a status that is none': [JSON.stringify({ ...sound, answers: [{ ...answer, status: 99 }] }), /answers\.0\.status: /],
  'a delay that is none': [JSON.stringify({ ...sound, answers: [{ ...answer, duration_ms: -1 }] }), /duration_ms: /],
  'a path elsewhere': [JSON.stringify({ ...sound, answers: [{ ...answer, path: 'x' }] }), /answers\.0\.path: /],
  'a log with control characters': [JSON.stringify({ ...sound, logs: { '\u001b[2J': [1] } }), /logs\.0: /],
  'nesting without end': [
    JSON.stringify({ ...sound, answers: [answer] }).replace('{}}]', `${'['.repeat(1e5)}${']'.repeat(1e5)}}]`),
    /cannot be read: Maximum call stack/,
  ],
};

describe.for(Object.entries(REFUSED))('a bundle with %s', ([, [content, reason]]) => {
  test('is refused by simulate and discover with the reason', async () => {
    const file = join(folder, 'refused.json.gz');
    await writeFile(file, content);
    const end = await runCommand(['simulate', '--from', file, '--listen', '127.0.0.1:0']);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toMatch(/^The simulator could not start: .*refused\.json\.gz is not a bundle/);
    expect(end.stderr).toMatch(reason);
    expect(end.stderr).not.toMatch(/[^\P{Cc}\n]/u);
    await expect(runCommand(['discover', '--from', file, '--output', join(folder, 'draft')])).rejects.toThrow(
      'is not a bundle',
    );
    expect(await readdir(folder)).not.toContain('draft');
  });
});

test('a bundle without compression, as after an edit, is taken', async () => {
  const file = join(folder, 'edited.json');
  await writeFile(file, JSON.stringify({ ...sound, answers: [answer] }));
  const end = await runCommand(['discover', '--from', file, '--output', join(folder, 'draft')]);
  expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining('no modules') as string });
  expect(await readFile(join(folder, 'draft', 'modules.yaml'), 'utf8')).toContain('{}');
});

test.for([[], ['sim-1', '--from', 'x'], ['--from', 'x'], ['sim-1', '--output', 'x']])(
  'discover %j is wrong usage',
  async (args) => {
    const end = await runCommand(['discover', ...args]);
    expect(end).toMatchObject({ code: 2, stderr: 'error: specify either a router, or --from and --output\n' });
  },
);
