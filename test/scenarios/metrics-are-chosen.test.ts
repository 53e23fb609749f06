import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';

test('metrics are allowed and denied by name and labels at every layer, and unneeded resources are not requested', async () => {
  await using simulator = await startSimulator({ routers: 4, clock: createSystemClock(), seed: 7 });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-chosen-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(join(folder.path, 'ca.pem'), simulator.caPem);
  const [plain, grouped, own, all] = simulator.routers;
  await writeFile(
    file,
    `defaults:
  username: monitor
  password: simulated
  tls: { ca_file: ca.pem }
  modules: [device, system, interfaces]
  metrics: { deny: [router_load*, { name: router_interface_*, labels: { interface: "net*" } }] }
groups:
  small: { metrics: { allow: [router_uptime_seconds, router_board_info] } }
routers:
  - { name: plain, url: "${plain?.url}" }
  - { name: grouped, url: "${grouped?.url}", groups: [small] }
  - { name: own, url: "${own?.url}", groups: [small], metrics: { allow: [router_load1], deny: [] } }
  - { name: all, url: "${all?.url}", metrics: { deny: [] } }
`,
  );
  const { code, stdout } = await runCommand(['run', '--once', '--config.file', file, '--storage.path', folder.path]);
  expect(code).toBe(0);
  const list = (router: string, name: RegExp) =>
    stdout
      .split('\n')
      .filter((line) => line.includes(`router="${router}"`) && name.test(line))
      .map((line) => line.slice(0, line.lastIndexOf(' ')));
  /** Names of what its modules give. */
  const listNames = (router: string) => [
    ...new Set(list(router, /^router_(?:uptime|load|board|interface|memory)/).map((line) => line.split('{')[0])),
  ];
  const asked = (router: typeof plain) => Object.keys(router?.counters.requests ?? {});

  expect(list('all', /^router_load1\{/)).toHaveLength(1);
  const interfaces = list('all', /^router_interface_\w+\{/);
  const denied = interfaces.filter((line) => line.includes('interface="net'));
  expect(denied.length).toBeGreaterThan(0);
  expect(denied.length).toBeLessThan(interfaces.length);
  // `defaults`: by name, and by name and label.
  expect(list('plain', /^router_load/)).toEqual([]);
  expect(list('plain', /^router_interface_\w+\{.*interface="net/)).toEqual([]);
  expect(list('plain', /^router_interface_\w+\{/).length).toBeGreaterThan(0);
  // The list of a group in addition to that of `defaults`; the lists of a router instead of both.
  expect(new Set(listNames('grouped'))).toEqual(new Set(['router_board_info', 'router_uptime_seconds']));
  expect(listNames('own')).toEqual(expect.arrayContaining(['router_load1']));
  expect(list('own', /^router_(?:uptime|interface)/)).toEqual([]);
  const path = 'GET /status/sysdetail/ip_addresses';
  expect([plain, grouped, own, all].map((router) => asked(router).includes(path))).toEqual([true, false, false, true]);
});
