import { expect, test } from 'vitest';
import { RefusalLog } from '../../src/agent/sinks/refusal-log.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';

const SECOND_MS = 1000;
const LETTERS = 'A sink refused records for good; they are dead letters';

function createBench() {
  const clock = createSteppedClock(0);
  const lines: OwnLine[] = [];
  return { clock, lines, refusals: new RefusalLog({ clock, logger: createCollectingLogger(lines) }) };
}

test('RefusalLog writes the first refusal at once, and the sums of all others once a minute', async () => {
  const { clock, lines, refusals } = createBench();
  for (let second = 0; second < 90; second++) {
    refusals.add('a', 'splits', 1, 'too large');
    refusals.add('a', 'letters', 2, `no field ${second}`);
    await clock.advance(SECOND_MS);
  }
  expect(lines).toEqual([
    { level: 'warn', message: LETTERS, fields: { sink: 'a', records: 2, splits: 1, reason: 'no field 0' } },
    { level: 'warn', message: LETTERS, fields: { sink: 'a', records: 118, splits: 59, reason: 'no field 59' } },
  ]);
  await clock.advance(120 * SECOND_MS);
  expect(lines.slice(2)).toEqual([
    { level: 'warn', message: LETTERS, fields: { sink: 'a', records: 60, splits: 30, reason: 'no field 89' } },
  ]);
  // After a minute without refusals, the next one is written at once.
  refusals.add('a', 'letters', 1, 'again');
  expect(lines.at(-1)?.fields).toEqual({ sink: 'a', records: 1, reason: 'again' });
});

test('RefusalLog has a line for each sink, at the level of the worst refusal in it', async () => {
  const { clock, lines, refusals } = createBench();
  refusals.add('a', 'letters', 1, 'no');
  refusals.add('b', 'rejected', 3, 'quota');
  refusals.add('a', 'letters', 1, 'no');
  refusals.add('a', 'dropped', 5);
  await clock.advance(60 * SECOND_MS);
  expect(lines).toEqual([
    { level: 'warn', message: LETTERS, fields: { sink: 'a', records: 1, reason: 'no' } },
    {
      level: 'error',
      message: 'A sink rejected records and does not say which',
      fields: { sink: 'b', rejected: 3, reason: 'quota' },
    },
    { level: 'error', message: LETTERS, fields: { sink: 'a', records: 1, dropped: 5, reason: 'no' } },
  ]);
});

test('RefusalLog writes halved batches without a refused record after a minute', async () => {
  const { clock, lines, refusals } = createBench();
  refusals.add('a', 'splits', 1, 'too large');
  refusals.add('a', 'splits', 1, 'too large');
  await clock.advance(59 * SECOND_MS);
  expect(lines).toEqual([]);
  await clock.advance(SECOND_MS);
  expect(lines).toMatchObject([{ level: 'info', fields: { sink: 'a', splits: 2, reason: 'too large' } }]);
});

test('RefusalLog writes the rest when a sink is removed and when it is closed', async () => {
  const { clock, lines, refusals } = createBench();
  for (const sink of ['a', 'b', 'c']) refusals.add(sink, 'letters', 1);
  for (const sink of ['a', 'b']) refusals.add(sink, 'letters', 2);
  refusals.end('a');
  refusals.end('none');
  refusals.close();
  expect(lines.slice(3).map(({ fields }) => fields)).toEqual([
    { sink: 'a', records: 2 },
    { sink: 'b', records: 2 },
  ]);
  await clock.advance(120 * SECOND_MS);
  expect(lines.length).toBe(5);
});
