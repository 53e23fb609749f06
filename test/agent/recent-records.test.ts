import { expect, test } from 'vitest';
import { RecentRecords } from '../../src/agent/stats/log-stats.ts';

function render(message: string, more: object = {}): string {
  const record = {
    timestamp: '2026-11-21T12:00:00.000000000Z',
    component: 'network',
    severity: 'error',
    message,
    file: 'network/current',
    offset: 7,
  };
  return JSON.stringify({ ...record, ...more });
}

/** Lines as the log room hands them over: most often as bytes. */
function toLines(lines: readonly string[]) {
  return {
    length: lines.length,
    bytes: Buffer.from(lines.join('\n')),
    [Symbol.iterator]: () => lines[Symbol.iterator](),
  };
}

test.for([
  ['text', (lines: readonly string[]) => lines],
  ['bytes', toLines],
] as const)(
  'RecentRecords keeps the last 20 records of %s, the newest first, and says where the last one begins',
  ([, form]) => {
    const recent = new RecentRecords();
    recent.add('a');
    recent.add('a');
    expect(recent.record('a', form([]))).toBeUndefined();
    const lines = Array.from({ length: 50 }, (_, index) => render(`m${index}ä`, { offset: index }));
    expect(recent.record('a', form(lines.slice(0, 1)))).toEqual({
      component: 'network',
      file: 'network/current',
      offset: 0,
    });
    expect(recent.list('a').map(({ message }) => message)).toEqual(['m0ä']);
    recent.record('a', form(lines.slice(1, 15)));
    expect(recent.list('a')).toHaveLength(15);
    expect(recent.record('a', form(lines.slice(15)))).toMatchObject({ offset: 49 });
    expect(recent.list('a').map(({ message }) => message)).toEqual(
      Array.from({ length: 20 }, (_, index) => `m${49 - index}ä`),
    );
    expect(recent.list('a')[0]).toEqual({
      timestamp: '2026-11-21T12:00:00.000000000Z',
      component: 'network',
      severity: 'error',
      message: 'm49ä',
    });
  },
);

test('RecentRecords cuts messages, and takes records without time and severity', () => {
  const recent = new RecentRecords();
  recent.add('a');
  recent.record('a', [render('x'.repeat(100_000), { timestamp: undefined, severity: undefined })]);
  expect(recent.list('a')).toEqual([
    { timestamp: null, component: 'network', severity: null, message: 'x'.repeat(240) },
  ]);
});

test('RecentRecords holds 40,000 records in all, so that each of 10,000 routers has some', () => {
  const recent = new RecentRecords();
  const names = Array.from({ length: 10_000 }, (_, index) => `r${index}`);
  const lines = Array.from({ length: 20 }, (_, index) => render(`m${index}`));
  for (const name of names.slice(0, 2000)) recent.add(name);
  recent.record('r0', lines);
  expect(recent.list('r0')).toHaveLength(20);
  // The fleet grows: what is there already shrinks with it.
  for (const name of names.slice(2000)) recent.add(name);
  expect(recent.list('r0').map(({ message }) => message)).toEqual(['m19', 'm18', 'm17', 'm16']);
  for (const name of names) recent.record(name, lines);
  expect(new Set(names.map((name) => recent.list(name).length))).toEqual(new Set([4]));

  for (const name of names.slice(0, 9990)) recent.forget(name);
  recent.record('r9999', lines);
  expect([recent.list('r9999').length, recent.list('r0')]).toEqual([20, []]);
});

test('RecentRecords keeps nothing of a router that there is not', () => {
  const recent = new RecentRecords();
  expect([recent.record('a', [render('m')]), recent.list('a')]).toEqual([undefined, []]);
});
