import { expect, test } from 'vitest';
import { LineMatcher, type LogRuleSettings } from '../../../src/logs/index.ts';
import { RuleSeries } from '../../../src/logs/rules/line-matcher.ts';
import { messagesOf, openFileBench, openLogBench, SECOND_MS } from '../../support/log-bench.ts';

const LOGIN: LogRuleSettings = {
  name: 'router_logins_seen_total',
  help: 'Logins.',
  type: 'counter',
  components: ['events'],
  pattern: String.raw`login of user (?P<user>\w+)`,
  labels: ['user'],
  fixed_labels: {},
};
const SIGNAL: LogRuleSettings = {
  name: 'router_signal',
  help: 'Signal.',
  type: 'gauge',
  components: ['*'],
  pattern: String.raw`signal (?P<value>\S+)`,
  labels: [],
  fixed_labels: {},
  value: 'value',
};

test('log rules turn lines into counters and gauges, reported when the records are safe and never again', async () => {
  await using bench = await openLogBench({ runs: { matcher: new LineMatcher([LOGIN, SIGNAL]) } });
  bench.router.appendLog('events', 'login of user admin succeeded');
  bench.router.appendLog('modem', 'login of user admin succeeded, signal 17');
  bench.router.appendLog('modem', 'signal none');
  await bench.reader.run();
  await bench.reader.run();
  const hits = bench.reader.events.filter(({ type }) => type === 'log-rule-matched');
  expect(hits).toMatchObject([
    { component: 'events', metric: 'router_logins_seen_total', labels: { user: 'admin' }, value: 1 },
    { component: 'modem', metric: 'router_signal', kind: 'gauge', labels: {}, value: 17 },
  ]);
});

test('matches of one batch are added up for a counter, and the last one counts for a gauge', async () => {
  await using bench = await openLogBench({
    runs: { matcher: new LineMatcher([LOGIN, { ...SIGNAL, type: 'gauge' }]) },
  });
  for (const user of ['a', 'b', 'a']) bench.router.appendLog('events', `login of user ${user}`);
  for (const signal of [3, 9, 5]) bench.router.appendLog('modem', `signal ${signal}`);
  await bench.reader.run();
  await bench.reader.run();
  const hits = bench.reader.events.filter(({ type }) => type === 'log-rule-matched');
  expect(hits).toMatchObject([
    { metric: 'router_logins_seen_total', labels: { user: 'a' }, value: 2 },
    { metric: 'router_logins_seen_total', labels: { user: 'b' }, value: 1 },
    { metric: 'router_signal', value: 5 },
  ]);
});

test('a gauge has the value of the newest line that matched, also when older files are read behind it', async () => {
  await using bench = await openLogBench({
    simulator: { logs: { compressionMs: 0, maxFiles: 10 } },
    runs: { historyBytesMax: 30_000, matcher: new LineMatcher([LOGIN, SIGNAL]) },
  });
  for (let file = 0; file < 5; file++) {
    for (let line = 0; line < 200; line++) bench.router.appendLog('events', `signal ${file} ${'x'.repeat(60)}`);
    bench.router.appendLog('events', 'login of user admin');
    await bench.clock.advance(10 * SECOND_MS);
    bench.router.rotate('events', `signal ${file + 1}`);
  }
  for (let run = 0; run < 3; run++) await bench.reader.run();
  const hits = bench.reader.events.filter((event) => event.type === 'log-rule-matched');
  expect(hits.findLast(({ kind }) => kind === 'gauge')?.value).toBe(5);
  // Lines are counted whenever they are read.
  const logins = hits.filter(({ kind }) => kind === 'counter').map(({ value }) => value);
  expect(logins.reduce((sum, value) => sum + value, 0)).toBe(5);
});

test('a rule whose labels take ever new values ends in one series for all others', () => {
  const series = new RuleSeries();
  const others = Array.from({ length: 99 }, (_, index) => `u${index}`);
  const users = ['a', ...others, 'b', 'c', 'a'].map((user) =>
    series.place({ metric: LOGIN.name, kind: 'counter', labels: { user }, value: 1 }),
  );
  expect(users.map(({ user }) => user)).toEqual(['a', ...others, 'other', 'other', 'a']);
  // What was found later holds on to nothing: the labels are those of the series.
  expect(users.at(-1)).toBe(users[0]);
});

test('a router in whose lines a rule finds ever new labels has a bounded number of series', async () => {
  await using bench = await openLogBench({ runs: { matcher: new LineMatcher([LOGIN]) } });
  for (let user = 0; user < 150; user++) bench.router.appendLog('events', `login of user u${user}`);
  await bench.reader.run();
  await bench.reader.run();
  const users = bench.reader.events.flatMap((event) =>
    event.type === 'log-rule-matched' ? [event.labels['user']] : [],
  );
  expect(new Set(users).size).toBe(101);
  expect(users).toContain('other');
});

test('series that other rules have made take no room from those of the rules that hold now', async () => {
  const wasteful = { ...LOGIN, pattern: String.raw`login (?P<user>\d+)` };
  await using bench = await openLogBench({ runs: { matcher: new LineMatcher([wasteful]) } });
  for (let number = 0; number < 150; number++) bench.router.appendLog('events', `login ${number}`);
  await bench.reader.run();
  bench.router.appendLog('events', 'login of user admin');
  await bench.reader.run({ matcher: new LineMatcher([LOGIN]) });
  const last = bench.reader.events.findLast((event) => event.type === 'log-rule-matched');
  expect(last?.labels).toEqual({ user: 'admin' });
});

test('case 76: what is to be redacted is in no record, original and position', async () => {
  const matcher = new LineMatcher([], [{ pattern: String.raw`password=\S+`, replacement: 'password=[redacted]' }]);
  const lossy = Buffer.concat([Buffer.from('2026-11-21 12:00:02 [a] password=s3cret '), Buffer.from([0xff, 0x0a])]);
  await using bench = await openFileBench(
    new Map([
      [
        'network/current',
        Buffer.concat([Buffer.from('2026-11-21 12:00:00 [a] password=s3cret\n  at password=s3cret\n'), lossy]),
      ],
    ]),
    { matcher },
  );
  await bench.reader.run();
  const stored = [...bench.reader.log.positions.values(), ...bench.reader.log.lines].join('\n');
  expect(stored).not.toContain('s3cret');
  expect(stored).not.toContain(Buffer.from('password=s3cret').toString('base64').slice(4, 16));
  await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toEqual([
    'password=[redacted]\n  at password=[redacted]',
    'password=[redacted] \uFFFD',
  ]);
  expect(JSON.stringify(bench.reader.records)).not.toContain('s3cret');
});
