import { expect, test } from 'vitest';
import { type LogRule, LogRules } from '../../../src/logs/index.ts';
import { messagesOf, openFileBench, openLogBench } from '../../support/log-bench.ts';

const LOGIN: LogRule = {
  metric: 'router_logins_seen_total',
  kind: 'counter',
  isMeant: (component) => component === 'events',
  match: (message) => /login of user (?<user>\w+)/.exec(message)?.groups,
  labels: ['user'],
};
const SIGNAL: LogRule = {
  metric: 'router_signal',
  kind: 'gauge',
  isMeant: () => true,
  match: (message) => /signal (?<value>\S+)/.exec(message)?.groups,
  labels: [],
  value: 'value',
};

test('log rules turn lines into counters and gauges, told when the records are safe and never again', async () => {
  await using bench = await openLogBench({ turns: { rules: new LogRules([LOGIN, SIGNAL]) } });
  bench.router.appendLog('events', 'login of user admin succeeded');
  bench.router.appendLog('modem', 'login of user admin succeeded, signal 17');
  bench.router.appendLog('modem', 'signal none');
  await bench.reader.turn();
  await bench.reader.turn();
  const hits = bench.reader.events.filter(({ type }) => type === 'log-rule-matched');
  expect(hits).toMatchObject([
    { component: 'events', metric: 'router_logins_seen_total', labels: { user: 'admin' }, value: 1 },
    { component: 'modem', metric: 'router_signal', kind: 'gauge', labels: {}, value: 17 },
  ]);
});

test('a rule whose labels take ever new values ends in one series for all others', () => {
  const rules = new LogRules([LOGIN], 3);
  const users = ['a', 'b', 'c', 'd', 'e', 'a'].map(
    (user) => rules.evaluate('events', `login of user ${user}`)[0]?.labels,
  );
  expect(users.map((labels) => labels?.['user'])).toEqual(['a', 'b', 'c', 'other', 'other', 'a']);
  // What was found later holds on to nothing: the labels are those of the series.
  expect(users[5]).toBe(users[0]);
});

test('case 76: what is to be redacted is in no record, original and position', async () => {
  const redact = (text: string) => text.replaceAll(/password=\S+/g, 'password=[redacted]');
  const lossy = Buffer.concat([Buffer.from('2026-11-21 12:00:02 [a] password=s3cret '), Buffer.from([0xff, 0x0a])]);
  await using bench = await openFileBench(
    new Map([
      [
        'network/current',
        Buffer.concat([Buffer.from('2026-11-21 12:00:00 [a] password=s3cret\n  at password=s3cret\n'), lossy]),
      ],
    ]),
    { redact },
  );
  await bench.reader.turn();
  const stored = [...bench.reader.log.positions.values(), ...bench.reader.log.lines].join('\n');
  expect(stored).not.toContain('s3cret');
  expect(stored).not.toContain(Buffer.from('password=s3cret').toString('base64').slice(4, 16));
  await bench.reader.turn();
  expect(messagesOf(bench.reader.records)).toEqual([
    'password=[redacted]\n  at password=[redacted]',
    'password=[redacted] \uFFFD',
  ]);
  expect(JSON.stringify(bench.reader.records)).not.toContain('s3cret');
});
