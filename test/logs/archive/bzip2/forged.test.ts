import { describe, expect, test } from 'vitest';
import { Bzip2Workspace } from '../../../../src/logs/archive/bzip2/stream-parser.ts';
import { decodeBzip2 } from '../../../support/archives.ts';
import { CRC_OF_A, renderTable, writeArchive } from './block-writer.ts';

const CRC_OF_ABA = 0x6d0e801d;
const workspace = new Bzip2Workspace();

function decode(archive: Buffer): ReturnType<typeof decodeBzip2> {
  return decodeBzip2(archive, { workspace });
}

describe('Bzip2Decoder, fed with what no writer makes,', () => {
  test('decodes the archive that these tests change', () => {
    expect(decode(writeArchive())).toMatchObject({ output: Buffer.from('a'), error: undefined });
  });

  test('decodes codes of 20 bits, the longest allowed', () => {
    // RUNA 0, RUNB 1 and 19 zeros, end of block the number behind that.
    const archive = writeArchive({ lengths: [1, 20, 20], symbols: `01${'0'.repeat(18)}1` });
    expect(decode(archive)).toMatchObject({ output: Buffer.from('a'), error: undefined });
  });

  test('decodes a block that announces more selectors than any block needs', () => {
    const archive = writeArchive({ selectors: Array.from({ length: 32_767 }, () => 0) });
    expect(decode(archive)).toMatchObject({ output: Buffer.from('a'), error: undefined });
  });

  test('decodes a block with a table of more codes than fit that is not used, as bzip2 does', () => {
    const tables = `${renderTable([1, 2, 2])}${renderTable([1, 1, 1])}`;
    expect(decode(writeArchive({ tables }))).toMatchObject({ output: Buffer.from('a'), error: undefined });
  });

  test('repeats a part of a block from its start, as bzip2 does, also if it does not fit a whole number of times', () => {
    // The last column `aba` leads from row 1 to row 2 and back: two bytes for a block of three.
    const fields = { origin: 1, used: [0x61, 0x62], lengths: [2, 2, 2, 2], symbols: '00101011', crc: CRC_OF_ABA };
    expect(decode(writeArchive(fields))).toMatchObject({ output: Buffer.from('aba'), error: undefined });
  });

  test('fails with corrupt, after the blocks, when the CRC of the stream is wrong', () => {
    const { output, error } = decode(writeArchive({ streamCrc: CRC_OF_A ^ 1 }));
    expect(error?.code).toBe('corrupt');
    expect(output.toString()).toBe('a');
  });

  test('refuses a randomised block as unsupported', () => {
    expect(decode(writeArchive({ randomised: 1 })).error?.code).toBe('unsupported');
  });

  test.for([
    ['the level is 0', { level: '0' }],
    ['the CRC of the block is wrong', { crc: CRC_OF_A ^ 1, streamCrc: CRC_OF_A ^ 1 }],
    ['the origin lies outside the block', { origin: 1 }],
    ['the origin is the largest number', { origin: 0xffffff }],
    ['no byte value is used', { used: [], lengths: [1, 1], symbols: '01' }],
    ['there is one table', { tableCount: 1 }],
    ['there are seven tables', { tableCount: 7 }],
    ['there are no selectors', { selectors: [] }],
    ['a selector names a table that is not there', { selectors: [2] }],
    ['a code has no length', { lengths: [0, 1, 2] }],
    ['a length is 0 on its way to another', { tables: `0000111100${renderTable([1, 2, 2]).slice(6)}`.repeat(2) }],
    ['a code is too long', { lengths: [1, 2, 21] }],
    ['more codes are there than fit, so that the end has none', { lengths: [1, 1, 1] }],
    ['a length goes to and fro', { tables: `00001${'1011'.repeat(12)}0100`.repeat(2) }],
    ['a code is not assigned', { lengths: [1, 2, 3], symbols: '111111111111111111111' }],
    ['the block holds nothing', { symbols: '11' }],
    ['the symbols never end', { selectors: [0, 0], symbols: '10'.repeat(120) }],
    ['a run is longer than a block', { symbols: `${'10'.repeat(24)}11` }],
    ['a run is longer than the level allows', { level: '1', symbols: `${'10'.repeat(17)}11` }],
    ['four equal bytes end the block without their count', { symbols: '10011', crc: 0x881233a6 }],
  ] as const)('fails with corrupt when %s', ([, fields]) => {
    const { output, error } = decode(writeArchive(fields));
    expect(error?.code).toBe('corrupt');
    expect(error?.bit).toBeGreaterThanOrEqual(0);
    expect(output).toHaveLength(0);
  });

  test('fails at once on a table that promises to go to and fro for as long as there is input', () => {
    const archive = Buffer.concat([
      writeArchive({ tables: renderTable([1, 2]).slice(0, 6) }).subarray(0, 40),
      Buffer.alloc(60_000, 0xbb),
    ]);
    expect(decode(archive).error?.code).toBe('corrupt');
  });
});
