import { expect, test } from 'vitest';
import { packBytes, packLines, unpackLines } from '../../src/base/index.ts';

const LINES = ['{"message":"grüße"}', '{"message":"second"}'];

test('unpackLines() returns the lines that were packed, from any of their forms', () => {
  const bytes = Buffer.from(LINES.join('\n'));
  const inBytes = Object.assign([...LINES], { bytes });
  const inBoth = Object.assign(['not', 'these'], { bytes: Buffer.from('nor\nthese'), packed: packBytes(bytes) });
  for (const lines of [LINES, inBytes, inBoth]) {
    expect(unpackLines(packLines(lines)).map(({ text }) => text)).toEqual(LINES);
  }
});

test('packLines() packs nothing twice', () => {
  const packed = packBytes('line');
  expect(packLines(Object.assign(['line'], { packed }))).toBe(packed);
});

test('unpackLines() throws for lines that are damaged', () => {
  const packed = Buffer.from(packLines(LINES));
  packed[packed.length - 1] = (packed.at(-1) ?? 0) ^ 1;
  expect(() => unpackLines(packed)).toThrow();
});
