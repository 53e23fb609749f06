import { expect, test } from 'vitest';
import { ByteLine, cutLines, joinLines, toPieces } from '../../src/base/index.ts';

const LINES = ['{"message":"grüße"}', '', '{"message":"second"}'];

test('cutLines() gives the lines between line feeds, counted in bytes', () => {
  const lines = cutLines(Buffer.from(LINES.join('\n')));
  expect(lines.map(({ text }) => text)).toEqual(LINES);
  expect(lines.map(({ length }) => length)).toEqual([21, 0, 20]);
  expect(cutLines(Buffer.alloc(0)).map(({ text }) => text)).toEqual(['']);
});

test('joinLines() puts a line feed behind each line, from whatever memory they come', () => {
  const memory = Buffer.from(LINES.join('\n'));
  const [first, second, third] = cutLines(memory);
  if (!first || !second || !third) throw new TypeError('Lines are missing');
  const other = ByteLine.of('{"message":"öther"}');
  const join = (...lines: ByteLine[]) => joinLines(lines).toString();
  expect(join()).toBe('');
  expect(join(first, second, third)).toBe(`${LINES.join('\n')}\n`);
  expect(join(first, third, other, second)).toBe(`${LINES[0]}\n${LINES[2]}\n${other.text}\n\n`);
  expect(join(third, first)).toBe(`${LINES[2]}\n${LINES[0]}\n`);
  expect(join(first, first)).toBe(`${LINES[0]}\n${LINES[0]}\n`);
});

test('toPieces() does not copy neighbours', () => {
  const memory = Buffer.from(LINES.join('\n'));
  const [piece, ...more] = toPieces(cutLines(memory).slice(0, 2));
  expect(piece?.buffer).toBe(memory.buffer);
  expect(piece?.toString()).toBe(`${LINES[0]}\n\n`);
  expect(more).toEqual([]);
});
