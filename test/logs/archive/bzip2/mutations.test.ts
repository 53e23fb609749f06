import { describe, expect, test } from 'vitest';
import { createSeededRandom, type Random } from '../../../../src/base/index.ts';
import { Bzip2Workspace } from '../../../../src/logs/archive/bzip2/stream-parser.ts';
import { compress, createLog, createNoise, decodeBzip2, flipBit } from '../../../support/archives.ts';
import { countRuns } from '../../../support/sampled.ts';

const MUTATIONS = countRuns(10_000);
const NOTHING = Buffer.alloc(0);
const workspace = new Bzip2Workspace();

describe('Bzip2Decoder', () => {
  const inputs = [
    createLog(700),
    createNoise(150),
    Buffer.alloc(5000, 'ab'),
    Buffer.concat([Buffer.alloc(300), createLog(200), Buffer.alloc(300, 0x61)]),
  ];
  const originals = inputs.map((input) => ({
    input: Buffer.concat([input, input]),
    archive: Buffer.concat([compress(input), compress(input)]),
  }));

  test('never passes off a wrong byte when any one bit is wrong', () => {
    for (const { input, archive } of originals) {
      for (let bit = 0; bit < archive.length * 8; bit++) {
        const { output, error } = decodeBzip2(flipBit(archive, bit), { workspace });
        const isPrefix = output.equals(input.subarray(0, output.length));
        // A level may be another one, and the bits that fill the last byte of a stream mean nothing.
        const isWhole = error !== undefined || output.length === input.length;
        expect({ bit, isPrefix, isWhole }).toEqual({ bit, isPrefix: true, isWhole: true });
      }
    }
  });

  test.for([false, true])(`survives ${MUTATIONS} random changes without a wrong byte (resync %s)`, (resync) => {
    const random = createSeededRandom(resync ? 2 : 1);
    for (let round = 0; round < MUTATIONS; round++) {
      const { input, archive } = originals[round % originals.length] ?? { input: NOTHING, archive: NOTHING };
      const changed = change(archive, random);
      const settings = { resync, outputBytesMax: 100_000, chunkBytes: 1 + Math.floor(random() * 600), workspace };
      const { output, error, markers } = decodeBzip2(changed, settings);
      // Each of the two equal streams is one block, and only whole blocks come out.
      const half = input.length / 2;
      const isMadeOfBlocks = output.length % half === 0 && output.equals(input.subarray(0, output.length));
      // An archive that was cut exactly between its streams is whole, zeros or not.
      const isCutBetween = changed.subarray(archive.length / 2).every((byte) => byte === 0);
      // What is left of the second one when all of its marks have gone is ignored, and said.
      const isTrailing = JSON.stringify(markers.at(-1) ?? {}).includes('trailing');
      const isMarked = markers.length > 1 || isTrailing || isCutBetween;
      const isTold = error !== undefined || output.length === input.length || isMarked;
      expect({ round, isMadeOfBlocks, isTold }).toEqual({ round, isMadeOfBlocks: true, isTold: true });
    }
  });
});

/** One to four changes: an end, bytes that are missing, bytes too many, bytes overwritten, single bits. */
function change(archive: Buffer, random: Random): Buffer {
  const pick = (count: number) => Math.floor(random() * count);
  let changed: Buffer = archive;
  for (let changes = 1 + pick(4); changes > 0 && changed.length > 0; changes--) {
    const at = pick(changed.length);
    const before = changed.subarray(0, at);
    const kind = pick(6);
    if (kind === 0) changed = before;
    else if (kind === 1) changed = Buffer.concat([before, changed.subarray(at + 1 + pick(8))]);
    else if (kind === 2) changed = Buffer.concat([before, createNoise(1 + pick(8), at), changed.subarray(at)]);
    else if (kind === 3) {
      const filled = Buffer.alloc(1 + pick(16), pick(256));
      changed = Buffer.concat([before, filled, changed.subarray(at + filled.length)]);
    } else changed = flipBit(changed, pick(changed.length * 8));
  }
  return changed;
}
