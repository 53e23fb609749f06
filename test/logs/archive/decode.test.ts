import { setImmediate } from 'node:timers/promises';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Bzip2Limits } from '../../../src/logs/archive/bzip2/decoder.ts';
import { ChunkReader } from '../../../src/logs/archive/chunk-reader.ts';
import { decode as decodeFrom } from '../../../src/logs/archive/decode.ts';
import { chunksOf, compress, createLog, createNoise, findMarks, flipBit } from '../../support/archives.ts';

/** As the command writes it: the library alone leaves out the checksum. */
const zstd = (input: Uint8Array) => zstdCompressSync(input, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });

/** Everything that decoding gives: bytes joined, damage, what follows the end, and what it threw. */
async function decode(source: Uint8Array | AsyncIterable<Uint8Array>, options: Partial<Bzip2Limits> = {}) {
  const output: Uint8Array[] = [];
  const markers: unknown[] = [];
  let trailing: unknown;
  let error: unknown;
  try {
    const reader = new ChunkReader(source instanceof Uint8Array ? chunksOf(source) : source);
    const items = decodeFrom(reader, { outputBytesMax: 2 ** 30, ...options });
    let next = await items.next();
    for (; next.done !== true; next = await items.next()) {
      // Valid until the next one is asked for.
      if (next.value instanceof Uint8Array) output.push(next.value.slice());
      else markers.push(next.value);
    }
    trailing = next.value;
  } catch (thrown) {
    error = thrown;
  }
  return { output: Buffer.concat(output), markers, trailing, error };
}

describe('decode()', () => {
  const input = createLog(1_200_000);
  const archive = compress(input);

  test('passes text unchanged', async () => {
    const { output, markers } = await decode(input, { outputBytesMax: input.length });
    expect(output.equals(input)).toBe(true);
    expect(markers).toEqual([]);
  });

  test('gives nothing for an empty file', async () => {
    expect(await decode(Buffer.alloc(0))).toEqual({ output: Buffer.alloc(0), markers: [] });
  });

  const compressed: readonly (readonly [string, readonly string[], () => Uint8Array])[] = [
    ['bzip2', ['bzip2'], () => archive],
    ['gzip', ['gzip'], () => gzipSync(input)],
    [
      'gzip in several members',
      ['gzip'],
      () => Buffer.concat([gzipSync(input.subarray(0, 999)), gzipSync(input.subarray(999))]),
    ],
    ['gzip with zeros behind it', ['gzip'], () => Buffer.concat([gzipSync(input), Buffer.alloc(512)])],
    ['zstd', ['zstd'], () => zstd(input)],
    [
      'zstd in several frames',
      ['zstd'],
      () => Buffer.concat([zstd(input.subarray(0, 999)), zstd(input.subarray(999))]),
    ],
    ['gzip around bzip2', ['gzip', 'bzip2'], () => gzipSync(archive)],
    ['gzip around gzip', ['gzip', 'gzip'], () => gzipSync(gzipSync(input))],
    ['zstd around bzip2', ['zstd', 'bzip2'], () => zstd(archive)],
  ];
  test.for(compressed)('decodes %s by its content', async ([, , create]) => {
    const bytes = create();
    for (const chunkBytes of [977, bytes.length]) {
      const { output, markers, error } = await decode(chunksOf(bytes, chunkBytes));
      expect(error).toBeUndefined();
      expect(output.equals(input)).toBe(true);
      expect(markers).toEqual([]);
    }
  });

  test.for(compressed)(
    'yields what is whole of %s, then fails with truncated, when it ends too early',
    async ([, formats, create]) => {
      const bytes = create();
      for (const cut of [1, 5, Math.floor(bytes.length / 3)]) {
        // Zeros behind a whole archive are no part of it.
        const rest = bytes.subarray(0, bytes.length - cut - (formats.length === 1 && bytes.at(-1) === 0 ? 512 : 0));
        const { output, markers, error } = await decode(rest);
        expect(error).toMatchObject({ code: 'truncated' });
        expect(markers).toEqual([]);
        expect(output.equals(input.subarray(0, output.length))).toBe(true);
      }
    },
  );

  test.for(compressed)('fails with corrupt when a bit of %s is wrong', async ([, , create]) => {
    const bytes = create();
    const { markers, error } = await decode(flipBit(bytes, Math.floor(bytes.length * 0.5) * 8 + 3));
    expect(error).toMatchObject({ name: 'ArchiveError' });
    expect(['corrupt', 'truncated', 'unsupported']).toContain((error as { code: string }).code);
    expect(markers).toEqual([]);
  });

  test.for([
    ['gzip', () => Buffer.concat([gzipSync(input), Buffer.from('garbage')])],
    ['gzip and a zero', () => Buffer.concat([gzipSync(input), Buffer.from('\0garbage')])],
    ['zstd', () => Buffer.concat([zstd(input), Buffer.from('garbage')])],
  ] as const)('fails with corrupt when something follows %s', async ([, create]) => {
    expect((await decode(create())).error).toMatchObject({ code: 'corrupt' });
  });

  test.for([
    ['xz', Buffer.from('fd377a585a000004e6d6b446', 'hex')],
    ['compress', Buffer.from('1f9d9000112233445566', 'hex')],
    ['three layers', gzipSync(gzipSync(gzipSync('x')))],
  ] as const)('fails with unsupported for %s', async ([, bytes]) => {
    expect((await decode(bytes)).error).toMatchObject({ code: 'unsupported' });
  });

  test('fails with truncated for a file that ends inside the mark of bzip2', async () => {
    expect((await decode(Buffer.from('BZh91A'))).error).toMatchObject({ code: 'truncated' });
  });

  test.for([
    ['text', () => input],
    ['gzip', () => gzipSync(Buffer.alloc(20_000_000))],
    ['zstd', () => zstd(Buffer.alloc(20_000_000))],
    ['gzip around gzip', () => gzipSync(gzipSync(Buffer.alloc(20_000_000)))],
    ['bzip2', () => compress(Buffer.alloc(20_000_000))],
    ['gzip around zeros behind bzip2', () => gzipSync(Buffer.concat([archive, Buffer.alloc(20_000_000)]))],
  ] as const)('stops %s at the output allowed', async ([, create]) => {
    const { output, error } = await decode(create(), { outputBytesMax: 1_199_999 });
    expect(error).toMatchObject({ code: 'too-large' });
    expect(output.length).toBeLessThan(1_200_000);
  });

  test.for([
    ['gzip', () => gzipSync(Buffer.alloc(4_000_000))],
    ['bzip2', () => compress(Buffer.alloc(4_000_000))],
  ] as const)('stops %s at the ratio allowed', async ([, create]) => {
    expect((await decode(create(), { ratioMax: 50 })).error).toMatchObject({ code: 'too-large' });
  });

  test('says which block is lost and which follow with resync', async () => {
    const [first = 0, second = 0] = findMarks(archive).blocks;
    const { output, markers, error } = await decode(flipBit(archive, first + 5000), { resync: true });
    expect(error).toBeUndefined();
    expect(markers).toMatchObject([
      { kind: 'block-lost', block: 0, startBit: first, endBit: second, outputOffset: 0 },
      { kind: 'block-recovered', block: 1, outputOffset: 0 },
    ]);
    expect(input.subarray(-output.length).equals(output)).toBe(true);
  });

  test('yields what came before, then throws the error of a source that fails', async () => {
    const failure = new TypeError('The line was cut');
    const [, second = 0] = findMarks(archive).blocks;
    async function* failing() {
      yield* chunksOf(archive.subarray(0, (second >> 3) + 100));
      throw failure;
    }
    const { output, error } = await decode(failing());
    expect(error).toBe(failure);
    expect(output.length).toBeGreaterThan(800_000);
    expect(output.equals(input.subarray(0, output.length))).toBe(true);
  });

  test('throws the error of a source that fails in the middle of text', async () => {
    const failure = new TypeError('The line was cut');
    async function* failing() {
      yield Buffer.from('2026-11-21 line one\n');
      throw failure;
    }
    expect(await decode(failing())).toMatchObject({
      output: Buffer.from('2026-11-21 line one\n'),
      error: failure,
      markers: [],
    });
  });

  test('reads the source no faster than the result is taken', async () => {
    // What cannot be compressed is as large inside as outside, so the bytes on the way are those read and not yet given.
    const noise = createNoise(500_000);
    const stream = compress(noise);
    const streams = Array.from({ length: 4 }, () => stream);
    let read = 0;
    async function* counted() {
      for await (const chunk of chunksOf(Buffer.concat(streams))) {
        read += chunk.length;
        yield chunk;
      }
    }
    let taken = 0;
    for await (const item of decodeFrom(new ChunkReader(counted()), { outputBytesMax: 2 ** 30 })) {
      for (let turn = 0; turn < 50; turn++) await setImmediate();
      if (item instanceof Uint8Array) taken += item.length;
      expect(read - taken).toBeLessThan(1_000_000);
    }
    expect(taken).toBe(streams.length * noise.length);
  });

  test.for([
    ['decoding fails', { outputBytesMax: 1000 }],
    ['all was read', {}],
  ] as const)('closes the source when %s', async ([, limits]) => {
    let isClosed = false;
    async function* source() {
      try {
        yield* chunksOf(archive);
      } finally {
        isClosed = true;
      }
    }
    await decode(source(), limits);
    expect(isClosed).toBe(true);
  });

  test('says what follows the end of an archive, and if it is text', async () => {
    for (const [rest, isText] of [
      ['and more of the log\n', true],
      ['\u0001\u0002\u0003\u0004', false],
    ] as const) {
      const { trailing } = await decode(Buffer.concat([archive, Buffer.from(rest)]));
      expect(trailing).toEqual({ bytes: rest.length, isText });
    }
  });
});
