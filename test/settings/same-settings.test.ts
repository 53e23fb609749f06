import { expect, it } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { areSameSettings } from '../../src/settings/index.ts';

it.each([
  ['a flag that is off, written or not', { tls: { insecure_skip_verify: false } }, { tls: {} }],
  ['an empty map, written or not', { url: 'a', tls: {} }, { url: 'a' }],
  ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
  ['the same secret', { password: new Secret('x') }, { password: new Secret('x') }],
])('areSameSettings() says so of %s', (_what, one, other) => {
  expect(areSameSettings(one, other)).toBe(true);
});

it.each([
  ['a flag that is on', { tls: { insecure_skip_verify: true } }, { tls: {} }],
  ['an empty list', { components: [] }, {}],
  ['0', { replay: 0 }, {}],
  ['an empty text', { labels: { site: '' } }, { labels: {} }],
  ['another secret', { password: new Secret('x') }, { password: new Secret('y') }],
])('areSameSettings() tells %s from none', (_what, one, other) => {
  expect(areSameSettings(one, other)).toBe(false);
});
