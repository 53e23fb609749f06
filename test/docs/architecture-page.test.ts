import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { LAYERS } from '../../tools/import-rules.ts';
import { PROJECT } from './read-pages.ts';

const page = readFileSync(`${PROJECT}docs/ARCHITECTURE.md`, 'utf8');

/** The recipes: what is added, and the folders in the second column. */
const recipes = new Map(
  [...page.matchAll(/^\| (an? [A-Za-z ]+) \| (.*?) \| .* \|$/gm)].map(([, added = '', folders = '']) => [
    added,
    [...folders.matchAll(/`([^`]+)`/g)].map(([, folder]) => folder ?? ''),
  ]),
);

/** Returns the source files of `pattern` whose code, without comments, matches `wanted`. */
function listFiles(pattern: string, wanted: RegExp): string[] {
  return globSync(pattern, { cwd: PROJECT }).filter((file) =>
    wanted.test(readFileSync(`${PROJECT}${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')),
  );
}

function isInFolderOf(recipe: string, file: string): boolean {
  return (recipes.get(recipe) ?? []).some((folder) => file.startsWith(folder));
}

test('each of the twelve recipes in ARCHITECTURE.md names one folder of src, which exists', () => {
  expect([...recipes.keys()]).toHaveLength(12);
  for (const [added, folders] of recipes) {
    expect([added, folders]).toEqual([added, [expect.stringMatching(/^src\/.*\/$/)]]);
    expect([added, statSync(`${PROJECT}${folders[0]}`).isDirectory()]).toEqual([added, true]);
  }
});

test('the map in ARCHITECTURE.md has every module, indented by its layer', () => {
  const [, map = ''] = /```\n(main [\s\S]*?)```/.exec(page) ?? [];
  const drawn = [...map.matchAll(/^( +)([a-z]+) /gm)].map(([, indent = '', name]) => `${name} at ${indent.length}`);
  const wanted = LAYERS.flatMap((layer, index) => layer.map((name) => `${name} at ${2 * (LAYERS.length - index)}`));
  expect(drawn.toSorted()).toEqual(wanted.toSorted());
});

test('every path of source in ARCHITECTURE.md exists', () => {
  const paths = [...page.matchAll(/`((?:src|test|tools|deploy|dashboards)\/[\w./-]*)`/g)].map(([, path]) => path ?? '');
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(`${PROJECT}${path}`))).toEqual([]);
});

test.for(['nats', 'syslog', 'loki', 'elasticsearch'])(
  'the sink %s is named in the folder of its recipe only',
  (type) => {
    const files = listFiles(
      'src/{config,settings,agent,sinks}/**/*.ts',
      new RegExp(`'${type}'|/${type}(/index)?\\.ts'`),
    );
    expect(files.filter((file) => file.startsWith(`src/sinks/types/${type}`))).toHaveLength(1);
    expect(files).toContain('src/sinks/types/list.ts');
    expect(files.filter((file) => !isInFolderOf('a sink', file))).toEqual([]);
  },
);

test.for([
  ['a sink', /\bstream_limit:/, 'src/sinks/types/loki/index.ts'],
  ['the store', /\bspool_max:/, 'src/store/settings.ts'],
  ['a router', /\bconnect_timeout:/, 'src/status/poll-settings.ts'],
  ['a router of no single module', /\bbyte_budget: \w+\(/, 'src/config/router-schema.ts'],
] as const)('a key of %s is in one schema, and used in its folder only', ([, key, schema]) => {
  const files = listFiles('src/**/*.ts', key);
  expect(files).toContain(schema);
  expect(files.filter((file) => dirname(file) !== dirname(schema))).toEqual([]);
});
