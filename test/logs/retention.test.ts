import { expect, test } from 'vitest';
import { Retention } from '../../src/logs/follow/memory.ts';
import { collectGarbage } from '../support/collect-garbage.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const FILE_BYTES = 1_000_000;
const FILES = 4;

function createRetention(): Retention {
  const retention = new Retention();
  retention.recordFile(FILE_BYTES);
  retention.recordListed(FILES);
  return retention;
}

/** Looks every `everyMs` at a log that grows by so many bytes per second. */
function look(retention: Retention, fromMs: number, toMs: number, everyMs: number, bytesPerSecond: number): void {
  for (let atMs = fromMs; atMs <= toMs; atMs += everyMs) retention.recordRead(atMs, (bytesPerSecond * everyMs) / 1000);
}

test.for([1000, 30_000, 10 * MINUTE_MS])(
  'Retention computes from looks every %i ms how long a line stays, by the growth of the last hour',
  (everyMs) => {
    const retention = createRetention();
    look(retention, 0, 3 * HOUR_MS, everyMs, 10);
    const seconds = () => (retention.lifetimeMs ?? 0) / 1000;
    expect(seconds()).toBeCloseTo(((FILES + 1) * FILE_BYTES) / 10, 3);
    look(retention, 3 * HOUR_MS + everyMs, 5 * HOUR_MS, everyMs, 1000);
    expect(seconds()).toBeCloseTo(((FILES + 1) * FILE_BYTES) / 1000, 3);
  },
);

test('Retention remembers little of each log, however often it is looked at', () => {
  const logs = Array.from({ length: 2000 }, createRetention);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (const retention of logs) look(retention, 0, 2 * HOUR_MS, 10_000, 10.5);
  collectGarbage();
  const bytesPerLog = (process.memoryUsage().heapUsed - before) / logs.length;
  expect(logs[0]?.lifetimeMs).toBeGreaterThan(0);
  expect(bytesPerLog).toBeLessThan(4000);
});
