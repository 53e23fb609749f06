import { expect, test } from 'vitest';
import { renderSettingsHash } from '../../src/agent/settings-hash.ts';
import { Secret } from '../../src/base/index.ts';

const settings = (password: string, more: object = {}) => ({
  name: 'a',
  auth: { password: new Secret(password) },
  ...more,
});

test('renderSettingsHash() tells settings apart by their secrets, and equal ones not', () => {
  expect(renderSettingsHash(settings('one'))).toBe(renderSettingsHash(settings('one')));
  expect(renderSettingsHash(settings('one'))).not.toBe(renderSettingsHash(settings('two')));
  expect(renderSettingsHash(settings('one'))).not.toBe(renderSettingsHash(settings('one', { list: [1] })));
  expect(renderSettingsHash({ list: [new Secret('a')] })).not.toBe(renderSettingsHash({ list: [new Secret('b')] }));
});

test('renderSettingsHash() does not tell a secret', () => {
  expect(renderSettingsHash(settings('hunter2hunter2'))).not.toContain('hunter2');
});
