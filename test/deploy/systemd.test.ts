import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, startProgram } from '../support/child.ts';
import { findFreePorts } from '../support/free-port.ts';
import { withPrograms } from '../support/tools.ts';

const FOLDER = fileURLToPath(new URL('../../deploy/systemd/', import.meta.url));
const unit = readFileSync(join(FOLDER, 'router-exporter.service'), 'utf8');
/** The exposure that systemd 252 counts: 0 is nothing, 10 everything. The unit has 1.3: its network alone is 0.8, its reports are 0.2. */
const EXPOSURE_MAX = 1.3;
/** The agent's own bound for ending, which the README promises. */
const END_SECONDS_MAX = 10;

/**
 * Receives datagrams as systemd does and prints each on one line. With BARRIER=1 comes a descriptor, which
 * systemd-notify waits for the end of.
 */
const NOTIFY_RECEIVER = `
import array, os, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('listening', flush=True)
while True:
    data, ancillary, _flags, _address = receiver.recvmsg(4096, socket.CMSG_SPACE(4))
    for level, kind, content in ancillary:
        if kind == socket.SCM_RIGHTS:
            for descriptor in array.array('i', content[:4]):
                os.close(descriptor)
    text = data.decode()
    if text != 'BARRIER=1':
        print(' '.join(text.splitlines()), flush=True)
`;

/** The values of a key, in order. */
const valuesOf = (key: string) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-unit-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A unit as `systemd-analyze` gets it, with a program that exists on this machine. */
function analyzeUnit(text: string, ...args: string[]) {
  const name = text.includes('%i') ? 'router-exporter@.service' : 'router-exporter.service';
  const file = join(mkdtempSync(join(folder, 'unit-')), name);
  writeFileSync(file, text.replace('/opt/router-exporter/node_modules/.bin/router-exporter', '/bin/true'));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
  return { status, stdout, stderr };
}
const verify = (text: string) => analyzeUnit(text, 'verify', '--man=no');

withPrograms(['systemd-analyze'], describe)('systemd-analyze', () => {
  test('finds no fault in the unit', () => {
    expect(verify(unit)).toMatchObject({ status: 0, stderr: '' });
  });

  // The exit code of an unknown key is 0: what is asked for above is that nothing at all is printed.
  test.for([
    ['an unknown key', unit.replace('UMask=', 'Umasque='), "Unknown key 'Umasque' in section [Service]"],
    ['an unknown section', unit.replace('[Install]', '[Instal]'), "Unknown section 'Instal'"],
    ['a value that is none', unit.replace('ProtectSystem=strict', 'ProtectSystem=very'), 'very'],
    ['a program that is not there', unit.replaceAll('/opt/router-exporter/', '/opt/nobody/'), 'No such file'],
  ])('would find %s', ([, bad = '', message = '']) => {
    expect(verify(bad).stderr).toContain(message);
  });

  test('counts an exposure that is low, and would see a unit that is not', () => {
    const read = (text: string) =>
      Number(
        /exposure level for \S+: ([\d.]+)/.exec(
          analyzeUnit(text, 'security', '--offline=yes', '--no-pager').stdout,
        )?.[1],
      );
    expect(read(unit)).toBeLessThanOrEqual(EXPOSURE_MAX);
    expect(read(unit.replace(/^SystemCallFilter=.*$/gm, ''))).toBeGreaterThan(EXPOSURE_MAX);
    expect(read(unit.replace('DynamicUser=yes', 'User=root'))).toBeGreaterThan(EXPOSURE_MAX);
  });
});

describe('the unit', () => {
  test('runs without root rights, and lets V8 write the code that it runs', () => {
    expect(valuesOf('DynamicUser')).toEqual(['yes']);
    expect(valuesOf('StateDirectory')).toEqual(['router-exporter']);
    expect(valuesOf('CapabilityBoundingSet')).toEqual(['']);
    expect(valuesOf('MemoryDenyWriteExecute')).toEqual([]);
  });

  test('takes flags and variables from /etc/default, which may be absent', () => {
    expect(valuesOf('EnvironmentFile')).toEqual(['-/etc/default/router-exporter']);
    // Otherwise systemd warns of a variable that is not set.
    expect(valuesOf('Environment')).toContain('ARGS=');
    expect(valuesOf('ExecStart')).toEqual([expect.stringMatching(/ \$ARGS$/)]);
    const defaults = readFileSync(join(FOLDER, '../debian/router-exporter.default'), 'utf8');
    expect(defaults.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual(['ARGS=""']);
  });

  test('opens no debugger, also before the program ignores the signal for it', () => {
    expect(valuesOf('Environment')).toContain('NODE_OPTIONS=--disable-sigusr1');
  });

  test('gives the agent more time to end than it takes', () => {
    expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThan(END_SECONDS_MAX);
    expect(valuesOf('ExecReload')).toEqual(["/bin/sh -c 'kill -HUP $MAINPID'"]);
    expect(valuesOf('KillSignal')).toEqual([]);
    expect(valuesOf('RestartForceExitStatus')).toEqual(['SIGHUP']);
  });

  test('starts again what failed, but not what has a mistake in its configuration', async () => {
    expect([valuesOf('Restart'), valuesOf('RestartPreventExitStatus')]).toEqual([['on-failure'], ['2']]);
    await using agent = startAsUnit('routers: [{ nmae: plant-7 }]\n', { credentials: {} });
    expect(await agent.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "name"') });
  });

  test('hands over the credential that its configuration asks for, and a folder for its state', async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    const [credential = '', source] = valuesOf('LoadCredential')[0]?.split(':') ?? [];
    // So that `check` can be tried by hand with CREDENTIALS_DIRECTORY=/etc/router-exporter.
    expect(source).toBe(`/etc/router-exporter/${credential}`);
    const config = readFileSync(join(FOLDER, 'router-exporter.yaml'), 'utf8');
    expect(config).toContain(`password_file: \${CREDENTIALS_DIRECTORY}/${credential}\n`);
    const here = config.replace('https://192.0.2.10', simulator.routers[0]?.url ?? '');
    await using agent = startAsUnit(here, { credentials: { [credential]: 'simulated\n' }, caPem: simulator.caPem });
    const state = join(agent.folder, 'state');
    await agent.waitFor('stderr', /Started/);
    simulator.routers[0]?.appendLog('network', 'a line');
    await expect
      .poll(() => readIfThere(join(state, 'records.jsonl')), { timeout: 40_000 })
      .toContain('"message":"a line"');

    agent.process.kill('SIGHUP');
    await agent.waitFor('stderr', /Loaded the configuration again/);
    agent.process.kill('SIGTERM');
    expect(await agent.ended).toMatchObject({ code: 0, stdout: '' });
    expect(simulator.routers[0]?.counters).toMatchObject({ logouts: 1 });
  });

  withPrograms(['systemd-notify', 'python3'], test)(
    'reports its start, a reload, that it is alive, and its end to systemd',
    async () => {
      expect([valuesOf('Type'), valuesOf('NotifyAccess')]).toEqual([['notify'], ['all']]);
      const socket = join(folder, 'notify');
      await using receiver = startProgram('python3', ['-c', NOTIFY_RECEIVER, socket]);
      await receiver.waitFor('stdout', /listening/);
      await using agent = startAsUnit(
        'routers: [{ name: plant-7, url: "https://127.0.0.1:9", username: monitor, password: wrong }]\n',
        {
          credentials: {},
          variables: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '1500000', ROUTER_PASSWORD: 'not to be handed on' },
        },
      );
      await agent.waitFor('stderr', /Started/);
      await receiver.waitFor('stdout', /READY=1 STATUS=0 of \d+ routers up\n/);
      await receiver.waitFor('stdout', /(WATCHDOG=1 STATUS=0 of \d+ routers up\n.*){3}/s);
      agent.process.kill('SIGHUP');
      await receiver.waitFor('stdout', /RELOADING=1 .*\n.*(WATCHDOG.*\n)*READY=1 /);
      expect(receiver.stdout).not.toContain('STOPPING=1');
      agent.process.kill('SIGTERM');
      expect(await agent.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Could not notify') });
      await receiver.waitFor('stdout', /STOPPING=1 STATUS=Stopping\n/);
      // Each came from a process of the unit, and none of them changed which is the main one.
      expect(receiver.stdout).not.toContain('MAINPID');
    },
  );

  test('is given more time between two reports than an agent that is well needs', () => {
    expect(Number(valuesOf('WatchdogSec')[0])).toBeGreaterThanOrEqual(60);
    expect(valuesOf('LimitCORE')).toEqual(['0']);
  });

  test('says what is missing when a credential is not handed over', async () => {
    const config = readFileSync(join(FOLDER, 'router-exporter.yaml'), 'utf8');
    await using agent = startAsUnit(config, { credentials: {}, caPem: '' });
    expect(await agent.ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('defaults.password_file: The file named here'),
    });
  });
});

describe('the template', () => {
  const text = readFileSync(join(FOLDER, 'router-exporter@.service'), 'utf8');
  const lines = (of: string) => of.split('\n').filter((line) => !line.startsWith('#'));

  test('is the unit, but for what makes one of several processes of it', () => {
    const [own, plain] = [lines(text), lines(unit)];
    expect(own.filter((line) => !plain.includes(line))).toEqual([
      'Description=Metrics and logs of cellular routers, process %i',
      'After=network-online.target time-sync.target router-exporter.service',
      'Conflicts=router-exporter.service',
      'Environment=TOTAL_SHARDS=2',
      `${plain.find((line) => line.startsWith('ExecStart='))} --shard=%i --total-shards=\${TOTAL_SHARDS} --web.shard-ports`,
      'StateDirectory=router-exporter-%i',
    ]);
    expect(plain.filter((line) => !own.includes(line))).toHaveLength(4);
  });

  withPrograms(['systemd-analyze'], test)('has no fault that systemd-analyze finds', () => {
    expect(verify(text)).toMatchObject({ status: 0, stderr: '' });
    expect(verify(text.replace('Conflicts=', 'Conflict=')).stderr).toContain("Unknown key 'Conflict'");
  });

  test('starts processes that share the routers of one configuration, each with its port and its state, and each shows all', async () => {
    await using simulator = await startSimulator({ routers: 6, clock: createSystemClock(), seed: 1 });
    const port = await findFreePorts(3);
    const routers = simulator.routers.map(({ name, url }) => `  - { name: ${name}, url: "${url}" }\n`).join('');
    const config = `web: { listen: ["127.0.0.1:${port}"] }
defaults: { username: monitor, password: simulated, tls: { ca_file: device-ca.pem } }
routers:\n${routers}`;
    const start = (index: number) => startAsUnit(config, { credentials: {}, caPem: simulator.caPem, index });
    await using first = start(0);
    await using second = start(1);
    await using third = start(2);
    for (const agent of [first, second, third]) await agent.waitFor('stderr', /Started/);
    const read = async (path: string, index: number) =>
      await (await fetch(`http://127.0.0.1:${port + index}${path}`)).text();
    const listNames = async (path: string, index: number) =>
      (JSON.parse(await read(path, index)) as { routers: { name: string }[] }).routers.map(({ name }) => name);
    const names = simulator.routers.map(({ name }) => name).toSorted();
    const own = await Promise.all([0, 1, 2].map((index) => listNames('/api/v1/routers?own=1', index)));
    expect(own.flat().toSorted()).toEqual(names);
    for (const index of [0, 1, 2]) {
      const listAll = async () => (await listNames('/api/v1/routers', index)).toSorted();
      await expect.poll(listAll, { timeout: 60_000 }).toEqual(names);
      // A busy machine may take longer than a page waits.
      await expect.poll(() => read('/', index), { timeout: 60_000 }).not.toContain('does not answer');
      const page = await read('/', index);
      for (const name of names) expect(page).toContain(`href="router/${name}"`);
    }
    const targets = JSON.parse(await read('/sd', 0)) as { targets: string[] }[];
    expect(new Set(targets.flatMap((group) => group.targets))).toEqual(
      new Set(own.flatMap((routersOf, index) => (routersOf.length > 0 ? [`127.0.0.1:${port + index}`] : []))),
    );
    expect(await read('/config', 1)).toContain('--web.shard-ports');
    for (const agent of [first, second, third]) agent.process.kill('SIGTERM');
    for (const agent of [first, second, third]) expect(await agent.ended).toMatchObject({ code: 0 });
  });
});

/** Starts the command of the unit, or of process `index` of the template, as the service manager does: with its arguments, its variables and its folders. */
function startAsUnit(
  config: string,
  given: {
    readonly credentials: Readonly<Record<string, string>>;
    readonly caPem?: string;
    readonly variables?: NodeJS.ProcessEnv;
    readonly index?: number;
  },
) {
  const home = mkdtempSync(join(folder, 'run-'));
  const credentials = join(home, 'credentials');
  for (const name of [credentials, join(home, 'state')]) mkdirSync(name, { mode: 0o700 });
  for (const [name, value] of Object.entries(given.credentials))
    writeFileSync(join(credentials, name), value, { mode: 0o400 });
  if (given.caPem !== undefined) writeFileSync(join(home, 'device-ca.pem'), given.caPem);
  writeFileSync(join(home, 'router-exporter.yaml'), config);
  const name = given.index === undefined ? 'router-exporter.service' : 'router-exporter@.service';
  const [, command = ''] = /^ExecStart=(.*)$/m.exec(readFileSync(join(FOLDER, name), 'utf8')) ?? [];
  const [, ...args] = command.replace(' $ARGS', '').split(' ');
  const env = { ...given.variables, CREDENTIALS_DIRECTORY: credentials, STATE_DIRECTORY: join(home, 'state') };
  const words = args.map((word) =>
    word
      .replace('/etc/router-exporter', home)
      .replace('${STATE_DIRECTORY}', env.STATE_DIRECTORY)
      .replace('%i', String(given.index))
      .replace('${TOTAL_SHARDS}', '3'),
  );
  const anywhere = given.index === undefined ? ['--web.listen-address=127.0.0.1:0'] : [];
  const program = startProgram(process.execPath, [PROGRAM, ...words, ...anywhere, '--log.format=text'], env);
  return Object.assign(program, { folder: home });
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
