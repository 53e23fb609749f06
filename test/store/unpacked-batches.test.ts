import { expect, test, vi } from 'vitest';
import { type ByteLine, packLines } from '../../src/base/index.ts';
import { UnpackedBatches } from '../../src/store/spool-batches.ts';

const MIB = 1024 * 1024;

function bodyOf(lines: readonly string[]) {
  return vi.fn(() => packLines(lines));
}

const toTexts = (lines: readonly ByteLine[] | undefined) => lines?.map(({ text }) => text);

test('UnpackedBatches reads a body once, until it is told to forget it', () => {
  const batches = new UnpackedBatches();
  const body = bodyOf(['1', '2']);
  for (let count = 0; count < 3; count++) expect(toTexts(batches.take(1, 2, body))).toEqual(['1', '2']);
  expect(body).toHaveBeenCalledTimes(1);
  batches.forget(1);
  batches.take(1, 2, body);
  batches.take(2, 1, bodyOf(['3']));
  batches.forgetBefore(2);
  batches.take(1, 2, body);
  expect(body).toHaveBeenCalledTimes(3);
});

test('UnpackedBatches keeps what was asked for last, up to 8 MiB', () => {
  const batches = new UnpackedBatches();
  const bodies = [1, 2, 3].map((batch) => bodyOf([String(batch).repeat(3 * MIB)]));
  const take = (batch: number) => batches.take(batch, 1, bodies[batch - 1] ?? bodyOf([]));
  take(1);
  take(2);
  take(1);
  take(3);
  take(1);
  take(3);
  expect(bodies.map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1]);
  take(2);
  expect(bodies.map(({ mock }) => mock.calls.length)).toEqual([1, 2, 1]);
});

test('UnpackedBatches keeps a batch above its bound alone', () => {
  const batches = new UnpackedBatches();
  const small = bodyOf(['1']);
  const huge = bodyOf(['x'.repeat(9 * MIB)]);
  batches.take(1, 1, small);
  batches.take(2, 1, huge);
  batches.take(2, 1, huge);
  batches.take(1, 1, small);
  batches.take(2, 1, huge);
  expect(huge).toHaveBeenCalledTimes(2);
  expect(small).toHaveBeenCalledTimes(2);
});

test('UnpackedBatches gives nothing for a body that is missing, damaged, or holds another number of records', () => {
  const batches = new UnpackedBatches();
  expect(batches.take(1, 1, () => undefined)).toBeUndefined();
  expect(batches.take(1, 1, () => new Uint8Array([1, 2, 3]))).toBeUndefined();
  expect(batches.take(1, 2, bodyOf(['1']))).toBeUndefined();
  expect(batches.take(1, 1, () => packLines(['x'.repeat(1000)]).subarray(0, 20))).toBeUndefined();
  expect(toTexts(batches.take(1, 1, bodyOf(['1'])))).toEqual(['1']);
});

test('UnpackedBatches gives the records that it was told to keep, and reads no body for them', () => {
  const batches = new UnpackedBatches();
  const body = bodyOf(['other']);
  batches.keep(1, Buffer.from('eins\nzwö'));
  expect(toTexts(batches.take(1, 2, body))).toEqual(['eins', 'zwö']);
  batches.keep(2, Buffer.alloc(9 * MIB));
  batches.take(1, 1, body);
  expect(body).toHaveBeenCalledTimes(1);
});
