import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { type AnswerFiles as Files, findMissing, SourceKeeper } from '../../src/inventory/index.ts';
import { AnswerFiles } from '../../src/store/index.ts';

const HOUR_MS = 3_600_000;
const FILES_A = { type: 'file_sd', files: ['/a'] } as const;

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-answers-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const openFiles = () => new AnswerFiles(folder, 1000);
const toNames = (count: number) => new Set(Array.from({ length: count }, (_, index) => `r${index}`));

/** Offers an answer and uses it. */
async function accept(keeper: SourceKeeper, files: Files, text: string, routers: number, name = 'inv') {
  await keeper.open({ name, ...FILES_A }, files);
  keeper.offer(name, { text: text, places: [] });
  return await keeper.settle([{ source: name, text, routers: toNames(routers), refused: 0, refusals: [], seen: text }]);
}

test('SourceKeeper keeps the largest number of routers of the last day, over restarts', async () => {
  const clock = createSteppedClock(0);
  let keeper = new SourceKeeper(clock);
  const files = openFiles();
  // A source that loses a fifth with each reading.
  for (const routers of [100, 80]) await accept(keeper, files, `${routers}`, routers);
  expect(findMissing(toNames(80), toNames(64), 0.2)).toBeUndefined();
  expect(findMissing(toNames(80), toNames(64), 0.2, keeper.findLargest('inv'))).toEqual({ missing: 36, of: 100 });
  await clock.advance(23 * HOUR_MS);
  keeper = new SourceKeeper(clock);
  expect((await keeper.open({ name: 'inv', ...FILES_A }, openFiles())).accepted).toBe('80');
  expect(keeper.findLargest('inv')).toBe(100);
  await clock.advance(2 * HOUR_MS);
  expect(keeper.findLargest('inv')).toBe(0);
});

test('SourceKeeper forgets former numbers when what was held is used', async () => {
  const keeper = new SourceKeeper(createSteppedClock(0));
  const files = openFiles();
  await accept(keeper, files, 'a', 100);
  keeper.offer('inv', { text: 'b', places: [] });
  const held = { missing: 90, of: 100, text: 'b' };
  const outcome = { source: 'inv', text: 'a', routers: toNames(100), refused: 0, refusals: [], held, seen: 'b' };
  await keeper.settle([outcome]);
  expect(keeper.isPending('inv')).toBe(false);
  await accept(keeper, files, 'b', 10);
  expect(keeper.findLargest('inv')).toBe(0);
});

test('SourceKeeper bounds what it keeps of numbers that fall all day', async () => {
  const clock = createSteppedClock(0);
  const keeper = new SourceKeeper(clock);
  const files = new AnswerFiles(folder, 10_000);
  for (let routers = 200; routers > 100; routers--) {
    await accept(keeper, files, `${routers}`, routers);
    await clock.advance(60_000);
  }
  expect(keeper.findLargest('inv')).toBe(200);
  expect(((await files.read('inv')) ?? '').length).toBeLessThan(2500);
});

test('SourceKeeper has an answer that no configuration was loaded with, until one runs', async () => {
  const keeper = new SourceKeeper();
  await accept(keeper, openFiles(), 'a', 1);
  expect(keeper.isPending('inv')).toBe(false);
  keeper.offer('inv', { text: 'b', places: [] });
  // A reload that failed, and the same answer again.
  expect(keeper.offer('inv', { text: 'b', places: [] })).toBe(false);
  expect(keeper.isPending('inv')).toBe(true);
  await keeper.settle([
    { source: 'inv', text: 'a', routers: toNames(1), refused: 0, refusals: [], faulty: 'x', seen: 'b' },
  ]);
  expect(keeper.isPending('inv')).toBe(false);
});

test.for([false, true])(
  'SourceKeeper takes over the answer of a source with a new name, restarted: %s',
  async (isNew) => {
    let keeper = new SourceKeeper();
    await accept(keeper, openFiles(), 'a', 3, 'old');
    await accept(keeper, openFiles(), 'a', 3, 'old');
    if (isNew) keeper = new SourceKeeper();
    const files = openFiles();
    const configured = new Set(['new', 'other']);
    expect((await keeper.open({ name: 'other', type: 'file_sd', files: ['/b'] }, files, configured)).accepted).toBe(
      undefined,
    );
    expect((await keeper.open({ name: 'new', ...FILES_A }, files, configured)).accepted).toBe('a');
    await keeper.settle([
      { source: 'new', text: 'a', routers: toNames(3), refused: 0, refusals: [] },
      { source: 'other', text: undefined, routers: new Set(), refused: 0, refusals: [] },
    ]);
    expect(await files.list()).toEqual(['new']);
  },
);

test('SourceKeeper does not take the answer of another source that is still configured', async () => {
  const keeper = new SourceKeeper();
  await accept(keeper, openFiles(), 'a', 3, 'old');
  const state = await keeper.open({ name: 'new', ...FILES_A }, openFiles(), new Set(['old', 'new']));
  expect(state.accepted).toBeUndefined();
});

test('SourceKeeper says why a stored answer cannot be read, and stores again what could not be stored', async () => {
  await writeFile(join(folder, 'inv.json'), 'x'.repeat(2000));
  const keeper = new SourceKeeper();
  const files = openFiles();
  expect(await keeper.open({ name: 'inv', ...FILES_A }, files)).toMatchObject({
    accepted: undefined,
    unreadable: expect.stringContaining('has more than 1000 bytes'),
  });
  let isFull = true;
  const disk: Files = {
    read: (name) => files.read(name),
    list: () => files.list(),
    remove: (name) => files.remove(name),
    write: (name, text) => (isFull ? Promise.reject(new RangeError('full')) : files.write(name, text)),
  };
  keeper.keepIn(disk);
  keeper.offer('inv', { text: 'a', places: [] });
  const outcome = { source: 'inv', text: 'a', routers: toNames(1), refused: 0, refusals: [], seen: 'a' };
  expect(await keeper.settle([outcome])).toHaveLength(1);
  isFull = false;
  expect(await keeper.store('inv')).toBeUndefined();
  expect(await files.read('inv')).toMatch(/\na$/);
});
