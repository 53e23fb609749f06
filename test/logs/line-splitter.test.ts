import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LINE_BYTES_MAX, LineSplitter } from '../../src/logs/line-splitter.ts';
import { cutInto, cuts } from './chunking.ts';

interface Line {
  readonly start: number;
  readonly text: string;
  readonly isTruncated: boolean;
}

function split(chunks: readonly Uint8Array[], options: { offset?: number; isClosed?: boolean } = {}) {
  const splitter = new LineSplitter(options.offset ?? 0);
  const lines: Line[] = [];
  const keep = ({ start, bytes, isTruncated }: { start: number; bytes: Uint8Array; isTruncated: boolean }) =>
    void lines.push({ start, text: Buffer.from(bytes).toString('latin1'), isTruncated });
  for (const chunk of chunks) splitter.push(chunk, keep);
  if (options.isClosed) splitter.finish(keep);
  return { lines, offset: splitter.offset };
}

const bytes = (text: string) => Buffer.from(text, 'latin1');

test('LineSplitter gives each whole line with its place, and keeps the half one', () => {
  expect(split([bytes('one\ntwo\n\nhalf')], { offset: 100 })).toEqual({
    lines: [
      { start: 100, text: 'one', isTruncated: false },
      { start: 104, text: 'two', isTruncated: false },
      { start: 108, text: '', isTruncated: false },
    ],
    offset: 109,
  });
});

test('LineSplitter.finish() gives the half line, and nothing when there is none', () => {
  expect(split([bytes('one\nhalf')], { isClosed: true })).toMatchObject({
    lines: [{ text: 'one' }, { start: 4, text: 'half' }],
    offset: 8,
  });
  expect(split([bytes('one\n')], { isClosed: true })).toMatchObject({ lines: [{ text: 'one' }], offset: 4 });
  expect(split([], { isClosed: true })).toEqual({ lines: [], offset: 0 });
});

test('LineSplitter keeps carriage returns, NULs and broken characters as they are', () => {
  const text = 'a\r\n\u0000\u0000b\u00c3\n\r\r\n';
  expect(split([bytes(text)]).lines.map((line) => line.text)).toEqual(['a\r', '\u0000\u0000b\u00c3', '\r\r']);
});

test.each([
  ['just short enough', LINE_BYTES_MAX, false],
  ['one byte too long', LINE_BYTES_MAX + 1, true],
  ['far too long', 5 * LINE_BYTES_MAX, true],
])('LineSplitter keeps the head of a line that is %s, and counts it whole', (_what, length, isTruncated) => {
  const text = `${'x'.repeat(length)}\nnext\n`;
  for (const size of [1000, LINE_BYTES_MAX, text.length]) {
    const { lines, offset } = split(cutInto(bytes(text), size));
    expect(lines.map((line) => [line.start, line.text.length, line.isTruncated])).toEqual([
      [0, Math.min(length, LINE_BYTES_MAX), isTruncated],
      [length + 1, 4, false],
    ]);
    expect(offset).toBe(text.length);
  }
});

test('LineSplitter holds no more of an endless line than its bound', () => {
  const splitter = new LineSplitter(0);
  const chunk = new Uint8Array(1024 * 1024).fill(0x78);
  const lengths: number[] = [];
  for (let count = 0; count < 1024; count++) splitter.push(chunk, () => {});
  splitter.finish(({ bytes: kept, isTruncated }) => lengths.push(isTruncated ? kept.length : -1));
  expect(lengths).toEqual([LINE_BYTES_MAX]);
  expect(splitter.offset).toBe(2 ** 30);
});

test('LineSplitter gives identical lines and places for every way to cut a text into chunks', () => {
  const text = fc.string({ unit: fc.constantFrom('\n', '\n', '\r', 'a', 'ü', '\u0000'), maxLength: 60 });
  fc.assert(
    fc.property(text, cuts, fc.boolean(), fc.nat(1000), (content, places, isClosed, offset) => {
      const whole = bytes(content);
      const expected = split([whole], { isClosed, offset });
      expect(split(cutInto(whole, places), { isClosed, offset })).toEqual(expected);
      expect(split(cutInto(whole, 1), { isClosed, offset })).toEqual(expected);
      // And a reference that knows nothing of chunks.
      const parts = whole.toString('latin1').split('\n');
      const rest = parts.pop() ?? '';
      const lines = isClosed && rest !== '' ? [...parts, rest] : parts;
      expect(expected.lines.map((line) => line.text)).toEqual(lines);
      expect(expected.offset).toBe(offset + whole.length - (isClosed ? 0 : rest.length));
      for (const line of expected.lines) {
        const start = line.start - offset;
        expect(whole.toString('latin1', start, start + line.text.length)).toBe(line.text);
        expect(start === 0 || whole[start - 1] === 0x0a).toBe(true);
      }
    }),
  );
});

test('LineSplitter gives identical lines for every way to cut lines around its bound', () => {
  const length = fc.oneof(fc.integer({ min: LINE_BYTES_MAX - 2, max: LINE_BYTES_MAX + 2 }), fc.nat(3));
  fc.assert(
    fc.property(fc.array(length, { maxLength: 3 }), cuts, fc.boolean(), (lengths, places, isClosed) => {
      const whole = bytes(lengths.map((count) => 'x'.repeat(count)).join('\n'));
      expect(split(cutInto(whole, places), { isClosed })).toEqual(split([whole], { isClosed }));
    }),
    { numRuns: 50 },
  );
});
