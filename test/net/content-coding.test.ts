import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ContentCodingError, decodeContent, isCoded, readBounded, renderHeader } from '../../src/net/index.ts';

const never = new AbortController().signal;
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const TEXT = 'a line of a log\n'.repeat(5000);

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

async function decode(bytes: Uint8Array, header: string | undefined, bytesMax = 1 << 20) {
  return readBounded(decodeContent(inPieces(bytes), header), bytesMax, never);
}

test.for<[string | undefined, Uint8Array]>([
  [undefined, Buffer.from(TEXT)],
  ['identity', Buffer.from(TEXT)],
  ['gzip', gzipSync(TEXT)],
  [' GZip ', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
  ['br, gzip', gzipSync(brotliCompressSync(TEXT))],
])('decodeContent() decodes Content-Encoding %s', async ([header, bytes]) => {
  expect((await decode(bytes, header)).bytes.toString()).toBe(TEXT);
});

test.for<[string, string, string]>([
  ['snappy', 'unknown', 'The answer has Content-Encoding "snappy", which is not supported'],
  ['gzip, gzip, gzip', 'unknown', 'which is not supported'],
  ['a\u0000\n"b', 'unknown', String.raw`Content-Encoding "a \"b"`],
  ['x'.repeat(1000), 'unknown', `"${'x'.repeat(80)}…"`],
  ['gzip', 'invalid', 'The answer has Content-Encoding "gzip", but its body is not encoded so'],
  ['zstd', 'invalid', '"zstd", but its body is not encoded so'],
  ['br', 'invalid', '"br", but its body is not encoded so'],
])('decodeContent() names a coding that it cannot decode: %s', async ([header, code, message]) => {
  const failure = await decode(Buffer.from('{"a": 1}'), header).catch((cause: unknown) => cause);
  expect(failure).toBeInstanceOf(ContentCodingError);
  expect(failure).toMatchObject({ code, message: expect.stringContaining(message) });
});

test('decodeContent() distinguishes a body that ends too early from a whole one', async () => {
  const whole = gzipSync(TEXT);
  await expect(decode(whole.subarray(0, -10), 'gzip')).rejects.toMatchObject({ code: 'invalid' });
});

test('decodeContent() gives nothing for a body without a byte', async () => {
  expect((await decode(Buffer.alloc(0), 'gzip')).bytes).toHaveLength(0);
});

test('decodeContent() leaves the body when its reader has enough, long before the end of a small body that decodes to much', async () => {
  let given = 0;
  let isLeft = false;
  const bomb = Buffer.concat(Array.from({ length: 100 }, () => gzipSync(Buffer.alloc(1 << 20))));
  const body = async function* () {
    try {
      for (let at = 0; at < bomb.length; at += 100) {
        const piece = bomb.subarray(at, at + 100);
        given += piece.length;
        yield piece;
      }
    } finally {
      isLeft = true;
    }
  };
  const { bytes, isCut } = await readBounded(decodeContent(body(), 'gzip'), 1000, never);
  expect({ length: bytes.length, isCut }).toEqual({ length: 1000, isCut: true });
  await expect.poll(() => isLeft).toBe(true);
  expect(given).toBeLessThan(bomb.length);
});

test('decodeContent() ends a body of two layers that expands between them, and gives nothing', async () => {
  // A gzip file of nothing but empty blocks, the last one of which says so: valid, and empty.
  const emptyBlock = Buffer.from([0, 0, 0, 0xff, 0xff]);
  const blocks = Buffer.alloc(emptyBlock.length << 20, emptyBlock);
  const inner = Buffer.concat([
    gzipSync('').subarray(0, 10),
    blocks,
    Buffer.from([1, 0, 0, 0xff, 0xff]),
    Buffer.alloc(8),
  ]);
  await expect(decode(brotliCompressSync(inner, QUICK), 'gzip, br')).rejects.toMatchObject({ code: 'invalid' });
});

test('decodeContent() decodes two layers to much more than stands between them, and to much less', async () => {
  const much = Buffer.alloc(20 << 20, 'x');
  const { bytes } = await readBounded(
    decodeContent([brotliCompressSync(gzipSync(much), QUICK)], 'gzip, br'),
    much.length,
    never,
  );
  expect(bytes.equals(much)).toBe(true);
  const stored = gzipSync(much, { level: 0 });
  const same = await readBounded(decodeContent([brotliCompressSync(stored, QUICK)], 'gzip, br'), much.length, never);
  expect(same.bytes.equals(much)).toBe(true);
});

test('decodeContent() throws what its body throws, as it is', async () => {
  const broken = new RangeError('the connection broke');
  const body = async function* () {
    yield gzipSync(TEXT).subarray(0, 50);
    throw broken;
  };
  await expect(readBounded(decodeContent(body(), 'gzip'), 1000, never)).rejects.toBe(broken);
});

test.for([
  [undefined, false],
  ['', false],
  ['Identity', false],
  ['gzip', true],
] as const)('isCoded() detects whether a body has a coding: %s', ([header, expected]) => {
  expect(isCoded(header)).toBe(expected);
});

test('renderHeader() says that a header is missing', () => {
  expect(renderHeader('Content-Type', undefined)).toBe('no Content-Type');
});
