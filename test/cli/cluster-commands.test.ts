import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { Membership } from '../../src/cluster/membership.ts';
import { loadConfig } from '../../src/config/index.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';
import { runCommand } from './run-command.ts';

withPrograms(['nats-server'], test)(
  'cluster init sets up what replicas need, and cluster status lists them',
  async () => {
    await using server = await openNatsServer();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-cluster-'));
    const file = join(folder.path, 'router-exporter.yaml');
    await writeFile(
      file,
      `cluster: { nats: { servers: ["${server.url}"], name: plant, replica: a, replicas: 1, max_bytes: 64MiB } }
routers: [{ name: plant-1, url: "http://192.0.2.1", auth: none }, { name: plant-2, url: "http://192.0.2.2", auth: none }]
`,
    );
    const run = (...args: string[]) => runCommand(['cluster', ...args, '--config.file', file]);

    const early = await run('status');
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('cluster init')]);
    const created = [
      'RX_plant (positions and records) was created',
      'RXD_plant (dead letters) was created',
      'KV_rx_plant (members and owners) was created',
    ];
    expect(await run('init')).toMatchObject({
      code: 0,
      stdout: `${created.join('\n')}\n`,
      stderr: expect.stringContaining('Each server needs "sync_interval: always"'),
    });
    // What is missing is created, and nothing else is touched.
    await server.removeStream('RXD_plant');
    const again = created.map((line) =>
      line.startsWith('RXD') ? line : line.replace('was created', 'is there already'),
    );
    expect(await run('init')).toMatchObject({ code: 0, stdout: `${again.join('\n')}\n` });
    expect(await run('status')).toMatchObject({ code: 1, stdout: expect.stringMatching(/^REPLICA +STATE/) });

    const loaded = await loadConfig(file, {});
    const settings = loaded.ok ? loaded.config.cluster : undefined;
    if (!settings) return expect.unreachable('the configuration has faults');
    const own = { incarnation: 'run-1', version: '1.2.3', startedMs: 0, report: () => {} };
    const membership = new Membership({ settings, clock: createSystemClock(), ...own });
    membership.setRouters(['plant-1', 'plant-2']);
    membership.start(() => {});
    await vi.waitFor(() => expect(membership.lease.isHeld).toBe(true), { timeout: 20_000 });
    await membership.claim('plant-2');
    const status = await run('status', '--json');
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({
      cluster: 'plant',
      areListsDifferent: false,
      replicas: [{ replica: 'a', state: 'member', version: '1.2.3', routers: 1 }],
    });
    await membership.close();
  },
);

test('without a section cluster, its commands say so', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-cluster-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(file, 'routers: [{ name: plant-1, url: "http://192.0.2.1", auth: none }]\n');
  const { code, stderr } = await runCommand(['cluster', 'status', '--config.file', file]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('no section "cluster"')]);
});
