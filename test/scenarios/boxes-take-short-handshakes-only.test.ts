import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { type GreetingFault, openCountingProxy } from '../client/counting-proxy.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { createTestAuthority } from '../web/certificates.ts';

/** What a device or a firewall does with a first message of TLS that does not fit its buffer. */
const FAULTS: readonly GreetingFault[] = ['reset', 'alert', 'silence'];

test('routers and sinks behind boxes that take first messages of TLS of 1 KiB are reached, and doctor and log say so', async () => {
  await using simulator = await startSimulator({ routers: 3, clock: createSystemClock(), seed: 7 });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-boxes-'));
  const authority = createTestAuthority('lake');
  await using server = await openHttpServer({ certificate: authority.issue('server', '127.0.0.1') });
  await using boxes = new AsyncDisposableStack();
  const openBox = async (url: string, fault: GreetingFault) =>
    boxes.use(await openCountingProxy(Number(new URL(url).port), ({ length }) => length > 1024, fault));
  const routers = await Promise.all(
    simulator.routers.map(async ({ name, url }, index) => {
      const { port } = await openBox(url, FAULTS[index] ?? 'reset');
      return `  - { name: ${name}, url: "https://127.0.0.1:${port}" }\n`;
    }),
  );
  const writeConfig = async (name: string) => {
    const { port } = await openBox(server.url, 'reset');
    const file = join(folder.path, `${name}.yaml`);
    const { pathname } = new URL(server.url);
    await writeFile(
      file,
      `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${name} }
defaults:
  username: monitor
  password: simulated
  tls: { ca_file: routers.pem }
  modules: [device]
  poll: { interval: 1s, timeout: 1s, deadline: 1s, stale_after: 1m }
  logs: { interval: 1s }
routers:
${routers.join('')}sinks: [{ name: lake, type: http, url: "https://127.0.0.1:${port}${pathname}", tls: { ca_file: lake.pem } }]
`,
    );
    return file;
  };
  await writeFile(join(folder.path, 'routers.pem'), simulator.caPem);
  await writeFile(join(folder.path, 'lake.pem'), authority.caPem);
  const words = 'ended the connection at a TLS ClientHello of 1.6 KB, and accepts one of 0.4 KB';

  const doctor = await runCommand(['doctor', '--config.file', await writeConfig('doctor')]);
  expect(doctor.stdout).toMatch(new RegExp(`^ {2}tls +warning +127\\.0\\.0\\.1:\\d+ ${words}`, 'm'));
  expect(doctor.stdout).toMatch(/^ {2}test record +ok /m);
  for (const { name } of simulator.routers) expect(doctor.stdout).not.toContain(`${name}  failed`);

  for (const router of simulator.routers) router.appendLog('network', 'a line');
  const taken = server.records().length;
  const stop = new AbortController();
  let log = '';
  const running = runCommand(['run', '--config.file', await writeConfig('agent')], {
    signal: stop.signal,
    onStderr: (text) => {
      log += text;
    },
  });
  await expect.poll(() => server.records().length).toBeGreaterThanOrEqual(taken + 3);
  stop.abort();
  expect((await running).code).toBe(0);
  expect(log.split('\n').filter((line) => line.includes('Sink warning') && line.includes(words))).toHaveLength(1);
  expect(log).not.toContain('failed at TLS');
});
