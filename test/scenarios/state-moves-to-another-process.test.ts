import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

const ROUTERS = 6;
const URL_PATTERN = /"urls":\["([^"]+)"/;

interface Shipped {
  readonly uid: string;
  readonly router: string;
}

function readShipped(text: string): readonly Shipped[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Shipped);
}

test.skipIf(sampled('processes of a fleet', false, true))(
  `routers move to a new process with their state: every log goes on at its byte, and no line is shipped twice${sampleNote('processes of a fleet')}`,
  {
    timeout: 120_000,
  },
  async () => {
    await using simulator = await startSimulator({ routers: ROUTERS, clock: createSystemClock(), seed: 1 });
    const shipped = (index: number) => `{ name: store, type: file, path: shipped-${index}.jsonl }`;
    await using config = await writeRunConfig(simulator, 'monitor', [], [shipped(0)]);
    const folder = dirname(config.file);
    const flagsOf = (index: number, total: number) => [
      ...['--config.file', config.file, '--log.format', 'json', '--storage.path', join(folder, `exporter-${index}`)],
      ...['--shard', String(index), '--total-shards', String(total)],
    ];
    const read = async (index: number) => readShipped(await readFile(join(folder, `shipped-${index}.jsonl`), 'utf8'));
    const append = (text: string) => {
      for (const router of simulator.routers) router.appendLog('network', text);
    };
    append('before the move');
    {
      await using agent = startRouterExporter('run', ...flagsOf(0, 1));
      await agent.waitFor('stderr', URL_PATTERN);
      const isWhole = async () =>
        new Set(
          (await read(0).catch(() => []))
            .filter((record) => JSON.stringify(record).includes('before the move'))
            .map(({ router }) => router),
        ).size;
      await expect.poll(isWhole, { timeout: 60_000 }).toBe(ROUTERS);
      agent.process.kill('SIGTERM');
      expect((await agent.ended).code).toBe(0);
    }
    append('while nobody read');

    const file = join(folder, 'moved.db');
    const storageOf = (index: number) => [
      '--config.file',
      config.file,
      '--storage.path',
      join(folder, `exporter-${index}`),
    ];
    const written = await runCommand([
      ...['state', 'export', ...storageOf(0), '--for-shard', '1', '--total-shards', '2', '--remove', '--output', file],
    ]);
    expect([written.stderr, written.code]).toEqual(['', 0]);
    expect(written.stdout).toMatch(
      /^Moved to .*moved\.db: [1-5] routers?, \d+ log positions, [\d,]+ undelivered records?, 0 dead letters\n$/,
    );
    const added = await runCommand(['state', 'import', ...storageOf(1), file]);
    expect([added.stderr, added.code]).toEqual(['', 0]);
    expect(added.stdout.replace(/^\w+ from/, '')).toBe(written.stdout.replace(/^\w+ to/, ''));

    await using first = startRouterExporter('run', ...flagsOf(0, 2));
    await first.waitFor('stderr', URL_PATTERN);
    await writeFile(config.file, (await readFile(config.file, 'utf8')).replace(shipped(0), shipped(1)));
    await using second = startRouterExporter('run', ...flagsOf(1, 2));
    await second.waitFor('stderr', URL_PATTERN);
    const readAll = async () => [...(await read(0)), ...(await read(1).catch(() => []))];
    const countAfter = async () =>
      (await readAll()).filter((record) => JSON.stringify(record).includes('while nobody read')).length;
    await expect.poll(countAfter, { timeout: 60_000 }).toBe(ROUTERS);
    const records = await readAll();
    expect(new Set(records.map(({ uid }) => uid)).size).toBe(records.length);
    // A log without its position would be read from its beginning.
    expect((await read(1)).filter((record) => JSON.stringify(record).includes('before the move'))).toEqual([]);
    for (const agent of [first, second]) {
      agent.process.kill('SIGTERM');
      expect((await agent.ended).code).toBe(0);
    }
  },
);
