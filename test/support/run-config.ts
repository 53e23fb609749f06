import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Simulator } from '../../src/simulator/index.ts';

/** A folder with a configuration for `run`, as an operator would write it. */
export interface RunConfig extends AsyncDisposable {
  readonly file: string;
}

/** Writes a configuration for all routers of `simulator`, with short intervals, `stdout` sinks of these names, and others as YAML. */
export async function writeRunConfig(
  simulator: Simulator,
  username = 'monitor',
  sinks: readonly string[] = ['console'],
  others: readonly string[] = [],
): Promise<RunConfig> {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-run-'));
  const file = join(folder, 'router-exporter.yaml');
  await writeFile(join(folder, 'ca.pem'), simulator.caPem);
  await writeFile(join(folder, 'password'), 'simulated\n');
  const routers = simulator.routers.map(({ name, url }) => `  - { name: ${name}, url: "${url}" }\n`).join('');
  await writeFile(
    file,
    `web: { listen: ["127.0.0.1:0"] }
defaults:
  username: ${username}
  password_file: password
  tls: { ca_file: ca.pem }
  timezone: Europe/Berlin
  poll: { interval: 1s, timeout: 1s, deadline: 1s, stale_after: 1m }
  logs: { interval: 1s }
routers:
${routers}sinks: [${[...sinks.map((name) => `{ name: ${name}, type: stdout }`), ...others].join(', ')}]
`,
  );
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
