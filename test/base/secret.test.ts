import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';

const VALUE = 'correct horse battery';
const secret = new Secret(VALUE);

test('Secret.reveal() gives the value', () => {
  expect(secret.reveal()).toBe(VALUE);
});

test.each<[string, () => string]>([
  ['String()', () => String(secret)],
  ['a template', () => `password: ${secret as unknown as string}`],
  ['joining', () => ['password:', secret].join(' ')],
  ['JSON', () => JSON.stringify(secret)],
  ['JSON of what holds it', () => JSON.stringify({ router: { password: [secret] } })],
  ['inspect', () => inspect(secret)],
  ['inspect of what holds it', () => inspect({ router: { password: secret } }, { depth: 9 })],
  ['format %s', () => format('%s', secret)],
  ['format %o', () => format('%o', { secret })],
  ['format %j', () => format('%j', { secret })],
  ['an error', () => inspect(new Error('login failed', { cause: secret }))],
])('Secret appears as [secret] in %s', (_form, render) => {
  const text = render();
  expect(text).toContain('[secret]');
  expect(text).not.toContain('horse');
});

test('Secret shows nothing to what looks at its properties', () => {
  expect(inspect(secret, { customInspect: false, showHidden: true })).not.toContain('horse');
  expect([...Object.entries(secret), ...Reflect.ownKeys(secret)]).toEqual([]);
  expect(Object.assign({}, secret)).toEqual({});
});
