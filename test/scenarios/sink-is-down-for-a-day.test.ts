import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import type { SinkSettings } from '../../src/sinks/index.ts';
import { startFleet } from '../support/fleet.ts';
import { findFreePort } from '../support/free-port.ts';
import { createFileSettings, createHttpSettings } from '../support/sink-settings.ts';
import { readRotatedRecords } from '../support/sinks/file-records.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';

const HOUR_MS = 3_600_000;
const LINES_PER_HOUR = 200;
const MEBIBYTE = 1024 ** 2;

function createSinks(url: string, path: string): SinkSettings[] {
  return [
    createFileSettings('disk', path, { max_size: MEBIBYTE, max_age: 30 * 24 * HOUR_MS }),
    createHttpSettings('collector', url),
  ];
}

test('case 70: while one sink is down for a day the other is current; then the first catches up without loss or repeat', async () => {
  const port = await findFreePort();
  let folder = '';
  await using fleet = await startFleet({
    simulator: { logs: { maxFiles: 100 } },
    router: {
      poll: {
        interval: HOUR_MS,
        timeout: 10_000,
        connect_timeout: 5000,
        deadline: 45_000,
        stale_after: 3 * HOUR_MS,
      },
      logs: { enabled: true, interval: 20 * 60_000, start: 'all', components: ['network'] },
    },
    config: (config: Config) => {
      folder = config.storage.path;
      return { ...config, sinks: createSinks(`http://127.0.0.1:${port}/ingest`, join(folder, 'records.jsonl')) };
    },
  });
  const router = fleet.router();
  let written = 0;
  for (let hour = 0; hour < 25; hour++) {
    for (let line = 0; line < LINES_PER_HOUR; line++) {
      router.appendLog(
        'network',
        `line ${written++} ${String(written * 7919)
          .repeat(60)
          .slice(0, 400)}`,
      );
    }
    await fleet.advance(HOUR_MS);
  }

  const before = await readSinks(fleet);
  expect(before['disk']).toMatchObject({ state: 'up', recordsWaiting: 0, lagSeconds: 0 });
  expect(before['collector']).toMatchObject({ state: 'down', recordsDelivered: 0 });
  expect(before['collector']?.recordsWaiting).toBe(25 * LINES_PER_HOUR);
  expect(before['collector']?.lagSeconds).toBeGreaterThan(23 * 3600);
  expect(await fleet.metrics('/metrics/agent')).toMatch(/^router_exporter_sink_up\{sink="collector"\} 0$/m);

  await using server = await openHttpServer({ port });
  await fleet.advance(10 * 60_000);
  const after = await readSinks(fleet);
  expect(after['collector']).toMatchObject({ state: 'up', recordsWaiting: 0, lagSeconds: 0, error: null });

  const onDisk = toUids(await readRotatedRecords(join(folder, 'records.jsonl')));
  expect(onDisk).toHaveLength(25 * LINES_PER_HOUR);
  expect(new Set(onDisk).size).toBe(onDisk.length);
  // In the same order, each once.
  expect(toUids(server.records())).toEqual(onDisk);
  expect(server.violations).toEqual([]);
}, 180_000);

async function readSinks(fleet: { metrics(path: string): Promise<string> }) {
  const { sinks } = JSON.parse(await fleet.metrics('/api/v1/sinks')) as { sinks: SinkState[] };
  return Object.fromEntries(sinks.map((sink) => [sink.name, sink]));
}

interface SinkState {
  readonly name: string;
  readonly recordsWaiting: number;
  readonly lagSeconds: number;
}

function toUids(records: readonly Readonly<Record<string, unknown>>[]): string[] {
  return records.map(({ uid }) => String(uid));
}
