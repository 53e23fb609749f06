import { buffer } from 'node:stream/consumers';
import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  createSeededRandom,
  cutLines,
  packBytes,
  packLines,
  packQuickly,
  readPackedSize,
  toPlainBody,
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
  const packed = packBytes('line');
  expect(packLines(Object.assign(['line'], { packed }))).toBe(packed);
});

test('packBytes() gives bodies of any size in memory of their own, also where nothing can be saved', () => {
  const random = createSeededRandom(1);
  for (const size of [0, 1, 100, 5000, 128 * 1024 - 1, 128 * 1024 + 1, 700_000]) {
    const line = Buffer.from(Uint8Array.from({ length: size }, () => 32 + Math.floor(random() * 90)));
    const noise = Buffer.from(Uint8Array.from({ length: size }, () => Math.floor(random() * 256)));
    const packed = packBytes(line);
    expect(packed.buffer.byteLength).toBe(packed.length);
    expect(unpackLines(packed).at(0)?.text).toBe(line.toString());
    expect(Buffer.from(zstdDecompressSync(packBytes(noise))).equals(noise)).toBe(true);
  }
});

test('unpackLines() reads bodies that were packed with a larger window, as before', () => {
  const text = `${'x'.repeat(300_000)}\n${'y'.repeat(300_000)}`;
  const body = zstdCompressSync(text, {
    params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
  });
  expect(textsOf(body)).toEqual(text.split('\n'));
});

test('readPackedSize() tells what a body expands to, and unpackLines() expands none to more than its bound', async () => {
  for (const bytes of [0, 1, 255, 256, 65_791, 65_792, 1_000_000]) {
    const packed = packBytes(Buffer.alloc(bytes));
    expect(readPackedSize(packed)).toBe(bytes);
    expect(unpackLines(packed, Math.max(1, bytes)).memory).toHaveLength(bytes);
    if (bytes > 1) expect(() => unpackLines(packed, bytes - 1)).toThrow(`have ${bytes} bytes, and ${bytes - 1} are`);
    expect(readPackedSize(packed.subarray(0, 5))).toBeUndefined();
  }
  const stream = createZstdCompress();
  stream.end(Buffer.alloc(1_000_000));
  const silent = await buffer(stream);
  expect(readPackedSize(silent)).toBeUndefined();
  expect(() => unpackLines(silent, 999_999)).toThrow('999999');
});

test('unpackLines() throws for lines that are damaged', () => {
  const packed = Buffer.from(packLines(LINES));
  packed[packed.length - 1] = (packed.at(-1) ?? 0) ^ 1;
  expect(() => unpackLines(packed)).toThrow();
});

test('packQuickly() leaves a few lines as they are, in memory of their own, and packs more of them', () => {
  const bytes = Buffer.from(LINES.join('\n'));
  const packed = packBytes('line');
  for (const lines of [LINES, Object.assign([...LINES], { bytes }), ['']]) {
    const body = packQuickly(lines);
    expect(textsOf(body)).toEqual([...lines]);
    expect(Buffer.from(body).includes(Buffer.from(lines.join('\n')))).toBe(true);
    expect(body.buffer.byteLength).toBe(body.length);
    expect(Buffer.from(toPlainBody(body)).equals(packLines(lines))).toBe(true);
  }
  expect(packQuickly(['x'.repeat(900)]).length).toBeGreaterThan(900);
  expect(packQuickly(['x'.repeat(901)])).toEqual(packLines(['x'.repeat(901)]));
  expect(packQuickly(Object.assign(['line'], { packed }))).toBe(packed);
});

test('unpackLines() throws for lines that were left as they are and are damaged or cut', () => {
  const body = Buffer.from(packQuickly(LINES));
  for (let at = 0; at < body.length; at++) {
    const damaged = Buffer.from(body);
    damaged[at] = (damaged[at] ?? 0) ^ 4;
    expect(() => unpackLines(damaged)).toThrow();
    expect(() => unpackLines(body.subarray(0, at))).toThrow();
  }
});
