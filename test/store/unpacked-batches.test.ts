import { expect, test, vi } from 'vitest';
import { type LineTable, packLines } from '../../src/base/index.ts';
import { UnpackedBatches } from '../../src/store/spool-batches.ts';

const MIB = 1024 * 1024;

function bodyOf(lines: readonly string[]) {
  return vi.fn(() => packLines(lines));
}

function toTexts(lines: LineTable | undefined): readonly string[] | undefined {
  return lines && Array.from({ length: lines.length }, (_, index) => `${lines.at(index)?.text}`);
}

test('UnpackedBatches reads a body once, until it must forget it', () => {
  const batches = new UnpackedBatches();
  const body = bodyOf(['1', '2']);
  for (let count = 0; count < 3; count++) expect(toTexts(batches.use(1, 2, body))).toEqual(['1', '2']);
  expect(body).toHaveBeenCalledTimes(1);
  batches.forget(1);
  batches.use(1, 2, body);
  batches.use(2, 1, bodyOf(['3']));
  batches.forgetBefore(2);
  batches.use(1, 2, body);
  expect(body).toHaveBeenCalledTimes(3);
});

test('UnpackedBatches keeps what was asked for last, up to 12 MiB', () => {
  const batches = new UnpackedBatches();
  const bodies = [1, 2, 3].map((batch) => bodyOf([String(batch).repeat(5 * MIB)]));
  const take = (batch: number) => batches.use(batch, 1, bodies[batch - 1] ?? bodyOf([]));
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
  const huge = bodyOf(['x'.repeat(13 * MIB)]);
  batches.use(1, 1, small);
  batches.use(2, 1, huge);
  batches.use(2, 1, huge);
  batches.use(1, 1, small);
  batches.use(2, 1, huge);
  expect(huge).toHaveBeenCalledTimes(2);
  expect(small).toHaveBeenCalledTimes(2);
});

test('UnpackedBatches gives nothing for a body that is missing, damaged, or holds another number of records', () => {
  const batches = new UnpackedBatches();
  expect(batches.use(1, 1, () => undefined)).toBeUndefined();
  expect(batches.use(1, 1, () => new Uint8Array([1, 2, 3]))).toBeUndefined();
  expect(batches.use(1, 2, bodyOf(['1']))).toBeUndefined();
  expect(batches.use(1, 1, () => packLines(['x'.repeat(1000)]).subarray(0, 20))).toBeUndefined();
  expect(toTexts(batches.use(1, 1, bodyOf(['1'])))).toEqual(['1']);
});

test('UnpackedBatches returns the records that it was asked to keep, without reading a body', () => {
  const batches = new UnpackedBatches();
  const body = bodyOf(['other']);
  batches.keep(1, 2, Buffer.from('eins\nzwö'));
  expect(toTexts(batches.use(1, 2, body))).toEqual(['eins', 'zwö']);
  batches.keep(2, 1, Buffer.alloc(13 * MIB));
  batches.use(1, 1, body);
  expect(body).toHaveBeenCalledTimes(1);
});
