import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { runCli } from '../../src/cli/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import { type SimulatedRouter, type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { findFreePort } from '../support/free-port.ts';
import { openSilentListener } from '../support/silent-listener.ts';
import {
  createSelfSigned,
  doctor,
  examine,
  forgeCertificate,
  listen,
  listSteps,
  serve,
  writeConfig,
} from './doctor-bench.ts';

const SINK = 'sinks: [{ name: console, type: stdout }]\n';
const READ_STEPS = ['dns ok', 'connect ok', 'tls ok', 'auth ok', 'rights ok'];

let simulator: Simulator;
let router: SimulatedRouter;
let other: SimulatedRouter;

const router1 = (extra = '', base = 'username: monitor, tls: { ca_file: ca.pem }') =>
  `  - { name: plant-7, url: "${router.url}", password: simulated, ${base}${extra && `, ${extra}`} }\n`;
const configure = (extra = '', base?: string) => `routers:\n${router1(extra, base)}`;

beforeAll(async () => {
  simulator = await startSimulator({ routers: 2, clock: createSystemClock(), seed: 3, logs: { compressionMs: 0 } });
  const [first, second] = simulator.routers;
  if (!first || !second) throw new RangeError('There are no routers');
  [router, other] = [first, second];
  router.appendLog('network', 'a line');
  router.rotate('network');
  await router.whenQuiet();
});
afterEach(async () => {
  await router.clearFault();
  await other.clearFault();
});
afterAll(() => simulator.close());

describe('doctor with a router that is well', () => {
  test('shows every step, what was learnt and what it has cost, and ends with exit code 0', async () => {
    const { code, stdout, stderr } = await doctor(configure() + SINK, { caPem: simulator.caPem });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [title, ...lines] = stdout.split('\n');
    expect(title).toBe(`plant-7  ${router.url}  ok`);
    expect(lines[0]).toMatch(/^ {2}STEP +RESULT +TIME +BYTES +FOUND$/);
    expect(stdout).toMatch(/^ {2}dns +ok +\d+ ms +0 +127\.0\.0\.1$/m);
    expect(stdout).toMatch(/^ {2}connect +ok +\d+ ms +0 +127\.0\.0\.1 port \d+$/m);
    expect(stdout).toMatch(/^ {2}tls +ok +\d+ ms +[\d,]{5,} +TLSv1\.3, CN=sim-1, valid for \d+ days$/m);
    expect(stdout).toMatch(/^ {2}auth +ok .* as monitor$/m);
    expect(stdout).toMatch(/^ {2}rights +ok .* group read$/m);
    expect(stdout).toMatch(/^ {2}status device_info +ok .* \d+ series$/m);
    expect(stdout).toMatch(/^ {2}status, \d\d more +skipped .* not on this device$/m);
    expect(stdout).not.toContain('status lte3');
    expect(stdout).toMatch(/^ {2}log list +ok .* \d+ files? in \d+ logs?$/m);
    expect(stdout).toMatch(/^ {2}log network\/current +ok .* the first \d+ of \d+ bytes$/m);
    expect(stdout).toMatch(/^ {2}log network\/log-\S+\.bz2 +ok .* arrives as bzip2$/m);
    expect(stdout).toMatch(
      /^ {2}certificate +CN=sim-1, signed by CN=router-exporter simulator\n +until 2049-12-31, SHA-256 ([\dA-F]{2}:){31}/m,
    );
    expect(stdout).toMatch(/^ {2}log archives +arrive as bzip2$/m);
    expect(stdout).toMatch(
      /^ {2}UTC offset +UTC\+0[12]:00: network was rotated at [\d:]{8} UTC, its next line says [\d:]{8}$/m,
    );
    expect(stdout).toMatch(/^ {2}archive names +in UTC: assumed until two rotations agree$/m);
    expect(stdout).toMatch(/^ {2}log rotation +not proven that a file begins .* \(in 1 of 1 logs.*\)/m);
    expect(stdout).toMatch(/^ {2}clock +same as this machine$/m);
    expect(stdout).toMatch(/^ {2}cost +[\d,]+ bytes on the wire \([\d,]+ sent\), \d+ ms$/m);
    expect(stdout).toMatch(
      /^ +at these intervals about [\d.]+ MiB a month \(status [\d.]+ MiB, logs [\d.]+ MiB\), before new log lines$/m,
    );
    expect(stdout).toMatch(/^sink console {2}stdout {2}ok\n {2}STEP +RESULT +FOUND\n {2}standard output +ok /m);
    expect(stdout).not.toContain('\u001b');
  });

  test('logs in once and logs out at the end', async () => {
    const before = router.counters;
    await examine(configure(), simulator.caPem);
    expect(router.counters.logins).toBe(before.logins + 1);
    expect(router.counters.logouts).toBe(before.logouts + 1);
  });

  test('logs out of a router that fails under way, too', async () => {
    const before = router.counters.logouts;
    await router.fault('reset_mid_body', { path: '/status/' });
    expect(await examine(configure(), simulator.caPem)).toMatchObject({ code: 1 });
    expect(router.counters.logouts).toBe(before + 1);
  });

  test('asks no router that the configuration pauses or retires, unless it is named', async () => {
    const before = [router.counters, other.counters];
    const resting = (name: string, state: string) =>
      `  - { name: ${name}, url: "${other.url}", username: monitor, password: simulated, tls: { ca_file: ca.pem }, ${state} }\n`;
    const text = `${configure()}${resting('paused', 'state: paused')}${resting('gone', 'state: retired')}`;
    const { code, routers, stderr } = await examine(text, simulator.caPem);
    expect([code, routers.map(({ router: name }) => name)]).toEqual([0, ['plant-7']]);
    expect(stderr).toBe(
      'Not tested, because the configuration pauses or retires them (name one to test it): paused, gone\n',
    );
    expect([router.counters.logins, other.counters.logins]).toEqual([(before[0]?.logins ?? 0) + 1, before[1]?.logins]);
    const ended = `${configure()}${resting('ended', 'state: paused, state_until: "2020-01-01T00:00:00Z"')}`;
    expect((await examine(ended, simulator.caPem)).routers).toHaveLength(2);
    expect((await examine(text, simulator.caPem, ['paused'])).routers.map(({ router: name }) => name)).toEqual([
      'paused',
    ]);
  });

  test('gives one document with --json', async () => {
    const { code, routers, sinks, steps, learnt, find } = await examine(configure() + SINK, simulator.caPem);
    expect(code).toBe(0);
    expect(routers).toEqual([
      {
        router: 'plant-7',
        url: router.url,
        result: 'ok',
        duration_ms: expect.any(Number) as number,
        sent_bytes: expect.any(Number) as number,
        received_bytes: expect.any(Number) as number,
        month_bytes: { status: expect.any(Number) as number, logs: expect.any(Number) as number },
        steps,
        learnt,
      },
    ]);
    expect(find('tls')).toEqual({
      step: 'tls',
      result: 'ok',
      message: expect.stringMatching(/^TLSv1\.3, CN=sim-1, valid for \d+ days$/) as string,
      duration_ms: expect.any(Number) as number,
      bytes: expect.any(Number) as number,
    });
    expect(find('status lte3')).toMatchObject({ result: 'skipped', message: 'not on this device' });
    expect(learnt).toEqual({
      tls_version: 'TLSv1.3',
      certificate: {
        subject: 'CN=sim-1',
        issuer: 'CN=router-exporter simulator',
        names: expect.arrayContaining(['sim-1', '127.0.0.1']) as string[],
        not_after: '2049-12-31T23:59:59.000Z',
        fingerprint_sha256: expect.stringMatching(/^([\dA-F]{2}:){31}[\dA-F]{2}$/) as string,
      },
      account: { reads_configuration: true, group: 'read' },
      logs: { components: expect.any(Number) as number, files: expect.any(Number) as number, unknown: 0 },
      log_ranges: false,
      log_entity_tags: false,
      log_archives: 'bzip2',
      utc_offset: {
        seconds: expect.toSatisfy((seconds: number) => seconds === 3600 || seconds === 7200) as number,
        component: 'network',
        rotated_utc: expect.stringMatching(/Z$/) as string,
        first_line_wall: expect.stringMatching(/^\d{4}-.*\d$/) as string,
      },
      log_rotation: { links_proven: false, logs: 1, matches: 1, misses: 0, chance: expect.any(Number) as number },
      reported_utc_offset_seconds: expect.toSatisfy(
        (seconds: number) => seconds === 3600 || seconds === 7200,
      ) as number,
      clock_offset_seconds: expect.any(Number) as number,
    });
    expect(Math.abs(Number(learnt['clock_offset_seconds']))).toBeLessThan(2);
    expect(sinks).toEqual([
      {
        sink: 'console',
        type: 'stdout',
        result: 'ok',
        steps: [{ step: 'standard output', result: 'ok', message: expect.any(String) as string }],
      },
    ]);
  });

  test('counts all bytes of the steps and no more than a logout in addition', async () => {
    const { routers, steps } = await examine(configure(), simulator.caPem);
    const inSteps = steps.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
    const total = (routers[0]?.sent_bytes ?? 0) + (routers[0]?.received_bytes ?? 0);
    expect(total).toBeGreaterThan(inSteps);
    expect(total - inSteps).toBeLessThan(2000);
  });

  test('examines the named routers alone, and no sinks then', async () => {
    const text = `routers:\n${router1()}  - { name: plant-8, url: "https://127.0.0.1:1", username: a, password: bcdefg }\n${SINK}`;
    const { code, routers, sinks } = await examine(text, simulator.caPem, ['plant-7']);
    expect({ code, sinks, names: routers.map(({ router: name }) => name) }).toEqual({
      code: 0,
      sinks: undefined,
      names: ['plant-7'],
    });
  });

  test('has one connection at a time', async () => {
    let open = 0;
    const seen: number[] = [];
    const url = await serve(
      (_request, response) => {
        seen.push(open);
        response.writeHead(401).end();
      },
      createSelfSigned('plant-7', 400),
      (server) =>
        server.on('connection', (socket) => {
          open++;
          socket.once('close', () => open--);
        }),
    );
    const tls = 'tls: { insecure_skip_verify: true }';
    await examine(`routers: [{ name: plant-7, url: "${url}", username: a, password: hidden-password, ${tls} }]\n`);
    expect(seen).toEqual([1]);
  });

  test('paints nothing elsewhere, whatever the environment says', async () => {
    vi.stubEnv('FORCE_COLOR', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { stdout } = await doctor(configure(), { caPem: simulator.caPem });
    expect(stdout).not.toContain('\u001b');
  });

  test('shows progress on a terminal alone', async () => {
    const { stderr } = await doctor(configure(), { caPem: simulator.caPem, isTerminal: true });
    expect(stderr).toContain('0 of 1 router  plant-7: auth');
    expect(stderr.endsWith('\r\u001b[2K')).toBe(true);
  });

  test('paints results on a terminal', async () => {
    const config = await writeConfig(configure(), simulator.caPem);
    let stdout = '';
    const write = (chunk: string | Buffer) => {
      stdout += chunk.toString();
    };
    const open = (isTTY: boolean, take: (chunk: string | Buffer) => void) =>
      Object.assign(
        new Writable({
          decodeStrings: false,
          write(chunk: string | Buffer, _encoding, done) {
            take(chunk);
            done();
          },
        }),
        { isTTY, getColorDepth: () => 8 },
      );
    await runCli(['doctor', '--config.file', config], {
      stdin: process.stdin,
      stdout: open(true, write),
      stderr: open(false, () => {}),
      signal: new AbortController().signal,
      onHangup: () => {},
    });
    expect(stdout).toContain('\u001b[32mok');
  });
});

describe('doctor with a router that cannot be reached', () => {
  test('says that a name has no address, and tries nothing behind it', async () => {
    const text =
      'routers: [{ name: plant-7, url: "https://plant-7.invalid", username: a, password: hidden-password }]\n';
    const { code, steps, find } = await examine(text);
    expect(code).toBe(1);
    expect(listSteps(steps)).toEqual([
      'dns failed',
      'connect skipped',
      'tls skipped',
      'auth skipped',
      'rights skipped',
      'status skipped',
      'logs skipped',
    ]);
    expect(find('dns')).toMatchObject({
      message: expect.stringMatching(/^The name plant-7\.invalid found no address: getaddrinfo E/) as string,
      hint: expect.stringContaining('host name in the address') as string,
    });
    expect(find('connect')).toEqual({ step: 'connect', result: 'skipped', message: 'not tried after dns' });
  });

  test('says that nothing listens, behind a name that was resolved', async () => {
    const port = await findFreePort();
    const text = `routers: [{ name: plant-7, url: "https://localhost:${port}", username: a, password: hidden-password }]\n`;
    const { code, steps, find } = await examine(text);
    expect(code).toBe(1);
    expect(listSteps(steps).slice(0, 3)).toEqual(['dns ok', 'connect failed', 'tls skipped']);
    expect(find('connect')).toMatchObject({
      message: expect.stringMatching(`^TCP to localhost port ${port} could not connect: .*ECONNREFUSED`) as string,
      hint: expect.stringContaining('host and port in the address') as string,
    });
  });

  test('says that what listens does not speak TLS', async () => {
    const url = await serve((_request, response) => response.end());
    const text = `routers: [{ name: plant-7, url: "${url.replace('http:', 'https:')}", username: a, password: hidden-password }]\n`;
    const { code, steps, find } = await examine(text);
    expect(code).toBe(1);
    expect(listSteps(steps).slice(0, 4)).toEqual(['dns ok', 'connect ok', 'tls failed', 'auth skipped']);
    expect(find('tls')?.message).toMatch(/ does not complete a TLS handshake: /);
    expect(find('tls')?.hint).toBe('Check scheme and port of this router');
  });

  test('waits no longer than poll.timeout for a handshake that is not answered', async () => {
    const silent = createServer(() => {});
    onTestFinished(() => void silent.close());
    const closed = Promise.withResolvers<void>();
    silent.on('connection', (socket) => socket.resume().once('close', closed.resolve));
    const text = `routers: [{ name: plant-7, url: "https://127.0.0.1:${await listen(silent)}", username: a, password: hidden-password, poll: { timeout: 100ms } }]\n`;
    const { code, find } = await examine(text);
    expect(code).toBe(1);
    expect(find('tls')).toMatchObject({
      result: 'failed',
      message: expect.stringContaining('longer than 0.1 s') as string,
    });
    // Nothing is left open.
    await closed.promise;
  });

  test('waits no longer than poll.connect_timeout for an address that answers no SYN', async () => {
    await using silent = await openSilentListener();
    const url = `https://127.0.0.1:${silent.port}`;
    const text = `routers: [{ name: plant-7, url: "${url}", username: a, password: b, poll: { connect_timeout: 100ms } }]\n`;
    const { code, find } = await examine(text);
    expect(code).toBe(1);
    expect(find('connect')).toMatchObject({
      result: 'failed',
      message: expect.stringMatching(
        /^TCP to .* could not connect: No connection to 127\.0\.0\.1 within 0\.1 s$/,
      ) as string,
    });
  });

  test('says of two routers which one is dead, and examines the other one', async () => {
    await other.fault('down');
    const text = `routers:\n${router1()}${router1().replace('plant-7', 'plant-8').replace(router.url, other.url)}`;
    const { code, routers } = await examine(text, simulator.caPem);
    expect(code).toBe(1);
    expect(routers.map(({ router: name, result }) => [name, result])).toEqual([
      ['plant-7', 'ok'],
      ['plant-8', 'failed'],
    ]);
    const { stdout } = await doctor(text, { caPem: simulator.caPem });
    expect(stdout).toContain(`\nplant-8  ${other.url}  failed: connect\n`);
  });
});

describe('doctor and certificates', () => {
  test('shows the fingerprint of an untrusted certificate, which makes it trusted when it is pasted', async () => {
    const { code, steps, find, learnt } = await examine(configure('', 'username: monitor'));
    expect(code).toBe(1);
    expect(listSteps(steps).slice(0, 4)).toEqual(['dns ok', 'connect ok', 'tls failed', 'auth skipped']);
    expect(find('tls')?.message).toBe("The router's certificate is not trusted: its authority is not a trusted one");
    expect(find('tls')?.hint).toMatch(
      /tls\.ca_file, or trust this one: tls: \{ fingerprint_sha256: "[\dA-F:]+" \}\. Compare it first with the device$/,
    );
    expect(learnt['certificate']).toMatchObject({ subject: 'CN=sim-1' });
    const paste = /tls: \{ fingerprint_sha256: "[\dA-F:]+" \}/.exec(find('tls')?.hint ?? '')?.[0] ?? '';
    const healed = await examine(configure('', `username: monitor, ${paste}`));
    expect(healed.code).toBe(0);
    expect(listSteps(healed.steps).slice(0, 5)).toEqual(READ_STEPS);
  });

  test('says that ca_file has to go when the fingerprint is to do', async () => {
    await router.fault('bad_certificate');
    const { find } = await examine(configure(), simulator.caPem);
    expect(find('tls')?.message).toContain('is not trusted');
    expect(find('tls')?.hint).toMatch(/or, without tls\.ca_file, trust this one: tls: \{ fingerprint_sha256/);
  });

  test('reports that another certificate was renewed or is unknown', async () => {
    const text = configure('', `username: monitor, tls: { fingerprint_sha256: "${'ab:'.repeat(31)}ab" }`);
    const { find, learnt } = await examine(text);
    const { fingerprint_sha256: found } = learnt['certificate'] as { fingerprint_sha256: string };
    expect(find('tls')).toMatchObject({
      result: 'failed',
      message: `The router's certificate has another fingerprint: ${found}`,
      hint: expect.stringContaining('tls.fingerprint_sha256') as string,
    });
  });

  test('shows the names of a certificate that is for another one', async () => {
    const { find } = await examine(
      configure('', 'username: monitor, tls: { ca_file: ca.pem, server_name: plant-7 }'),
      simulator.caPem,
    );
    expect(find('tls')).toMatchObject({
      result: 'failed',
      message: "The router's certificate is not trusted: it is for another name",
      hint: expect.stringMatching(/tls\.server_name of this router: sim-1, localhost, 127\.0\.0\.1/) as string,
    });
  });

  test.each([
    [40, 'ok', 'valid for 40 days', undefined],
    [20, 'warning', 'expires in 20 days', 'Renew the certificate on the router'],
    [-3, 'warning', 'has expired', 'Renew the certificate on the router'],
  ])(
    'warns of the end of a certificate that is trusted by its fingerprint: %i days',
    async (days, result, message, hint) => {
      const certificate = createSelfSigned('plant-7', days);
      const url = await serve((_request, response) => response.writeHead(401).end('{}'), certificate);
      const text = (tls: string) =>
        `routers: [{ name: plant-7, url: "${url}", username: a, password: hidden-password${tls} }]\n`;
      const first = await examine(text(''));
      expect(first.find('tls')?.message).toMatch(/signed by itself|has expired/);
      const paste = /tls: \{.*\}/.exec(first.find('tls')?.hint ?? '')?.[0] ?? '';
      const { find } = await examine(text(`, ${paste}`));
      expect(find('tls')?.result).toBe(result);
      expect(find('tls')?.message).toContain(message);
      if (hint) expect(find('tls')?.hint).toContain(hint);
      else expect(find('tls')).not.toHaveProperty('hint');
    },
  );

  const root = forgeCertificate('Plant root', { altNames: [] });
  const ADDRESS = { type: 7, ip: '127.0.0.1' };
  const configureAt = (url: string, tls: string) =>
    `routers: [{ name: plant-7, url: "${url}", username: a, password: hidden-password, tls: { ${tls} } }]\n`;
  const refuse: RequestListener = (_request, response) => void response.writeHead(401).end('{}');

  test.each([
    ['stands in the CN', []],
    ['stands as a host name', [{ type: 2, value: '127.0.0.1' }]],
    ['stands beside what no client looks at', [{ type: 6, value: 'urn:plant-7' }]],
  ])('advises the fingerprint of a certificate whose address %s', async (_where, altNames) => {
    const { cert, key } = forgeCertificate('127.0.0.1', { issuer: root, altNames });
    const url = await serve(refuse, { cert, key });
    const { find } = await examine(configureAt(url, 'ca_file: ca.pem'), root.cert);
    expect(find('tls')?.message).toMatch(/it is for another name$/);
    expect(find('tls')?.hint).toMatch(/^It has no name that tls\.server_name could be, so without tls\.ca_file, trust/);
    const pin = /fingerprint_sha256: "[\dA-F:]+"/.exec(find('tls')?.hint ?? '')?.[0] ?? '';
    expect((await examine(configureAt(url, pin))).find('tls')?.result).toBe('ok');
  });

  test('advises the name in the CN of a certificate without others, which makes it trusted', async () => {
    const { cert, key } = forgeCertificate('plant-7', { issuer: root, altNames: [] });
    const url = await serve(refuse, { cert, key });
    const { find } = await examine(configureAt(url, 'ca_file: ca.pem'), root.cert);
    expect(find('tls')?.hint).toBe('Put its name into tls.server_name of this router: plant-7');
    const named = await examine(configureAt(url, 'ca_file: ca.pem, server_name: plant-7'), root.cert);
    expect(named.find('tls')?.result).toBe('ok');
  });

  test.each([
    ['a key of 1,024 bits', { bits: 1024 }, 'its key is too weak', 'Renew the certificate of this router with an RSA'],
    ['MD5', { digest: 'md5' }, 'it, or one above it, is signed with MD5 or SHA-1, which is too weak', 'Renew the'],
    ['SHA-1', { digest: 'sha1' }, 'it, or one above it, is signed with MD5 or SHA-1, which is too weak', 'Renew the'],
  ] as const)('names what is weak in a certificate with %s', async (_what, weakness, reason, hint) => {
    const { cert, key } = forgeCertificate('plant-7', { issuer: root, altNames: [ADDRESS], ...weakness });
    const url = await serve(refuse, { cert, key, ciphers: 'DEFAULT@SECLEVEL=0' });
    const { find } = await examine(configureAt(url, 'ca_file: ca.pem'), root.cert);
    expect(find('tls')?.message).toBe(`The router's certificate is not trusted: ${reason}`);
    expect(find('tls')?.hint).toMatch(new RegExp(`^${hint}.*, or, without tls\\.ca_file, set`));
    const pin = /fingerprint_sha256: "[\dA-F:]+"/.exec(find('tls')?.hint ?? '')?.[0] ?? '';
    expect((await examine(configureAt(url, pin))).find('tls')?.result).toBe('ok');
    const client = new RouterClient({ url, username: 'a', password: 'b', tls: { caPem: root.cert } });
    const message = `The router's certificate is not trusted: ${reason}`;
    await expect(client.logIn(AbortSignal.timeout(10_000))).rejects.toMatchObject({ code: 'tls', message });
    await client.close(AbortSignal.abort()).catch(() => {});
  });

  test('names the key of the authority that is weak', async () => {
    const weak = forgeCertificate('Weak root', { altNames: [], bits: 1024 });
    const { cert, key } = forgeCertificate('plant-7', { issuer: weak, altNames: [ADDRESS] });
    const { find } = await examine(configureAt(await serve(refuse, { cert, key }), 'ca_file: ca.pem'), weak.cert);
    expect(find('tls')?.message).toMatch(/the key of its authority is too weak$/);
  });

  test('trusts the authority that signed, although the one above it is elsewhere', async () => {
    const signing = forgeCertificate('Plant authority', { issuer: root, altNames: [], isAuthority: true });
    const { cert, key } = forgeCertificate('plant-7', { issuer: signing, altNames: [ADDRESS] });
    for (const chain of [cert, cert + signing.cert]) {
      const url = await serve(refuse, { cert: chain, key });
      expect((await examine(configureAt(url, 'ca_file: ca.pem'), signing.cert)).find('tls')?.result).toBe('ok');
      const stranger = forgeCertificate('Stranger', { altNames: [] });
      expect((await examine(configureAt(url, 'ca_file: ca.pem'), stranger.cert)).find('tls')?.result).toBe('failed');
    }
  });

  test('says that the router wants a certificate of its client', async () => {
    const certificate = createSelfSigned('plant-7', 400);
    const url = await serve((_request, response) => response.end('{}'), { ...certificate, requestCert: true });
    const tls = 'tls: { insecure_skip_verify: true }';
    const { find } = await examine(
      `routers: [{ name: plant-7, url: "${url}", username: a, password: hidden-password, ${tls} }]\n`,
    );
    expect(find('auth')).toMatchObject({
      result: 'failed',
      hint: expect.stringContaining('tls.cert_file and tls.key_file') as string,
    });
  });

  test('warns where any certificate is accepted, and shows what to trust instead', async () => {
    const { code, find } = await examine(configure('', 'username: monitor, tls: { insecure_skip_verify: true }'));
    expect(code).toBe(0);
    expect(find('tls')).toMatchObject({
      result: 'warning',
      hint: expect.stringMatching(/fingerprint_sha256: "[\dA-F:]+" \}\. Compare it first with the device$/) as string,
    });
  });
});

describe('doctor and accounts', () => {
  test('says that the password is wrong, and shows it nowhere', async () => {
    const text = configure('', 'username: nobody, tls: { ca_file: ca.pem }').replace('simulated', 'hidden-password');
    const { code, steps, find, stdout, stderr } = await examine(text, simulator.caPem);
    expect(code).toBe(1);
    expect(listSteps(steps)).toEqual([
      ...READ_STEPS.slice(0, 3),
      'auth failed',
      'rights skipped',
      'status skipped',
      'logs skipped',
    ]);
    expect(find('auth')).toMatchObject({
      message: 'The router refused to log in user "nobody"',
      hint: expect.stringContaining('username and password') as string,
    });
    const human = await doctor(text, { caPem: simulator.caPem });
    expect(stdout + stderr + human.stdout + human.stderr).not.toMatch(/hidden-password|simulated"/);
    expect(human.stdout).toMatch(/ auth +failed .*\n +→ Check username and password/);
  });

  test('says what an account without rights may not do; logs that have somewhere to go have failed then', async () => {
    const text = configure('', 'username: status, tls: { ca_file: ca.pem }');
    const { code, find, learnt } = await examine(text + SINK, simulator.caPem);
    expect(code).toBe(1);
    expect(find('rights')).toMatchObject({ result: 'warning', message: 'may not read the configuration' });
    expect(learnt['account']).toEqual({ reads_configuration: false });
    expect(find('status device_info')?.result).toBe('ok');
    expect(find('status profiles')).toMatchObject({
      result: 'warning',
      message: 'not permitted for this account',
      hint: expect.stringContaining('modules: [default, "!profiles"]') as string,
    });
    expect(find('log list')).toMatchObject({
      result: 'failed',
      message: 'not permitted for this account',
      hint: expect.stringContaining('logs.enabled: false') as string,
    });
    const withoutSinks = await examine(text, simulator.caPem);
    expect(withoutSinks.code).toBe(0);
    expect(withoutSinks.find('log list')?.result).toBe('warning');
    expect(withoutSinks.routers[0]?.result).toBe('warning');
  });

  test('leaves logs alone that are not wanted', async () => {
    const { code, steps, find } = await examine(configure('logs: { enabled: false }') + SINK, simulator.caPem);
    expect(code).toBe(0);
    expect(find('logs')).toEqual({ step: 'logs', result: 'skipped', message: 'logs.enabled is false' });
    expect(steps.some(({ step }) => step.startsWith('log '))).toBe(false);
  });

  test('says that readwrite is more than is needed', async () => {
    const { find } = await examine(configure('', 'username: admin, tls: { ca_file: ca.pem }'), simulator.caPem);
    expect(find('rights')?.message).toBe('group readwrite, more than needed: the agent changes nothing');
  });

  test.each([
    ['auth: basic, username: a', 'hidden-password', 'auth: basic'],
    ['auth: none', undefined, 'requires authentication'],
  ])('says with %s that the router takes no such requests', async (auth, password, hint) => {
    const url = await serve((_request, response) => response.writeHead(401).end());
    const secret = password === undefined ? '' : `, password: ${password}`;
    const { code, steps, find } = await examine(`routers: [{ name: plant-7, url: "${url}", ${auth}${secret} }]\n`);
    expect(code).toBe(1);
    expect(listSteps(steps).slice(2, 5)).toEqual(['tls skipped', 'auth failed', 'rights skipped']);
    expect(find('tls')?.message).toContain('unencrypted');
    expect(find('auth')?.hint).toContain(hint);
  });
});
