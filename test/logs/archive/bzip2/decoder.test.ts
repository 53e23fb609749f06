import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { Bzip2Decoder } from '../../../../src/logs/archive/bzip2/decoder.ts';
import { Bzip2Workspace } from '../../../../src/logs/archive/bzip2/stream-parser.ts';
import { compress, createLog, createNoise, decodeBzip2, findMarks } from '../../../support/archives.ts';
import { sampled, sampleNote } from '../../../support/sampled.ts';
import { withPrograms } from '../../../support/tools.ts';

const ALL_LEVELS = ['-1', '-2', '-3', '-4', '-5', '-6', '-7', '-8', '-9'];
const LEVELS = sampled('levels of bzip2', ALL_LEVELS, ['-1', '-9']);
const workspace = new Bzip2Workspace();

const INPUTS: readonly (readonly [string, () => Buffer])[] = [
  ['nothing', () => Buffer.alloc(0)],
  ['one byte', () => Buffer.from('a')],
  ['three equal bytes', () => Buffer.from('aaa')],
  ['four equal bytes', () => Buffer.from('aaaa')],
  ['a run of exactly 255 and one of 256 bytes', () => Buffer.from(`${'a'.repeat(255)}b${'a'.repeat(256)}`)],
  ['a run of 259 bytes, the longest that one count can say', () => Buffer.from(`x${'a'.repeat(259)}x`)],
  [
    'a run that follows the count of another',
    () => Buffer.from(`${'a'.repeat(4)}${'\u0004'.repeat(9)}${'b'.repeat(12)}`),
  ],
  ['all byte values', () => Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7) % 256))],
  ['two bytes in turn', () => Buffer.from('ab'.repeat(300_000))],
  ['a long period', () => Buffer.from('0123456789abcdefg'.repeat(20_000))],
  ['megabytes of zeros', () => Buffer.alloc(3_000_000)],
  ['noise', () => createNoise(250_000)],
  ['log lines', () => createLog(1_500_000)],
  [
    'runs of growing length',
    () => Buffer.from(Array.from({ length: 600 }, (_, at) => 'ab'[at % 2]?.repeat(at)).join('')),
  ],
];

/** What a real program of the bzip2 family makes of `input`. */
function compressWith(program: string, level: string, input: Buffer): Buffer {
  return execFileSync(program, ['-c', level], { input, maxBuffer: 2 ** 30 });
}

withPrograms(['bzip2'], test.for(INPUTS))(
  `Bzip2Decoder gives back %s from every level of bzip2${sampleNote('levels of bzip2')}`,
  ([, create]) => {
    const input = create();
    for (const level of LEVELS) {
      const archive = compressWith('bzip2', level, input);
      const { output, error, markers } = decodeBzip2(archive, { chunkBytes: 5000, workspace });
      expect(error).toBeUndefined();
      expect(output.equals(input), level).toBe(true);
      expect(markers).toEqual([{ kind: 'end', trailing: undefined }]);
    }
  },
);

for (const program of ['lbzip2', 'pbzip2']) {
  withPrograms([program], test)(`Bzip2Decoder gives back what ${program} writes`, () => {
    const input = Buffer.concat([createLog(2_500_000), Buffer.alloc(500_000), createNoise(100_000)]);
    for (const level of ['-1', '-9']) {
      const { output, error } = decodeBzip2(compressWith(program, level, input), { workspace });
      expect(error).toBeUndefined();
      expect(output.equals(input)).toBe(true);
    }
  });
}

describe('Bzip2Decoder', () => {
  test('gives back the same from chunks of any size', () => {
    const input = Buffer.concat([createLog(3000), Buffer.alloc(700), createNoise(300)]);
    const archive = compress(input);
    for (let chunkBytes = 1; chunkBytes <= archive.length; chunkBytes++) {
      const { output, error } = decodeBzip2(archive, { chunkBytes, workspace });
      expect({ chunkBytes, error, isEqual: output.equals(input) }).toEqual({
        chunkBytes,
        error: undefined,
        isEqual: true,
      });
    }
  });

  test('gives back many blocks from single bytes', () => {
    const input = createLog(450_000);
    const archive = compress(input, 1);
    expect(findMarks(archive).blocks.length).toBeGreaterThan(4);
    expect(decodeBzip2(archive, { chunkBytes: 1, workspace }).output.equals(input)).toBe(true);
  });

  test('joins streams that follow each other, empty ones too', () => {
    const first = createLog(150_000, 1);
    const second = createNoise(120_000, 2);
    const nothing = compress(Buffer.alloc(0));
    const archive = Buffer.concat([nothing, compress(first, 1), nothing, compress(second), nothing]);
    for (const chunkBytes of [1, 13, archive.length]) {
      const { output, error } = decodeBzip2(archive, { chunkBytes, workspace });
      expect(error).toBeUndefined();
      expect(output.equals(Buffer.concat([first, second]))).toBe(true);
    }
  });

  test('accepts zeros behind the last stream', () => {
    const input = createLog(1000);
    for (const chunkBytes of [1, 1000, 100_000]) {
      const archive = Buffer.concat([compress(input), Buffer.alloc(64)]);
      const { output, error, markers } = decodeBzip2(archive, { chunkBytes, workspace });
      expect(error).toBeUndefined();
      expect(output.equals(input)).toBe(true);
      expect(markers).toEqual([{ kind: 'end', trailing: undefined }]);
    }
  });

  test.for([
    ['a letter', 'x'],
    ['what begins like a stream', 'BZx'],
    ['zeros and a letter', '\0\0x'],
    ['zeros and the header of a stream', '\0BZh9'],
    ['a long text', 'long '.repeat(100_000)],
  ] as const)('says what follows the last stream, and ignores it: %s', ([, rest]) => {
    const input = createLog(1000);
    for (const resync of [false, true]) {
      const archive = Buffer.concat([compress(input), Buffer.from(rest)]);
      const { output, error, markers } = decodeBzip2(archive, { workspace, resync });
      expect(error).toBeUndefined();
      expect(output.equals(input)).toBe(true);
      const trailing = rest.replace(/^\0+/, '');
      const head = new Uint8Array(Buffer.from(trailing.slice(0, 256)));
      expect(markers).toMatchObject([{ kind: 'end', trailing: { bytes: trailing.length, head } }]);
    }
  });

  test('takes a stream without its header for damage, and not for something that follows the last one', () => {
    const archive = Buffer.concat([compress(createLog(1000)), Buffer.from('x'), compress(createLog(1000)).subarray(4)]);
    expect(decodeBzip2(archive, { workspace }).error?.code).toBe('corrupt');
    const { output, markers } = decodeBzip2(archive, { workspace, resync: true });
    expect(output.length).toBe(2 * createLog(1000).length);
    expect(markers).toMatchObject([{ kind: 'block-lost' }, { kind: 'block-recovered' }, { kind: 'end' }]);
  });

  test('fails with truncated, after all whole blocks, when the archive ends at any byte', () => {
    const input = createLog(2000);
    const first = compress(input);
    const archive = Buffer.concat([first, compress(input)]);
    for (let length = 0; length < archive.length; length++) {
      const { output, error, markers } = decodeBzip2(archive.subarray(0, length), { chunkBytes: 100, workspace });
      const isWholeStream = length === first.length;
      const whole = length >= first.length ? input : Buffer.alloc(0);
      expect({ length, code: error?.code }).toEqual({ length, code: isWholeStream ? undefined : 'truncated' });
      expect(markers).toHaveLength(isWholeStream ? 1 : 0);
      if (!isWholeStream) expect(error?.bit).toBe(length * 8);
      // The last block may be whole although the end of its stream is missing.
      if (output.length !== whole.length) expect(output.subarray(whole.length).equals(input)).toBe(true);
    }
  });

  test('stops at the block that would exceed the output allowed', () => {
    const input = createLog(350_000);
    const { output, error } = decodeBzip2(compress(input, 1), { outputBytesMax: 250_000, workspace });
    expect(error?.code).toBe('too-large');
    expect(output.length).toBeLessThanOrEqual(250_000);
    expect(output.equals(input.subarray(0, output.length))).toBe(true);
    expect(output.length).toBeGreaterThan(150_000);
  });

  test('allows exactly the output allowed', () => {
    const input = createLog(350_000);
    const archive = compress(input, 1);
    expect(decodeBzip2(archive, { outputBytesMax: 350_000, workspace }).error).toBeUndefined();
    expect(decodeBzip2(archive, { outputBytesMax: 349_999, workspace }).error?.code).toBe('too-large');
  });

  test('stops a bomb at the cap', () => {
    const bomb = compress(Buffer.alloc(20_000_000));
    expect(bomb.length).toBeLessThan(100);
    const { output, error } = decodeBzip2(Buffer.concat([bomb, bomb, bomb]), { outputBytesMax: 50_000_000, workspace });
    expect(error?.code).toBe('too-large');
    expect(output.length).toBeLessThanOrEqual(50_000_000);
  });

  test('stops where the output exceeds the ratio allowed, a first mebibyte aside', () => {
    const input = Buffer.alloc(2_000_000);
    const archive = compress(input);
    expect(decodeBzip2(archive, { ratioMax: 100, workspace }).error?.code).toBe('too-large');
    expect(decodeBzip2(compress(input.subarray(0, 1_000_000)), { ratioMax: 100, workspace }).error).toBeUndefined();
    const lines = compress(createLog(400_000));
    const archiveOfLines = Buffer.concat([lines, lines, lines, lines, lines]);
    expect(decodeBzip2(archiveOfLines, { ratioMax: 100, workspace }).error).toBeUndefined();
  });

  test('throws the same error again when it is read after a failure', () => {
    const decoder = new Bzip2Decoder({ outputBytesMax: 1000 }, workspace);
    decoder.push(compress(createLog(500)).subarray(0, 60));
    decoder.end();
    const read = () => decoder.read();
    expect(read).toThrow('The archive ends after 60 bytes');
    expect(read).toThrow('The archive ends after 60 bytes');
  });
});
