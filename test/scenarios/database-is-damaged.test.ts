import { createHash } from 'node:crypto';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EmbeddedStore } from '../../src/store/index.ts';
import { startFleet } from '../support/fleet.ts';
import { openLogBench, SECOND_MS } from '../support/log-bench.ts';
import { destroyTree, drain, runSql, toStarts } from '../support/store-folder.ts';

const SINK = 'keyed';
/** Twice so many: before and after the sink is served. */
const ROTATIONS = 6;
const LINES_PER_FILE = 200;

/** Text that compression does not make small, so that the database has pages in its middle. */
function renderMessage(number: number): string {
  return `line ${number} ${createHash('sha512').update(String(number)).digest('base64')}`;
}

test('case 46: with a rebuilt database everything is read again with the same uids, and a sink with keys holds each line once', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'damaged-'));
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0, maxFiles: 2 * ROTATIONS } } });
  let rebuilt = 0;
  const onRebuilt = () => void rebuilt++;
  const open = () =>
    new EmbeddedStore({
      path: folder.path,
      sinks: toStarts([SINK]),
      spoolBytesMax: 64 * 1024 * 1024,
      now: () => 0,
      onRebuilt,
    });
  /** What the sink holds, by uid, and how often it was sent something that it had. */
  const held = new Map<string, string>();
  let repeats = 0;
  const deliver = (store: EmbeddedStore) => {
    for (const line of drain(store, SINK)) {
      const { uid, message } = JSON.parse(line) as { uid: string; message: string };
      if (held.has(uid)) repeats++;
      expect(held.get(uid) ?? message).toBe(message);
      held.set(uid, message);
    }
  };

  const messages: string[] = [];
  const write = async () => {
    for (let rotation = 0; rotation < ROTATIONS; rotation++) {
      const lines = Array.from({ length: LINES_PER_FILE }, (_, line) => renderMessage(messages.length + line));
      for (const message of lines) bench.router.appendLog('network', message);
      await bench.clock.advance(SECOND_MS);
      messages.push(...lines, `rotation ${messages.length}`);
      bench.router.rotate('network', messages.at(-1) ?? '');
    }
  };
  {
    using store = open();
    await write();
    await bench.reader.run({ records: store });
    deliver(store);
    await write();
    await bench.reader.run({ records: store });
  }
  expect(held.size).toBeLessThan(messages.length);
  const file = join(folder.path, 'router-exporter.db');
  const bytes = await readFile(file);
  bytes.fill(0xff, Math.floor(bytes.length / 3), Math.floor(bytes.length / 3) + 12_000);
  await writeFile(file, bytes);

  using store = open();
  bench.reader.restart();
  // Damage is found when it is met: at the opening, or by the sink when it comes to it.
  expect(() => deliver(store)).toThrow(expect.objectContaining({ code: 'damaged', disposition: 'retry' }));
  expect(rebuilt).toBe(1);
  await bench.reader.run({ records: store });
  deliver(store);
  expect([...held.values()].toSorted()).toEqual(messages.toSorted());
  // What had been delivered came again, under the keys that the sink knows.
  expect(repeats).toBeGreaterThan(0);
});

test('with logs.start now, lines that were written while the agent was down come although its state was damaged', async () => {
  let path = '';
  await using fleet = await startFleet({
    config: (config) => {
      path = config.storage.path;
      const routers = config.routers.map((router) => ({ ...router, logs: { ...router.logs, start: 'now' as const } }));
      return { ...config, routers };
    },
  });
  await fleet.advance(120 * SECOND_MS);
  await fleet.stopAgent();
  fleet.router().appendLog('network', 'while the agent is down');
  await destroyTree(join(path, 'router-exporter.db'), 'log');
  await fleet.startAgent();
  await fleet.advance(120 * SECOND_MS);
  expect(fleet.ownLog.filter(({ message }) => message.startsWith('The state was damaged'))).toHaveLength(1);
  expect(fleet.records.filter(({ message }) => message === 'while the agent is down')).toHaveLength(1);
});

test('a state file that is empty at a start is logged, and the logs are read again', async () => {
  let path = '';
  await using fleet = await startFleet({
    config: (config) => {
      path = config.storage.path;
      return config;
    },
  });
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(120 * SECOND_MS);
  await fleet.stopAgent();
  const errors = () => fleet.ownLog.filter(({ message }) => message.startsWith('The file of the state was empty'));
  expect(errors()).toEqual([]);
  await writeFile(join(path, 'router-exporter.db'), '');
  await fleet.startAgent();
  await fleet.advance(120 * SECOND_MS);
  expect(errors()).toMatchObject([{ level: 'error', fields: { file: join(path, 'router-exporter.db') } }]);
  const uids = fleet.records.filter(({ message }) => message === 'a line').map(({ uid }) => uid);
  expect([uids.length, new Set(uids).size]).toEqual([2, 1]);
});

test('a state of an older format is renamed at a start, which logs its waiting records, and the logs are read again', async () => {
  let path = '';
  await using fleet = await startFleet({
    config: (config) => {
      path = config.storage.path;
      return config;
    },
  });
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(120 * SECOND_MS);
  await fleet.stopAgent();
  const file = join(path, 'router-exporter.db');
  runSql(file, `INSERT INTO spool VALUES (1000, 3, x'00'); PRAGMA user_version = 8`);
  await fleet.startAgent();
  await fleet.advance(120 * SECOND_MS);
  const errors = fleet.ownLog.filter(({ message }) => message.startsWith('The state had an older format'));
  expect(errors).toMatchObject([{ level: 'error', fields: { format: 8, records: 3, file: `${file}.format-8` } }]);
  const uids = fleet.records.filter(({ message }) => message === 'a line').map(({ uid }) => uid);
  expect([uids.length, new Set(uids).size]).toEqual([2, 1]);
});
