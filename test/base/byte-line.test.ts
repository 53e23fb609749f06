import { expect, test } from 'vitest';
import { ByteLine, cutLines, joinLines, LineRanges, LineTable, toPieces } from '../../src/base/index.ts';

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

test('LineTable finds lines and their bytes, also when only their number is known', () => {
  const memory = Buffer.from(LINES.join('\n'));
  for (const table of [new LineTable(memory), new LineTable(memory, 3)]) {
    expect(table.length).toBe(3);
    expect(table.bytesOf(0, 3)).toBe(41);
    expect([table.bytesOf(0, 1), table.bytesOf(1, 2), table.bytesOf(2, 3), table.bytesOf(1, 1)]).toEqual([
      21, 0, 20, 0,
    ]);
    expect([0, 1, 2, 3].map((index) => table.at(index)?.text)).toEqual([...LINES, undefined]);
  }
});

test('LineRanges gives lines of several texts in order, and their memory without copying it', () => {
  const table = new LineTable(Buffer.from(LINES.join('\n')));
  const other = new LineTable(Buffer.from('eins\nzwö\ndrei'), 3);
  const lines = new LineRanges();
  lines.add(table, 1, 3);
  lines.add(other, 2, 2);
  lines.add(other, 0, 2);
  expect(lines.map(({ text }) => text)).toEqual(['', LINES[2], 'eins', 'zwö']);
  expect([lines.length, lines.bytes]).toEqual([4, 28]);
  const pieces = lines.toPieces();
  expect(Buffer.concat(pieces).toString()).toBe(`\n${LINES[2]}\neins\nzwö\n`);
  expect(pieces[0]?.byteOffset).toBe(table.memory.byteOffset + table.startOf(1));
});
