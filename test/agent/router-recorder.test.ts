import { expect, test } from 'vitest';
import { renderStoredHistory } from '../../src/agent/router-state/stored-history.ts';
import { RouterError, type SessionEvent } from '../../src/client/index.ts';
import type { LogEvent } from '../../src/logs/index.ts';
import { explainFailure } from '../../src/model/index.ts';
import type { ResourceResult } from '../../src/status/index.ts';
import type { RouterDetail } from '../../src/web/index.ts';
import { MINUTE_MS, SECOND_MS } from './router-agent-bench.ts';
import { createBench, down, failed, gone, read, up } from './router-recorder-bench.ts';

const refused = new RouterError('auth', 'Refused', { disposition: 'operator' });
const component = 'network';

/** Each event: what it says in the log, what it counts or sets, and what a page shows of it. */
const EVENTS: readonly (readonly [
  event: SessionEvent | LogEvent,
  logged: readonly unknown[],
  changed: readonly string[],
  page: object,
])[] = [
  [
    { type: 'session-opened' },
    [['info: Logged in', {}]],
    ['router_api_logins_total 1'],
    { session: { state: 'open', logins: 1 } },
  ],
  [
    { type: 'session-opened', group: 'readwrite' },
    [['info: Logged in', {}]],
    ['router_account_writable 1', 'router_api_logins_total 1'],
    {},
  ],
  [
    { type: 'session-refreshed', group: 'read' },
    [['debug: Refreshed the session', {}]],
    ['router_account_writable 0', 'router_api_token_refreshes_total 1'],
    {},
  ],
  // The router may have groups of its own.
  [{ type: 'session-opened', group: 'service' }, [['info: Logged in', {}]], ['router_api_logins_total 1'], {}],
  [
    { type: 'session-refreshed' },
    [['debug: Refreshed the session', {}]],
    ['router_api_token_refreshes_total 1'],
    { session: { state: 'none', refreshes: 1 } },
  ],
  [
    { type: 'session-lost', cause: refused },
    [['info: Lost the session', { error: 'Refused' }]],
    [],
    { session: { state: 'lost', since: '2026-11-21T00:00:00.000Z' } },
  ],
  [{ type: 'session-closed' }, [['info: Logged out', {}]], [], { session: { state: 'closed' } }],
  [
    { type: 'login-failed', cause: refused },
    [['debug: Could not log in', { error: 'Refused' }]],
    ['router_api_login_failures_total{reason="refused"} 1'],
    { session: { state: 'failed', loginFailures: 1 } },
  ],
  [
    { type: 'logs-listed', archives: new Map([[component, 3]]), unknown: 2 },
    [['debug: Log files with unknown names are ignored', { count: 2 }]],
    [
      'router_log_archives{component="network"} 3',
      ...['certain', 'likely', 'possible'].map(
        (one) => `router_log_gaps_total{component="network",certainty="${one}",reason="missing"} 0`,
      ),
    ],
    { logs: [{ component, archives: 3 }] },
  ],
  [
    {
      type: 'log-read',
      component,
      lines: 5,
      bytes: 100,
      unparsed: 1,
      own: 0,
      nulBytes: 0,
      newestUtcMs: Date.UTC(2026, 10, 20),
    },
    [],
    [
      'router_log_bytes_total{component="network"} 100',
      'router_log_lag_seconds{component="network"} 0',
      'router_log_lines_total{component="network"} 5',
      'router_log_newest_timestamp_seconds{component="network"} 1795132800',
      'router_log_unparsed_lines_total{component="network"} 1',
    ],
    { logs: [{ component, lines: 5, bytes: 100, unparsedLines: 1, newest: '2026-11-20T00:00:00.000Z' }] },
  ],
  [
    { type: 'log-caught-up', component, isWaitingForLineEnd: false },
    [],
    ['router_log_lag_seconds{component="network"} 0'],
    { logs: [{ component, lagSeconds: 0 }], logLagSeconds: 0 },
  ],
  [
    {
      type: 'log-gap-found',
      component,
      certainty: 'likely',
      reason: 'expired',
      bytesMin: 7,
      uid: 'u',
      foundMs: Date.UTC(2026, 10, 21),
      untilUtcMs: undefined,
    },
    [['warn: Log lines are missing', { component, certainty: 'likely', reason: 'expired' }]],
    [
      'router_log_gap_bytes_total{component="network",certainty="likely",reason="missing"} 7',
      'router_log_gaps_total{component="network",certainty="likely",reason="missing"} 1',
    ],
    {
      logs: [{ component, gaps: 1 }],
      recentGaps: [
        { at: '2026-11-21T00:00:00.000Z', component, certainty: 'likely', reason: 'expired', bytesMin: 7, until: null },
      ],
    },
  ],
  [
    {
      type: 'log-gap-found',
      component,
      certainty: 'certain',
      reason: 'skipped',
      bytesMin: 7,
      uid: 's',
      foundMs: Date.UTC(2026, 10, 21),
      untilUtcMs: undefined,
    },
    [['info: Older log lines are skipped because of logs.start', { component }]],
    [
      'router_log_gap_bytes_total{component="network",certainty="certain",reason="skipped"} 7',
      'router_log_gaps_total{component="network",certainty="certain",reason="skipped"} 1',
    ],
    { logs: [{ component, gaps: 0 }] },
  ],
  [
    { type: 'log-gap-ended', component, uid: 'e', gapUid: 'u', untilUtcMs: Date.UTC(2026, 10, 20) },
    [['info: The log continues after a gap', { component, until: '2026-11-20T00:00:00.000Z' }]],
    [],
    { recentGaps: [] },
  ],
  [
    { type: 'log-gap-ended', component, uid: 'e', gapUid: 'u', untilUtcMs: undefined },
    [['info: The log continues after a gap', { component, until: 'not known' }]],
    [],
    {},
  ],
  [{ type: 'log-repeat-found', component, count: 9 }, [], ['router_log_repeats_total{component="network"} 1'], {}],
  [
    { type: 'log-clock-jumped', component, uid: 'e', beforeUtcMs: 0, afterUtcMs: 1000 },
    [
      [
        "info: The router's clock has jumped",
        { component, before: '1970-01-01T00:00:00.000Z', after: '1970-01-01T00:00:01.000Z' },
      ],
    ],
    ['router_log_clock_jumps_total{component="network"} 1'],
    {},
  ],
  [
    { type: 'log-reset', component, uid: 'e', reason: 'wiped' },
    [['warn: Router log was reset', { component, reason: 'wiped' }]],
    ['router_log_resets_total{component="network"} 1'],
    {},
  ],
  [
    { type: 'log-retention', component, msToLoss: 60_000 },
    [],
    ['router_log_time_to_loss_seconds{component="network"} 60'],
    { logs: [{ component, secondsToLoss: 60 }] },
  ],
  [{ type: 'log-retention', component, msToLoss: undefined }, [], [], { logs: [{ component, secondsToLoss: null }] }],
  [
    {
      type: 'log-rule-matched',
      component,
      metric: 'router_words_total',
      kind: 'counter',
      labels: { word: 'a' },
      value: 2,
    },
    [],
    ['router_words_total{component="network",word="a"} 2'],
    {},
  ],
  [
    { type: 'log-rule-matched', component, metric: 'router_level', kind: 'gauge', labels: {}, value: 2 },
    [],
    ['router_level{component="network"} 2'],
    {},
  ],
  [
    { type: 'log-rule-matched', component, metric: 'router_of_no_rule', kind: 'counter', labels: {}, value: 2 },
    [],
    [],
    {},
  ],
  [
    { type: 'log-zone-learnt', offsetMs: -3_600_000, zone: undefined },
    [['info: Learnt the UTC offset of the log lines', { offset: '-1h' }]],
    [],
    {},
  ],
  [
    { type: 'log-zone-learnt', offsetMs: 3_600_000, zone: 'Europe/Berlin' },
    [['info: Learnt the UTC offset of the log lines', { offset: '+1h', zone: 'Europe/Berlin' }]],
    [],
    {},
  ],
  [
    { type: 'log-zone-mismatched', offByMs: 3_600_000 },
    [['warn: New log lines have time stamps of another zone than the configured one', { off_by: '+1h' }]],
    [],
    {},
  ],
  [
    { type: 'log-links-judged', holds: true, matches: 4, misses: 1, chance: 0.1, refuted: ['system'] },
    [
      [
        'info: Each log file starts in the second in which the previous one ends, so a missing file is detected',
        { matches: 4, misses: 1, chance: 0.1, contradicted_by: ['system'] },
      ],
    ],
    [],
    {},
  ],
  [
    { type: 'archive-unfinished', component, file: 'f', cause: gone },
    [['debug: A log archive is not complete yet', { component, file: 'f', error: 'No connection' }]],
    [],
    {},
  ],
  [
    { type: 'archive-trailing-ignored', component, file: 'f', bytes: 7 },
    [['info: Bytes after the end of a complete log archive were ignored', { component, file: 'f', bytes: 7 }]],
    [],
    {},
  ],
  [
    { type: 'log-failed', component, file: 'f', cause: gone },
    [['warn: A log file could not be read', { component, file: 'f', error: 'No connection' }]],
    ['router_log_lag_seconds{component="network"} 0'],
    { logs: [{ component, lagSeconds: null }], logLagSeconds: null },
  ],
];

test.for(EVENTS)('RouterRecorder knows what $0.type means', ([event, logged, changed, page]) => {
  const bench = createBench();
  bench.changed();
  bench.record(event);
  expect(bench.logged()).toEqual(logged);
  const gaps = (line: string) => /router_log_(?:gaps|gap_bytes|resets)_total.* 0$/.test(line);
  const all = bench.changed();
  expect(all.filter((line) => changed.includes(line) || !gaps(line)).toSorted()).toEqual([...changed].toSorted());
  expect(bench.recorder.describe()).toMatchObject(page);
});

test('RouterRecorder keeps nothing of the gauge of a rule that is gone, and shows none under a rule that counts now', () => {
  const { recorder, record, changed, exposition } = createBench();
  const isKept = () => exposition.isWhole({ name: 'plant-7', labels: {} }, 'log-rule:router_level');
  const match = { type: 'log-rule-matched', component, metric: 'router_level', kind: 'gauge', labels: {} } as const;
  record({ ...match, value: 2 });
  expect([isKept(), changed()]).toEqual([true, expect.arrayContaining(['router_level{component="network"} 2'])]);
  recorder.useRules(new Map([['router_level', { name: 'router_level', help: 'Level.', type: 'counter' }]]));
  expect([isKept(), changed()]).toEqual([false, []]);
  // Lines that were being stored when the rules changed.
  record({ ...match, value: 3 });
  expect([isKept(), changed()]).toEqual([false, ['router_level{component="network"} 3']]);
});

test('RouterRecorder has the counters of a session from the start, so that their first increase is seen', () => {
  expect(createBench().changed()).toEqual([
    'router_api_login_failures_total{reason="refused"} 0',
    'router_api_login_failures_total{reason="unanswered"} 0',
    'router_api_logins_total 0',
    'router_api_token_refreshes_total 0',
    'router_tls_unverified 0',
  ]);
});

test('RouterRecorder has nothing but counters of a router that is paused', () => {
  const { changed, recorder } = createBench(0, 'paused');
  recorder.start();
  expect(changed().filter((series) => !series.includes('_total'))).toEqual([]);
});

test('RouterRecorder warns of a log file that fails once, until the log was read to its end', () => {
  const { record, logged } = createBench();
  const fault: LogEvent = { type: 'log-failed', component, file: 'f', cause: gone };
  const levels = () => logged().map(([line]) => line.split(':')[0]);
  record(fault);
  record(fault);
  record({ ...fault, component: 'system' });
  expect(levels()).toEqual(['warn', 'debug', 'warn']);
  record({ type: 'log-caught-up', component, isWaitingForLineEnd: false });
  record(fault);
  record({ ...fault, component: 'system' });
  expect(levels()).toEqual(['warn', 'debug']);
});

test('RouterRecorder shows the lag of a log that was never read to its end, from the first attempt on', async () => {
  const { clock, record, metrics } = createBench();
  const lag = () => /^router_log_lag_seconds.* (\d+)$/m.exec(metrics())?.[1];
  record({ type: 'logs-listed', archives: new Map([[component, 3]]), unknown: 0 });
  expect(lag()).toBeUndefined();
  record({ type: 'log-failed', component, file: 'f', cause: gone });
  await clock.advance(2 * MINUTE_MS);
  record({ type: 'log-failed', component, file: 'f', cause: gone });
  expect(lag()).toBe('120');
  record({ type: 'log-caught-up', component, isWaitingForLineEnd: false });
  expect(lag()).toBe('0');
});

test('RouterRecorder takes the end of a gap over into what it shows of the gap', () => {
  const { record, recorder } = createBench();
  record({
    type: 'log-gap-found',
    component,
    certainty: 'certain',
    reason: 'expired',
    bytesMin: undefined,
    uid: 'u',
    foundMs: Date.UTC(2026, 10, 21),
    untilUtcMs: undefined,
  });
  record({ type: 'log-gap-ended', component, uid: 'e', gapUid: 'other', untilUtcMs: 0 });
  expect(recorder.describe().recentGaps).toMatchObject([{ until: null }]);
  record({ type: 'log-gap-ended', component, uid: 'e', gapUid: 'u', untilUtcMs: 0 });
  expect(recorder.describe().recentGaps).toMatchObject([{ until: '1970-01-01T00:00:00.000Z' }]);
});

const REASONS = ['dns', 'connect', 'tls', 'auth', 'http', 'timeout', 'parse', 'budget'];

function reasons(applies?: string): string[] {
  return REASONS.map((reason) => `router_failure_reason{reason="${reason}"} ${reason === applies ? 1 : 0}`);
}

test('RouterRecorder shows a router that is up: its state, its values, its certificate', async () => {
  const { clock, recorder, poll, logged, changed } = createBench();
  expect(recorder.summarize()).toMatchObject({ state: 'unknown', since: null, isStale: false, lastSuccess: null });
  changed();
  await clock.advance(SECOND_MS);
  poll(up([read('number', { readAtMs: clock.monotonic() })]));
  expect(logged()).toEqual([['info: The router is up', {}]]);
  expect(changed()).toEqual([
    'router_consecutive_failures 0',
    'router_device_changes_total{fact="serial"} 0',
    ...reasons(),
    'router_last_success_timestamp_seconds 1795219201',
    'router_number 1',
    'router_poll_duration_seconds 2',
    'router_resource_age_seconds{resource="number"} 0',
    'router_resource_duration_seconds{resource="number"} 0.5',
    'router_resource_permitted{resource="number"} 1',
    'router_resource_supported{resource="number"} 1',
    'router_resource_understood{resource="number"} 1',
    'router_resource_up{resource="number"} 1',
    'router_series_dropped 0',
    'router_tls_certificate_not_after_timestamp_seconds 1798761600',
    'router_up 1',
  ]);
  expect(recorder.describe()).toMatchObject({
    state: 'up',
    since: '2026-11-21T00:00:01.000Z',
    isFirstState: true,
    lastSuccess: '2026-11-21T00:00:01.000Z',
    durationSeconds: 2,
    firmware: '6.1',
    serial: '4711',
    bytes: { sent: 10, received: 20, budget: null, usedToday: 0, stretch: 1 },
    certificate: { notAfter: '2027-01-01T00:00:00.000Z' },
    resources: [{ resource: 'number', state: 'up', ageSeconds: 0, durationSeconds: 0.5, error: null, finding: null }],
    recentPolls: [{ at: '2026-11-20T23:59:59.000Z', durationSeconds: 2, ok: true, fault: null }],
  });
});

test('RouterRecorder says once that a router is down, and why, and serves its values until they are too old', async () => {
  const { clock, recorder, poll, logged, metrics, changed } = createBench();
  poll(up([read('number')]));
  logged();
  changed();
  await clock.advance(MINUTE_MS);
  poll(down());
  await clock.advance(MINUTE_MS);
  poll(down());
  expect(logged()).toEqual([
    ['warn: The router is down', { reason: 'connect', error: 'No connection', hint: explainFailure('connect') }],
    ['debug: The router is down', { reason: 'connect', error: 'No connection', hint: explainFailure('connect') }],
  ]);
  expect(changed()).toEqual(
    expect.arrayContaining([
      'router_up 0',
      'router_consecutive_failures 2',
      'router_failure_reason{reason="connect"} 1',
      'router_resource_up{resource="number"} 0',
    ]),
  );
  expect(recorder.describe()).toMatchObject({
    state: 'down',
    since: '2026-11-21T00:01:00.000Z',
    isFirstState: false,
    lastSuccess: '2026-11-21T00:00:00.000Z',
    isStale: false,
    consecutiveFailures: 2,
    failure: { reason: 'connect', step: 'connect', error: 'No connection' },
    fault: { step: 'connect', resource: null, error: 'No connection' },
    recentPolls: [{ ok: false, reason: 'connect' }, { ok: false }, { ok: true }],
  });
  expect(metrics()).toContain('router_number{router="plant-7"} 1\n');
  await clock.advance(MINUTE_MS);
  expect(recorder.summarize().isStale).toBe(true);
  expect(metrics()).not.toContain('router_number');
  poll(up([read('number', { readAtMs: clock.monotonic() })]));
  expect(logged()).toEqual([['info: The router is up', {}]]);
  expect(recorder.summarize()).toMatchObject({ state: 'up', consecutiveFailures: 0, failure: null, fault: null });
});

test('RouterRecorder ignores a poll in which nothing was due', () => {
  const { recorder, poll, logged, changed } = createBench();
  poll(up([read('number')]));
  logged();
  changed();
  poll(up([], { isIdle: true, firmwareVersion: '7' }));
  expect([logged(), changed(), recorder.state.identity.firmware]).toEqual([[], [], '6.1']);
});

test('RouterRecorder knows a login that failed from a resource that failed', () => {
  const { recorder, poll, record } = createBench();
  poll(down(refused, 'auth'));
  expect(recorder.summarize().fault).toMatchObject({ step: 'auth', resource: null });
  const answered = new RouterError('auth', 'Not this one', { disposition: 'operator', isAnswered: true });
  poll(down(answered, 'auth'));
  expect(recorder.summarize().fault).toMatchObject({ step: 'http', resource: 'number' });
  record({ type: 'login-failed', cause: answered });
  poll(down(answered, 'auth'));
  expect(recorder.summarize().fault).toMatchObject({ step: 'auth', resource: null });
});

test('RouterRecorder says once what is wrong with a resource of a router that is up', () => {
  const { recorder, poll, logged } = createBench();
  const fault = { module: 'm', metric: 'router_number', reason: 'no-number', value: 'x' } as never;
  const cases: readonly (readonly [ResourceResult, readonly [line: string, fields: object], string | null])[] = [
    [
      read('number', { isUnread: true }),
      ['warn: A status resource was answered, but no metric could be read from it', { resource: 'number' }],
      'answered, but no metric could be read from it',
    ],
    [
      read('number', { faults: [fault, fault] }),
      [
        'warn: Values of a status resource could not be read',
        { resource: 'number', values: ['router_number: no-number'] },
      ],
      '2 values could not be read',
    ],
    [
      failed('number'),
      ['warn: A status resource could not be read', { resource: 'number', error: 'No connection' }],
      null,
    ],
    [
      read('number', { state: 'forbidden', families: [] }),
      ['warn: The account may not read a status resource', { resource: 'number' }],
      null,
    ],
  ];
  poll(up([read('number')]));
  logged();
  for (const [result, line, finding] of cases) {
    poll(up([result]));
    expect(logged()).toEqual([line]);
    expect(recorder.describe().resources).toMatchObject([{ finding }]);
    poll(up([result]));
    expect(logged()).toEqual([[line[0].replace('warn', 'debug'), line[1]]]);
    poll(up([read('number')]));
    expect(logged()).toEqual([]);
  }
});

test('RouterRecorder counts what a device need not have as no failure, and what the account may not read apart', () => {
  const { recorder, poll, changed } = createBench();
  const modem = { name: 'modem', isOptional: true };
  const unsupported = read('modem', { state: 'unsupported', isOptional: true, families: [] });
  poll(up([read('number'), unsupported], { lacks: [modem] }));
  const all = changed();
  expect(all).toContain('router_resource_supported{resource="modem"} 0');
  expect(all.filter((line) => line.startsWith('router_resource_up'))).toEqual([
    'router_resource_up{resource="number"} 1',
  ]);

  const forbidden = read('number', { state: 'forbidden', families: [] });
  poll(up([forbidden], { lacks: [{ name: 'dsl*', isOptional: false }] }));
  const next = changed();
  expect(next).toContain('router_resource_permitted{resource="number"} 0');
  expect(next).toContain('router_resource_up{resource="dsl*"} 0');
  // A slot that is not there stands behind its pattern.
  expect(recorder.describe().resources.map(({ resource, state }) => [resource, state])).toEqual([
    ['number', 'forbidden'],
    ['dsl*', 'unsupported'],
  ]);
});

test('RouterRecorder keeps a router up that asks for a delay, until its values expire', async () => {
  const { clock, recorder, poll, endTurn, logged, changed } = createBench();
  poll(up([read('number')]));
  logged();
  changed();
  await clock.advance(MINUTE_MS);
  const retryAfter = { untilMs: clock.monotonic() + 10 * MINUTE_MS, isCapped: true };
  poll(down(gone, 'http'), true);
  endTurn(retryAfter);
  endTurn(retryAfter);
  expect(logged()).toEqual([
    ['warn: The router asks for a delay of requests', { for: '10m' }],
    ['warn: The router asks for a longer delay than allowed, or its clock is wrong', { granted: '10m' }],
  ]);
  expect(changed()).toContain('router_retry_after_timestamp_seconds 1795219860');
  expect(recorder.summarize()).toMatchObject({ state: 'up', retryAfter: '2026-11-21T00:11:00.000Z' });
  await clock.advance(2 * MINUTE_MS - 1);
  expect(recorder.state.reach).toBe('up');
  await clock.advance(1);
  const error = 'No poll for 3m, because the router asked for a delay';
  expect(logged()).toEqual([['warn: The router is down', { reason: 'http', error }]]);
  expect(recorder.summarize()).toMatchObject({ state: 'down', failure: { reason: 'http', step: 'connect', error } });
  expect(changed()).toEqual(expect.arrayContaining(['router_up 0', 'router_failure_reason{reason="http"} 1']));
  await clock.advance(8 * MINUTE_MS);
  endTurn(undefined);
  expect(recorder.summarize().retryAfter).toBeNull();
});

test('RouterRecorder that is closed waits for nothing', async () => {
  const { clock, recorder, poll, endTurn } = createBench();
  poll(up([read('number')]));
  endTurn({ untilMs: 10 * MINUTE_MS, isCapped: false });
  recorder.close();
  await clock.advance(10 * MINUTE_MS);
  expect(recorder.state.reach).toBe('up');
});

test('RouterRecorder marks a router down whose first poll has not ended after 50 seconds, and not one that was not polled yet', async () => {
  const { clock, recorder, poll, changed, metrics } = createBench();
  recorder.start();
  changed();
  // First polls of ten thousand routers are spread over minutes.
  await clock.advance(50 * SECOND_MS - 1);
  expect(changed()).toEqual([]);
  await clock.advance(1);
  const unasked = changed();
  expect(unasked).toEqual(expect.arrayContaining(['router_failure_reason{reason="unasked"} 1', 'router_up 0']));
  expect(unasked.filter((line) => line.startsWith('router_failure_reason') && line.endsWith(' 1'))).toHaveLength(1);
  await clock.advance(5 * MINUTE_MS);
  expect([recorder.state.reach, changed()]).toEqual(['unknown', []]);
  expect(recorder.summarize()).toMatchObject({ state: 'unknown', failure: null, isStale: false });
  recorder.record({ type: 'poll-begun' });
  await clock.advance(50 * SECOND_MS - 1);
  expect(changed()).toEqual([]);
  await clock.advance(1);
  expect(changed()).toEqual(['router_failure_reason{reason="timeout"} 1']);
  expect(metrics()).toContain('router_up{router="plant-7"} 0\n');
  expect(recorder.summarize().failure).toEqual({ reason: 'timeout', step: null, error: 'No poll has ended for 50s' });
  expect(metrics()).not.toContain('reason="unasked"');
  poll(up([read('number')]));
  expect(recorder.state.reach).toBe('up');
});

test('RouterRecorder of a router that is closed or has answered soon never reports it as not polled yet', async () => {
  const [answered, closed] = [createBench(), createBench()];
  for (const { recorder } of [answered, closed]) recorder.start();
  answered.recorder.record({ type: 'poll-begun' });
  answered.poll(up([read('number')]));
  closed.recorder.close();
  for (const { clock } of [answered, closed]) await clock.advance(MINUTE_MS);
  expect(answered.metrics()).toContain('router_up{router="plant-7"} 1');
  expect(answered.metrics()).not.toContain('reason="unasked"');
  expect(closed.metrics()).not.toContain('router_up{');
});

test('RouterRecorder has a router down when no poll has ended for stale_after, and up while bytes of a download arrive', async () => {
  const { clock, recorder, poll, reach } = createBench();
  poll(up([read('number')]));
  await clock.advance(3 * MINUTE_MS - 1);
  reach();
  await clock.advance(3 * MINUTE_MS - 1);
  expect(recorder.state.reach).toBe('up');
  await clock.advance(1);
  expect(recorder.summarize()).toMatchObject({
    state: 'down',
    failure: { reason: 'timeout', error: 'No poll has ended for 3m' },
  });
  reach();
  expect(recorder.summarize()).toMatchObject({ state: 'up', failure: null });
});

test('RouterRecorder says once a day that the byte budget is used up', async () => {
  const { clock, recorder, budget, poll, endTurn, logged, changed } = createBench(1000);
  poll(up([read('number')]));
  endTurn();
  logged();
  changed();
  budget.record(800, 'common');
  endTurn();
  expect(logged()).toEqual([
    ['warn: The byte budget pauses the logs of the router', { until: '2026-11-22T00:00:00.000Z' }],
  ]);
  expect(changed()).toEqual(['router_api_budget_paused_until_timestamp_seconds{activity="logs"} 1795305600']);
  expect(recorder.summarize()).toMatchObject({ state: 'up' });
  budget.record(200, 'status');
  endTurn();
  endTurn();
  expect(logged().filter(([line]) => line.startsWith('warn'))).toEqual([
    ['warn: The byte budget pauses the polls of the router', { until: '2026-11-22T00:00:00.000Z' }],
    ['warn: The byte budget of the router is used up', { until: '2026-11-22T00:00:00.000Z' }],
  ]);
  expect(changed()).toEqual([
    'router_api_budget_paused_until_timestamp_seconds{activity="status"} 1795305600',
    'router_failure_reason{reason="budget"} 1',
    'router_up 0',
  ]);
  expect(recorder.summarize()).toMatchObject({
    state: 'budget',
    failure: { reason: 'budget', step: null },
    bytesToday: 1000,
    byteBudget: 1000,
  });
  await clock.advance(24 * 60 * MINUTE_MS);
  endTurn();
  expect(logged()).toEqual([]);
});

test('RouterRecorder shows where the record that was stored last begins', () => {
  const { recorder, storeRecords } = createBench();
  const record = { timestamp: 't', component, severity: 'info', message: 'm', file: 'network/current', offset: 7 };
  storeRecords([JSON.stringify({ ...record, offset: 0 }), JSON.stringify(record)]);
  storeRecords([]);
  expect(recorder.describe()).toMatchObject({
    logs: [{ component, position: { file: 'network/current', offset: 7 } }],
  });
  expect(recorder.describeLogs()).toEqual(recorder.describe().logs);
});

test('RouterRecorder shows the logs among the resources, and says once that they cannot be read', () => {
  const { recorder, endLogs, failLogs, logged, changed } = createBench();
  endLogs();
  changed();
  endLogs();
  expect([logged(), changed()]).toEqual([[], []]);
  failLogs(gone);
  failLogs(gone);
  expect(logged()).toEqual([
    ['warn: The logs could not be read', { error: 'No connection' }],
    ['debug: The logs could not be read', { error: 'No connection' }],
  ]);
  expect(changed()).toEqual(['router_resource_up{resource="logs"} 0']);
  expect(recorder.describe().resources).toMatchObject([{ resource: 'logs', state: 'failed', error: 'No connection' }]);
  endLogs();
  expect(changed()).toEqual(['router_resource_up{resource="logs"} 1']);
  failLogs(new RouterError('auth', 'Forbidden', { disposition: 'operator', status: 403, isAnswered: true }));
  expect(logged()).toEqual([['warn: The account may not read the logs', { error: 'Forbidden' }]]);
  expect(recorder.describe().resources).toMatchObject([{ resource: 'logs', state: 'forbidden' }]);
});

test('RouterRecorder says what is known about the links of log files when it changes, and shows it at any time', () => {
  const { recorder, logged } = createBench();
  const judge = (holds: boolean, matches: number, refuted: string[] = []) =>
    recorder.record({ type: 'log-links-judged', holds, matches, misses: 0, chance: 0.5 ** matches, refuted });
  expect(recorder.describe().logRotation).toBeNull();
  judge(false, 1);
  expect(logged()).toEqual([]);
  judge(true, 7);
  judge(true, 8);
  expect(logged()).toHaveLength(1);
  judge(true, 8, ['system']);
  expect(logged()).toHaveLength(1);
  expect(recorder.describe().logRotation).toMatchObject({ linksProven: true, matches: 8, contradictedBy: ['system'] });
});

test('RouterRecorder neither shows nor draws the signal of a modem that can no longer be read', async () => {
  const bench = createBench();
  const samples = [{ labels: {}, value: -80 }];
  const families = [{ name: 'router_modem_rsrp_dbm', help: '', type: 'gauge' as const, samples }];
  bench.poll(up([read('lte2', { families }), read('system')]));
  for (let minute = 1; minute < 12; minute++) {
    await bench.clock.advance(MINUTE_MS);
    bench.poll(up([failed('lte2'), read('system', { readAtMs: bench.clock.monotonic() })]));
    expect(bench.recorder.summarize().device.signal?.value).toBe(minute < 3 ? -80 : undefined);
  }
  expect(
    bench.recorder.describe().lastHours.flatMap(({ result, signal }) => (result === null ? [] : [signal])),
  ).toEqual([-80, null, null, null]);
});

const readModem = (modem: string, rsrp: number, readAtMs = 0, isOnline = false) =>
  read(modem, {
    readAtMs,
    families: [
      ['router_modem_rsrp_dbm', rsrp],
      ['router_modem_online', isOnline ? 1 : 0],
    ].map(([name, value]) => ({
      ...{ name: String(name), help: '', type: 'gauge' as const },
      samples: [{ labels: { modem }, value: Number(value) }],
    })),
  });
/** By modem: the signals of its own history, null if that of the router is its own. */
const signalsOf = ({ recorder }: ReturnType<typeof createBench>) =>
  recorder
    .describe()
    .modems.map(({ modem, lastHours }) => [
      modem,
      lastHours?.flatMap(({ result, signal }) => (result === null ? [] : [signal])) ?? null,
    ]);

test('RouterRecorder keeps the signal of each of two modems, over a restart, and no second one of a single modem', async () => {
  const bench = createBench();
  const pollAll = (first: number, second: number) => {
    const nowMs = bench.clock.monotonic();
    bench.poll(
      up([readModem('lte2', first, nowMs), readModem('lte3', second, nowMs, true), readModem('lte9', -1, nowMs)]),
    );
  };
  bench.poll(up([readModem('lte2', -70)]));
  expect(signalsOf(bench)).toEqual([['lte2', null]]);
  expect(JSON.parse(store(bench) ?? '').history).toEqual({ newestMs: expect.any(Number), slots: expect.any(String) });
  await bench.clock.advance(3 * MINUTE_MS);
  pollAll(-80, -60);
  await bench.clock.advance(3 * MINUTE_MS);
  pollAll(-81, -61);
  bench.poll(down());
  // A third modem has none, and not that of another one: its name is the router's to choose.
  const both = [
    ['lte2', [-80, -81]],
    ['lte3', [-60, -61]],
    ['lte9', []],
  ];
  expect(signalsOf(bench)).toEqual(both);
  // The chart of the overview is of the modem with a session.
  expect(
    bench.recorder
      .describe()
      .lastHours.slice(-3)
      .map(({ signal }) => signal),
  ).toEqual([-70, -60, -61]);

  const next = createBench();
  next.clock.jump(bench.clock.now() - next.clock.now());
  next.record({ type: 'history-recalled', text: store(bench) ?? '', isFollowed: () => true });
  await next.clock.advance(3 * MINUTE_MS);
  next.poll(up([readModem('lte2', -82, next.clock.monotonic())]));
  expect(signalsOf(next)).toEqual([['lte2', [-80, -81, -82]]]);
});

test('RouterRecorder recalls a history that has no modems, as stored before there were any, or others', () => {
  const bench = createBench();
  bench.poll(up([readModem('lte2', -70)]));
  const stored = JSON.parse(store(bench) ?? '') as { history: object };
  for (const modems of [undefined, null, 1, { lte2: {} }, { lte2: { newestMs: 0, slots: '!' } }]) {
    const next = createBench();
    next.clock.jump(bench.clock.now() - next.clock.now());
    next.record({
      type: 'history-recalled',
      text: JSON.stringify({ ...stored, history: { ...stored.history, modems } }),
      isFollowed: () => true,
    });
    expect(next.recorder.describe().lastHours.at(-1)).toMatchObject({ signal: -70 });
    next.poll(up([readModem('lte2', -71), readModem('lte3', -60)]));
    expect(signalsOf(next)).toEqual([
      ['lte2', [-71]],
      ['lte3', [-60]],
    ]);
  }
});

const readBoard = (board: string) =>
  read('device_info', {
    families: [
      { name: 'router_board_info', help: '', type: 'info', samples: [{ labels: { board_type: board }, value: 1 }] },
    ],
  });
const LOG = { labels: { component: 'network' }, lines: 1, bytes: 2, unparsed: 0, gaps: 3, caughtUpAtMs: -5 };
const store = ({ recorder, clock }: ReturnType<typeof createBench>) =>
  renderStoredHistory(recorder.state, { wallMs: clock.now(), ms: clock.monotonic() });

test('RouterRecorder shows stored facts as expired until the router has been reached, and in no metric', async () => {
  const before = createBench();
  expect(store(before)).toBeUndefined();
  before.poll(up([readBoard('MRX3')]));
  const text = store(before) ?? '';
  const lastSuccess = before.recorder.summarize().lastSuccess;

  const { recorder, clock, metrics, poll, record, changed } = createBench();
  changed();
  const untouched = metrics();
  record({ type: 'firmware-listed', versions: [{ version: '6.1', severity: 'critical' }] });
  record({ type: 'history-recalled', text, isFollowed: () => true });
  const recalled = { isStale: true, lastSuccess, device: { model: 'MRX3' } };
  expect(recorder.summarize()).toMatchObject({ ...recalled, state: 'unknown' });
  expect(metrics()).toBe(untouched);
  await clock.advance(MINUTE_MS);
  poll(down());
  expect(recorder.summarize()).toMatchObject({ ...recalled, state: 'down' });
  expect(metrics()).not.toMatch(/^router_last_success_timestamp_seconds/m);
  // What is stored meanwhile has the same facts.
  expect(JSON.parse(store({ ...before, recorder, clock }) ?? '')).toMatchObject({
    facts: { device: { model: 'MRX3' } },
  });
  poll(up([read('number')]));
  expect(recorder.summarize()).toMatchObject({ isStale: false, state: 'up', device: { model: null } });
});

test.for([
  '',
  '{',
  '[]',
  '{"history":{}}',
  '{"history":{"newestMs":-1,"slots":""}}',
  '{"history":{"newestMs":0,"slots":"!"},"facts":{"readAtMs":1}}',
])('RouterRecorder takes a history that it did not store for empty: %s', (text) => {
  const { recorder, record } = createBench();
  const before = recorder.describe();
  record({ type: 'history-recalled', text, isFollowed: () => true });
  expect(recorder.describe()).toEqual(before);
});

test.for([
  {},
  { ...LOG, gaps: undefined },
  { ...LOG, lines: 'many' },
  { ...LOG, newestMs: 1e300 },
  { ...LOG, lossAtMs: 'soon' },
  { ...LOG, position: 7 },
  { ...LOG, unshipped: 'page' },
])('RouterRecorder recalls no logs if one has another form: %j', (log) => {
  const bench = createBench();
  bench.poll(up([]));
  const recall = (...logs: readonly object[]) => {
    const { recorder, record } = createBench();
    const text = JSON.stringify({ ...JSON.parse(store(bench) ?? ''), logs });
    record({ type: 'history-recalled', text, isFollowed: () => true });
    return recorder.summarize();
  };
  expect(recall(LOG)).toMatchObject({ gaps: 3 });
  expect(recall(LOG, { ...log, labels: { component: 'wan' } })).toMatchObject({ gaps: 0, logLossSince: null });
});

test('RouterRecorder stores a history that fits into a value, whatever the router says', () => {
  const bench = createBench();
  const evil = '\u0001'.repeat(1000);
  const info = (name: string, ...labels: readonly string[]) => ({
    name,
    help: '',
    type: 'info' as const,
    samples: [{ labels: Object.fromEntries(labels.map((label) => [label, evil])), value: 1 }],
  });
  const families = [
    info('router_device_info', 'device_type'),
    info('router_location_info', 'location'),
    info('router_modem_info', 'provider'),
    info('router_modem_access_technology', 'access_technology'),
    info('router_wan_active_info', 'chain'),
  ];
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const { state } = bench.recorder;
  bench.poll(up([read('all', { families })], { firmwareVersion: evil, serialNumber: evil }));
  // Values without any order cannot be compressed.
  for (let slot = 1; slot < 480; slot++) {
    const traffic = { receiveBytesPerSecond: 2 ** (random() * 500), transmitBytesPerSecond: 2 ** (random() * 500) };
    const entry = { isUp: random() < 0.5, lagMs: random() * 3e7, durationMs: random() * 3e5, traffic, holdMs: 0 };
    for (let poll = 0; poll < 3; poll++) {
      const signals = [evil, `${evil}2`].map((name) => ({ modem: name.slice(-64), value: 254 * random() - 127 }));
      const modems = signals.map(({ modem, value }) => ({ modem, signal: { kind: 'rsrp' as const, value } }));
      state.history.add({ ...entry, signal: 254 * random() - 127, modems }, slot * 180_000);
    }
  }
  const text = renderStoredHistory(state, { wallMs: Date.UTC(2026, 10, 22), ms: 479 * 180_000 }) ?? '';
  expect(text.length).toBeGreaterThan(8000);
  expect(text.length).toBeLessThan(16_000);
  const { recorder, record, clock } = createBench();
  clock.jump(86_400_000);
  record({ type: 'history-recalled', text, isFollowed: () => true });
  const toResults = (points: RouterDetail['lastHours']) => points.map((point) => ({ ...point, at: '' }));
  expect(toResults(recorder.describe().lastHours)).toEqual(
    toResults(state.history.describe({ wallMs: 0, ms: 479 * 180_000 })),
  );
});
