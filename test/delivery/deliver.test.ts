import { expect, test, vi } from 'vitest';
import { deliverOnce, type RecordsDelivered, type Sink, type Spool } from '../../src/delivery/index.ts';

const never = new AbortController().signal;

/** A spool of slices with one cursor per sink. */
function createSpool(slices: readonly (readonly string[])[]) {
  const cursors = new Map<string, number>();
  const events: string[] = [];
  const spool: Spool<number> = {
    readSlice(sink) {
      const cursor = cursors.get(sink) ?? 0;
      const lines = slices[cursor];
      return lines && { lines, next: cursor + 1 };
    },
    acknowledge(sink, cursor) {
      events.push(`acknowledged ${cursor} for ${sink}`);
      cursors.set(sink, cursor);
    },
  };
  return { spool, events };
}

function createSink(deliver: Sink['deliver']): Sink {
  return { name: 'archive', deliver };
}

test('deliverOnce() resolves with idle, and touches no sink, when the sink has everything', async () => {
  const { spool, events } = createSpool([]);
  const deliver = vi.fn<Sink['deliver']>();
  const report = vi.fn();
  expect(await deliverOnce(spool, createSink(deliver), never, report)).toBe('idle');
  expect(deliver).not.toHaveBeenCalled();
  expect(report).not.toHaveBeenCalled();
  expect(events).toEqual([]);
});

test('deliverOnce() acknowledges only after the sink has the records for good, then reports', async () => {
  const { spool, events } = createSpool([['1', '2'], ['3']]);
  const sink = createSink(async (lines) => {
    await Promise.resolve();
    events.push(`delivered ${lines.join()}`);
  });
  const report = (event: RecordsDelivered) => void events.push(`reported ${event.records} for ${event.sink}`);
  expect(await deliverOnce(spool, sink, never, report)).toBe('more');
  expect(await deliverOnce(spool, sink, never, report)).toBe('more');
  expect(await deliverOnce(spool, sink, never, report)).toBe('idle');
  expect(events).toEqual([
    'delivered 1,2',
    'acknowledged 1 for archive',
    'reported 2 for archive',
    'delivered 3',
    'acknowledged 2 for archive',
    'reported 1 for archive',
  ]);
});

test('deliverOnce() leaves the cursor where it was when the sink fails, so that the same records come again', async () => {
  const { spool, events } = createSpool([['1', '2']]);
  const cause = new RangeError('sink down');
  const seen: (readonly string[])[] = [];
  let isDown = true;
  const sink = createSink((lines) => {
    seen.push(lines);
    return isDown ? Promise.reject(cause) : Promise.resolve();
  });
  const report = vi.fn();
  await expect(deliverOnce(spool, sink, never, report)).rejects.toBe(cause);
  expect(events).toEqual([]);
  expect(report).not.toHaveBeenCalled();
  isDown = false;
  expect(await deliverOnce(spool, sink, never, report)).toBe('more');
  expect(seen).toEqual([
    ['1', '2'],
    ['1', '2'],
  ]);
});

test('deliverOnce() hands its signal to the sink', async () => {
  const { spool } = createSpool([['1']]);
  const abort = new AbortController();
  const deliver = vi.fn<Sink['deliver']>(() => Promise.resolve());
  await deliverOnce(spool, createSink(deliver), abort.signal, () => {});
  expect(deliver).toHaveBeenCalledWith(['1'], abort.signal);
});
