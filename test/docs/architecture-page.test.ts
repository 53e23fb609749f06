import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from './read-pages.ts';

/** The row "To … go to …" of ARCHITECTURE.md that begins like this: what stands in code, as far as it is a path. */
function listPlaces(task: string): readonly string[] {
  const text = readFileSync(`${PROJECT}docs/ARCHITECTURE.md`, 'utf8');
  const row = text.split('\n').find((line) => line.startsWith(`| ${task} |`)) ?? expect.unreachable(`no row ${task}`);
  const places = [...row.matchAll(/`([\w./*-]+(?:\.ts|\/))`/g)].map(([, place]) => place ?? '');
  // That they are in the folder of a room says nothing.
  const named = places.filter((place) => place !== 'src/config/');
  return named.map((place) => (place.startsWith('src/') ? place : `src/config/${place}`));
}

/** Files of a part of the source whose code, comments aside, has what is looked for. */
function listFiles(pattern: string, wanted: RegExp): string[] {
  return globSync(pattern, { cwd: PROJECT }).filter((file) =>
    wanted.test(readFileSync(`${PROJECT}${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')),
  );
}

const isListed = (places: readonly string[], file: string) =>
  places.some((place) => place === file || matchesGlob(file, place) || (place.endsWith('/') && file.startsWith(place)));

test('ARCHITECTURE.md names every file of config that has to know a key of routers that is of no one room', () => {
  const places = listPlaces('add a configuration key of routers');
  const files = listFiles('src/config/**/*.ts', /byte_budget|byteBudget/);
  expect(files.length).toBeGreaterThan(1);
  expect(files.filter((file) => !isListed(places, file))).toEqual([]);
});

test.for(['nats', 'syslog', 'loki', 'elasticsearch'])('the sink %s stands in its folder and in one list', (type) => {
  const name = `${type[0]?.toUpperCase()}${type.slice(1)}`;
  const files = listFiles(
    'src/{config,settings,agent,delivery}/**/*.ts',
    new RegExp(`'${type}'|^ +${type}:|'\\./${type}/index\\.ts'|\\bcreate${name}Sink\\b|\\b${type}Schema\\b`, 'm'),
  );
  const folder = files.filter((file) => file.startsWith(`src/delivery/sinks/${type}/`));
  expect(folder.length).toBeGreaterThan(2);
  const others = files.filter((file) => !folder.includes(file));
  expect(others).toContain('src/delivery/sinks/list.ts');
  expect(others.filter((file) => !isListed(listPlaces('add a sink'), file))).toEqual([]);
});

test.for([
  ['a sink', /\bstream_limit:/, 'src/delivery/sinks/loki/schema.ts'],
  ['the store', /\bspool_max:/, 'src/store/settings.ts'],
  ['a router', /\bconnect_timeout:/, 'src/status/poll-settings.ts'],
] as const)('a key of %s stands in one schema, and nowhere but beside it', ([, key, schema]) => {
  const files = listFiles('src/**/*.ts', key);
  expect(files).toContain(schema);
  expect(files.filter((file) => dirname(file) !== dirname(schema))).toEqual([]);
});

test('every path of source in ARCHITECTURE.md exists', () => {
  const text = readFileSync(`${PROJECT}docs/ARCHITECTURE.md`, 'utf8');
  const paths = [...text.matchAll(/`((?:src|test|tools|deploy|dashboards)\/[\w./-]*)`/g)].map(([, path]) => path ?? '');
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(`${PROJECT}${path}`))).toEqual([]);
});
