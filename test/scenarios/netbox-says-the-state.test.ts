import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSteppedClock } from '../../src/base/index.ts';
import { loadConfig } from '../../src/config/index.ts';
import { SourceKeeper } from '../../src/inventory/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { type NetboxDevice, openNetbox } from '../support/netbox-server.ts';

const STEP_MS = 15_000;
/** Steps of the clock until an answer was read, checked and loaded: far more than it needs. */
const STEPS_MAX = 200;
/** Time of this machine for a request and what follows it, after each step. Milliseconds. */
const REQUEST_MS_MAX = 100;

test('devices of a NetBox are polled, exempt from alerts, or not polled, by their status', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-netbox-'));
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  await using simulator = await startSimulator({ routers: 1, clock, seed: 7 });
  const address = '127.0.0.1/8';
  const devices: NetboxDevice[] = [
    { name: 'one', address },
    { name: 'two', address, status: 'staged' },
    { name: 'three', address },
    { name: 'four', address, status: 'planned' },
    { name: 'five', address, status: 'decommissioning' },
    { name: 'six', address },
    { name: 'seven', address },
  ];
  await using netbox = await openNetbox('t', devices);
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(join(folder.path, 'ca.pem'), simulator.caPem);
  await writeFile(
    file,
    `web: { listen: ["127.0.0.1:0"] }
defaults: { username: monitor, password: simulated, tls: { ca_file: ca.pem }, modules: [device] }
router_sources:
  - type: netbox
    name: netbox
    url: "${netbox.url}"
    token: t
    port: ${new URL(simulator.routers[0]?.url ?? '').port}
    allowed_addresses: [127.0.0.0/8]
`,
  );
  const inventory = new SourceKeeper();
  const load = () => loadConfig(file, {}, { shippedModules: SHIPPED_MODULES_FOLDER, inventory });
  const loaded = await load();
  if (!loaded.ok) throw new RangeError(JSON.stringify(loaded.faults));
  const ownLog: OwnLine[] = [];
  const agent = await startAgent({
    config: loaded.config,
    sources: loaded.sources,
    inventory,
    reload: load,
    clock,
    version: '0.0.0-test',
    random: createSeededRandom(7),
    logger: createCollectingLogger(ownLog),
    stdout: process.stdout,
  });
  const readMetrics = async () => (await fetch(`${agent.urls[0]}/metrics`)).text();
  const until = async (holds: () => Promise<boolean>) => {
    for (let step = 0; step < STEPS_MAX; step++) {
      if (await holds()) return;
      await clock.advance(STEP_MS, () => agent.whenIdle());
      const begin = performance.now();
      while (performance.now() - begin < REQUEST_MS_MAX) await setImmediate();
    }
    throw new RangeError('It did not come to that');
  };
  const list = (text: string, name: string) =>
    [...text.matchAll(new RegExp(`^${name}\\{router="(\\w+)".*\\} 1$`, 'gm'))]
      .map(([, router = '']) => router)
      .toSorted((a, b) => a.localeCompare(b));
  try {
    await until(async () => list(await readMetrics(), 'router_up').length === 5);
    const first = await readMetrics();
    expect(list(first, 'router_up')).toEqual(['one', 'seven', 'six', 'three', 'two']);
    expect(list(first, 'router_maintenance')).toEqual(['two']);
    expect(first).toContain('router_exporter_routers{state="paused"} 1\n');
    expect(first).toContain('router_exporter_routers{state="retired"} 1\n');

    // One goes offline; no other router is restarted.
    const { logins = 0 } = simulator.routers[0]?.counters ?? {};
    devices[2] = { name: 'three', address, status: 'offline' };
    await until(async () => list(await readMetrics(), 'router_up').length === 4);
    expect(list(await readMetrics(), 'router_up')).toEqual(['one', 'seven', 'six', 'two']);
    expect(simulator.routers[0]?.counters.logins).toBe(logins);

    // All at once is no news, but a fault of the list.
    for (const [index, device] of devices.entries()) devices[index] = { ...device, status: 'inventory' };
    await until(async () => ownLog.some(({ message }) => message.startsWith('A source lacks many of its routers')));
    expect(list(await readMetrics(), 'router_up')).toEqual(['one', 'seven', 'six', 'two']);
  } finally {
    await agent.stop();
  }
});
