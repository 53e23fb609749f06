import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProgram } from './child.ts';
import { findFreePort } from './free-port.ts';

interface Vector {
  readonly data: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
  };
}

/** A real Prometheus with one scrape configuration and groups of rules, until it is disposed of. */
export async function startPrometheus(scrapeConfig: object, groups: readonly object[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-prometheus-'));
  await writeFile(join(folder, 'rules.yml'), JSON.stringify({ groups }));
  const config = { global: { evaluation_interval: '1s' }, rule_files: ['rules.yml'], scrape_configs: [scrapeConfig] };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await findFreePort()}`;
  const server = startProgram('prometheus', [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}`,
    `--web.listen-address=${address}`,
  ]);
  await server.waitFor('stderr', /Server is ready/);
  const ask = async <T>(path: string) => (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as T;
  return {
    /** `host:port` of its web interface. */
    address,
    count: async (query: string) => {
      const { data } = await ask<Vector>(`query?query=${encodeURIComponent(query)}`);
      return Number(data.result[0]?.value[1] ?? 0);
    },
    targets: async () => {
      const { data } = await ask<{ data: { activeTargets: { health: string; lastError: string }[] } }>('targets');
      return data.activeTargets;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
