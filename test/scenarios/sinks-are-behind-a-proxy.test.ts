import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { openConnectProxy } from '../support/proxies.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { createTestAuthority } from '../web/certificates.ts';

const PASSWORD = 'pw-of-the-proxy';
const VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy'];

/** Sets the variables of proxies, and no other of them. */
function stubProxies(env: Readonly<Record<string, string>>): void {
  for (const name of VARIABLES) vi.stubEnv(name, env[name]);
}

afterEach(() => void vi.unstubAllEnvs());

test('records go to a sink through the proxy of the environment; routers are asked directly, and doctor names the proxy', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
  await using proxy = await openConnectProxy({ account: `agent:${PASSWORD}` });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-proxy-'));
  const authority = createTestAuthority('test');
  await using server = await openHttpServer({ certificate: authority.issue('server', 'logs.example') });
  const url = server.url.replace('127.0.0.1', 'logs.example');
  const [router] = simulator.routers;
  for (let line = 0; line < 3; line++) router?.appendLog('network', `line ${line}`);
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(join(folder.path, 'ca.pem'), simulator.caPem);
  await writeFile(join(folder.path, 'sink.pem'), authority.caPem);
  await writeFile(
    file,
    `defaults: { username: monitor, password: simulated, tls: { ca_file: ca.pem }, modules: [device], logs: { start: 30d } }
routers:
  - { name: near, url: "${router?.url}" }
sinks:
  - { name: archive, type: http, url: "${url}", tls: { ca_file: sink.pem } }
`,
  );
  const flags = ['--config.file', file];
  const run = () => runCommand(['run', '--once', ...flags, '--storage.path', join(folder.path, 'state')]);
  const { host } = new URL(url);
  const address = `http://127.0.0.1:${proxy.port}`;

  stubProxies({ HTTPS_PROXY: `http://agent:${PASSWORD}@127.0.0.1:${proxy.port}` });
  const first = await run();
  expect(first.stdout).toContain('router_up{router="near"} 1\n');
  expect(server.records().length).toBeGreaterThan(0);
  expect(new Set(proxy.asked.map(({ target, account }) => `${target} ${account}`))).toEqual(
    new Set([`${host} agent:${PASSWORD}`]),
  );

  const doctor = await runCommand(['doctor', ...flags]);
  expect(doctor.stdout).toContain(`${url} through the proxy ${address} of HTTPS_PROXY can be reached`);
  const checked = await runCommand(['check', '--sinks', ...flags]);
  expect(checked.stdout).toContain(`through the proxy ${address} of HTTPS_PROXY can be reached`);

  // A proxy that is gone is named with the sink.
  await proxy[Symbol.asyncDispose]();
  const alone = await runCommand(['doctor', ...flags]);
  expect(alone.stdout).toContain(
    `Sink archive could not connect to ${url} through the proxy ${address} of HTTPS_PROXY`,
  );
  expect(alone.stdout).toContain(`The proxy ${address} cannot be reached: connect ECONNREFUSED`);
  expect(alone.stdout).toContain('Check HTTPS_PROXY in the environment of this process');

  // The name is known to the proxy alone.
  stubProxies({ HTTPS_PROXY: address, NO_PROXY: '.example' });
  const direct = await runCommand(['doctor', ...flags]);
  expect(direct.stdout).toContain(`Sink archive could not resolve the host name of ${url}`);
  for (const { stdout, stderr } of [first, doctor, checked, alone, direct]) {
    expect(stdout + stderr).not.toContain(PASSWORD);
  }
});
