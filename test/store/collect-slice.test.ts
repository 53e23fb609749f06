import { expect, test } from 'vitest';
import { LineTable, packLines, unpackLines } from '../../src/base/index.ts';
import { collectSlice } from '../../src/model/store/slices.ts';

interface TestBatch {
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  readonly records: number;
  readonly committedMs: number;
  readonly texts: readonly string[];
}

function toBatch(id: number, texts: readonly string[], about: Partial<TestBatch> = {}): TestBatch {
  return { seq: id, router: 'r1', component: 'system', records: texts.length, committedMs: id * 1000, texts, ...about };
}

function collect(
  batches: readonly TestBatch[],
  { isComplete = true, skippedMax = 10, unreadable = -1, missing = [] as number[], isMeasured = true } = {},
  place: Parameters<typeof collectSlice>[1] = { cursor: { batch: 0, index: 0 } },
  recordsMax = 100,
) {
  const slice = collectSlice<TestBatch>(
    {
      batches,
      isComplete,
      skippedMax,
      linesOf: ({ seq, texts }) => {
        if (seq === unreadable) return undefined;
        const lines = isMeasured
          ? unpackLines(packLines(texts))
          : new LineTable(Buffer.from(texts.join('\n')), texts.length);
        return { lines };
      },
      onMissing: (_, records) => missing.push(records),
    },
    place,
    { recordsMax, bytesMax: 1e6, isWanted: (_, component) => component !== 'other' },
  );
  return slice && { ...slice, lines: slice.lines.map(({ text }) => text) };
}

test('collectSlice() continues within a batch that its bound of records has cut', () => {
  const batches = [toBatch(4, ['a', 'b']), toBatch(7, ['c', 'd'])];
  const first = collect(batches, {}, undefined, 3);
  expect(first).toMatchObject({ lines: ['a', 'b', 'c'], next: { batch: 7, index: 1 }, oldestMs: 4000, isFull: true });
  const second = collect(batches, {}, { cursor: { batch: 7, index: 1 } }, 3);
  expect(second).toMatchObject({ lines: ['d'], next: { batch: 8, index: 0 }, oldestMs: 7000, isFull: false });
  expect(collect(batches, {}, { cursor: { batch: 8, index: 0 } })).toBeUndefined();
});

test('collectSlice() skips the batches of unwanted logs unread, at most as many as its source says', () => {
  const batches = [1, 2, 3].map((id) => toBatch(id, ['x', 'y'], { component: 'other' }));
  expect(collect(batches)).toMatchObject({ lines: [], skipped: 6, next: { batch: 4, index: 0 }, isFull: false });
  const bounded = collect(batches, { skippedMax: 2 });
  expect(bounded).toMatchObject({ lines: [], skipped: 4, next: { batch: 3, index: 0 }, isFull: true });
});

test('collectSlice() ends a redelivery in front of the first record that is new', () => {
  const place = { cursor: { batch: 2, index: 1 }, pass: { batch: 1, index: 1 } };
  const slice = collect([toBatch(1, ['a', 'b']), toBatch(2, ['c', 'd'])], {}, place);
  expect(slice).toMatchObject({ lines: ['b', 'c'], next: place.cursor, isRepeat: true });
});

test('collectSlice() ends a redelivery whose batches are gone once it is sure that they are', () => {
  const place = { cursor: { batch: 9, index: 0 }, pass: { batch: 1, index: 0 } };
  expect(collect([], { isComplete: false }, place)).toBeUndefined();
  expect(collect([], {}, place)).toMatchObject({ lines: [], next: place.cursor, isRepeat: true });
});

test('collectSlice() ends in front of a batch that cannot be read', () => {
  const slice = collect([toBatch(1, ['a']), toBatch(2, ['b'])], { unreadable: 2 });
  expect(slice).toMatchObject({ lines: ['a'], next: { batch: 2, index: 0 }, isFull: true });
});

test('collectSlice() leaves out records that have no line, and says how many', () => {
  const missing: number[] = [];
  const slice = collect([toBatch(1, ['a'], { records: 4 }), toBatch(2, ['b'])], { missing });
  expect(slice).toMatchObject({ lines: ['a', 'b'], next: { batch: 3, index: 0 } });
  expect(missing).toEqual([3]);
});

test('collectSlice() cuts no long batch only to fill a slice that is half full, and each one that does not fit alone', () => {
  const long = (id: number, lines: number) =>
    toBatch(
      id,
      Array.from({ length: lines }, () => 'x'.repeat(1000)),
    );
  const batches = [long(1, 300), long(2, 300), long(3, 100)];
  for (const isMeasured of [false, true]) {
    const sizes: number[] = [];
    for (let batch = 1, index = 0; batch < 4; ) {
      const slice = collect(batches, { isMeasured }, { cursor: { batch, index } }, 500);
      if (!slice) break;
      sizes.push(slice.lines.length);
      ({ batch, index } = slice.next);
    }
    // Where it is known already where lines end, a cut costs nothing.
    expect(sizes).toEqual(isMeasured ? [500, 200] : [300, 400]);
    const one = collect([long(1, 700)], { isMeasured }, undefined, 500);
    expect(one).toMatchObject({ next: { batch: 1, index: 500 }, isFull: true });
    expect(collect([toBatch(1, ['a']), long(2, 700)], { isMeasured }, undefined, 500)?.lines).toHaveLength(500);
  }
});
