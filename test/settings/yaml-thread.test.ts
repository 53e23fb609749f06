import { expect, test } from 'vitest';
import { z } from 'zod';
import { type ConfigFile, ConfigFiles, checkSettings, YamlThread } from '../../src/settings/index.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

const ROOT = { kind: 'list', expected: 'a list', ifEmpty: 'write "[]"', schema: z.unknown() } as const;
/** Makes a text long enough for the thread, without moving anything in it. */
const PADDING = `\n# ${'x'.repeat(3000)}\n`;

const openFiles = () => new ConfigFiles(undefined, new YamlThread());

/** What somebody who checks a file gets to see of it. */
function describe(file: ConfigFile | undefined) {
  if (!file) return undefined;
  const { source } = file;
  const paths = listPaths(source.value);
  const places = paths.flatMap((path) => [source.locate(path, 'key'), source.locate(path, 'value')]);
  return { value: source.value, paths, places, missing: source.locate([...(paths.at(-1) ?? []), 'none'], 'value') };
}

function listPaths(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...steps.flatMap((step) => listPaths(Reflect.get(value, step), [...path, step]))];
}

test('ConfigFiles reads a long text in a thread as without one', async () => {
  await using files = openFiles();
  const texts = [
    '- a: 1\n  b: [x, y]\n- &anchor { c: ~, "d e": {} }\n- *anchor\n- ? f\n- g:\n- { "10": 1, b: 2, "9": 3 }',
    '- a: 1\n  a: 2\n- { __proto__: x }',
    'a: [',
    '- *x',
    'text',
    '- !vault x',
  ];
  for (const text of texts) {
    await using here = new ConfigFiles();
    const known = await here.parse('f.yaml', '/f.yaml', { text: text + PADDING }, ROOT);
    await using there = openFiles();
    const found = await there.parse('f.yaml', '/f.yaml', { text: text + PADDING }, ROOT);
    expect(describe(found)).toEqual(describe(known));
    expect(there.faults).toEqual(here.faults);
  }
  // The thread serves one text after the other, also behind one with faults.
  for (const text of texts) await files.parse('f.yaml', '/f.yaml', { text: text + PADDING }, ROOT);
  expect(files.faults.length).toBeGreaterThan(0);
});

test('ConfigFiles.parse() takes the bytes of a text as well, and hands long ones over to the thread', async () => {
  await using files = openFiles();
  const bytes = new TextEncoder().encode(`\u{feff}- { a: "ä€😀" }\n${'- { a: x }\n'.repeat(1000)}`);
  const file = await files.parse('f.yaml', '/f.yaml', { bytes }, ROOT);
  expect(file?.source.valueAt([0, 'a'])).toBe('ä€😀');
  expect(bytes.length).toBe(0);
  const short = new TextEncoder().encode('- { a: "ä" }');
  expect((await files.parse('g.yaml', '/g.yaml', { bytes: short }, ROOT))?.source.value).toEqual([{ a: 'ä' }]);
});

test('ConfigFiles.parse() leaves out what follows a thousand items that lack the key of an item', async () => {
  await using files = new ConfigFiles();
  const root = { ...ROOT, itemKey: 'name' };
  const read = async (text: string) => (await files.parse('f.yaml', '/f.yaml', { text }, root))?.source.value;
  const good = '- { name: x }\n'.repeat(10);
  expect(await read(`${good}${'- { a: 1 }\n- 7\n'.repeat(5000)}`)).toHaveLength(10 + 1001);
  expect(await read(`${'- { a: 1 }\n'.repeat(1000)}${good}`)).toHaveLength(1010);
});

const readItems = (files: ConfigFiles, items: number) =>
  files.parse('f.yaml', '/f.yaml', { text: `# - no item\n${'- 1\n'.repeat(items)}` }, ROOT);

test.skipIf(sampled('largest files', false, true))(
  `ConfigFiles.parse() takes as many list items as the largest fleet has${sampleNote('largest files')}`,
  async () => {
    await using files = openFiles();
    expect((await readItems(files, 400_000))?.source.value).toHaveLength(400_000);
  },
);

test('ConfigFiles.parse() refuses a file of more list items than the largest fleet has, before it is composed', async () => {
  await using files = new ConfigFiles();
  expect(await readItems(files, 400_001)).toBeUndefined();
  expect(files.faults.map(({ line, message }) => [line, message])).toEqual([
    [1, 'The file holds more than 400000 items of lists; divide it into several files'],
  ]);
});

const LARGEST: readonly (readonly [kind: string, value: string, begin: string, end: string])[] = [
  ['a flow list', '1,', '[', ']'],
  ['a flow map', 'a: 1,', '{', '}'],
  ['a block map', 'a:\n', '', ''],
  ['tags', '!t ', '[', ']'],
  ['anchors', '&a ', '[', ']'],
];
test.each(sampled('largest files', LARGEST, LARGEST.slice(3)))(
  `ConfigFiles.parse() refuses %s of more than a million values, before it is composed${sampleNote('largest files')}`,
  async (_kind, value, begin, end) => {
    await using files = new ConfigFiles();
    const text = `${begin}${value.repeat(1_000_001)}${end}`;
    expect(await files.parse('f.yaml', '/f.yaml', { text }, ROOT)).toBeUndefined();
    expect(files.faults.map(({ line, message }) => [line, message])).toEqual([
      [1, 'The file holds more than 1000000 values; divide it into several files'],
    ]);
  },
);

test('ConfigSource.locate() finds the items of a long list in any order, and the keys of a large map', async () => {
  await using files = new ConfigFiles();
  const keys = Array.from({ length: 30_000 }, (_, index) => `k${index}: 1\n`);
  const text = `${'- { a: x }\n'.repeat(3000)}- ${keys.join('  ')}`;
  const file = await files.parse('f.yaml', '/f.yaml', { text }, ROOT);
  for (const index of [2999, 0, 255, 256, 257, 1024, 2048, 300, 2999]) {
    expect(file?.source.locate([index, 'a'], 'key')).toEqual({ line: index + 1, column: 5 });
  }
  expect(file?.source.locate([3000, 'k29999'], 'key')).toEqual({ line: 33_000, column: 3 });
  expect(file?.source.locate([3000, 'k1'], 'key')).toEqual({ line: 3002, column: 3 });
  // What does not exist is found at what should hold it.
  expect(file?.source.locate([9999], 'value').line).toBe(1);
});

test('checkSettings() does not check an item that is far too large, because that would take long at once', async () => {
  const schema = z.array(z.strictObject({ a: z.array(z.number({ error: 'a number' }), { error: 'a list' }) }), {
    error: 'a list',
  });
  await using files = new ConfigFiles();
  const text = `- { a: [1] }\n- { a: [${'x, '.repeat(20_000)}] }\n`;
  const file = await files.parse('f.yaml', '/f.yaml', { text }, { ...ROOT, schema });
  if (!file) return expect.unreachable('the text can be parsed');
  expect(await checkSettings(file, undefined, schema)).toEqual([{ a: [1] }, {}]);
  expect(files.faults.map(({ line, message }) => [line, message])).toEqual([[2, 'This holds more than 10000 values']]);
});

test('checkSettings() stops at a thousand faults, and says where', async () => {
  const schema = z.array(z.strictObject({ a: z.string({ error: 'text' }) }), { error: 'a list' });
  await using files = new ConfigFiles();
  const file = await files.parse('f.yaml', '/f.yaml', { text: '- a: 1\n'.repeat(5000) }, { ...ROOT, schema });
  if (!file) return expect.unreachable('the text can be parsed');
  await checkSettings(file, undefined, schema);
  expect(files.faults).toHaveLength(1001);
  expect(files.faults.at(-1)).toMatchObject({
    line: 1001,
    keyPath: '[1000]',
    message: 'The file has so many faults that it was not checked from here on',
  });
});

test('checkSettings() tells the same of a long list as of a short one', async () => {
  const schema = z.strictObject({
    many: z.array(z.strictObject({ a: z.string({ error: 'text' }).optional() }), { error: 'a list' }).optional(),
    b: z.number({ error: 'a number' }).optional(),
  });
  const root = { ...ROOT, kind: 'map', schema } as const;
  const check = async (items: number) => {
    await using files = new ConfigFiles();
    const text = `many:\n- { a: 1 }\n- { c: x }\n${'- { a: x }\n'.repeat(items)}b: text\n`;
    const file = await files.parse('f.yaml', '/f.yaml', { text: text }, root);
    if (!file) return expect.unreachable('the text can be parsed');
    const sound = await checkSettings(file, {}, schema);
    expect(sound?.many).toHaveLength(items + 2);
    expect(sound?.many?.slice(0, 3)).toEqual([{}, {}, { a: 'x' }]);
    return files.faults.map(({ keyPath, message, column }) => ({ keyPath, message, column }));
  };
  expect(await check(200)).toEqual(await check(2));
});
