import { matchesGlob } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSelected } from '../../src/base/index.ts';
import { measureProcessorMs } from '../support/processor-time.ts';

test('isSelected() takes no time for many stars and a long name', () => {
  const found: boolean[] = [];
  const globs = ['*a*a*a*a*a*a*b', '!*a*a*a*a*a*a*c'];
  expect(measureProcessorMs(() => void found.push(isSelected('a'.repeat(128), globs)))).toBeLessThan(100);
  expect(found).toEqual([false]);
});

test('isSelected() selects as path.matchesGlob() does, names that begin with a dot apart', () => {
  const parts = fc.array(fc.constantFrom('a', 'b', '-', '.', '*', '**', '?', '[ab]', '{a,b-}', '@(a|b)'), {
    maxLength: 5,
  });
  const names = fc.stringMatching(/^[ab][ab.-]{0,5}$/);
  fc.assert(
    fc.property(names, parts, (name, glob) => {
      const text = glob.join('');
      fc.pre(text !== '' && !text.startsWith('!'));
      expect(isSelected(name, [text])).toBe(matchesGlob(name, text));
      expect(isSelected(name, ['*', `!${text}`])).toBe(!matchesGlob(name, text));
    }),
    { seed: 1, numRuns: 2000 },
  );
  expect(isSelected('.hidden', ['*'])).toBe(true);
});
