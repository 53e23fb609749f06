import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { Bundle, Simulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';

interface Address {
  readonly name: string;
  readonly url: string;
}

/** Writes a configuration for routers, whose authority is in `ca.pem` of the same folder. Returns its path. */
export async function writeBundleConfig(
  folder: string,
  routers: readonly Address[],
  { account = 'monitor', modules = 'default', others = '' } = {},
): Promise<string> {
  const file = join(folder, 'router-exporter.yaml');
  const list = routers.map(({ name, url }) => `  - { name: ${name}, url: "${url}" }\n`).join('');
  const poll = 'poll: { interval: 2m, timeout: 2s, deadline: 100s }';
  await writeFile(
    file,
    `${others}defaults: { username: ${account}, password: simulated, tls: { ca_file: ca.pem }, modules: [${modules}], ${poll} }\nrouters:\n${list}`,
  );
  return file;
}

/** Writes a bundle of every router of a simulator. Returns the files. */
export async function writeBundles(
  { routers, caPem }: Simulator,
  folder: string,
  flags: readonly string[] = [],
  options: Parameters<typeof writeBundleConfig>[2] = {},
): Promise<readonly string[]> {
  await writeFile(join(folder, 'ca.pem'), caPem);
  const config = await writeBundleConfig(folder, routers, options);
  const files: string[] = [];
  for (const { name } of routers) {
    const file = join(folder, `${name}.json.gz`);
    const end = await runCommand(['bundle', name, '--config.file', config, '--output', file, '--yes', ...flags]);
    expect(end).toMatchObject({ code: 0, stdout: '' });
    files.push(file);
  }
  return files;
}

/** Text of a bundle, as `gunzip -c` shows it. */
export async function expandBundle(file: string): Promise<string> {
  return gunzipSync(await readFile(file)).toString('utf8');
}

/** Replays bundles with `simulate --from` while `work` runs, which gets the addresses. The authority is in `ca.pem` of `folder`. */
export async function replay(
  folder: string,
  files: readonly string[],
  work: (routers: readonly Address[]) => Promise<void>,
): Promise<void> {
  const end = new AbortController();
  const from = files.flatMap((file) => ['--from', file]);
  const args = ['simulate', '--listen', '127.0.0.1:0', '--ca-out', join(folder, 'ca.pem'), ...from];
  const { promise, resolve } = Promise.withResolvers<string>();
  const running = runCommand(args, { signal: end.signal, onStdout: resolve });
  try {
    const shown = await Promise.race([promise, running.then(({ stderr }) => stderr)]);
    const routers = [...shown.matchAll(/^(sim-\d+) +(https:\S+) +from /gm)].map(([, name = '', url = '']) => ({
      name,
      url,
    }));
    expect([routers.length, shown]).toEqual([files.length, shown]);
    await work(routers);
  } finally {
    end.abort();
    await running;
  }
}

/** Series of one run of the whole agent over all routers of a configuration, by name and labels. */
export async function readSeries(folder: string, config: string): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await runCommand([
    'run',
    '--once',
    '--config.file',
    config,
    '--storage.path',
    join(folder, 'data'),
  ]);
  const lines = stdout.split('\n').filter((line) => /^router_(?!exporter)/.test(line));
  expect(lines.length).toBeGreaterThan(100);
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
}

/** Content of a bundle. */
export async function readBundleContent(file: string): Promise<Bundle> {
  return JSON.parse(await expandBundle(file)) as Bundle;
}
