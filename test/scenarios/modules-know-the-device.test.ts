import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';

test('a module takes labels from another resource, and asks each firmware and board for what is for it', async () => {
  await using simulator = await startSimulator({ routers: 3, clock: createSystemClock(), seed: 7 });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-modules-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(join(folder.path, 'ca.pem'), simulator.caPem);
  const [one, two, three] = simulator.routers;
  const boards = (type: string, firmware: string) => ({
    list: [{ board_type: type, firmware_version: firmware, serial_number: '7' }],
  });
  one?.setStatus('device_info', boards('M3CPU', '9.10-rc1'));
  two?.setStatus('device_info', boards('M3CPU', '9.9'));
  three?.setStatus('device_info', boards('OTHER', '9.10'));
  for (const router of simulator.routers) {
    router.setStatus('generator2', {
      list: [
        { tank: '1', fuel: '63 %' },
        { tank: '2', fuel: '7 %' },
      ],
    });
    router.setStatus('generator_tanks', { list: [{ id: '1', place: 'cellar' }] });
  }
  await writeFile(
    file,
    `modules:
  generator:
    help: The generator.
    resources:
      - path: generator*
        optional: true
        each: status.list
        when: { firmware: ">=9.10" }
        join: { path: generator_tanks, each: status.list, by: tank, key: id }
        labels: { tank: tank, place: "@place" }
        metrics:
          - { name: router_generator_fuel_ratio, help: Fuel., type: gauge, value: fuel, form: percentage }
          - { name: router_generator_fuel_percent, help: Fuel of certain boards., type: gauge, value: fuel, form: percentage, factor: 100, when: { board: ["M3CP?"] } }
defaults: { username: monitor, password: simulated, tls: { ca_file: ca.pem }, modules: [generator] }
routers:
${simulator.routers.map(({ name, url }) => `  - { name: ${name}, url: "${url}" }\n`).join('')}`,
  );
  const { code, stdout } = await runCommand(['run', '--once', '--config.file', file, '--storage.path', folder.path]);
  expect(code).toBe(0);
  const series = stdout.split('\n').filter((line) => line.startsWith('router_generator_'));
  const expected = (router: string, name: string, full: number, low: number) => [
    `router_generator_fuel_${name}{router="${router}",tank="1",place="cellar"} ${full}`,
    `router_generator_fuel_${name}{router="${router}",tank="2"} ${low}`,
  ];
  const ofFirst = [...expected('sim-1', 'ratio', 0.63, 0.07), ...expected('sim-1', 'percent', 63, 7)];
  const byText = (a: string, b: string) => a.localeCompare(b);
  expect(series.toSorted(byText)).toEqual([...ofFirst, ...expected('sim-3', 'ratio', 0.63, 0.07)].toSorted(byText));
  const isAsked = (router: typeof one) =>
    Object.keys(router?.counters.requests ?? {}).some((request) => request.includes('generator2'));
  expect([one, two, three].map(isAsked)).toEqual([true, false, true]);

  const shown = await runCommand(['status', 'sim-1', 'generator2', '--metrics', '--config.file', file]);
  const lines = shown.stdout.split('\n').filter((line) => line.startsWith('router_generator_'));
  expect([shown.stderr, lines.toSorted(byText)]).toEqual(['', ofFirst.toSorted(byText)]);
});
