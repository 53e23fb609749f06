import { expect, test } from 'vitest';
import { createNumbers } from '../../src/base/index.ts';

test('createNumbers() creates arrays of zeros that share memory and no number', () => {
  const lengths = [20, 3, 60, 480];
  const arrays = lengths.flatMap((length) => [
    createNumbers(Uint8Array, length),
    createNumbers(Float64Array, length),
    createNumbers(Int16Array, length),
  ]);
  for (const [index, numbers] of arrays.entries()) {
    expect([...numbers]).toEqual(Array.from({ length: numbers.length }, () => 0));
    numbers.fill(index + 1);
  }
  for (const [index, numbers] of arrays.entries()) expect(new Set(numbers)).toEqual(new Set([index + 1]));
  expect(new Set(arrays.map(({ buffer }) => buffer)).size).toBeLessThanOrEqual(2);
});

test('createNumbers() gives a large array memory of its own', () => {
  const numbers = createNumbers(Float64Array, 10_000);
  expect([numbers.length, numbers.byteOffset, numbers.buffer.byteLength]).toEqual([10_000, 0, 80_000]);
});
