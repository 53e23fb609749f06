import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { StoreError } from '../../src/model/index.ts';
import type { DeadLetterStore } from '../../src/store/index.ts';
import { startProgram } from '../support/child.ts';
import { createStoreFolder, runSql, thrownBy } from '../support/store-folder.ts';

const BOUNDS = { recordsMax: 100, bytesMax: 1_000_000 };

function renderLine(uid: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    timestamp: '2026-11-21T12:00:00.000000000Z',
    router: 'plant-7',
    component: 'network',
    message: uid,
    uid,
    ...more,
  });
}

function deadLetterOf(uid: string, reason = 'field x is no date') {
  return { uid, line: renderLine(uid), reason, code: '400' };
}

function uidsOf(deadLetters: readonly { readonly uid: string }[]): string[] {
  return deadLetters.map(({ uid }) => uid);
}

test('DeadLetterStore keeps its letters in a file that nobody else may read', async () => {
  await using folder = await createStoreFolder();
  using deadLetters = folder.openDeadLetters();
  deadLetters.add('a', [deadLetterOf('1')]);
  expect((await stat(folder.deadLetters)).mode & 0o077).toBe(0);
});

test('DeadLetterStore takes 64 MiB by default, and its file shrinks with what leaves it', async () => {
  await using folder = await createStoreFolder();
  const onDropped = vi.fn();
  using deadLetters = folder.openDeadLetters({ onDropped });
  const mebibytes = (uid: string, count: number) => ({ uid, line: 'x'.repeat(count * 1024 * 1024), reason: 'no' });
  deadLetters.add('a', [mebibytes('1', 30), mebibytes('2', 30)]);
  expect(onDropped).not.toHaveBeenCalled();
  deadLetters.add('a', [mebibytes('3', 5)]);
  expect(onDropped.mock.calls).toEqual([['a', 1]]);
  deadLetters.drop({});
  expect((await stat(folder.deadLetters)).size).toBeLessThan(100_000);
});

test('DeadLetterStore drops a letter that the disk has changed instead of having it tried again, and tells it', async () => {
  await using folder = await createStoreFolder();
  {
    using deadLetters = folder.openDeadLetters();
    deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
    deadLetters.markReplay({});
  }
  runSql(folder.deadLetters, `UPDATE letter SET line = replace(line, 'plant', 'plaNt') WHERE uid = '1'`);
  const onDropped = vi.fn();
  using deadLetters = folder.openDeadLetters({ onDropped });
  expect(uidsOf(deadLetters.readReplayed('a', BOUNDS))).toEqual(['2']);
  expect(onDropped.mock.calls).toEqual([['a', 1]]);
  expect(deadLetters.count()).toBe(1);
});

test('DeadLetterStore puts a damaged file aside, begins anew and tells it, at its opening and later', async () => {
  await using folder = await createStoreFolder();
  await writeFile(folder.deadLetters, 'this is my shopping list\n'.repeat(500));
  const onRebuilt = vi.fn();
  using deadLetters = folder.openDeadLetters({ onRebuilt });
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith({ damagedFile: `${folder.deadLetters}.damaged` });
  expect(await readFile(`${folder.deadLetters}.damaged`, 'utf8')).toContain('shopping list');
  deadLetters.add('a', [deadLetterOf('1')]);
  const bytes = await readFile(folder.deadLetters);
  await writeFile(folder.deadLetters, bytes.fill(0xff, 0, 8192));
  deadLetters.add('a', [deadLetterOf('2')]);
  expect(onRebuilt).toHaveBeenCalledTimes(2);
  expect(uidsOf(deadLetters.list({ limit: 10 }))).toEqual(['2']);
});

test('DeadLetterStore leaves a damaged file to the agent when a command opens it', async () => {
  await using folder = await createStoreFolder();
  await writeFile(folder.deadLetters, 'this is my shopping list\n'.repeat(500));
  expect(thrownBy(() => folder.openDeadLetters({ role: 'guest' }))).toMatchObject({
    code: 'damaged',
    disposition: 'operator',
  });
  expect(await readdir(folder.path)).toEqual(['dead-letters.db']);
});

test('DeadLetterStore makes no file for a command, and says what is missing', async () => {
  await using folder = await createStoreFolder();
  for (const path of [join(folder.path, 'nowhere'), folder.path]) {
    const error = thrownBy(() => folder.openDeadLetters({ role: 'guest', path }));
    expect(error).toMatchObject({ code: 'absent', disposition: 'operator' });
    expect(error.message).toContain(join(path, 'dead-letters.db'));
  }
  expect(existsSync(join(folder.path, 'nowhere'))).toBe(false);
  expect(await readdir(folder.path)).toEqual([]);
});

test('DeadLetterStore refuses the format of a newer program, and throws broken after its end', async () => {
  await using folder = await createStoreFolder();
  const deadLetters = folder.openDeadLetters();
  deadLetters.close();
  deadLetters.close();
  expect(thrownBy(() => deadLetters.count())).toMatchObject({ code: 'broken' });
  runSql(folder.deadLetters, 'PRAGMA user_version = 99');
  expect(thrownBy(() => folder.openDeadLetters())).toMatchObject({ code: 'broken', disposition: 'operator' });
});

test('DeadLetterStore renames a file of an older format, names how many letters it holds, and begins anew; a guest refuses it', async () => {
  await using folder = await createStoreFolder();
  runSql(
    folder.deadLetters,
    `CREATE TABLE letter (id INTEGER); INSERT INTO letter VALUES (1), (2); PRAGMA user_version = 1`,
  );
  const onOlder = vi.fn();
  expect(thrownBy(() => folder.openDeadLetters({ role: 'guest' })).message).toContain('has format 1');
  using deadLetters = folder.openDeadLetters({ onOlder });
  deadLetters.add('a', [{ uid: '1', line: '{}', reason: 'no' }]);
  expect(deadLetters.count()).toBe(1);
  const file = `${folder.deadLetters}.format-1`;
  expect(onOlder).toHaveBeenCalledExactlyOnceWith({ format: 1, records: 2, file });
  expect(runSql(file, '', 'SELECT count(*) AS letters FROM letter')).toEqual([{ letters: 2 }]);
});

const ROOM = new URL('../../src/store/index.ts', import.meta.url).href;

/** The agent's part: adds letters one by one and says so after each, until it is killed. */
const AGENT = `
  import { DeadLetterStore } from ${JSON.stringify(ROOM)};
  import { writeSync } from 'node:fs';
  const deadLetters = new DeadLetterStore({ path: process.argv[1], now: () => 1 });
  for (let count = 1; ; count++) {
    deadLetters.add('a', [{ uid: String(count), line: '{"count":' + count + '}', reason: 'no' }]);
    writeSync(1, 'added ' + count + '\\n');
  }`;

test('DeadLetterStore has after a kill every letter that was added', async () => {
  await using folder = await createStoreFolder();
  await using child = startProgram(process.execPath, ['--input-type=module', '--eval', AGENT, folder.path]);
  await child.waitFor('stdout', /added 25\n/);
  child.process.kill('SIGKILL');
  const { stdout } = await child.ended;
  const added = Number([...stdout.matchAll(/added (\d+)\n/g)].at(-1)?.[1]);
  using deadLetters = folder.openDeadLetters();
  const uids = uidsOf(deadLetters.list({ limit: 10_000, order: 'oldest' })).map(Number);
  expect(uids.length).toBeGreaterThanOrEqual(added);
  expect(uids).toEqual(Array.from({ length: uids.length }, (_, index) => index + 1));
});

test('DeadLetterStore lets a command list, replay and drop while the agent adds', async () => {
  await using folder = await createStoreFolder();
  await using child = startProgram(process.execPath, ['--input-type=module', '--eval', AGENT, folder.path]);
  await child.waitFor('stdout', /added 5\n/);
  using deadLetters = folder.openDeadLetters({ role: 'guest' });
  const attempt = <T>(work: (deadLetters: DeadLetterStore) => T) => {
    // The agent of this test does nothing else than write: a command waits for its turn, and says so when it had none.
    for (let tries = 0; tries < 20; tries++) {
      try {
        return work(deadLetters);
      } catch (cause) {
        if (!(cause instanceof StoreError && cause.code === 'locked' && cause.disposition === 'retry')) throw cause;
      }
    }
    throw new RangeError('The agent never let go of the file');
  };
  expect(attempt((one) => one.list({ limit: 2, order: 'oldest' }))).toHaveLength(2);
  expect(attempt((one) => one.markReplay({ ids: [1, 2] }))).toBe(2);
  expect(attempt((one) => one.drop({ ids: [1] }))).toBe(1);
  expect(uidsOf(attempt((one) => one.readReplayed('a', BOUNDS)))).toEqual(['2']);
  const [, count] = await child.waitFor('stdout', /added (\d+)\n$/);
  await child.waitFor('stdout', new RegExp(`added ${Number(count) + 5}\\n`));
});

test('DeadLetterStore sees at once what a command has marked', async () => {
  await using folder = await createStoreFolder();
  using agent = folder.openDeadLetters();
  using command = folder.openDeadLetters({ role: 'guest' });
  agent.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
  expect(command.markReplay({ ids: [2] })).toBe(1);
  expect(uidsOf(agent.readReplayed('a', BOUNDS))).toEqual(['2']);
  expect(command.drop({})).toBe(2);
  expect(agent.counts()).toEqual(new Map());
});
