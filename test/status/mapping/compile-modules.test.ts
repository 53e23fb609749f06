import { expect, test } from 'vitest';
import { compileModules } from '../../../src/status/index.ts';
import { loadShippedModules, toModule } from '../shipped-modules.ts';

test('compileModules() compiles a definition once for all callers', () => {
  const definitions = loadShippedModules();
  const [first, second] = [compileModules(definitions), compileModules(definitions.toReversed())];
  expect(second.toReversed()).toEqual(first);
  for (const [index, module] of first.entries()) expect(second.at(-1 - index)).toBe(module);
});

test('compileModules() keeps definitions apart that have one name', () => {
  const create = (value: string) => toModule('m', { resources: [{ path: 'a', metrics: [{ name: 'x', value }] }] });
  const [one, two] = compileModules([create('a'), create('b')]);
  expect(one?.resources[0]?.coversField('a')).toBe(true);
  expect(two?.resources[0]?.coversField('a')).toBe(false);
});
