import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { expandLines, LineCondenser, type LineRun } from '../../src/base/condensed-lines.ts';
import { packCondensed, unpackLines } from '../../src/base/index.ts';
import { countRuns } from '../support/sampled.ts';

const HEAD_TEXTS = ['wan', 'dhcpd'].map((tag) => `{"time":"YYYY-MM-DDThh:mm:ss.NNNNNNNNNZ","tag":"${tag}","text":"`);
const HEADS = HEAD_TEXTS.map((text) => Buffer.from(text));
const TAIL = '","uid":"ab-00zzyyyy","offset":7xxxxxx,"site":"munich"}';
const BYTES_MAX = 1_000_000;
const SLACK = 7;

interface Line {
  readonly head: number;
  readonly second: number;
  readonly about: number;
  readonly text: string;
}

/** What the lines are when they are written out. */
function render(lines: readonly Line[], start: number, showsOffset: boolean): string[] {
  let offset = start;
  return lines.map(({ head, second, about, text }) => {
    const digits = String(offset % 1_000_000).padStart(6, '0');
    const uid = (offset % 36 ** 4).toString(36).padStart(4, '0');
    const time = new Date(Date.UTC(2026, 9, 26) + second * 1000).toISOString().replace('.000Z', '');
    const tail = TAIL.replace('yyyy', uid).replace('xxxxxx', digits);
    offset += about + text.length;
    return (HEAD_TEXTS[head] ?? '').replace(/YYYY.*NZ/, `${time}.007${showsOffset ? digits : '000001'}Z`) + text + tail;
  });
}

function toRun(lines: readonly Line[], start: number, showsOffset: boolean, before: number): LineRun {
  let last = before;
  const entries = lines.map(({ head, second, about, text }) => {
    const seconds = second - last + SLACK;
    last = second;
    const far = Buffer.alloc(4);
    far.writeInt32LE(second);
    const isFar = seconds < 0 || seconds >= 255;
    return Buffer.concat([
      Buffer.of(head, isFar ? 255 : seconds, about),
      isFar ? far : Buffer.alloc(0),
      Buffer.from(`${text}\n`),
    ]);
  });
  return {
    count: lines.length,
    bytes: Buffer.byteLength(`${render(lines, start, showsOffset).join('\n')}\n`),
    entries: Buffer.concat(entries),
    heads: HEADS,
    timeAt: '{"time":"'.length,
    time: Buffer.from('2026-10-26Thh:mm:ss.007000001'),
    showsOffset,
    tail: Buffer.from(TAIL),
    uidEnd: TAIL.indexOf('yyyy') + 4,
    offsetEnd: TAIL.indexOf('xxxxxx') + 6,
    low36: start % 36 ** 4,
    low: start % 1_000_000,
    second: before,
    slack: SLACK,
  };
}

const lines = fc.array(
  fc.record({
    head: fc.nat(1),
    second: fc.nat(86_399),
    about: fc.integer({ min: 20, max: 80 }),
    text: fc.string().map((text) => text.replaceAll('\n', ' ')),
  }),
  { minLength: 1, maxLength: 12 },
);
const part = fc.oneof(
  fc.record({ lines, start: fc.nat(900_000), showsOffset: fc.boolean(), before: fc.nat(86_399) }),
  fc.array(
    fc.string().map((text) => text.replaceAll('\n', ' ')),
    { minLength: 1, maxLength: 3 },
  ),
);

test('expandLines() gives the lines that were condensed, alike or not', () => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
      const condenser = new LineCondenser();
      const texts = parts.flatMap((one) => {
        if (Array.isArray(one)) {
          condenser.addPlain(Buffer.from(one.join('\n')));
          return one;
        }
        const ascii = one.lines.map((line) => ({ ...line, text: Buffer.from(line.text).toString('latin1') }));
        const bytes = ascii.map((line) => ({ ...line, text: line.text.replaceAll(/[^ -~]/g, '?') }));
        condenser.addRun(toRun(bytes, one.start, one.showsOffset, one.before));
        return render(bytes, one.start, one.showsOffset);
      });
      const body = packCondensed(condenser.finish());
      expect(unpackLines(body).memory.toString().split('\n')).toEqual(texts);
      expect(unpackLines(body)).toHaveLength(texts.length);
    }),
    { numRuns: countRuns(500) },
  );
});

test('LineCondenser writes a head down once, and again when its number means another one', () => {
  const [first, condenser] = [new LineCondenser(), new LineCondenser()];
  const one = { head: 0, second: 60, about: 30, text: 'x' };
  const run = toRun([one], 0, true, 60);
  for (const each of [first, first, condenser, condenser]) each.addRun(run);
  const twice = first.finish().length;
  condenser.addRun({ ...run, heads: HEAD_TEXTS.map((head) => Buffer.from(head.replace('tag', 'TAG'))) });
  const text = Buffer.from(condenser.finish());
  expect(text.toString('latin1').split(HEAD_TEXTS[1] ?? '')).toHaveLength(2);
  expect(text.length).toBeGreaterThan(twice);
  const [line = ''] = render([one], 0, true);
  expect(expandLines(text, BYTES_MAX).toString().split('\n')).toEqual([line, line, line.replace('tag', 'TAG')]);
});

test('LineCondenser does not mind that another one works at the same time', () => {
  const [first, second] = [new LineCondenser(), new LineCondenser()];
  first.addPlain(Buffer.from('first'));
  second.addPlain(Buffer.from('second'));
  first.addPlain(Buffer.from('third'));
  expect(expandLines(Buffer.from(first.finish()), BYTES_MAX).toString()).toBe('first\nthird');
  expect(expandLines(Buffer.from(second.finish()), BYTES_MAX).toString()).toBe('second');
});

test('expandLines() comes to an end with whatever damage there is', () => {
  const condenser = new LineCondenser();
  condenser.addPlain(Buffer.from('a line'));
  const some = [0, 1, 0].map((head, index) => ({ head, second: index * 400, about: 30, text: `text ${index}` }));
  condenser.addRun(toRun(some, 12_345, true, 0));
  const text = Buffer.from(condenser.finish());
  let failed = 0;
  fc.assert(
    fc.property(
      fc.nat(text.length - 1),
      fc.nat(255),
      fc.integer({ min: 100, max: text.length }),
      (at, byte, length) => {
        const damaged = Buffer.from(text.subarray(0, length));
        if (at < length) damaged[at] = byte;
        try {
          expect(expandLines(damaged, BYTES_MAX).length).toBeLessThanOrEqual(BYTES_MAX);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          failed++;
        }
      },
    ),
    { numRuns: countRuns(2000) },
  );
  expect(failed).toBeGreaterThan(10);
});

test('expandLines() makes no room for more than it is allowed', () => {
  const condenser = new LineCondenser();
  condenser.addPlain(Buffer.alloc(1000, 'x'));
  expect(() => expandLines(Buffer.from(condenser.finish()), 999)).toThrow('1000 bytes, more than 999');
});
