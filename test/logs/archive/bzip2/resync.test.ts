import { describe, expect, test } from 'vitest';
import { Bzip2Workspace } from '../../../../src/logs/archive/bzip2/stream-parser.ts';
import { compress, createLog, decodeBzip2, findMarks, flipBit } from '../../../support/archives.ts';
import { writeArchive } from './block-writer.ts';

const workspace = new Bzip2Workspace();

describe('Bzip2Decoder with resync', () => {
  const input = createLog(480_000);
  const archive = compress(input, 1);
  const { blocks, ends } = findMarks(archive);
  const [endBit = 0] = ends;
  const bounds = [...blocks, endBit];

  test('gives back whole archives without a word', () => {
    for (const chunkBytes of [1, 7777, archive.length]) {
      const { output, markers, error } = decodeBzip2(archive, { resync: true, chunkBytes, workspace });
      expect(error).toBeUndefined();
      expect(output.equals(input)).toBe(true);
      expect(markers).toEqual([{ kind: 'end', trailing: undefined }]);
    }
  });

  test.for([0, 1, 2, 3, 4])('loses block %i alone when a bit of it is wrong', (lost) => {
    const start = bounds[lost] ?? 0;
    const end = bounds[lost + 1] ?? 0;
    for (const bit of [start + 50, start + 90, start + 400, start + 5000, end - 3000, end - 1]) {
      for (const chunkBytes of [1000, archive.length]) {
        const damaged = flipBit(archive, bit);
        const { output, markers, error } = decodeBzip2(damaged, { resync: true, chunkBytes, workspace });
        expect(error).toBeUndefined();
        const recovered = blocks.length - lost - 1;
        expect(markers).toMatchObject([
          { kind: 'block-lost', block: lost, startBit: start, endBit: end },
          ...Array.from({ length: recovered }, (_, index) => ({
            kind: 'block-recovered',
            block: lost + 1 + index,
          })),
          { kind: 'end' },
        ]);
        const { outputOffset } = markers[0] as { outputOffset: number };
        expect(output.subarray(0, outputOffset).equals(input.subarray(0, outputOffset))).toBe(true);
        const tail = output.subarray(outputOffset);
        expect(tail.equals(input.subarray(input.length - tail.length))).toBe(true);
        expect(input.length - output.length).toBeGreaterThan(70_000);
      }
    }
  });

  test('counts a block whose mark is wrong and the one before it as what they are', () => {
    const [, second = 0, third = 0] = bounds;
    const { markers, error } = decodeBzip2(flipBit(archive, second + 3), { resync: true, workspace });
    expect(error).toBeUndefined();
    expect(markers[0]).toMatchObject({ kind: 'block-lost', block: 1, startBit: second, endBit: third });
    expect(markers).toHaveLength(blocks.length);
  });

  test('loses two blocks next to each other one by one', () => {
    const [, second = 0, third = 0, fourth = 0] = bounds;
    const damaged = flipBit(flipBit(archive, second + 9000), third + 9000);
    const { markers, error } = decodeBzip2(damaged, { resync: true, workspace });
    expect(error).toBeUndefined();
    expect(markers.slice(0, 2)).toMatchObject([
      { kind: 'block-lost', block: 1, startBit: second, endBit: third },
      { kind: 'block-lost', block: 2, startBit: third, endBit: fourth },
    ]);
  });

  test('goes on with the next stream when the end of one is damaged', () => {
    const damaged = flipBit(archive, endBit + 60);
    const { output, markers, error } = decodeBzip2(Buffer.concat([damaged, archive]), { resync: true, workspace });
    expect(error).toBeUndefined();
    expect(output.equals(Buffer.concat([input, input]))).toBe(true);
    expect(markers[0]).toMatchObject({ kind: 'block-lost', startBit: endBit, endBit: damaged.length * 8 + 32 });
  });

  test('goes on behind garbage between two streams', () => {
    const both = Buffer.concat([archive, Buffer.from('garbage'), archive]);
    const { output, error } = decodeBzip2(both, { resync: true, workspace });
    expect(error).toBeUndefined();
    expect(output.equals(Buffer.concat([input, input]))).toBe(true);
  });

  test('fails with truncated, and loses nothing, when the archive merely ends too early', () => {
    const { output, markers, error } = decodeBzip2(archive.subarray(0, -20), { resync: true, workspace });
    expect(error?.code).toBe('truncated');
    expect(markers).toEqual([]);
    expect(output.equals(input.subarray(0, output.length))).toBe(true);
  });

  test('says what is lost and fails with corrupt when nothing follows the damage', () => {
    const [start = 0] = blocks.slice(-1);
    const damaged = flipBit(archive.subarray(0, (endBit >> 3) - 1), start + 120);
    const { markers, error } = decodeBzip2(damaged, { resync: true, workspace });
    expect(['corrupt', 'truncated']).toContain(error?.code);
    if (error?.code === 'corrupt') expect(markers).toMatchObject([{ kind: 'block-lost', startBit: start }]);
  });

  test('aborts after 64 damaged stretches, so that a forged archive ends soon', () => {
    const forged = Buffer.concat(Array.from({ length: 500 }, () => writeArchive({ crc: 1 })));
    const { markers, error } = decodeBzip2(forged, { resync: true, workspace });
    expect(error?.code).toBe('corrupt');
    expect(markers).toHaveLength(64);
  });

  test('without it fails with corrupt at the damaged block, after all before it', () => {
    const [, , third = 0] = bounds;
    const { output, markers, error } = decodeBzip2(flipBit(archive, third + 9000), { workspace });
    expect(error?.code).toBe('corrupt');
    expect(error?.bit).toBeGreaterThanOrEqual(third);
    expect(markers).toEqual([]);
    expect(output.equals(input.subarray(0, output.length))).toBe(true);
    expect(output.length).toBeGreaterThan(150_000);
  });
});
