import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROJECT } from './read-pages.ts';

const PAGE = 'docs/log-source.md';
/** `case 12`, `cases 2 and 90`. */
const CITATION = /\bcases? \d+(?:(?:, | and |, and )\d+)*/gi;

/** A number and the file whose test has it, as one text. */
const toPair = (number: string | undefined, file: string | undefined) => `${number}: ${file}`;

const citations = globSync('test/**/*.ts', { cwd: PROJECT })
  .filter((file) => !file.startsWith('test/docs/'))
  .flatMap((file) =>
    [...readFileSync(`${PROJECT}${file}`, 'utf8').matchAll(CITATION)].flatMap(([text]) =>
      (text.match(/\d+/g) ?? []).map((number) => toPair(number, file)),
    ),
  );

const rows = [...readFileSync(`${PROJECT}${PAGE}`, 'utf8').matchAll(/^\| (\d+) \| .* \| (.*) \|$/gm)].map(
  ([, number, tests = '']) => ({ number, files: [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? '') }),
);

test('every case of log-source.md names tests that exist and cite it, and no number stands there twice', () => {
  expect(rows.length).toBeGreaterThan(60);
  const numbers = rows.map(({ number }) => number);
  expect(numbers).toEqual([...new Set(numbers)]);
  expect(rows.filter(({ files }) => files.length === 0)).toEqual([]);
  const named = rows.flatMap(({ number, files }) => files.map((file) => ({ number, file })));
  expect(named.filter(({ file }) => !existsSync(`${PROJECT}${file}`))).toEqual([]);
  expect(named.filter(({ number, file }) => !citations.includes(toPair(number, file)))).toEqual([]);
});

test('every case that a test cites stands in log-source.md, with that test', () => {
  const named = new Set(rows.flatMap(({ number, files }) => files.map((file) => toPair(number, file))));
  expect(citations.filter((citation) => !named.has(citation))).toEqual([]);
});
