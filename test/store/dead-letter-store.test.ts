import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type DeadLetterStore, StoreError } from '../../src/store/index.ts';
import { startProgram } from '../support/child.ts';
import { createStoreFolder, NOW_MS, runSql, thrownBy } from '../support/store-folder.ts';

const DAY_MS = 86_400_000;
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

function letterOf(uid: string, reason = 'field x is no date') {
  return { uid, line: renderLine(uid), reason, code: '400' };
}

function uidsOf(letters: readonly { readonly uid: string }[]): string[] {
  return letters.map(({ uid }) => uid);
}

test('DeadLetterStore keeps what a sink refused with its words, over a restart', async () => {
  await using folder = await createStoreFolder();
  {
    using letters = folder.openLetters({ now: () => NOW_MS + 0.5 });
    letters.add('es', [letterOf('1', 'ü ✓ "field x"')]);
    letters.add('loki', [{ uid: '2', line: 'no JSON', reason: 'too old' }]);
    letters.add('loki', []);
  }
  using letters = folder.openLetters();
  expect(letters.list({ limit: 10 })).toEqual([
    {
      id: 2,
      sink: 'loki',
      uid: '2',
      line: 'no JSON',
      router: '',
      component: '',
      timestamp: undefined,
      reason: 'too old',
      code: undefined,
      atMs: NOW_MS,
      isReplayed: false,
    },
    {
      id: 1,
      sink: 'es',
      uid: '1',
      line: renderLine('1'),
      router: 'plant-7',
      component: 'network',
      timestamp: '2026-11-21T12:00:00.000000000Z',
      reason: 'ü ✓ "field x"',
      code: '400',
      atMs: NOW_MS,
      isReplayed: false,
    },
  ]);
  expect(letters.get(2)?.uid).toBe('2');
  expect(letters.get(3)).toBeUndefined();
  expect(letters.counts()).toEqual(
    new Map([
      ['es', 1],
      ['loki', 1],
    ]),
  );
  expect([letters.count(), letters.count('es'), letters.count('none')]).toEqual([2, 1, 0]);
  expect((await stat(folder.letters)).mode & 0o077).toBe(0);
});

test('DeadLetterStore takes records whose fields are of another kind than they should be', async () => {
  await using folder = await createStoreFolder();
  using letters = folder.openLetters();
  const lines = ['null', '[]', '7', JSON.stringify({ router: 7, component: null, timestamp: {} })];
  letters.add(
    'a',
    lines.map((line, index) => ({ uid: String(index), line, reason: '' })),
  );
  expect(letters.list({ limit: 10, order: 'oldest' }).map(({ line }) => line)).toEqual(lines);
  expect(new Set(letters.list({ limit: 10 }).map(({ router, timestamp }) => `${router}${timestamp}`))).toEqual(
    new Set(['undefined']),
  );
});

test('DeadLetterStore.add() replaces the letter of the same record and sink, which then does not wait to be tried again', async () => {
  await using folder = await createStoreFolder();
  using letters = folder.openLetters();
  letters.add('a', [letterOf('1'), letterOf('2')]);
  letters.add('b', [letterOf('1')]);
  expect(letters.markReplay({})).toBe(3);
  const [replayed] = letters.readReplayed('a', BOUNDS);
  letters.add('a', [letterOf('1', 'refused again')]);
  expect(letters.count()).toBe(3);
  expect(uidsOf(letters.readReplayed('a', BOUNDS))).toEqual(['2']);
  expect(uidsOf(letters.readReplayed('b', BOUNDS))).toEqual(['1']);
  // The number of the letter that was replaced means nothing any more.
  letters.add('a', [], [replayed?.id ?? 0]);
  const all = letters.list({ sink: 'a', limit: 10 });
  expect(all.map(({ uid, reason }) => `${uid} ${reason}`)).toEqual(['1 refused again', '2 field x is no date']);
});

test('DeadLetterStore cuts a reason after 1,000 characters', async () => {
  await using folder = await createStoreFolder();
  using letters = folder.openLetters();
  letters.add('a', [letterOf('1', 'x'.repeat(1000)), letterOf('2', `${'x'.repeat(998)}😀 and more`)]);
  const [second, first] = letters.list({ limit: 2 });
  expect(first?.reason).toBe('x'.repeat(1000));
  expect(second?.reason).toBe(`${'x'.repeat(998)}\uFFFD…`);
});

test('DeadLetterStore.list() goes through the letters of a sink in pages, from either end', async () => {
  await using folder = await createStoreFolder();
  using letters = folder.openLetters();
  for (const uid of ['1', '2', '3', '4', '5']) {
    letters.add('a', [letterOf(uid)]);
    letters.add('b', [letterOf(uid)]);
  }
  const list = (order: 'newest' | 'oldest' | undefined, afterId?: number) =>
    letters.list({ sink: 'b', limit: 2, order, afterId });
  expect(uidsOf(list(undefined))).toEqual(['5', '4']);
  expect(uidsOf(list('newest', list('newest').at(-1)?.id))).toEqual(['3', '2']);
  expect(uidsOf(list('oldest'))).toEqual(['1', '2']);
  expect(uidsOf(list('oldest', list('oldest').at(-1)?.id))).toEqual(['3', '4']);
  expect(letters.list({ limit: 0 })).toEqual([]);
  expect(letters.list({ limit: -1 })).toEqual([]);
  expect(letters.list({ limit: 7 })).toHaveLength(7);
});

test('DeadLetterStore gives marked letters to be tried again, the oldest first and within bounds, until they are taken away', async () => {
  await using folder = await createStoreFolder();
  using letters = folder.openLetters();
  letters.add(
    'a',
    ['1', '2', '3', '4'].map((uid) => letterOf(uid)),
  );
  expect(letters.readReplayed('a', BOUNDS)).toEqual([]);
  const ids = letters.list({ limit: 10, order: 'oldest' }).map(({ id }) => id);
  expect(letters.markReplay({ sink: 'b' })).toBe(0);
  expect(letters.markReplay({ ids: [] })).toBe(0);
  expect(letters.markReplay({ sink: 'a', ids: [...ids.slice(1), 999] })).toBe(3);
  const lineBytes = Buffer.byteLength(renderLine('1'));
  expect(uidsOf(letters.readReplayed('a', BOUNDS))).toEqual(['2', '3', '4']);
  expect(uidsOf(letters.readReplayed('a', { ...BOUNDS, recordsMax: 2 }))).toEqual(['2', '3']);
  expect(uidsOf(letters.readReplayed('a', { ...BOUNDS, bytesMax: 2 * lineBytes }))).toEqual(['2', '3']);
  expect(uidsOf(letters.readReplayed('a', { ...BOUNDS, bytesMax: 2 * lineBytes - 1 }))).toEqual(['2']);
  expect(uidsOf(letters.readReplayed('a', { ...BOUNDS, bytesMax: 1 }))).toEqual(['2']);
  expect(letters.readReplayed('b', BOUNDS)).toEqual([]);
  expect(letters.get(ids[1] ?? 0)?.isReplayed).toBe(true);
  letters.add('a', [], ids.slice(1, 3));
  letters.add('a', []);
  expect(uidsOf(letters.readReplayed('a', BOUNDS))).toEqual(['4']);
  expect(letters.count()).toBe(2);
});

test('DeadLetterStore.drop() drops by sink, by number and by age, and all of them together', async () => {
  await using folder = await createStoreFolder();
  let nowMs = NOW_MS;
  const onDropped = vi.fn();
  using letters = folder.openLetters({ now: () => nowMs, onDropped });
  const fill = () => {
    letters.drop({});
    nowMs = NOW_MS;
    letters.add('a', [letterOf('1')]);
    letters.add('b', [letterOf('2')]);
    nowMs += DAY_MS;
    letters.add('a', [letterOf('3')]);
  };
  const rest = () => uidsOf(letters.list({ limit: 10, order: 'oldest' }));
  fill();
  expect(letters.drop({ sink: 'a' })).toBe(2);
  expect(rest()).toEqual(['2']);
  fill();
  expect(letters.drop({ olderThanMs: DAY_MS })).toBe(2);
  expect(rest()).toEqual(['3']);
  fill();
  expect(letters.drop({ olderThanMs: DAY_MS + 1 })).toBe(0);
  expect(letters.drop({ olderThanMs: 0, sink: 'b' })).toBe(1);
  expect(letters.drop({ ids: [] })).toBe(0);
  const [first] = letters.list({ limit: 1, order: 'oldest' });
  expect(letters.drop({ sink: 'b', ids: [first?.id ?? 0] })).toBe(0);
  expect(letters.drop({ ids: [first?.id ?? 0] })).toBe(1);
  expect(rest()).toEqual(['3']);
  // Somebody asked for these.
  expect(onDropped).not.toHaveBeenCalled();
});

test('DeadLetterStore drops the oldest of the sink with the largest share above its bound, and tells how many', async () => {
  await using folder = await createStoreFolder();
  const onDropped = vi.fn();
  using letters = folder.openLetters({ bytesMax: 10_000, onDropped });
  const large = (uid: string) => ({ uid, line: renderLine(uid, { message: 'x'.repeat(2000) }), reason: 'no' });
  letters.add('a', [large('1'), large('2')]);
  letters.add('b', [large('3'), large('4')]);
  expect(onDropped).not.toHaveBeenCalled();
  expect(letters.bytes).toBeGreaterThan(8000);
  letters.add('b', [large('5'), large('6'), large('7')]);
  expect(onDropped.mock.calls).toEqual([['b', 3]]);
  expect(uidsOf(letters.list({ limit: 10, order: 'oldest' }))).toEqual(['1', '2', '6', '7']);
  expect(letters.bytes).toBeLessThanOrEqual(10_000);
  // Letters of a third sink take from the larger ones until all have as much.
  letters.add('c', [large('8')]);
  expect(onDropped.mock.calls.slice(1)).toEqual([['a', 1]]);
  letters.add(
    'a',
    Array.from({ length: 500 }, (_, index) => large(`many ${index}`)),
  );
  expect(onDropped.mock.calls.slice(2)).toEqual([['a', 500]]);
  expect(letters.counts()).toEqual(
    new Map([
      ['a', 1],
      ['b', 2],
      ['c', 1],
    ]),
  );
  letters.add('a', [{ uid: 'huge', line: 'x'.repeat(20_000), reason: 'no' }]);
  expect(letters.counts()).toEqual(
    new Map([
      ['b', 2],
      ['c', 1],
    ]),
  );
});

test('DeadLetterStore takes 64 MiB by default, and its file shrinks with what leaves it', async () => {
  await using folder = await createStoreFolder();
  const onDropped = vi.fn();
  using letters = folder.openLetters({ onDropped });
  const mebibytes = (uid: string, count: number) => ({ uid, line: 'x'.repeat(count * 1024 * 1024), reason: 'no' });
  letters.add('a', [mebibytes('1', 30), mebibytes('2', 30)]);
  expect(onDropped).not.toHaveBeenCalled();
  letters.add('a', [mebibytes('3', 5)]);
  expect(onDropped.mock.calls).toEqual([['a', 1]]);
  letters.drop({});
  expect((await stat(folder.letters)).size).toBeLessThan(100_000);
});

test('DeadLetterStore.expire() drops what is older than 30 days, or than it is told, and tells it', async () => {
  await using folder = await createStoreFolder();
  let nowMs = NOW_MS;
  const onDropped = vi.fn();
  {
    using letters = folder.openLetters({ now: () => nowMs, onDropped });
    letters.add('a', [letterOf('1'), letterOf('2')]);
    nowMs += DAY_MS;
    letters.add('b', [letterOf('3')]);
    letters.expire(NOW_MS + 30 * DAY_MS - 1);
    expect(onDropped).not.toHaveBeenCalled();
    letters.expire(NOW_MS + 30 * DAY_MS);
    expect(onDropped.mock.calls).toEqual([['a', 2]]);
  }
  using letters = folder.openLetters({ keepMs: 1000, onDropped });
  letters.expire(NOW_MS + DAY_MS + 1000);
  expect(onDropped.mock.calls.slice(1)).toEqual([['b', 1]]);
});

test('DeadLetterStore drops a letter that the disk has changed instead of having it tried again, and tells it', async () => {
  await using folder = await createStoreFolder();
  {
    using letters = folder.openLetters();
    letters.add('a', [letterOf('1'), letterOf('2')]);
    letters.markReplay({});
  }
  runSql(folder.letters, `UPDATE letter SET line = replace(line, 'plant', 'plaNt') WHERE uid = '1'`);
  const onDropped = vi.fn();
  using letters = folder.openLetters({ onDropped });
  expect(uidsOf(letters.readReplayed('a', BOUNDS))).toEqual(['2']);
  expect(onDropped.mock.calls).toEqual([['a', 1]]);
  expect(letters.count()).toBe(1);
});

test('DeadLetterStore puts a damaged file aside, begins anew and tells it, at its opening and later', async () => {
  await using folder = await createStoreFolder();
  await writeFile(folder.letters, 'this is my shopping list\n'.repeat(500));
  const onRebuilt = vi.fn();
  using letters = folder.openLetters({ onRebuilt });
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith({ damagedFile: `${folder.letters}.damaged` });
  expect(await readFile(`${folder.letters}.damaged`, 'utf8')).toContain('shopping list');
  letters.add('a', [letterOf('1')]);
  const bytes = await readFile(folder.letters);
  await writeFile(folder.letters, bytes.fill(0xff, 0, 8192));
  letters.add('a', [letterOf('2')]);
  expect(onRebuilt).toHaveBeenCalledTimes(2);
  expect(uidsOf(letters.list({ limit: 10 }))).toEqual(['2']);
});

test('DeadLetterStore leaves a damaged file to the agent when a command opens it', async () => {
  await using folder = await createStoreFolder();
  await writeFile(folder.letters, 'this is my shopping list\n'.repeat(500));
  expect(thrownBy(() => folder.openLetters({ role: 'guest' }))).toMatchObject({
    code: 'damaged',
    disposition: 'operator',
  });
  expect(await readdir(folder.path)).toEqual(['dead-letters.db']);
});

test('DeadLetterStore makes no file for a command, and says what is missing', async () => {
  await using folder = await createStoreFolder();
  for (const path of [join(folder.path, 'nowhere'), folder.path]) {
    const error = thrownBy(() => folder.openLetters({ role: 'guest', path }));
    expect(error).toMatchObject({ code: 'absent', disposition: 'operator' });
    expect(error.message).toContain(join(path, 'dead-letters.db'));
  }
  expect(existsSync(join(folder.path, 'nowhere'))).toBe(false);
  expect(await readdir(folder.path)).toEqual([]);
});

test('DeadLetterStore refuses the format of a newer program, and throws broken after its end', async () => {
  await using folder = await createStoreFolder();
  const letters = folder.openLetters();
  letters.close();
  letters.close();
  expect(thrownBy(() => letters.count())).toMatchObject({ code: 'broken' });
  runSql(folder.letters, 'PRAGMA user_version = 99');
  expect(thrownBy(() => folder.openLetters())).toMatchObject({ code: 'broken', disposition: 'operator' });
});

const ROOM = new URL('../../src/store/index.ts', import.meta.url).href;

/** The agent's part: adds letters one by one and says so after each, until it is killed. */
const AGENT = `
  import { DeadLetterStore } from ${JSON.stringify(ROOM)};
  import { writeSync } from 'node:fs';
  const letters = new DeadLetterStore({ path: process.argv[1], now: () => 1 });
  for (let count = 1; ; count++) {
    letters.add('a', [{ uid: String(count), line: '{"count":' + count + '}', reason: 'no' }]);
    writeSync(1, 'added ' + count + '\\n');
  }`;

test('DeadLetterStore has after a kill every letter that was added', async () => {
  await using folder = await createStoreFolder();
  await using child = startProgram(process.execPath, ['--input-type=module', '--eval', AGENT, folder.path]);
  await child.waitFor('stdout', /added 25\n/);
  child.process.kill('SIGKILL');
  const { stdout } = await child.ended;
  const added = Number([...stdout.matchAll(/added (\d+)\n/g)].at(-1)?.[1]);
  using letters = folder.openLetters();
  const uids = uidsOf(letters.list({ limit: 10_000, order: 'oldest' })).map(Number);
  expect(uids.length).toBeGreaterThanOrEqual(added);
  expect(uids).toEqual(Array.from({ length: uids.length }, (_, index) => index + 1));
});

test('DeadLetterStore lets a command list, replay and drop while the agent adds', async () => {
  await using folder = await createStoreFolder();
  await using child = startProgram(process.execPath, ['--input-type=module', '--eval', AGENT, folder.path]);
  await child.waitFor('stdout', /added 5\n/);
  using letters = folder.openLetters({ role: 'guest' });
  const attempt = <T>(work: (letters: DeadLetterStore) => T) => {
    // The agent of this test does nothing else than write: a command waits for its turn, and says so when it had none.
    for (let tries = 0; tries < 20; tries++) {
      try {
        return work(letters);
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
  using agent = folder.openLetters();
  using command = folder.openLetters({ role: 'guest' });
  agent.add('a', [letterOf('1'), letterOf('2')]);
  expect(command.markReplay({ ids: [2] })).toBe(1);
  expect(uidsOf(agent.readReplayed('a', BOUNDS))).toEqual(['2']);
  expect(command.drop({})).toBe(2);
  expect(agent.counts()).toEqual(new Map());
});
