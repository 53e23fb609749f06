import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LINE_BYTES_MAX, LineSplitter, type RawLine } from '../../../src/logs/records/line-splitter.ts';
import { cutInto, cuts } from '../chunking.ts';

interface Line {
  readonly start: number;
  readonly text: string;
  readonly isTruncated: boolean;
}

function split(chunks: readonly Uint8Array[], options: { offset?: number; isClosed?: boolean } = {}) {
  const splitter = new LineSplitter(options.offset ?? 0);
  const lines: Line[] = [];
  const keep = ({ start, bytes, raw, sha256 }: RawLine) =>
    void lines.push({ start, text: (raw ?? bytes).toString('latin1'), isTruncated: sha256 !== undefined });
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

test('LineSplitter says of a line that is too long how long it is, and its SHA-256', () => {
  const text = `${'x'.repeat(100_000)}y`;
  for (const size of [999, 70_000, 200_000]) {
    const lines: RawLine[] = [];
    const splitter = new LineSplitter(0);
    for (const chunk of cutInto(bytes(`${text}\n`), size)) splitter.push(chunk, (line) => lines.push(line));
    expect(lines).toMatchObject([
      { length: text.length, nulBytes: 0, sha256: createHash('sha256').update(text).digest('hex') },
    ]);
  }
});

test('case 37: LineSplitter cuts a run of NUL bytes of 1 MiB out of the line behind it', () => {
  const content = Buffer.concat([Buffer.alloc(1024 * 1024), bytes('2026-11-21 09:36:49 [wan] x\nnext\n')]);
  for (const size of [1000, 65_536, content.length]) {
    const lines: RawLine[] = [];
    const splitter = new LineSplitter(0);
    for (const chunk of cutInto(content, size)) splitter.push(chunk, (line) => lines.push(line));
    expect(lines.map(({ bytes: kept, nulBytes, sha256 }) => [kept.toString(), nulBytes, sha256])).toEqual([
      ['2026-11-21 09:36:49 [wan] x', 1024 * 1024, undefined],
      ['next', 0, undefined],
    ]);
    expect(splitter.offset).toBe(content.length);
  }
});

test('LineSplitter holds no more of an endless line than its bound', () => {
  const splitter = new LineSplitter(0);
  const chunk = new Uint8Array(1024 * 1024).fill(0x78);
  const lengths: number[] = [];
  for (let count = 0; count < 128; count++) splitter.push(chunk, () => {});
  splitter.finish(({ bytes: kept, length, sha256 }) => {
    lengths.push(kept.length, length);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  });
  expect(lengths).toEqual([LINE_BYTES_MAX, 2 ** 27]);
  expect(splitter.offset).toBe(2 ** 27);
});

test('case 39: LineSplitter gives identical lines and places for every way to cut a text into chunks', () => {
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

test('LineSplitter looks at nothing of the memory of a chunk once it was pushed', () => {
  const text = fc.constantFrom(
    'one',
    'zwölf',
    'nul\0inside',
    '\0\0',
    'x'.repeat(300),
    'y'.repeat(LINE_BYTES_MAX + 5),
    '',
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), cuts, (texts, places) => {
      const whole = Buffer.from(texts.join('\n'));
      const splitter = new LineSplitter(0);
      const lines: RawLine[] = [];
      for (const chunk of cutInto(whole, places)) {
        const memory = Buffer.from(chunk);
        splitter.push(memory, (line) => void lines.push(line));
        memory.fill(0x21);
      }
      splitter.finish((line) => void lines.push(line));
      const kept = lines.map(({ start, bytes: held, raw }) => [start, (raw ?? held).toString('latin1')]);
      const untouched = split([whole], { isClosed: true }).lines.map(({ start, text: line }) => [start, line]);
      expect(kept).toEqual(untouched);
    }),
  );
});
