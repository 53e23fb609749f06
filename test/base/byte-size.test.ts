import { expect, test } from 'vitest';
import { parseByteSize } from '../../src/base/index.ts';

test.each([
  ['512', 512],
  ['0', 0],
  ['16MiB', 16 * 1024 ** 2],
  ['1GB', 1e9],
  ['1.5 KiB', 1536],
  ['2TiB', 2 * 1024 ** 4],
  ['7B', 7],
])('parseByteSize() reads %s', (text, bytes) => {
  expect(parseByteSize(text)).toBe(bytes);
});

test.each([
  '',
  'MiB',
  '-1',
  '1e3',
  '16mib',
  '16Mi',
  '1.MiB',
  '1 0',
  '16MiB ',
  '9999999TiB',
  '1constructor',
  '1__proto__',
])('parseByteSize() takes %j for no size', (text) => {
  expect(parseByteSize(text)).toBeUndefined();
});
