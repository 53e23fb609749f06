import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { createFileSettings } from '../support/sink-settings.ts';

const MINUTE_MS = 60_000;

test('of two agents with a sink for the same file, the second says so at its start, loses nothing, and goes on when the first has ended', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-shared-'));
  const path = join(folder.path, 'records.jsonl');
  const start = () => startFleet({ config: (config) => ({ ...config, sinks: [createFileSettings('disk', path)] }) });
  await using first = await start();
  first.router().appendLog('network', 'of the first');
  await first.advance(2 * MINUTE_MS);
  const before = await readFile(path, 'utf8');
  expect(before).toContain('of the first');

  await using second = await start();
  const faults = () => second.ownLog.filter(({ message }) => message === 'A sink failed');
  await expect.poll(faults).toMatchObject([
    {
      level: 'warn',
      fields: { sink: 'disk', error: expect.stringContaining(`Another agent already writes ${path}`) },
    },
  ]);
  expect(await second.metrics('/metrics/agent')).toMatch(/^router_exporter_sink_up\{sink="disk"\} 0$/m);
  second.router().appendLog('network', 'of the second');
  await second.advance(5 * MINUTE_MS);
  expect(await readFile(path, 'utf8')).toBe(before);

  await first.stopAgent();
  await second.advance(5 * MINUTE_MS);
  expect(await readFile(path, 'utf8')).toContain('of the second');
  expect(await second.metrics('/metrics/agent')).toMatch(/^router_exporter_sink_up\{sink="disk"\} 1$/m);
});
