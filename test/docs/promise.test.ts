import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT, readPages } from './read-pages.ts';

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

test('nothing promises that a record arrives exactly once: it arrives at least once, with an id that stays', () => {
  const texts = [read('package.json'), read('CHANGELOG.md'), ...readPages().map(({ text }) => text)];
  expect(texts.length).toBeGreaterThan(10);
  expect(texts.flatMap((text) => text.match(/.*exactly[\s-]once.*/gi) ?? [])).toEqual([]);
  expect(read('package.json')).toMatch(/"description": ".*at least once/);
  expect(read('README.md')).toContain('at least once');
});
