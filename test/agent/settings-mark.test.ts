import { expect, test } from 'vitest';
import { renderMark } from '../../src/agent/settings-mark.ts';
import { Secret } from '../../src/base/index.ts';

const settings = (password: string, more: object = {}) => ({
  name: 'a',
  auth: { password: new Secret(password) },
  ...more,
});

test('renderMark() tells settings apart by their secrets, and equal ones not', () => {
  expect(renderMark(settings('one'))).toBe(renderMark(settings('one')));
  expect(renderMark(settings('one'))).not.toBe(renderMark(settings('two')));
  expect(renderMark(settings('one'))).not.toBe(renderMark(settings('one', { list: [1] })));
  expect(renderMark({ list: [new Secret('a')] })).not.toBe(renderMark({ list: [new Secret('b')] }));
});

test('renderMark() does not tell a secret', () => {
  expect(renderMark(settings('hunter2hunter2'))).not.toContain('hunter2');
});
