import { expect, test } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import { startRouterExporter } from '../support/child.ts';

test('demo --for ends by itself with records on stdout, a summary on stderr and exit code 0', async () => {
  await using demo = startRouterExporter(
    'demo',
    '--for',
    '4s',
    '--routers',
    '2',
    '--web.listen-address',
    '127.0.0.1:0',
  );

  const { code, stdout, stderr } = await demo.ended;

  expect(code).toBe(0);
  const summary = /^Summary: (\d+) of 2 routers up, (\d+) polls, (\d+) records shipped, 0 gaps$/m.exec(stderr);
  expect(summary?.[1]).toBe('2');
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LogRecord);
  expect(records).toHaveLength(Number(summary?.[3]));
  expect(records.length).toBeGreaterThan(0);
  expect(Object.keys(records[0] ?? {}).slice(0, 8)).toEqual([
    'timestamp',
    'observed_timestamp',
    'router',
    'component',
    'tag',
    'severity',
    'message',
    'uid',
  ]);
});

test('demo refuses a duration and a number of routers that are none, and faults of too few routers, with exit code 2', async () => {
  await using wrongTime = startRouterExporter('demo', '--for', 'soon');
  await using wrongCount = startRouterExporter('demo', '--routers', '0');

  await using tooFew = startRouterExporter('demo', '--faults', '--routers', '3');

  const ends = await Promise.all([wrongTime.ended, wrongCount.ended, tooFew.ended]);

  expect(ends.map(({ code }) => code)).toEqual([2, 2, 2]);
  expect(ends[0].stderr).toContain("'soon' is invalid. Expected a duration such as 30s, 5m or 1h30m.");
  expect(ends[1].stderr).toContain("'0' is invalid. Expected a whole number from 1 to 10000.");
  expect(ends[2].stderr).toBe('--faults needs 4 routers or more: one of them is healthy\n');
});
