import { expect } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import type { SimulatedRouter } from '../../src/simulator/index.ts';

/** The line of a record, as the router wrote it, but for its time stamp. */
function toLine(record: LogRecord): string {
  return `[${record.tag}] ${record.message}`;
}

/** Checks the records of one log against what the router knows that it wrote: each line once, in order, none more. */
export function expectEachLineOnce(records: readonly LogRecord[], router: SimulatedRouter, component: string): void {
  const own = records.filter((record) => record.router === router.name && record.component === component);
  const truth = router.truth(component).map(({ text }) => text.slice('YYYY-MM-DD hh:mm:ss '.length));
  expect(own.map(toLine)).toEqual(truth);
  expect(new Set(own.map(({ uid }) => uid)).size).toBe(truth.length);
  const times = own.map(({ timestamp }) => timestamp ?? 'none');
  expect(times).toEqual(times.toSorted());
}
