import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram, startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { findTool } from '../support/tools.ts';

const prometheus = findTool('prometheus');
const promtool = findTool('promtool');

interface QueryResult {
  readonly data: {
    readonly result: readonly { readonly metric: { readonly router: string }; readonly value: [number, string] }[];
  };
}

test.skipIf(prometheus.isMissing)(
  `a Prometheus that scrapes the demo sees three routers up${prometheus.note}`,
  async () => {
    await using demo = startRouterExporter('demo', '--web.listen-address', '127.0.0.1:0');
    const [, target = ''] = await demo.waitFor('stderr', /Metrics\s+http:\/\/(\S+)\/metrics/);
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-prometheus-'));
    const config = `scrape_configs: [{job_name: demo, scrape_interval: 1s, static_configs: [{targets: ["${target}"]}]}]`;
    await writeFile(join(folder, 'prometheus.yml'), config);
    const address = `127.0.0.1:${await findFreePort()}`;
    const flags = [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}`,
      `--web.listen-address=${address}`,
    ];
    try {
      await using server = startProgram('prometheus', flags);
      await server.waitFor('stderr', /Server is ready/);
      const ask = async <T>(path: string) => (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as T;

      const query = () => ask<QueryResult>(`query?query=${encodeURIComponent('router_up == 1')}`);
      await expect.poll(async () => (await query()).data.result.length, { timeout: 20_000 }).toBe(3);

      const { data } = await query();
      expect(data.result.map(({ metric }) => metric.router).toSorted()).toEqual(['sim-1', 'sim-2', 'sim-3']);
      const targets = await ask<{ data: { activeTargets: { health: string; lastError: string }[] } }>('targets');
      expect(targets.data.activeTargets).toMatchObject([{ health: 'up', lastError: '' }]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(promtool.isMissing)(`promtool finds no fault in the metrics of the demo${promtool.note}`, async () => {
  await using demo = startRouterExporter('demo', '--web.listen-address', '127.0.0.1:0');
  const [, url = ''] = await demo.waitFor('stderr', /Metrics\s+(\S+)/);
  await demo.waitFor('stdout', /\.bz2/);
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');

  const check = spawnSync('promtool', ['check', 'metrics'], { input: await response.text(), encoding: 'utf8' });

  expect({ status: check.status, stdout: check.stdout, stderr: check.stderr }).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
});
