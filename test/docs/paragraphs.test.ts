import { expect, test } from 'vitest';
import { readPages } from './read-pages.ts';

const WORDS_MAX = 80;

/** Paragraphs, items of lists and cells of tables. */
function listParts(prose: string): readonly string[] {
  const text = prose.replaceAll(/<!--[\s\S]*?-->/g, '');
  return text.split(/\n\s*\n/).flatMap((part) => {
    if (part.trimStart().startsWith('|')) return part.split(/[|\n]/);
    return part.split(/\n(?=\s*(?:- |\d+\. ))/);
  });
}

test('no paragraph, item or cell of the documentation is longer than 80 words', () => {
  const parts = readPages().flatMap(({ path, prose }) => listParts(prose).map((part) => ({ path, part })));
  const long = parts.filter(({ part }) => part.trim().split(/\s+/).length > WORDS_MAX);
  expect(long.map(({ path, part }) => `${path}: ${part.trim().slice(0, 60)}`)).toEqual([]);
  expect(parts.length).toBeGreaterThan(1000);
});
