import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { examineRouter } from '../../src/cli/doctor/router-stages.ts';
import { type SimulatedRouter, type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { load } from '../config/configuration-folder.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { createNoise } from '../support/archives.ts';
import { doctor, examine, listen, listSteps, serve, writeConfig } from './doctor-bench.ts';
import { runCommand } from './run-command.ts';

/** A router that supports ranges, and one that does not. */
let ranged: Simulator;
let plain: Simulator;
let router: SimulatedRouter;

const configureFor = ({ url }: SimulatedRouter, extra = '') =>
  `routers:\n  - { name: plant-7, url: "${url}", username: monitor, password: simulated, tls: { ca_file: ca.pem }${extra && `, ${extra}`} }\n`;
const examineWith = (extra = '') => examine(configureFor(router, extra), plain.caPem);
const first = ({ routers: [one] }: Simulator) => {
  if (!one) throw new RangeError('There is no router');
  return one;
};
/** Some hundred KiB in `network/current` behind a rotation. */
const writeLogs = async (one: SimulatedRouter) => {
  one.appendLog('network', 'the first line');
  one.rotate('network');
  await one.whenQuiet();
  for (let line = 0; line < 1000; line++) one.appendLog('network', `${line} ${'x'.repeat(500)}`);
};

beforeAll(async () => {
  const options = { routers: 1, clock: createSystemClock(), seed: 3, logs: { compressionMs: 0, maxSizeBytes: 0 } };
  [ranged, plain] = await Promise.all([
    startSimulator({ ...options, features: { rangeRequests: true } }),
    startSimulator(options),
  ]);
  router = first(plain);
  await Promise.all([writeLogs(first(ranged)), writeLogs(router)]);
});
afterEach(() => router.clearFault());
afterAll(() => Promise.all([ranged.close(), plain.close()]));

describe('doctor and status resources', () => {
  test('reports that one resource has failed, with the words of the router, and continues', async () => {
    await router.fault('http_500', { path: '/status/sysstat/wan' });
    const { code, find, steps } = await examineWith();
    expect(code).toBe(1);
    expect(listSteps(steps).filter((step) => step.endsWith('failed'))).toEqual(['status sysstat/wan failed']);
    expect(find('status sysstat/wan')).toMatchObject({
      message: 'GET /status/sysstat/wan was answered with 500 (config: could not be stored)',
      hint: expect.stringContaining('see its own log') as string,
    });
    expect(find('log list')?.result).toBe('ok');
  });

  test('warns of a resource that answers and of which no metric can be read, and not of one that is empty', async () => {
    router.setStatus('sysstat/wan', { body: { list: [{ chain: 'wan1', uplink: 'net1' }] } });
    router.setStatus('sysdetail/ip_addresses', { body: { list: [] } });
    onTestFinished(() => {
      router.setStatus('sysstat/wan', undefined);
      router.setStatus('sysdetail/ip_addresses', undefined);
    });
    const { find } = await examineWith();
    expect(find('status sysstat/wan')).toMatchObject({
      result: 'warning',
      message: 'answered, but no metric could be read from it',
      hint: expect.stringContaining('router-exporter status plant-7 sysstat/wan') as string,
    });
    expect(find('status sysdetail/ip_addresses')).toMatchObject({ result: 'ok', message: 'empty' });
  });

  test.each([
    ['garbage_json', 'was not answered with JSON'],
    ['html_200', 'was not answered with JSON'],
  ] as const)('says that an answer is %s', async (fault, message) => {
    await router.fault(fault, { path: '/status/device_info' });
    const { find } = await examineWith();
    expect(find('status device_info')).toMatchObject({
      result: 'failed',
      message: expect.stringContaining(message) as string,
    });
  });

  test('says that an answer has an unknown shape', async () => {
    const url = await serve(answer({ device_info: (_request, response) => response.end('{"hello":"world"}') }, []));
    const { code, find } = await examine(onPlainHttp(url));
    expect(code).toBe(1);
    expect(find('status device_info')).toMatchObject({
      result: 'failed',
      message: 'The answer for device_info has an unknown shape',
    });
  });

  test('skips the rest of a router that hangs for two resources, within their time limit', async () => {
    await router.fault('hang', { path: '/status/' });
    const { code, steps, find } = await examineWith('poll: { timeout: 500ms }');
    expect(code).toBe(1);
    const status = steps.filter(({ step }) => step.startsWith('status'));
    expect(status.map(({ result }) => result)).toEqual(['failed', 'failed', 'skipped']);
    expect(status[0]).toMatchObject({
      message: 'GET /status/device_info took longer than 0.5 s',
      hint: 'If the router is only slow, raise poll.timeout of this router',
    });
    expect(status[2]?.message).toMatch(/^\d+ more resources not tried after /);
    expect(find('logs')).toEqual({ step: 'logs', result: 'skipped', message: 'not tried after status' });
  });

  test('continues after one resource that hangs', async () => {
    await router.fault('hang', { path: '/status/sysstat/wan' });
    const { steps, find } = await examineWith('poll: { timeout: 300ms }');
    expect(listSteps(steps).filter((step) => step.endsWith('failed'))).toEqual(['status sysstat/wan failed']);
    expect(find('log list')?.result).toBe('ok');
  });

  test('continues after two resources that hang, if another one answers in between', async () => {
    const hang: RequestListener = () => {};
    const profiles: RequestListener = (_request, response) => response.end('{"profiles":[]}');
    const url = await serve(answer({ dhcp_leases: hang, '/profiles': profiles, 'sysstat/wan': hang }, []));
    const text = onPlainHttp(url).replace('[device]', '[device, dhcp, profiles, wan], poll: { timeout: 300ms }');
    const { steps, find } = await examine(text);
    expect(listSteps(steps).filter((step) => step.startsWith('status'))).toEqual([
      'status device_info ok',
      'status sysdetail/dhcp_leases failed',
      'status profiles ok',
      'status sysstat/wan failed',
    ]);
    expect(find('log list')?.result).toBe('warning');
  });

  test('skips the rest of a router whose connection breaks', async () => {
    await router.fault('reset_mid_body', { path: '/status/device_info' });
    const { steps } = await examineWith();
    expect(listSteps(steps).slice(5)).toEqual(['status device_info failed', 'status skipped', 'logs skipped']);
  });

  test('warns of a resource that a module needs and the router lacks, and names what to change', async () => {
    const modules = `modules:
  mine:
    resources:
      - path: gnss1
        metrics: [{ name: router_satellites, help: Seen., type: gauge, value: satellites }]
      - path: gps*
        metrics: [{ name: router_gps_satellites, help: Seen., type: gauge, value: satellites }]
`;
    const { code, find } = await examine(modules + configureFor(router, 'modules: [default, mine]'), plain.caPem);
    expect(code).toBe(0);
    expect(find('status gnss1')).toMatchObject({
      result: 'warning',
      message: 'this router does not have it',
      hint: 'Make it optional in its module, or leave the module out: modules: [default, "!mine"]',
    });
    expect(find('status gps1')).toMatchObject({ result: 'skipped', message: 'not on this device' });
    expect(find('status gps*')).toMatchObject({ result: 'warning', message: 'this router has none of these' });
  });

  test('only warns when the list of users cannot be read', async () => {
    await router.fault('http_500', { path: '/configuration/administration/users' });
    const { code, find } = await examineWith();
    expect(code).toBe(0);
    expect(find('rights')).toMatchObject({
      result: 'warning',
      message: expect.stringContaining('answered with 500') as string,
    });
  });

  test('has failed when the account may read nothing at all', async () => {
    await router.fault('forbidden', { path: '/status/' });
    const { code, find } = await examineWith('modules: [system]');
    expect(code).toBe(1);
    expect(find('status')).toEqual({
      step: 'status',
      result: 'failed',
      message: 'the router returned none of the resources',
    });
  });
});

describe('doctor and logs', () => {
  test('asks a router with ranges for the first bytes, and keeps its connection', async () => {
    const { code, learnt, find, steps } = await examine(configureFor(first(ranged)), ranged.caPem);
    expect(code).toBe(0);
    expect(learnt).toMatchObject({ log_ranges: true, log_entity_tags: true, log_archives: 'bzip2' });
    expect(find('log network/current')?.message).toMatch(/^the first 512 of 5\d{5} bytes$/);
    expect(find('log network/current')?.bytes).toBeLessThan(2000);
    const archive = steps.find(({ step }) => step.endsWith('.bz2'));
    // No handshake was needed in between.
    expect(archive?.bytes).toBeLessThan(1100);
  });

  test('cuts a router without ranges off after the first bytes', async () => {
    const { code, learnt, find } = await examineWith();
    expect(code).toBe(0);
    expect(learnt).toMatchObject({ log_ranges: false, log_entity_tags: false, log_archives: 'bzip2' });
    expect(find('log network/current')?.message).toMatch(
      /^the first 512 of 5\d{5} bytes; ranges are not supported, so the download was aborted$/,
    );
    expect(find('log network/current')?.bytes).toBeLessThan(256 * 1024);
  });

  test('cuts off a log that never ends', async () => {
    const cut = Promise.withResolvers<void>();
    const endless = (response: ServerResponse) => {
      response.once('close', cut.resolve);
      const pump = () => {
        while (!response.destroyed && response.write('2026-01-01 00:00:00 [wan] again\n'.repeat(100)));
        if (!response.destroyed) response.once('drain', pump);
      };
      pump();
    };
    const url = await serve(
      answer({ 'log_file=wan%2Fcurrent': (_request, response) => endless(response) }, ['wan/current']),
    );
    const { code, find } = await examine(onPlainHttp(url));
    expect(code).toBe(0);
    expect(find('log wan/current')?.message).toBe(
      'the first 512 bytes; ranges are not supported, so the download was aborted',
    );
    await cut.promise;
  });

  test('compares what the rotation shows with timezone of the configuration', async () => {
    const wrong = await examineWith('timezone: America/New_York');
    expect(wrong.code).toBe(0);
    expect(wrong.find('log network/current')).toMatchObject({
      result: 'warning',
      hint: expect.stringMatching(
        /^Check timezone of this router: its lines are at UTC\+0[12]:00, and America\/New_York was at UTC-0[45]:00$/,
      ) as string,
    });
    const right = await examineWith('timezone: Europe/Berlin');
    expect(right.find('log network/current')?.result).toBe('ok');
  });

  test('compares the time that the router reports with timezone of the configuration, where nothing was rotated yet', async () => {
    await using fresh = await startSimulator({
      routers: 1,
      clock: createSystemClock(),
      seed: 3,
      clockOffsetMs: -3_000_000,
    });
    const one = first(fresh);
    one.appendLog('network', 'the first line');
    const wrong = await examine(configureFor(one, 'timezone: America/New_York'), fresh.caPem);
    expect(wrong.find('log network/current')).toMatchObject({
      result: 'warning',
      hint: expect.stringMatching(
        /^Check timezone of this router: its clock is at UTC\+0[12]:00, and America\/New_York was at UTC-0[45]:00$/,
      ) as string,
    });
    const { learnt } = await examine(configureFor(one), fresh.caPem);
    expect([3600, 7200]).toContain(learnt['reported_utc_offset_seconds']);
    const { stdout } = await doctor(configureFor(one), { caPem: fresh.caPem });
    expect(stdout).toMatch(/^ {2}UTC offset +UTC\+0[12]:00: its clock says [\d:]{8}, and [\d:]{8} UTC$/m);
  });

  test('says how far the clock of the router is off', async () => {
    router.jumpClock(15 * 60_000);
    const { code, find, learnt } = await examineWith();
    const human = await doctor(configureFor(router), { caPem: plain.caPem });
    router.jumpClock(-15 * 60_000);
    expect(code).toBe(0);
    expect(find('log network/current')?.hint).toMatch(/^The router's clock is (899|900) s ahead of this machine's,/);
    expect(Number(learnt['clock_offset_seconds'])).toBeGreaterThan(890);
    expect(human.stdout).toMatch(/^ {2}clock +(899|900) s ahead of this machine$/m);
  });

  test.each([
    ['text', 'archive_as_text'],
    ['bzip2', 'truncated_archive'],
  ] as const)('says that archives arrive as %s when they do: %s', async (format, fault) => {
    await router.fault(fault);
    expect((await examineWith()).learnt).toMatchObject({ log_archives: format });
  });

  test('says that the listing has failed, and tries no file then', async () => {
    await router.fault('http_500', { path: '/download/log' });
    const { code, find } = await examineWith();
    expect(code).toBe(1);
    expect(find('log list')?.result).toBe('failed');
    expect(find('log file')).toEqual({ step: 'log file', result: 'skipped', message: 'not tried after log list' });
  });

  test.each([
    ['an empty file', 416, { 'content-range': 'bytes */0' }, true, 'empty'],
    [
      'another part than was asked for',
      206,
      { 'content-range': 'bytes 5-9/100' },
      false,
      'wrong range returned: the agent will read whole files',
    ],
    ['a file that has just gone', 404, {}, undefined, 'listed, but no longer there'],
  ])('says what came of %s', async (_what, status, headers, hasRanges, message) => {
    const file: RequestListener = (_request, response) => response.writeHead(status, headers).end();
    const url = await serve(answer({ 'log_file=wan%2Fcurrent': file }, ['wan/current']));
    const { code, find, learnt } = await examine(onPlainHttp(url));
    expect(code).toBe(0);
    expect(find('log wan/current')?.message).toBe(message);
    expect(learnt['log_ranges']).toBe(hasRanges);
  });

  test.each([
    [
      'an error page',
      '<html><body>Please log in</body></html>\n',
      'wan/current is an error page or another document, not a log',
    ],
    [
      'a page that is longer than what is read of it',
      `<!doctype html>\n<body>${'x'.repeat(9000)}</body>\n`,
      'wan/current is an error page or another document, not a log',
    ],
    [
      'the newest line first',
      [5, 4, 3, 2, 1].map((minute) => `2026-01-01 12:0${minute}:00 [wan] up\n`).join(''),
      'wan/current has its newest line first, so it cannot be followed',
    ],
  ])('fails for a log that would not be shipped: %s', async (_what, text, message) => {
    const url = await serve(answer({ log_file: (_request, response) => response.end(text) }, ['wan/current']));
    const { code, find } = await examine(onPlainHttp(url));
    expect(code).toBe(1);
    expect(find('log wan/current')).toMatchObject({ result: 'failed', message, hint: expect.any(String) as string });
  });

  test('says that the bytes of a log and of its archive are no text', async () => {
    const noise: RequestListener = (_request, response) => response.end(createNoise(5000));
    const url = await serve(answer({ log_file: noise }, ['vpn/current', 'vpn/log-2026-01-02-00:00:00.bz2']));
    const { code, steps } = await examine(onPlainHttp(url));
    expect(code).toBe(1);
    expect(steps.slice(-2)).toMatchObject([
      { result: 'failed', hint: expect.stringMatching(/^The file is not text/) as string },
      { result: 'failed', message: 'arrives in no known format' },
    ]);
  });

  test('looks at the log that was rotated last', async () => {
    const logs = ['wan/current', 'wan/log-2026-01-01-00:00:00.bz2', 'vpn/current', 'vpn/log-2026-01-02-00:00:00.bz2'];
    const line: RequestListener = (_request, response) => response.end('2026-01-01 23:00:00 [vpn] up\n');
    const url = await serve(answer({ log_file: line }, [...logs, 'ssh/current']));
    const { steps, learnt } = await examine(onPlainHttp(url));
    expect(steps.map(({ step }) => step).slice(-2)).toEqual(['log vpn/current', 'log vpn/log-2026-01-02-00:00:00.bz2']);
    expect(learnt).toMatchObject({ utc_offset: { seconds: -3600, component: 'vpn' }, log_archives: 'text' });
  });

  test.each([
    [
      '22:30:00',
      true,
      2,
      'a file begins in the second in which the one before ends (in 2 of 2 logs, by chance 1 in 3,600)',
    ],
    ['22:30:10', false, 1, 'not proven that a file begins in the second'],
  ])(
    'says whether a missing file would show, by the beginnings of more logs: %s',
    async (firstLine, isProven, matches, words) => {
      const files = new Map([
        ['vpn/current', '2026-01-01 23:00:00 [vpn] up\n2026-01-01 23:05:00 [vpn] down\nthe rest'],
        ['wan/current', `2026-01-01 ${firstLine} [wan] up\n2026-01-01 22:35:00 [wan] down\nthe rest`],
      ]);
      const part: RequestListener = ({ url = '' }, response) => {
        const text = [...files].find(([name]) => url.includes(encodeURIComponent(name)))?.[1] ?? 'an archive';
        response.writeHead(206, { 'content-range': `bytes 0-${text.length - 1}/${text.length}` }).end(text);
      };
      const archives = ['vpn/log-2026-01-02-00:00:00.bz2', 'wan/log-2026-01-01-23:30:00.bz2'];
      const url = await serve(answer({ log_file: part }, [...files.keys(), ...archives, 'ssh/current']));
      const { learnt, find } = await examine(onPlainHttp(url));
      expect(find('log rotations')).toMatchObject({ result: 'ok', message: 'the first bytes of 1 more log' });
      expect(learnt).toMatchObject({ log_rotation: { links_proven: isProven, logs: 2, matches, misses: 2 - matches } });
      expect((await doctor(onPlainHttp(url))).stdout).toContain(words);
    },
  );

  test('says that there are no logs, and how many names it does not know', async () => {
    const url = await serve(answer({}, ['../etc/passwd']));
    const { code, find, learnt } = await examine(onPlainHttp(url));
    expect(code).toBe(0);
    expect(find('log list')).toMatchObject({
      result: 'warning',
      message: 'no log files; 1 with unknown names are ignored',
    });
    expect(find('log file')?.message).toBe('none');
    expect(learnt['logs']).toEqual({ components: 0, files: 1, unknown: 1 });
  });

  test('has failed when archives come in a format that cannot be read', async () => {
    const archive = 'wan/log-2026-01-01-00:00:00.xz';
    const xz: RequestListener = (_request, response) => response.end(Buffer.from('fd377a585a000000ff', 'hex'));
    const url = await serve(answer({ [`log_file=${encodeURIComponent(archive)}`]: xz }, ['wan/current', archive]));
    const { code, find } = await examine(onPlainHttp(url));
    expect(code).toBe(1);
    expect(find(`log ${archive}`)?.message).toBe('arrives as xz, which is not supported');
  });
});

describe('doctor and hostile routers', () => {
  test('shows neither control characters nor secrets of theirs, and cuts long words', async () => {
    const words = JSON.stringify({
      error: [{ 'a\u001b[2J\u202e': `you sent hidden-password ${'long '.repeat(500)}` }],
    });
    const refuse: RequestListener = (_request, response) => response.writeHead(400).end(words);
    const users: RequestListener = (_request, response) => {
      const list = [{ username: 'a', group: 'read\u001b[31m\n  plant-7 ok hidden-password' }];
      response.end(JSON.stringify({ config: { list } }));
    };
    const url = await serve(answer({ '/status/': refuse, '/administration/users': users }, []));
    const text = onPlainHttp(url).replace('simulated', 'hidden-password');
    const { find } = await examine(text);
    expect(find('status device_info')?.message).toMatch(/answered with 400 .*you sent \[secret\] long/);
    expect(find('status device_info')?.message.length).toBeLessThan(600);
    const human = await doctor(text);
    expect(human.stdout + human.stderr).not.toMatch(/hidden-password|[^\P{Cc}\n]|\p{Cf}/u);
    expect(human.stdout).not.toMatch(/^ +plant-7 ok/m);
    expect(human.stdout).toContain('group read [31m plant-7 ok [secret]');
  });
});

describe('doctor with many routers', () => {
  const many = () =>
    `routers:\n${Array.from({ length: 4 }, (_none, index) => configureFor(router).replace('routers:\n', '').replace('plant-7', `plant-${index}`)).join('')}  - { name: dead, url: "https://127.0.0.1:1", username: a, password: hidden-password }\n`;

  test('shows a line for each that is not well, how many are, and whole reports only of those that failed', async () => {
    const { code, stdout } = await doctor(many(), { caPem: plain.caPem });
    expect(code).toBe(1);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^ROUTER +RESULT +STEP +FOUND$/);
    expect(lines[1]).toMatch(
      /^dead +failed +connect +TCP to 127\.0\.0\.1 port 1 could not connect: .*ECONNREFUSED.*\. Check host and port/,
    );
    expect(lines[2]).toBe('5 routers: 1 failed, 0 with warnings, 4 ok');
    // Besides the router, the folder of the state.
    expect(stdout.match(/^ {2}STEP/gm)).toHaveLength(2);
    expect(stdout).toContain('\ndead  https://127.0.0.1:1  failed: connect\n');
  });

  test('shows whole reports of all of them with --verbose', async () => {
    const { stdout } = await doctor(many(), { caPem: plain.caPem, args: ['--verbose'] });
    expect(stdout.match(/^ {2}STEP/gm)).toHaveLength(6);
  });
});

describe('doctor and its usage', () => {
  test('shows what is finished, and logs out of the rest, when it is to end early', async () => {
    await router.fault('hang', { path: '/status/sysstat/wan' });
    const text = `${configureFor(router)}  - { name: dead, url: "https://127.0.0.1:1", username: a, password: hidden-password }\n`;
    const stop = new AbortController();
    const before = router.counters.logouts;
    const { code, stdout } = await doctor(text, {
      caPem: plain.caPem,
      args: ['--json'],
      isTerminal: true,
      signal: stop.signal,
      onStderr: (said) => said.includes('plant-7: status sysstat/wan') && stop.abort(),
    });
    expect(code).toBe(1);
    const { routers } = JSON.parse(stdout) as { routers: { router: string }[] };
    expect(routers.map(({ router: name }) => name)).toEqual(['dead']);
    expect(router.counters.logouts).toBe(before + 1);
  });

  test('takes no longer than five minutes for a router, whatever its time limits are', async () => {
    const silent = createServer((socket) => void socket.resume());
    onTestFinished(() => void silent.close());
    const poll = 'poll: { interval: 2h, timeout: 1h, deadline: 1h, stale_after: 9h }';
    const url = `https://127.0.0.1:${await listen(silent)}`;
    const { config } = await load(
      `routers: [{ name: plant-7, url: "${url}", username: a, password: hidden-password, ${poll} }]\n`,
    );
    const [settings] = config?.routers ?? [];
    if (!settings) throw new RangeError('The configuration is not sound');
    const clock = createSteppedClock(0);
    const { signal } = new AbortController();
    const examined = examineRouter(settings, { clock, signal, hasSinks: false, onStep: () => {} });
    const { steps, durationMs } = await advanceUntil(examined, clock, 10_000);
    expect(steps[2]).toMatchObject({ step: 'tls', verdict: 'failed', message: 'The limit of 300000 ms was reached' });
    expect(steps[3]?.verdict).toBe('skipped');
    expect(durationMs).toBeLessThan(310_000);
  });

  test('says that there is nothing to examine', async () => {
    const { code, stdout, stderr } = await doctor('router_files: [none-*.yaml]\n');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('has no routers and no sinks');
  });

  test('names the nearest router when the configuration has no such router, with exit code 2', async () => {
    const file = await writeConfig(configureFor(router), plain.caPem);
    expect(await runCommand(['doctor', 'plant-7', 'plan-7', '--config.file', file])).toEqual({
      code: 2,
      stdout: '',
      stderr: `${file} has no router "plan-7"; did you mean plant-7?\n`,
    });
  });

  test('names the faults of a configuration, with exit code 2', async () => {
    const { code, stdout, stderr } = await doctor('routers: [{ nmae: x }]\n');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('nmae');
  });
});

/** A router on plain HTTP that answers everything with something, unless a path says otherwise. */
function answer(paths: Readonly<Record<string, RequestListener>>, logs: readonly string[]): RequestListener {
  const reply = (response: ServerResponse, body: unknown) => response.end(JSON.stringify(body));
  return (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    const own = Object.entries(paths).find(([part]) => url.includes(part));
    if (own) return own[1](request, response);
    if (url.includes('/auth/')) return reply(response, { access: 'access-token', refresh: 'refresh-token' });
    if (url.includes('list_files')) return reply(response, { log_files: logs });
    if (url.includes('device_info')) return reply(response, { status: { list: [{ board_type: 'M3CPU' }] } });
    return response.writeHead(404).end();
  };
}

function onPlainHttp(url: string): string {
  return `routers: [{ name: plant-7, url: "${url}", username: a, password: simulated, modules: [device] }]\n`;
}
