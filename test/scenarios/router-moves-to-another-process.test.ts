import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { startPrometheus } from '../support/prometheus-server.ts';
import { type RunConfig, writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 24;

/** Writes the addresses of all processes into the configuration. */
async function writePeers({ file }: RunConfig, ports: readonly number[]): Promise<void> {
  const peers = JSON.stringify(ports.map((port) => `http://127.0.0.1:${port}`));
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/^web: .*$/m, `web: { listen: ["127.0.0.1:0"], peers: ${peers} }`));
}

function startShard({ file }: RunConfig, index: number, port: number | undefined) {
  const storage = join(dirname(file), `exporter-${index}`);
  const flags = ['--config.file', file, '--log.format', 'json', '--storage.path', storage];
  const listen = `127.0.0.1:${port}`;
  return startRouterExporter('run', ...flags, '--shard', `exporter-${index}`, '--web.listen-address', listen);
}

/** Names of the routers of one process; with an empty 'query', as it shows the whole fleet. */
async function listNames(port: number | undefined, query = '?own=1'): Promise<string[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/routers${query}`);
  return ((await answer.json()) as { routers: { name: string }[] }).routers.map(({ name }) => name);
}

withPrograms(['prometheus'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `a process is added to a fleet, takes its share of the routers, and no scrape of a Prometheus fails meanwhile${sampleNote('processes of a fleet')}`,
  { timeout: 120_000 },
  async () => {
    await using simulator = await startSimulator({ routers: ROUTERS, clock: createSystemClock(), seed: 1 });
    await using config = await writeRunConfig(simulator);
    const ports = [await findFreePort(), await findFreePort(), await findFreePort()];
    await writePeers(config, ports.slice(0, 2));
    await using first = startShard(config, 0, ports[0]);
    await using second = startShard(config, 1, ports[1]);
    for (const agent of [first, second]) await agent.waitFor('stderr', /Started/);
    const before = await Promise.all(ports.slice(0, 2).map((port) => listNames(port)));
    expect(before.flat()).toHaveLength(ROUTERS);

    await using server = await startPrometheus({
      job_name: 'probe',
      // Also the limit of a scrape, which a busy machine needs.
      scrape_interval: '3s',
      http_sd_configs: [{ url: `http://127.0.0.1:${ports[0]}/sd`, refresh_interval: '1s' }],
      relabel_configs: [{ source_labels: ['__param_target'], target_label: 'router' }],
    });
    await expect.poll(() => server.count('count(up == 1)'), { timeout: 30_000 }).toBe(ROUTERS);

    await writePeers(config, ports);
    await using third = startShard(config, 2, ports[2]);
    await third.waitFor('stderr', /Started/);
    for (const agent of [first, second]) {
      agent.process.kill('SIGHUP');
      await agent.waitFor('stderr', /Loaded the configuration again/);
    }

    const after = await Promise.all(ports.map((port) => listNames(port)));
    expect(after.flat().toSorted()).toEqual(before.flat().toSorted());
    expect(after.slice(0, 2).every((names, index) => names.every((name) => before[index]?.includes(name)))).toBe(true);
    expect((await listNames(ports[1], '')).toSorted()).toEqual(after.flat().toSorted());
    const [moved = ''] = after[2] ?? [];
    // A process that does not know of the move yet redirects.
    const probe = await fetch(`http://127.0.0.1:${ports[0]}/probe?target=${moved}`);
    expect([probe.status, probe.redirected, new URL(probe.url).port]).toEqual([200, true, String(ports[2])]);
    const atThird = `count(up{instance="127.0.0.1:${ports[2]}"} == 1)`;
    await expect.poll(() => server.count(atThird), { timeout: 30_000 }).toBe(after[2]?.length);
    await expect.poll(() => server.count('count(up == 1)'), { timeout: 30_000 }).toBe(ROUTERS);
    expect(await server.count('count(min_over_time(up[5m]) == 0)')).toBe(0);
    const own = await (await fetch(`http://127.0.0.1:${ports[2]}/metrics/agent`)).text();
    expect(own).toContain('\nrouter_exporter_shard 2\n');
    expect(own).toContain('\nrouter_exporter_total_shards 3\n');
  },
);
