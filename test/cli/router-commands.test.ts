import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { type RunConfig, writeRunConfig } from '../support/run-config.ts';
import { type CommandOptions, runCommand } from './run-command.ts';

const ERASE_LINE = '\r\u001b[2K';

let simulator: Simulator;
let config: RunConfig;
let admin: RunConfig;
let folder: string;

const run = (args: string[], options?: CommandOptions) => runCommand([...args, '--config.file', config.file], options);
const runAsAdmin = (args: string[], options?: CommandOptions) =>
  runCommand([...args, '--config.file', admin.file], options);

beforeAll(async () => {
  simulator = await startSimulator({ routers: 2, clock: createSystemClock(), seed: 3, logs: { compressionMs: 0 } });
  config = await writeRunConfig(simulator);
  admin = await writeRunConfig(simulator, 'admin');
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-cli-'));
});
afterAll(async () => {
  await simulator.close();
  await config[Symbol.asyncDispose]();
  await admin[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe('every command for one router', () => {
  test('logs out when it has its result', async () => {
    const before = simulator.routers[0]?.counters.logouts ?? 0;
    await run(['profiles', 'list', 'sim-1']);
    expect(simulator.routers[0]?.counters.logouts).toBe(before + 1);
  });

  test('names the nearest router when the configuration has no such router, with exit code 2', async () => {
    expect(await run(['profiles', 'list', 'smi-1'])).toEqual({
      code: 2,
      stdout: '',
      stderr: `${config.file} has no router "smi-1"; did you mean sim-1?\n`,
    });
  });

  test('ends with exit code 1 and says why when the router refuses', async () => {
    const { code, stdout, stderr } = await run(['status', 'sim-1', 'no_such_resource']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('no_such_resource: GET /status/no_such_resource was answered with 404');
    expect(stderr).toContain('This router does not have it');
  });
});

describe('profiles', () => {
  test('profiles list shows an aligned table, and JSON with --json', async () => {
    const table = await run(['profiles', 'list', 'sim-1']);
    expect(table.stdout).toMatch(/^PROFILE {2,}LAST ACTIVATED {2}MODIFIED\nProfile {2,}yes {2,}no\n/);
    const json = await run(['profiles', 'list', 'sim-1', '--json']);
    expect(JSON.parse(json.stdout)).toContainEqual({ name: 'Profile', lastActivated: true, modified: false });
  });

  test('profiles download writes a file that only its owner can read, and says that it contains secrets', async () => {
    const file = join(folder, 'profile.txt');
    const { code, stderr } = await run([
      'profiles',
      'download',
      'sim-1',
      'Profile',
      '--format',
      'ascii',
      '--output',
      file,
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('It contains secrets');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, 'utf8')).length).toBeGreaterThan(100);
  });

  test('profiles download closes a file that others could read, and keeps what was there when it fails', async () => {
    const [file, router] = [join(folder, 'earlier.tar'), simulator.routers[0]];
    const download = () => run(['profiles', 'download', 'sim-1', 'Profile', '--output', file]);
    await writeFile(file, 'earlier', { mode: 0o644 });
    for (const fault of ['reset_mid_body', 'html_200'] as const) {
      await router?.fault(fault, { path: '/download/profiles' });
      const { code, stderr } = await download();
      await router?.clearFault(fault);
      expect(code).toBe(1);
      expect(stderr).toMatch(fault === 'html_200' ? /web page instead of the profile/ : /lost its connection/);
      expect(await readFile(file, 'utf8')).toBe('earlier');
    }
    expect((await download()).code).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter((name) => name.startsWith('earlier'))).toEqual(['earlier.tar']);
  });

  test('profiles download of an unknown profile ends with exit code 1', async () => {
    const { code, stderr } = await run(['profiles', 'download', 'sim-1', 'none', '--output', join(folder, 'none')]);
    expect(code).toBe(1);
    expect(stderr).toContain('was answered with 404');
  });
});

describe('status', () => {
  test('status shows the documents that the agent reads, or the named one as the router sends it', async () => {
    const all = await run(['status', 'sim-1']);
    const names = Object.keys(JSON.parse(all.stdout) as object);
    expect(names).toEqual(expect.arrayContaining(['device_info', 'lte2', 'sysdetail/system', '/profiles']));
    expect(names).not.toContain('lte3');
    const one = await run(['status', 'sim-1', 'sysstat/wan']);
    expect(JSON.parse(one.stdout)).toHaveProperty('status');
  });

  test.each(['bad_certificate', 'down'] as const)('status says once that the connection failed: %s', async (fault) => {
    const router = simulator.routers[1];
    await router?.fault(fault);
    const { code, stdout, stderr } = await run(['status', 'sim-2']);
    await router?.clearFault(fault);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^sim-2: (POST \/auth\/login |The router's certificate is not trusted: its authority)/),
    ]);
  });

  test('status --metrics shows the series', async () => {
    const { stdout } = await run(['status', 'sim-2', '--metrics']);
    expect(stdout).toMatch(/^# HELP router_board_info /);
    expect(stdout).toContain('router_profile_last_activated{router="sim-2",profile="Profile"} 1\n');
    expect(stdout).toMatch(/^router_modem_state\{router="sim-2",modem="lte_serial2",state="\w/m);
  });
});

describe('status on a terminal', () => {
  test('shows an overview without resources, and JSON with them or with --json', async () => {
    simulator.routers[0]?.setStatus('lte2', {
      unique: { state: 'Online', RSRP: '-85', RSRQ: '-9', provider_name: 'A1\u001b[31m', used_net: 'LTE' },
    });
    const overview = await run(['status', 'sim-1'], { isShown: true });
    expect(overview).toMatchObject({ code: 0, stderr: '' });
    const lines = overview.stdout.split('\n');
    expect(lines[0]).toMatch(/^sim-1 +https:\/\/127\.0\.0\.1:\d+$/);
    expect(lines).toContainEqual(expect.stringMatching(/^Device +\S+ +firmware \d/));
    expect(lines).toContainEqual(expect.stringMatching(/^Signal +RSRP -85 dBm \(good\) +A1 \[31m · LTE$/));
    expect(lines).toContainEqual(expect.stringMatching(/^WAN +wan\d +\d of \d members online$/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^Traffic +[\d.]+ [kM]?bit\/s in, [\d.]+ [kM]?bit\/s out +\w+$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^Supply +[\d.]+ V/));
    expect(lines).toContainEqual(expect.stringMatching(/^Uptime +\w+/));
    simulator.routers[0]?.setStatus('lte2', undefined);

    await simulator.routers[0]?.fault('down');
    const down = await run(['status', 'sim-1'], { isShown: true });
    expect(down).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^sim-1: .*could not connect/) });
    await simulator.routers[0]?.clearFault('down');

    for (const args of [['--json'], ['device_info']]) {
      const { stdout } = await run(['status', 'sim-1', ...args], { isShown: true });
      expect(JSON.parse(stdout)).toBeTypeOf('object');
    }
  });
});

describe('logs', () => {
  test('status --metrics says of a state that is not listed that it is shown as unknown', async () => {
    simulator.routers[1]?.setStatus('lte2', { unique: { state: 'Dreaming' } });
    const { stdout, stderr } = await run(['status', 'sim-2', 'lte2', '--metrics']);
    expect(stdout).toMatch(/^router_modem_state\{.*state="unknown"\} 1$/m);
    expect(stderr).toContain(
      'lte2: router_modem_state of module modem is shown as unknown, because its text is not in "states": unknown_state\n',
    );
  });

  test('logs list shows the logs with their archives, and the names with --json', async () => {
    const router = simulator.routers[0];
    router?.appendLog('network', 'a line');
    router?.rotate('network');
    await router?.whenQuiet();
    const table = await run(['logs', 'list', 'sim-1']);
    expect(table.stdout).toMatch(
      /^COMPONENT +CURRENT +ARCHIVES +OLDEST +NEWEST\n(.*\n)*network +yes +1 {2}\d s ago {2}\d s ago\n/,
    );
    const json = await run(['logs', 'list', 'sim-1', '--json']);
    expect(JSON.parse(json.stdout)).toContain('network/current');
  });

  test('logs list --sizes asks for the size of each file, without its content', async () => {
    const router = simulator.routers[0];
    router?.appendLog('network', 'a line that is long enough to be seen in a size');
    await router?.whenQuiet();
    const json = await run(['logs', 'list', 'sim-1', '--sizes', '--json']);
    const files = JSON.parse(json.stdout) as readonly { readonly name: string; readonly bytes: number | null }[];
    const output = join(folder, 'current');
    await run([
      ...['api', 'get', '/download/log', 'sim-1', '--query', 'log_file=network/current'],
      ...['--output', output],
    ]);
    const { size } = await stat(output);
    expect(files.find(({ name }) => name === 'network/current')?.bytes).toBe(size);
    expect(files.every(({ bytes }) => typeof bytes === 'number')).toBe(true);
    const table = await run(['logs', 'list', 'sim-1', '--sizes']);
    expect(table.stdout).toMatch(/ SIZE OF CURRENT +SIZE OF ARCHIVES\n/);
    expect(table.stdout).toMatch(new RegExp(`^network +yes +\\d+ .* ago {2} +${size} B +\\d+ B$`, 'm'));
    expect(size).toBeGreaterThan(40);
  });

  test('logs fetch gives every line once with uid, and twice the same', async () => {
    const router = simulator.routers[1];
    for (let index = 0; index < 20; index++) router?.appendLog('modem', `line ${index}`);
    router?.rotate('modem', 'line 20');
    await router?.whenQuiet();
    const first = await run(['logs', 'fetch', 'sim-2']);
    const second = await run(['logs', 'fetch', 'sim-2'], { isTerminal: true });
    const parse = (stdout: string) =>
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LogRecord)
        .filter(({ component }) => component === 'modem');
    const uidsOf = (stdout: string) => parse(stdout).map(({ message, uid }) => [message, uid]);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(parse(first.stdout).map(({ message }) => message)).toEqual(
      Array.from({ length: 21 }, (_, index) => `line ${index}`),
    );
    expect(uidsOf(second.stdout)).toEqual(uidsOf(first.stdout));
    expect(second.stderr).toMatch(/modem\/current {2}\d+ KiB/);
    expect(second.stderr.endsWith(ERASE_LINE)).toBe(true);
  });

  test('logs fetch on a terminal gives lines for people, each at the beginning of a line of its own', async () => {
    const router = simulator.routers[1];
    router?.appendLog('console', 'up \u001b[31m');
    const { stdout, stderr } = await run(['logs', 'fetch', 'sim-2', 'console/current'], {
      isShown: true,
      isTerminal: true,
    });
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ console \[console\] up _\[31m\n$/);
    expect(stderr.endsWith(ERASE_LINE)).toBe(true);
  });

  test('logs fetch erases its progress before a record is shown', async () => {
    simulator.routers[1]?.appendLog('console', 'another line');
    let screen = '';
    const add = (text: string) => {
      screen += text;
    };
    const options = { isShown: true, isTerminal: true, onStdout: add, onStderr: add };
    await run(['logs', 'fetch', 'sim-2', 'console/current'], options);
    expect(screen.replaceAll(ERASE_LINE, '#')).toMatch(/KiB#+\d{4}-/);
  });

  test('logs fetch learns the zone of a router without timezone from the time that the router reports', async () => {
    const text = await readFile(config.file, 'utf8');
    const file = join(dirname(config.file), 'unconfigured.yaml');
    await writeFile(file, text.replace(/^ +timezone: .*\n/m, ''));
    for (const router of simulator.routers) {
      router.appendLog('vpn', 'tunnel up');
      const fetched = await runCommand(['logs', 'fetch', router.name, 'vpn/current', '--config.file', file]);
      const record = JSON.parse(fetched.stdout.split('\n')[0] ?? '') as LogRecord;
      expect(record.flags).toBeUndefined();
      expect(Math.abs(Date.parse(record.timestamp ?? '') - Date.parse(record.observed_timestamp))).toBeLessThan(60_000);
    }
  });

  test('logs fetch removes the same text as the agent, from current files and archives', async () => {
    const file = join(dirname(config.file), 'redacted.yaml');
    await writeFile(file, `${await readFile(config.file, 'utf8')}\nredact: ['pin=\\d+']\n`);
    const router = simulator.routers[1];
    router?.appendLog('sim', 'login with pin=1234');
    router?.rotate('sim', 'rotated with pin=5678');
    await router?.whenQuiet();
    router?.appendLog('sim', 'logout with pin=1234');
    const { code, stdout } = await runCommand(['logs', 'fetch', 'sim-2', '--config.file', file]);
    const records = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as LogRecord);
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/pin=\d/);
    expect(records.filter(({ component }) => component === 'sim').map(({ message }) => message)).toEqual([
      'login with [redacted]',
      'rotated with [redacted]',
      'logout with [redacted]',
    ]);
  });

  test('logs fetch of one file gives that file alone, and one that is not listed is exit code 1', async () => {
    const { code, stdout, stderr } = await run(['logs', 'fetch', 'sim-2', 'modem/current', 'modem/nothing']);
    expect(code).toBe(1);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as LogRecord).file),
    ).toEqual(['modem/current']);
    expect(stderr).toBe('modem/nothing: the router does not list this file; see logs list\n');
  });
});

describe('api', () => {
  const HOSTNAMES = '/configuration/administration/hostnames';

  test('api GET prints the answer, with query and filter', async () => {
    const { code, stdout } = await run([
      ...['api', 'get', 'configuration/administration/users', 'sim-1'],
      ...['--query', 'append_scheme=1', '--filter', '{"p":"username","o":"eq","v":"monitor"}'],
    ]);
    expect(code).toBe(0);
    const body = JSON.parse(stdout) as { config: { list: { username: string }[] }; scheme: unknown };
    expect(body.config.list.map(({ username }) => username)).toEqual(['monitor']);
    expect(body.scheme).toBeDefined();
  });

  test('api asks before a change, and without a terminal does nothing', async () => {
    const change = ['api', 'put', HOSTNAMES, 'sim-1', '--data', '{"config":{"unique":{"location":"Munich"}}}'];
    const before = simulator.routers[0]?.counters.logins;
    const blind = await runAsAdmin(change);
    expect(blind).toMatchObject({ code: 2, stdout: '' });
    expect(blind.stderr).toContain('add --yes to do it');
    const refused = await runAsAdmin(change, { typed: 'n\n' });
    expect(refused.code).toBe(1);
    expect(simulator.routers[0]?.counters.logins).toBe(before);
  });

  test('api carries out a change that was agreed to', async () => {
    const typed = await runAsAdmin(['api', 'delete', '/configuration/wan/wans', 'sim-2'], { typed: 'yes\n' });
    expect(typed.code).toBe(0);
    const { stdout } = await run(['api', 'get', '/configuration/wan/wans', 'sim-2', '--query', 'return_size=1']);
    expect(JSON.parse(stdout)).toMatchObject({ config: { list_size: 0 } });
  });

  test('api shows the answer to what the account may not do, with exit code 1', async () => {
    const { code, stderr } = await run(['api', 'delete', '/configuration/wan/wans', 'sim-1', '--yes']);
    expect(code).toBe(1);
    expect(stderr).toContain('DELETE /configuration/wan/wans returned 403\n');
  });

  test('api prints a body that is not JSON as it came', async () => {
    simulator.routers[0]?.appendLog('events', 'the door was opened');
    const log = ['api', 'get', '/download/log', 'sim-1', '--query', 'log_file=events/current'];
    const { code, stdout, stderr } = await run(log);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').at(-2)).toMatch(/^\S+ \S+ \[events\] the door was opened$/);
    expect((await run(log, { isShown: true })).stdout).toBe(stdout);
  });

  test('api prints what is no text into a pipe, and not onto a terminal', async () => {
    const profile = ['api', 'get', '/download/profiles', 'sim-1', '--query', 'profile=Profile'];
    const piped = await run(profile);
    expect(piped.code).toBe(0);
    expect(piped.stdout).toMatch(/^profile\.txt\0/);
    const shown = await run(profile, { isShown: true });
    expect({ code: shown.code, stdout: shown.stdout }).toEqual({ code: 1, stdout: '' });
    expect(shown.stderr).toMatch(/^The body is not text \(\d+ bytes\); write it to a file with --output\n$/);
  });

  test('api --output writes the body as it comes', async () => {
    const file = join(folder, 'profile.tar');
    const { code } = await run([
      'api',
      'get',
      '/download/profiles',
      'sim-1',
      '--query',
      'profile=Profile',
      '--output',
      file,
    ]);
    expect(code).toBe(0);
    expect((await stat(file)).size).toBeGreaterThan(0);
  });

  test.each([
    [['api', 'fetch', '/profiles', 'sim-1'], 'unknown method "fetch"'],
    [['api', 'get', '/profiles?x=1', 'sim-1'], 'is not a path; parameters go into --query'],
    [['api', 'get', '/profiles', 'sim-1', '--query', 'x'], 'expected key=value'],
    [['api', 'get', '/profiles', 'sim-1', '--filter', '{'], '--filter: expected JSON'],
    [['api', 'post', '/operation', 'sim-1', '--data', '@/no/such/file'], 'could not be read'],
    [['api', 'post', '/operation', 'sim-1', '--output', 'x'], '--output requires GET'],
  ])('refuses %j with exit code 2', async (args, message) => {
    const { code, stderr } = await run(args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) as string });
  });
});

describe('action', () => {
  const LED = ['action', 'info_led', 'sim-1', '--option', 'info_led=flash'];

  test('has the router carry out one action, once, after it was agreed to', async () => {
    const before = simulator.routers[0]?.actions.length ?? 0;
    const { code, stdout, stderr } = await runAsAdmin(LED, { typed: 'y\n' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'sim-1 has accepted info_led\n' });
    expect(stderr).toContain('Have sim-1 carry out info_led info_led=flash? [y/N]');
    expect(simulator.routers[0]?.actions.slice(before)).toEqual([{ type: 'info_led', options: { info_led: 'flash' } }]);
  });

  test('does nothing without an answer: exit code 1 for a no, 2 without a terminal', async () => {
    const before = simulator.routers[0]?.counters.logins;
    expect((await runAsAdmin(LED, { typed: 'n\n' })).code).toBe(1);
    const blind = await runAsAdmin(LED);
    expect(blind).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('add --yes to do it') });
    expect(simulator.routers[0]?.counters.logins).toBe(before);
  });

  test('takes an action without options, and one with options that may be left out', async () => {
    const before = simulator.routers[1]?.actions.length ?? 0;
    expect((await runAsAdmin(['action', 'ntp_sync', 'sim-2', '--yes'])).code).toBe(0);
    expect((await runAsAdmin(['action', 'sleep', 'sim-2', '--option', 'minutes=1', '--yes'])).code).toBe(0);
    expect(simulator.routers[1]?.actions.slice(before)).toEqual([
      { type: 'ntp_sync', options: {} },
      { type: 'sleep', options: { minutes: '1' } },
    ]);
  });

  test('says what the router refuses, with exit code 1', async () => {
    const wrong = await runAsAdmin(['action', 'info_led', 'sim-1', '--option', 'info_led=blue', '--yes']);
    expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^sim-1: .*400.*info_led/) });
    const forbidden = await run([...LED, '--yes']);
    expect(forbidden).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('403') });
  });

  test.each([
    [['info_lde'], 'unknown action "info_lde"; did you mean info_led?'],
    [['dance'], 'expected one of ntp_sync, reboot'],
    [['info_led'], '--option info_led=… is missing: info_led takes info_led'],
    [['info_led', '--option', 'info_led'], '--option "info_led": expected key=value'],
    [['reboot', '--option', 'now=1'], '--option now: reboot takes no options'],
    [
      ['output', '--option', 'output=1.1', '--option', 'set=open'],
      '--option set: output takes output, change, pulses (optional), periode (optional)',
    ],
  ])('refuses %j with exit code 2', async ([type = '', ...rest], message) => {
    const { code, stderr } = await runAsAdmin(['action', type, 'sim-1', ...rest, '--yes']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) as string });
  });
});
