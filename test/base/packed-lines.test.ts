import { buffer } from 'node:stream/consumers';
import { createZstdCompress, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  createSeededRandom,
  cutLines,
  packBytes,
  packLines,
  readPackedSize,
  unpackLines,
} from '../../src/base/index.ts';

const textsOf = (body: Uint8Array) => cutLines(unpackLines(body).memory).map(({ text }) => text);
const LINES = ['{"message":"grüße"}', '{"message":"second"}'];

test('unpackLines() returns the lines that were packed, from any of their forms', () => {
  const bytes = Buffer.from(LINES.join('\n'));
  const inBytes = Object.assign([...LINES], { bytes });
  const inBoth = Object.assign(['not', 'these'], { bytes: Buffer.from('nor\nthese'), packed: packBytes(bytes) });
  for (const lines of [LINES, inBytes, inBoth]) {
    expect(textsOf(packLines(lines))).toEqual(LINES);
  }
});

test('packLines() packs nothing twice', () => {
  const packed = packBytes(Buffer.from('line'));
  expect(packLines(Object.assign(['line'], { packed }))).toBe(packed);
});

test('packLines() gives bodies of any size in memory of their own, also where nothing can be saved', () => {
  const random = createSeededRandom(1);
  for (const size of [0, 1, 100, 5000, 128 * 1024 - 1, 128 * 1024 + 1, 700_000]) {
    const line = Buffer.from(Uint8Array.from({ length: size }, () => 32 + Math.floor(random() * 90)));
    const noise = Buffer.from(Uint8Array.from({ length: size }, () => Math.floor(random() * 256)));
    const packed = packBytes(line);
    expect(packed.buffer.byteLength).toBe(packed.length);
    expect(unpackLines(packed).at(0)?.text).toBe(line.toString());
    expect(unpackLines(packBytes(noise)).memory.equals(noise)).toBe(true);
  }
});

test('readPackedSize() returns the expanded size of a long body, and unpackLines() expands none beyond its limit', async () => {
  for (const bytes of [901, 65_791, 65_792, 1_000_000]) {
    const packed = packBytes(Buffer.alloc(bytes));
    expect(readPackedSize(packed)).toBe(bytes);
    expect(unpackLines(packed, bytes).memory).toHaveLength(bytes);
    expect(() => unpackLines(packed, bytes - 1)).toThrow(`expands to ${bytes} bytes; the limit is ${bytes - 1}`);
    expect(readPackedSize(packed.subarray(0, 5))).toBeUndefined();
  }
  const stream = createZstdCompress();
  stream.end(Buffer.alloc(1_000_000));
  const silent = await buffer(stream);
  expect(readPackedSize(silent)).toBeUndefined();
  expect(() => unpackLines(silent, 999_999)).toThrow('999999');
});

test('unpackLines() throws for lines that are damaged', () => {
  const packed = Buffer.from(packLines(['x'.repeat(1000)]));
  packed[packed.length - 1] = (packed.at(-1) ?? 0) ^ 1;
  expect(() => unpackLines(packed)).toThrow();
});

test('packLines() leaves up to 900 bytes as they are, and packs more of them', () => {
  const bytes = Buffer.from(LINES.join('\n'));
  for (const lines of [LINES, Object.assign([...LINES], { bytes }), ['']]) {
    const body = packLines(lines);
    expect(textsOf(body)).toEqual([...lines]);
    expect(Buffer.from(body).includes(Buffer.from(lines.join('\n')))).toBe(true);
    expect(body.buffer.byteLength).toBe(body.length);
  }
  expect(packLines(['x'.repeat(900)]).length).toBeGreaterThan(900);
  expect(zstdDecompressSync(packLines(['x'.repeat(901)])).toString()).toBe('x'.repeat(901));
});

test('unpackLines() throws for lines that were left as they are and are damaged or cut', () => {
  const body = Buffer.from(packLines(LINES));
  for (let at = 0; at < body.length; at++) {
    const damaged = Buffer.from(body);
    damaged[at] = (damaged[at] ?? 0) ^ 4;
    expect(() => unpackLines(damaged)).toThrow();
    expect(() => unpackLines(body.subarray(0, at))).toThrow();
  }
});
