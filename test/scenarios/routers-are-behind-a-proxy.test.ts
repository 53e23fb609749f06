import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSystemClock } from '../../src/base/index.ts';
import { loadConfig } from '../../src/config/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { openConnectProxy } from '../support/proxies.ts';

const PASSWORD = 'pw-of-the-proxy';

test('a router is reached through a proxy, from an own address, by the agent, doctor and discover', async () => {
  await using simulator = await startSimulator({ routers: 2, clock: createSystemClock(), seed: 7 });
  await using proxy = await openConnectProxy({ account: `agent:${PASSWORD}` });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-proxy-'));
  const file = join(folder.path, 'router-exporter.yaml');
  const [far, near] = simulator.routers;
  await writeFile(join(folder.path, 'ca.pem'), simulator.caPem);
  await writeFile(join(folder.path, 'pw'), PASSWORD);
  const configure = (password: string) =>
    writeFile(
      file,
      `defaults: { username: monitor, password: simulated, tls: { ca_file: ca.pem }, modules: [device] }
groups:
  far:
    source_address: 127.0.0.2
    proxy: { url: "http://127.0.0.1:${proxy.port}", username: agent, ${password} }
routers:
  - { name: far, url: "${far?.url}", groups: [far] }
  - { name: near, url: "${near?.url}" }
`,
    );
  await configure('password_file: pw');
  const flags = ['--config.file', file];
  const once = ['run', '--once', ...flags, '--storage.path', join(folder.path, 'state')];
  const target = new URL(far?.url ?? '').host;

  const first = await runCommand(once);
  expect({ code: first.code, stderr: first.stderr }).toMatchObject({ code: 0 });
  expect(first.stdout).toContain('router_up{router="far"} 1\n');
  expect(first.stdout).toContain('router_up{router="near"} 1\n');
  expect(proxy.asked).toEqual([{ target, account: `agent:${PASSWORD}`, from: '127.0.0.2' }]);
  expect(proxy.others).toEqual([]);

  const doctor = await runCommand(['doctor', 'far', ...flags]);
  expect(doctor.stdout).toMatch(/^ {2}dns +ok .* proxy 127\.0\.0\.1$/m);
  expect(doctor.stdout).toContain(` proxy 127.0.0.1 port ${proxy.port} from 127.0.0.2, which connects to ${target}\n`);
  expect(doctor.stdout).toMatch(/^ {2}tls +ok .*CN=sim-1/m);
  expect(doctor.stdout).toMatch(/^ {2}auth +ok .* as monitor$/m);

  const discovered = await runCommand(['discover', 'far', ...flags]);
  expect(discovered.code).toBe(0);
  expect(discovered.stdout).toContain('sysdetail/');
  // Two connections of the doctor, one of discover.
  expect(proxy.asked.map((one) => [one.target, one.from])).toEqual(
    Array.from({ length: 4 }, () => [target, '127.0.0.2']),
  );

  // A proxy that refuses is named, and affects no other router; its password is nowhere.
  await configure('password: pw-that-is-wrong');
  const refused = await runCommand(once);
  expect(refused.code).toBe(1);
  expect(refused.stdout).toContain('router_up{router="far"} 0\n');
  expect(refused.stdout).toContain('router_up{router="near"} 1\n');
  expect(refused.stderr).toContain('requires another login: it answered with 407');
  const examined = await runCommand(['doctor', 'far', ...flags]);
  expect(examined.stdout).toMatch(/^ {2}connect +failed .* requires another login/m);
  expect(examined.stdout).toContain('Check proxy.username and proxy.password of this router');
  const shown = await runCommand(['check', '--show', 'far', ...flags]);
  expect(shown.stdout).toContain('password: "[secret]"');
  for (const { stdout, stderr } of [refused, examined, shown]) expect(stdout + stderr).not.toContain('pw-that');
});

const TOKEN = 'static-token-0123456789';
const KEY = 'key-of-the-gateway';

/** A device of other makers: it knows one token, and one header of the gateway before it. */
async function serveDevice(redirectTo: string | undefined, requests: IncomingMessage[]) {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    const { authorization } = request.headers;
    const isRight = authorization === `Bearer ${TOKEN}` && request.headers['x-api-key'] === KEY;
    if (redirectTo !== undefined) {
      response.writeHead(302, { location: `${redirectTo}${request.url}` }).end();
      return;
    }
    // A careless device quotes what it was sent.
    const body = isRight
      ? { status: { unique: { host_name: 'plant', serial_number: `${KEY} ${TOKEN}`, firmware: '1.0' } } }
      : { error: [{ headers: `${authorization} ${String(request.headers['x-api-key'])}` }] };
    response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a token and headers go to the router alone, whatever it answers, and are shown nowhere', async () => {
  const requests: IncomingMessage[] = [];
  const redirecting: IncomingMessage[] = [];
  await using device = await serveDevice(undefined, requests);
  await using hostile = await serveDevice(device.url, redirecting);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-token-'));
  const file = join(folder.path, 'router-exporter.yaml');
  const write = (key: string) =>
    writeFile(
      file,
      `web: { listen: ["127.0.0.1:0"] }
modules:
  plant:
    help: A plant.
    resources:
      - path: plant
        metrics:
          - { name: router_plant_info, help: A plant., type: info, labels: { serial: serial_number } }
defaults: { auth: bearer, bearer_token: ${TOKEN}, headers: { X-Api-Key: ${key} }, modules: [plant] }
routers:
  - { name: device, url: "${device.url}" }
  - { name: hostile, url: "${hostile.url}" }
`,
    );
  await write(KEY);
  const flags = ['--config.file', file];
  const once = ['run', '--once', ...flags, '--storage.path', join(folder.path, 'state')];

  const { code, stdout, stderr } = await runCommand(once);
  expect(code).toBe(1);
  expect(stdout).toContain('router_up{router="device"} 1\n');
  expect(stdout).toContain('router_up{router="hostile"} 0\n');
  expect(stdout).toContain('router_plant_info{router="device",serial="[secret] [secret]"} 1\n');
  // No login, and no request that follows the redirect with the token.
  for (const asked of [requests, redirecting]) {
    expect(new Set(asked.map(({ url }) => url))).toEqual(new Set(['/api/v2_0/status/plant']));
  }

  const doctor = await runCommand(['doctor', 'device', ...flags]);
  expect(doctor.stdout).toMatch(/^ {2}auth +ok .* with the token of the configuration$/m);
  expect(doctor.stdout).toMatch(/^ {2}rights +skipped .* the token names no account$/m);
  const shown = await runCommand(['check', '--show', 'device', ...flags]);
  expect(shown.stdout).toContain('bearer_token: "[secret]"');
  expect(shown.stdout).toMatch(/^headers:\n {2}X-Api-Key: "\[secret\]" # .*router-exporter\.yaml:9$/m);

  await write('another-key');
  const refused = await runCommand(once);
  expect(refused.stdout).toContain('router_up{router="device"} 0\n');
  expect(refused.stderr).toContain('401');

  const ownLog: OwnLine[] = [];
  const load = () => loadConfig(file, {}, { shippedModules: SHIPPED_MODULES_FOLDER });
  const loaded = await load();
  if (!loaded.ok) throw new RangeError(JSON.stringify(loaded.faults));
  const config = { ...loaded.config, storage: { ...loaded.config.storage, path: join(folder.path, 'other') } };
  const agent = await startAgent({
    config,
    reload: load,
    clock: createSystemClock(),
    version: '0.0.0-test',
    random: createSeededRandom(7),
    logger: createCollectingLogger(ownLog),
    stdout: process.stdout,
  });
  try {
    const page = await (await fetch(`${agent.urls[0]}/config?router=device`)).text();
    expect(page).toContain('X-Api-Key');
    const texts = [stdout, stderr, doctor.stdout, shown.stdout, refused.stdout, refused.stderr, page];
    for (const text of [...texts, JSON.stringify(ownLog)]) {
      for (const secret of [TOKEN, KEY, 'another-key']) expect(text).not.toContain(secret);
    }
  } finally {
    await agent.stop();
  }
});
