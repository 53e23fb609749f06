import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { type SimulatedRouter, startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { replay, writeBundleConfig, writeBundles } from '../support/bundles.ts';

test('a bundle becomes modules for what no shipped module reads, and the replayed device passes their test', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-draft-'));
  await using simulator = await startSimulator({ routers: 1, clock: createSteppedClock(0), seed: 7 });
  const [router] = simulator.routers as [SimulatedRouter];
  router.setStatus('wlan1', {
    unique: { channel: '11', ssid: 'PlantNet' },
    list: [{ station: 'a', rate: '54 Mbit/s' }],
  });
  const [file = ''] = await writeBundles(simulator, folder.path);
  const draft = join(folder.path, 'draft');
  const drafted = await runCommand(['discover', '--from', file, '--output', draft]);
  expect(drafted).toMatchObject({ code: 0, stdout: '' });
  const again = await runCommand(['discover', '--from', file, '--output', draft]);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already contains modules.yaml and 1 more') });
  expect(await runCommand(['discover', '--from', file, '--output', draft, '--force'])).toMatchObject({ code: 0 });
  const modules = await readFile(join(draft, 'modules.yaml'), 'utf8');
  const series = await readFile(join(draft, 'metrics.prom'), 'utf8');
  expect(modules).toMatch(/^wlan:$/m);
  expect(modules).toContain('Left out: looks like a secret, or identifies a person or place: ssid');
  expect(series).toContain('router_wlan_channel{router="sim-1",slot="1"} 11\n');
  // A shipped module reads these, in part.
  expect(modules).not.toMatch(/^(?:lte|device_info|sysdetail_system|profiles)\b/m);

  const [, resources = ''] = /"router-exporter status sim-1 (.*) --metrics"/.exec(drafted.stderr) ?? [];
  expect(resources.split(' ')).toContain('wlan1');
  const names = [...modules.matchAll(/^(\w+):$/gm)].map(([, name]) => name);
  const others = `module_files: [draft/modules.yaml]\n`;
  await replay(folder.path, [file], async (routers) => {
    const config = await writeBundleConfig(folder.path, routers, { others, modules: names.join(', ') });
    expect(await runCommand(['check', '--config.file', config])).toMatchObject({ code: 0 });
    const shown = await runCommand(['status', 'sim-1', ...resources.split(' '), '--metrics', '--config.file', config]);
    expect(shown).toEqual({ code: 0, stderr: '', stdout: series });
  });
});
