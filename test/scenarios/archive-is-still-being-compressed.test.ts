import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const SECOND_MS = 1000;

test('case 83: new lines wait for an archive that takes 40 seconds to compress, and all arrive in order without a gap', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 40 * SECOND_MS } } });
  for (let index = 0; index < 100; index++) fleet.router().appendLog('network', `line ${index}`);
  await fleet.advance(60 * SECOND_MS);
  fleet.router().appendLog('network', 'the last line before the rotation');
  fleet.router().rotate('network', 'the first line after it');

  await fleet.advance(120 * SECOND_MS);

  expectEachLineOnce(fleet.records, fleet.router(), 'network');
  expect(fleet.records.flatMap(({ flags }) => flags ?? [])).toEqual([]);
  expect(fleet.agent.summary().gaps).toBe(0);
});

test('new lines go ahead, flagged, when an archive takes longer than a minute, and its own lines come late', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 200 * SECOND_MS } } });
  fleet.router().appendLog('network', 'read before the rotation');
  await fleet.advance(60 * SECOND_MS);
  fleet.router().appendLog('network', 'only in the archive');
  fleet.router().rotate('network', 'after the rotation');

  await fleet.advance(400 * SECOND_MS);

  const flagged = fleet.records.map(({ message, flags }) => ({ message, flags }));
  expect(flagged).toEqual([
    { message: 'read before the rotation', flags: undefined },
    { message: 'after the rotation', flags: ['out_of_order'] },
    { message: 'only in the archive', flags: ['late'] },
  ]);
  expect(fleet.agent.summary().gaps).toBe(0);
});

test('a file that cannot be found for 15 minutes becomes one gap, as a record and as a count, and its rest still comes when it turns up', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 1700 * SECOND_MS } } });
  fleet.router().appendLog('network', 'read before the rotation');
  await fleet.advance(60 * SECOND_MS);
  fleet.router().appendLog('network', 'only in the archive');
  fleet.router().rotate('network', 'after the rotation');

  await fleet.advance(1200 * SECOND_MS);

  const gaps = fleet.records.filter(({ event }) => event === 'log.gap');
  expect(gaps).toHaveLength(1);
  expect(gaps[0]).toMatchObject({
    details: { certainty: 'possible', reason: 'not-found', from_uid: fleet.records[0]?.uid },
  });
  const counted = [
    ...(await fleet.metrics()).matchAll(
      /^router_log_gaps_total\{.*component="network",certainty="(\w+)",reason="missing"\} (\d+)$/gm,
    ),
  ];
  expect(counted.map(([, certainty, count]) => [certainty, count])).toEqual([
    ['certain', '0'],
    ['likely', '0'],
    ['possible', '1'],
  ]);

  await fleet.advance(600 * SECOND_MS);

  const messages = fleet.records.filter(({ event }) => !event).map(({ message }) => message);
  expect(messages).toEqual(['read before the rotation', 'after the rotation', 'only in the archive']);
});
