import { describe, expect, test } from 'vitest';
import { SNIFF_BYTES, sniffFormat } from '../../../src/logs/reading/text.ts';
import { flipBit } from '../../support/archives.ts';

const BLOCK = [0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
const EMPTY = [0x42, 0x5a, 0x68, 0x31, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90];

describe('sniffFormat()', () => {
  test.for([
    ['bzip2', BLOCK],
    ['bzip2', EMPTY],
    ['gzip', [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]],
    ['zstd', [0x28, 0xb5, 0x2f, 0xfd, 4, 0, 1, 0, 0, 0]],
    ['text', [...Buffer.from('2026-11-21')]],
    ['text', [...Buffer.from('BZh9, said')]],
    ['text', [...Buffer.from('BZh')].concat(0x30, 0x31, 0x41, 0, 0, 0, 0)],
    ['text', [...Buffer.from('(1) start')]],
    ['text', []],
    ['text', [0x0a]],
    ['text', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
  ] as const)('finds %s in %j', ([format, head]) => {
    expect(sniffFormat(Uint8Array.from(head))).toEqual({ kind: 'format', format });
  });

  test.for([
    ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4, 0, 0]],
    ['compress (.Z)', [0x1f, 0x9d, 0x90, 0x32, 0, 0, 0, 0, 0, 0]],
  ] as const)('names %s, which is not decoded', ([name, head]) => {
    expect(sniffFormat(Uint8Array.from(head))).toEqual({ kind: 'unsupported', name });
  });

  test.for([
    ['bzip2', BLOCK],
    ['gzip', [0x1f, 0x8b, 8]],
    ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
    ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]],
  ] as const)('says that a file is truncated, not text, when it ends inside the mark of %s', ([, mark]) => {
    for (let length = 1; length < mark.length; length++) {
      const sniffed = sniffFormat(Uint8Array.from(mark.slice(0, length)));
      // Enough of a mark is taken for the format, whose decoder then says the same.
      expect(
        sniffed.kind === 'truncated' ||
          (sniffed.kind === 'format' && sniffed.format !== 'text') ||
          sniffed.kind === 'unsupported',
      ).toBe(true);
    }
  });

  test('still finds bzip2 when any one bit of its mark is wrong', () => {
    for (let bit = 0; bit < SNIFF_BYTES * 8; bit++) {
      for (const head of [BLOCK, EMPTY]) {
        expect(sniffFormat(flipBit(Uint8Array.from(head), bit))).toEqual({ kind: 'format', format: 'bzip2' });
      }
    }
  });
});
