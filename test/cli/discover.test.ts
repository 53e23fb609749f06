import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createSystemClock } from '../../src/base/index.ts';
import { describeInterface, type SimulatedRouter, type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { STATUS_PATHS } from '../../src/status/index.ts';
import { type RunConfig, writeRunConfig } from '../support/run-config.ts';
import { type CommandOptions, runCommand } from './run-command.ts';

let simulator: Simulator;
let router: SimulatedRouter;
let config: RunConfig;
let folder: string;
let dumps = 0;

const discover = (args: readonly string[] = [], options?: CommandOptions) =>
  runCommand(['discover', 'sim-1', '--config.file', config.file, ...args], options);
const nextDump = () => join(folder, 'dumps', String(++dumps));
/** Cells of the table in the header of the YAML, by resource. */
const readTable = (stdout: string) =>
  new Map(
    stdout
      .split('\n')
      .map((line) => /^# (\S+) +(yes|absent|no rights|error) *(\d*) *(\d*) *(.*)$/.exec(line))
      .flatMap((match) => (match ? [[match[1] ?? '', match.slice(2)] as const] : [])),
  );
const readModules = (text: string) =>
  parse(text) as Record<
    string,
    { resources: { path: string; each: string; metrics: { name: string; value?: string }[] }[] }
  >;

beforeAll(async () => {
  simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 3 });
  const [first] = simulator.routers;
  if (!first) throw new RangeError('There is no router');
  router = first;
  config = await writeRunConfig(simulator);
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-discover-'));
});
afterEach(async () => {
  await router.clearFault();
  for (const resource of ['serial3', 'lte2', 'power2']) router.setStatus(resource, undefined);
});
afterAll(async () => {
  await simulator.close();
  await config[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe('discover', () => {
  test('asks for every known status resource and shows in the header what became of it', async () => {
    const { code, stdout, stderr } = await discover();
    const table = readTable(stdout);
    expect(code).toBe(0);
    expect([...table.keys()]).toEqual([...STATUS_PATHS]);
    expect(table.get('ethernet1')).toEqual(['yes', '5', '4', '']);
    expect(table.get('device_info')).toEqual(['yes', '4', '6', '']);
    expect(table.get('power2')).toEqual(['yes', '1', '3', '']);
    expect(table.get('sysstat/wan')?.at(-1)).toBe('');
    expect(table.get('lte2')?.at(-1)).toBe('');
    expect(table.get('sysstat/lan')).toEqual(['yes', '1', '2', 'if_name, state']);
    expect(table.get('lte3')).toEqual(['absent', '', '', '']);
    expect(stderr).toMatch(
      /^sim-1: 17 of 65 resources answered, 48 absent, 0 without rights, 0 failed; \d+ fields that no module covers$/m,
    );
  });

  test('names the modules that the router could have for what none of its own covers', async () => {
    const { stderr } = await discover();
    expect(stderr).toContain('Module modem_identity, not enabled for sim-1, covers lte2 IMEI, lte2 IMSI, lte2 USIM\n');
  });

  test('prints a file of modules that the configuration takes, and after that has nothing more to say about its fields', async () => {
    router.setStatus('serial3', {
      unique: { state: 'Online', RSSI: '-83 dBm', bytes_rx: '123', IMEI: '353830214291112' },
    });
    const first = await discover();
    const modules = readModules(first.stdout);
    expect(modules['serial']?.resources).toMatchObject([
      {
        path: 'serial*',
        optional: true,
        each: 'status.unique',
        labels: { slot: '$slot' },
        metrics: [
          { name: 'router_serial_state', type: 'stateset', states: ['Online'] },
          { name: 'router_serial_rssi_dbm', type: 'gauge', value: 'RSSI', unit: 'dBm' },
          { name: 'router_serial_receive_bytes_total', type: 'counter', value: 'bytes_rx' },
        ],
      },
    ]);
    await writeFile(join(folder, 'modules.yaml'), first.stdout);
    const text = await readFile(config.file, 'utf8');
    const names = first.stdout.match(/^# modules: (\[.*\])$/m)?.[1] ?? '';
    const file = join(folder, 'router-exporter.yaml');
    const own = text
      .replace('password_file: password', 'password: simulated')
      .replace('ca_file: ca.pem', `ca_file: ${join(config.file, '../ca.pem')}`)
      .replace('defaults:\n', `module_files: [modules.yaml]\ndefaults:\n  modules: ${names}\n`);
    await writeFile(file, own);
    const check = await runCommand(['check', '--config.file', file]);
    expect(check).toMatchObject({ code: 0 });
    const series = await runCommand(['status', 'sim-1', 'serial3', '--metrics', '--config.file', file]);
    expect(series).toMatchObject({ code: 0, stderr: '' });
    expect(series.stdout).toContain('router_serial_rssi_dbm{router="sim-1",slot="3"} -83\n');

    const second = await runCommand(['discover', 'sim-1', '--config.file', file]);
    expect(readTable(second.stdout).get('serial3')).toEqual(['yes', '1', '4', 'IMEI']);
    expect(readTable(second.stdout).get('sysstat/lan')?.at(-1)).toBe('');
    expect(readModules(second.stdout)).toEqual({});
  });

  test('continues after resources that it may not read or that fail, and reports why', async () => {
    await router.fault('forbidden', { path: '/status/sysstat/lan' });
    await router.fault('http_500', { path: '/status/device_features' });
    await router.fault('garbage_json', { path: '/status/power2' });
    const { code, stdout, stderr } = await discover();
    const table = readTable(stdout);
    expect(code).toBe(0);
    expect(table.get('sysstat/lan')?.[0]).toBe('no rights');
    expect(table.get('device_features')?.[0]).toBe('error');
    expect(table.get('power2')?.[0]).toBe('error');
    expect(table.get('lte2')?.[0]).toBe('yes');
    expect(stderr).toMatch(/^device_features: GET \/status\/device_features was answered with 500/m);
    expect(stderr).toMatch(/^power2: /m);
    expect(stderr).not.toContain('sysstat/lan:');
    expect(stderr).toContain('14 of 65 resources answered, 48 absent, 1 without rights, 2 failed');
  });

  test('ends at once with exit code 1 when the router goes away, and says where', async () => {
    await router.fault('reset_mid_body', { path: '/status/sysdetail' });
    const { code, stdout, stderr } = await discover();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^sim-1: stopped at sysdetail\/system, after 4 of 65 resources: GET \/status\/sysdetail\/system/,
    );
  });

  test('ends with exit code 1 when the router is down', async () => {
    await router.fault('down');
    const { code, stdout, stderr } = await discover(['--dump', join(folder, 'never')]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^sim-1: stopped at overview, after 0 of 65 resources: .*could not connect/);
    await expect(stat(join(folder, 'never'))).rejects.toThrow('ENOENT');
  });

  test('ends with exit code 1 when no resource answers', async () => {
    await router.fault('forbidden', { path: '/status/' });
    const { code, stderr } = await discover();
    expect(code).toBe(1);
    expect(stderr).toContain('0 of 65 resources answered, 0 absent, 65 without rights');
  });

  test('shows on a terminal which resource it asks for', async () => {
    const { stderr } = await discover([], { isTerminal: true });
    expect(stderr).toContain('sysstat/wan  11 of 65');
    const { stderr: quiet } = await discover();
    expect(quiet).not.toContain('of 65\r');
  });

  test('keeps what a router sends out of the structure of the file and out of the terminal', async () => {
    router.setStatus('serial3', {
      unique: {
        'a\nevil: { help: x }': '1',
        '\u001b[2J': '2',
        fan: '3',
        state: 'x\nevil: 1',
        mood: '${HOME}',
        text: '"}\n# x',
      },
    });
    const { stdout, stderr } = await discover();
    expect(Object.keys(readModules(stdout))).not.toContain('evil');
    expect(readModules(stdout)['serial']?.resources[0]?.metrics.map(({ value }) => value)).toEqual(['fan', undefined]);
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|\$\{HOME\}/u);
  });

  test('says everything as JSON with --json', async () => {
    router.setStatus('lte2', { isAbsent: true });
    await router.fault('http_500', { path: '/status/power2' });
    const { stdout } = await discover(['--json']);
    const found = JSON.parse(stdout) as { resources: { resource: string }[]; modules: Record<string, object> };
    expect(found).toMatchObject({
      router: 'sim-1',
      modules: { sysstat_lan: { resources: [{ path: 'sysstat/lan' }] } },
    });
    const about = (resource: string) => found.resources.find((one) => one.resource === resource);
    expect(found.resources).toHaveLength(65);
    expect(about('lte2')).toEqual({ resource: 'lte2', answer: 'absent' });
    expect(about('power2')).toMatchObject({
      answer: 'error',
      error: expect.stringContaining('was answered with 500') as string,
    });
    expect(about('sysstat/wan')).toEqual({
      resource: 'sysstat/wan',
      answer: 'yes',
      rows: expect.any(Number) as number,
      fields: [
        { each: 'status.unique', name: 'name', covered_by: ['wan'] },
        { each: 'status.list', name: 'if_name', covered_by: ['wan'] },
        { each: 'status.list', name: 'state', covered_by: ['wan'] },
      ],
    });
    // Values may be secrets, and are for the dump.
    expect(stdout).not.toContain(router.serial);
  });
});

describe('discover --openapi', () => {
  const writeDescription = async (description: unknown) => {
    const file = join(folder, 'openapi.json');
    await writeFile(file, typeof description === 'string' ? description : JSON.stringify(description));
    return file;
  };

  test('asks for the status resources of the description, and for nothing else', async () => {
    const get = { get: {} };
    const file = await writeDescription({
      openapi: '3.0.3',
      paths: {
        '/status/lte2': get,
        '/status/gnss1': get,
        '/status/{card}/x': get,
        '/status/a b': get,
        '/status/../profiles': get,
        '/status/put': { put: {} },
        '/profiles': get,
      },
    });
    router.setStatus('gnss1', { unique: { satellites: '7' } });
    const { code, stdout, stderr } = await discover(['--openapi', file]);
    router.setStatus('gnss1', undefined);
    expect(code).toBe(0);
    expect([...readTable(stdout)]).toEqual([
      ['lte2', ['yes', '1', '20', '']],
      ['gnss1', ['yes', '1', '1', 'satellites']],
    ]);
    expect(readModules(stdout)).toHaveProperty('gnss1');
    expect(stderr).toContain(`3 paths of ${file} are not requested`);
  });

  test('asks for all status resources that a router describes', async () => {
    const { code, stdout } = await discover(['--openapi', await writeDescription(describeInterface())]);
    expect(code).toBe(0);
    expect([...readTable(stdout).keys()].toSorted()).toEqual(
      STATUS_PATHS.filter((path) => path !== 'hspa2').toSorted(),
    );
  });

  test.each([
    ['{', 'The file is not an OpenAPI 3 description'],
    [{ openapi: '3.0.3', paths: { '/status/x': { post: {} } } }, 'describes no GET below /status/'],
  ])('refuses %j with exit code 2', async (description, message) => {
    const { code, stdout, stderr } = await discover(['--openapi', await writeDescription(description)]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('asks for no more resources than there may be', async () => {
    const paths = Object.fromEntries(Array.from({ length: 600 }, (_none, index) => [`/status/x${index}`, { get: {} }]));
    const { stderr } = await discover(['--openapi', await writeDescription({ openapi: '3.0.3', paths })]);
    expect(stderr).toContain('0 of 500 resources answered, 500 absent');
    expect(stderr).toContain('100 paths of ');
  });
});

describe('discover --dump', () => {
  test('writes what was answered into files that only their owner can read, without what must not leave the house', async () => {
    router.setStatus('serial3', {
      unique: { wpa_psk: 'correct-horse', text: 'psk correct-horse of 10.1.2.3', fan: '12' },
    });
    const dump = nextDump();
    const { code, stderr } = await discover(['--dump', dump]);
    expect(code).toBe(0);
    expect(stderr).toContain(`Wrote 18 files to ${dump}.`);
    expect(stderr).toContain('check the files before you share them');
    const files = await readdir(dump);
    expect(files).toEqual(expect.arrayContaining(['lte2.json', 'sysdetail_ip_addresses.json', 'sysstat_wan.json']));
    const texts = await Promise.all(files.map((file) => readFile(join(dump, file), 'utf8')));
    expect(texts.join('')).not.toMatch(
      new RegExp(`${router.serial}|correct-horse|10\\.1\\.2\\.3|192\\.168|00:05:b6|"sim-1"`),
    );
    expect(JSON.parse(await readFile(join(dump, 'serial3.json'), 'utf8'))).toEqual({
      status: {
        unique: {
          wpa_psk: 'masked-5',
          text: expect.stringMatching(/^psk masked-5 of 198\.18\.0\.\d+$/) as string,
          fan: '12',
        },
      },
    });
    for (const file of files) expect((await stat(join(dump, file))).mode & 0o777).toBe(0o600);
    expect((await stat(dump)).mode & 0o777).toBe(0o700);
  });

  test('leaves a folder with files of a dump alone, unless --force says otherwise', async () => {
    const dump = nextDump();
    await discover(['--dump', dump]);
    const before = await readFile(join(dump, 'device_info.json'), 'utf8');
    await writeFile(join(dump, 'device_info.json'), 'mine');
    await chmod(join(dump, 'device_info.json'), 0o644);
    const logins = router.counters.logins;
    const refused = await discover(['--dump', dump]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toBe(
      `error: --dump: ${dump} already contains overview.json and 16 more; name another folder, or add --force\n`,
    );
    expect(router.counters.logins).toBe(logins);
    expect(await readFile(join(dump, 'device_info.json'), 'utf8')).toBe('mine');
    expect(await discover(['--dump', dump, '--force'])).toMatchObject({ code: 0 });
    expect(await readFile(join(dump, 'device_info.json'), 'utf8')).toBe(before);
    expect((await stat(join(dump, 'device_info.json'))).mode & 0o777).toBe(0o600);
  });

  test('writes with --force into no file that a link leads to, and makes the files private', async () => {
    const dump = nextDump();
    await discover(['--dump', dump]);
    const elsewhere = join(folder, 'elsewhere');
    await writeFile(elsewhere, 'mine');
    await rm(join(dump, 'overview.json'));
    await symlink(elsewhere, join(dump, 'overview.json'));
    expect(await discover(['--dump', dump, '--force'])).toMatchObject({ code: 1 });
    expect(await readFile(elsewhere, 'utf8')).toBe('mine');
  });

  test('refuses a folder that is a file with exit code 2', async () => {
    const { code, stderr } = await discover(['--dump', config.file]);
    expect(code).toBe(2);
    expect(stderr).toContain(`--dump: ${config.file} cannot be used`);
  });

  test('gives each resource of a description a file of its own', async () => {
    const file = join(folder, 'openapi.json');
    const resources = ['a/b', 'a_b', 'A_b'];
    const paths = Object.fromEntries(resources.map((resource) => [`/status/${resource}`, { get: {} }]));
    await writeFile(file, JSON.stringify({ openapi: '3.0.3', paths }));
    for (const resource of resources) router.setStatus(resource, { unique: { x: resource } });
    const dump = nextDump();
    expect(await discover(['--openapi', file, '--dump', dump])).toMatchObject({ code: 0 });
    for (const resource of resources) router.setStatus(resource, undefined);
    expect((await readdir(dump)).toSorted()).toEqual(['A_b-3.json', 'a_b-2.json', 'a_b.json']);
    expect(await readFile(join(dump, 'A_b-3.json'), 'utf8')).toContain('"A_b"');
  });
});
