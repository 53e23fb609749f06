import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LineProcessing } from '../../src/agent/line-processing.ts';
import { BackupCalendar, ProfileArchive } from '../../src/backup/index.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { type ArchivePool, openArchivePool } from '../../src/logs/index.ts';
import { StoreError } from '../../src/model/index.ts';
import { answerJson } from '../client/http-router.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { compress } from '../support/archives.ts';
import { findFreePort } from '../support/free-port.ts';
import {
  BOARD,
  createModule,
  createRouterSettings,
  MINUTE_MS,
  MODULES,
  NEVER,
  openRouterAgent,
  SECOND_MS,
} from './router-agent-bench.ts';

const broken = new StoreError('broken', 'The state could not be used', { disposition: 'operator' });
const full = new StoreError('full', 'There is no room', { disposition: 'hold-back' });

test('RouterAgent reads the identity of the router after every login, and otherwise at the interval of the module', async () => {
  await using bench = await openRouterAgent();
  await bench.run('status');
  expect(bench.asked()).toEqual(['GET /status/device_info', 'GET /status/number']);
  await bench.clock.advance(MINUTE_MS);
  await bench.run('status');
  expect(bench.asked()).toEqual(['GET /status/number']);

  // The router has forgotten the session, as after a restart.
  let refusals = 1;
  bench.answers.set('/status/number', (response) => {
    if (refusals-- > 0) response.writeHead(401).end();
    else answerJson(response, { status: { n: 8 } });
  });
  bench.answers.set('/auth/refresh', (response) => response.writeHead(401).end());
  await bench.clock.advance(MINUTE_MS);
  await bench.run('status');
  expect(bench.logins()).toBe(2);
  expect(bench.asked()).toContain('GET /status/device_info');
});

test('RouterAgent drops the values of a resource when the router shows a firmware that it is not for', async () => {
  const { resources, ...number } = createModule('number', 'number');
  const old = { ...number, resources: resources.map((one) => ({ ...one, when: { firmware: '<7' } })) };
  const identity = createModule('identity', 'device_info', { isIdentity: true });
  await using bench = await openRouterAgent({ modules: [identity, old] });
  const isShown = () => ['router_number{', 'resource="number"'].map((text) => bench.metrics().includes(text));
  const showFirmware = async (version: string) => {
    const [board] = BOARD.status.list;
    const body = { status: { ...BOARD.status, list: [{ ...board, firmware_version: version }] } };
    bench.answers.set('/status/device_info', (response) => answerJson(response, body));
    await bench.clock.advance(MINUTE_MS);
    await bench.run('status');
  };
  await bench.run('status');
  expect(isShown()).toEqual([true, true]);
  await showFirmware('7.0');
  expect(isShown()).toEqual([false, false]);
  await showFirmware('6.2');
  expect(isShown()).toEqual([true, true]);
});

test('RouterAgent whose modules are all slower than the interval of a slow router polls it often enough to call it up', async () => {
  const poll = { ...createRouterSettings('http://127.0.0.1').poll, stale_after: 15 * MINUTE_MS };
  const modules = [createModule('number', 'number', { minIntervalMs: 5 * MINUTE_MS })];
  await using bench = await openRouterAgent({ modules, poll });
  bench.answers.set('/status/number', (response) => {
    void bench.clock.advance(5500).then(() => answerJson(response, { status: { n: 7 } }));
  });
  const status = bench.activity('status');
  const states = new Set<string>();
  for (let turn = 0; turn < 12; turn++) {
    await bench.run('status');
    for (let minute = 0; minute < 5 * (status?.intervalMultiplier?.() ?? 1); minute++) {
      await bench.clock.advance(MINUTE_MS);
      states.add(`${bench.agent.recorder.state.reach}, ${bench.metrics().includes('router_number{')}`);
    }
  }
  expect(bench.agent.recorder.describe().pace.level).toBe('very_slow');
  expect([...states]).toEqual(['up, true']);
});

test('RouterAgent whose modules are all slower than stale_after serves their values until three of their polls have failed', async () => {
  const poll = { ...createRouterSettings('http://127.0.0.1').poll, stale_after: 3 * MINUTE_MS };
  const modules = [createModule('number', 'number', { minIntervalMs: 5 * MINUTE_MS })];
  await using bench = await openRouterAgent({ modules, poll });
  const states: string[] = [];
  const pass = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await bench.clock.advance(MINUTE_MS);
      states.push(`${bench.agent.recorder.state.reach}, ${bench.metrics().includes('router_number{')}`);
    }
  };
  await bench.run('status');
  await pass(5);
  await bench.run('status');
  await pass(14);
  expect(new Set(states.splice(0))).toEqual(new Set(['up, true']));
  await pass(1);
  expect(states).toEqual(['down, false']);
});

test('RouterAgent reads everything in a poll that was asked for', async () => {
  await using bench = await openRouterAgent();
  await bench.run('status');
  bench.asked();
  await bench.run('status', { isTriggered: true });
  expect(bench.asked()).toEqual(['GET /status/device_info', 'GET /status/number']);
});

test('RouterAgent reports for every poll if the router was up, and values that could not be read', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('/status/number', (response) => answerJson(response, { status: { n: 'seven' } }));
  expect(await bench.run('status')).toBe('done');
  const listPolls = () => bench.events.flatMap((event) => (event.type === 'polled' ? [event.result] : []));
  expect(listPolls()).toMatchObject([{ isUp: true }]);
  const faults = listPolls().flatMap(({ resources }) => resources.flatMap((resource) => resource.faults));
  expect(faults).toMatchObject([{ module: 'number', metric: 'router_number' }]);
  expect(bench.agent.recorder.state.reach).toBe('up');

  bench.answers.set('/status/', (response) => response.writeHead(500).end());
  bench.answers.delete('/status/number');
  await bench.clock.advance(20 * MINUTE_MS);
  expect(await bench.run('status')).toBe('failed');
  expect(listPolls()).toMatchObject([{ isUp: true }, { isUp: false }]);
  expect(bench.agent.recorder.state.reach).toBe('down');
});

test('RouterAgent delays requests as long as the router asks, without a back-off', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('/status/', (response) => response.writeHead(503, { 'retry-after': '120' }).end());
  expect(await bench.run('status')).toBe('done');
  expect([bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()]).toEqual([true, true]);
  expect(bench.metrics()).toContain('router_retry_after_timestamp_seconds{router="plant-7"} 120\n');
  await bench.clock.advance(2 * MINUTE_MS);
  expect([bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()]).toEqual([false, false]);
});

test('RouterAgent that is closed does not report a router down later that asked for a delay', async () => {
  await using bench = await openRouterAgent();
  await bench.run('status');
  bench.answers.set('/status/', (response) => response.writeHead(503, { 'retry-after': '600' }).end());
  await bench.run('status');
  await bench.agent.close(NEVER);
  await bench.clock.advance(10 * MINUTE_MS);
  expect(bench.ownLog.map(({ message }) => message)).not.toContain('The router is down');
});

test('RouterAgent knows a resource without an answer from a router without a connection, by what went over the wire', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('/status/', () => {});
  expect(await advanceUntil(bench.run('status'), bench.clock, SECOND_MS)).toBe('failed');
  expect(bench.agent.recorder.summarize().fault).toMatchObject({ step: 'http', resource: 'device_info' });
});

test('RouterAgent ships lines, shows them, and counts their bytes', async () => {
  await using bench = await openRouterAgent();
  // The line waits for what might continue it.
  expect(await bench.run('logs')).toBe('done');
  await bench.clock.advance(MINUTE_MS);
  expect(await bench.run('logs')).toBe('done');
  expect(bench.store.lines.map((line) => JSON.parse(line).message)).toEqual(['a line']);
  expect(bench.agent.recorder.describeLogs()).toMatchObject([
    { component: 'network', lines: 1, position: { file: 'network/current', offset: 0 } },
  ]);
  const { received } = bench.agent.recorder.describe().bytes;
  expect(received).toBeGreaterThan(0);
  expect(bench.metrics()).toContain(`router_api_received_bytes_total{router="plant-7"} ${received}\n`);
  expect(bench.metrics()).toContain('router_log_lines_total{router="plant-7",component="network"} 1\n');
});

test('RouterAgent ends a run over the logs when the rules for their lines change, and goes on with the others', async () => {
  await using bench = await openRouterAgent();
  const asked = Promise.withResolvers<void>();
  bench.answers.set('?log_file=', () => asked.resolve());
  const run = bench.run('logs');
  await asked.promise;
  bench.agent.useLines(new LineProcessing([], []));
  bench.agent.useLines(new LineProcessing([], [{ pattern: 'line', replacement: 'word' }]));
  expect(await run).toBe('done');
  bench.answers.delete('?log_file=');
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');
  expect(bench.store.lines.map((line) => JSON.parse(line).message)).toEqual(['a word']);
  expect([bench.logins(), bench.logouts()]).toEqual([1, 0]);
  expect(bench.ownLog.filter(({ level }) => level !== 'info')).toEqual([]);
});

test.each([
  ['text', Buffer.from('2026-11-21 11:59:00 [app] a line\n')],
  ['an archive, which a thread reads', compress('2026-11-21 11:59:00 [app] a line\n')],
])('RouterAgent stores no line by rules that have changed since it was downloaded: %s', async (_, file) => {
  await using pool = openArchivePool({ workers: 1 });
  const rules = new LineProcessing([], [{ pattern: 'line', replacement: 'word' }]);
  const archives: ArchivePool = {
    async read(...reading) {
      const outcome = await pool.read(...reading);
      bench.agent.useLines(rules);
      return outcome;
    },
    close: () => pool.close(),
    [Symbol.asyncDispose]: () => pool.close(),
  };
  await using bench = await openRouterAgent({}, { archives });
  bench.answers.set('list_files', (response) =>
    answerJson(response, { log_files: ['network/log-2026-11-21-12:00:00'] }),
  );
  bench.answers.set('log_file=', (response) => response.end(file));
  expect(await bench.run('logs')).toBe('done');
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');
  expect(bench.store.lines.map((line) => JSON.parse(line).message)).toEqual(['a word']);
});

test('RouterAgent reports why logs could not be read, and a broken store', async () => {
  await using bench = await openRouterAgent();
  bench.store.fault = full;
  expect(await bench.run('logs')).toBe('done');
  bench.store.fault = broken;
  expect(await bench.run('logs')).toBe('done');
  const causes = bench.events.flatMap((event) => (event.type === 'logs-failed' ? [event.cause] : []));
  expect(causes).toEqual([full, broken]);
  expect(bench.ownLog).toContainEqual({
    level: 'warn',
    message: 'The logs could not be read',
    fields: { router: 'plant-7', error: expect.stringContaining('There is no room') },
  });
});

test('RouterAgent reads no logs while the spool has no room, and polls on', async () => {
  await using bench = await openRouterAgent();
  bench.store.fault = full;
  bench.store.bytes = 1000;
  await bench.run('logs');
  expect([bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()]).toEqual([false, true]);
  bench.store.bytes = 0;
  await bench.clock.advance(MINUTE_MS);
  expect(bench.activity('logs')?.isPaused?.()).toBe(false);
});

test('RouterAgent lets the logs of a router that cannot be connected to wait for five minutes, or until it can', async () => {
  const port = await findFreePort();
  await using bench = await openRouterAgent({ url: `http://127.0.0.1:${port}` });
  expect(await bench.run('status')).toBe('failed');
  await bench.clock.advance(5 * MINUTE_MS - 1);
  expect([bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()]).toEqual([false, true]);
  await bench.clock.advance(1);
  expect(bench.activity('logs')?.isPaused?.()).toBe(false);
  expect(await bench.run('logs')).toBe('failed');
});

test('RouterAgent backs off when log requests get no answer, and not after a refusal', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('list_files', (response) => response.writeHead(403).end());
  expect(await bench.run('logs')).toBe('done');
  bench.answers.set('list_files', (response) => response.destroy());
  bench.answers.set('/auth/', (response) => response.destroy());
  expect(await bench.run('logs')).toBe('failed');
});

test('RouterAgent leaves the logs alone for an hour whose list is refused, or until the next login', async () => {
  await using bench = await openRouterAgent({ timezone: undefined });
  const isPaused = () => bench.activity('logs')?.isPaused?.();
  await bench.run('status');
  bench.asked();
  bench.answers.set('list_files', (response) => response.writeHead(403).end());
  expect(await bench.run('logs')).toBe('done');
  // Not for the time of the lines, either.
  expect(bench.asked()).toEqual([expect.stringContaining('list_files')]);
  await bench.clock.advance(60 * MINUTE_MS - 1);
  expect(isPaused()).toBe(true);
  await bench.clock.advance(1);
  expect(isPaused()).toBe(false);

  expect(await bench.run('logs')).toBe('done');
  expect(isPaused()).toBe(true);
  bench.answers.set('/auth/refresh', (response) => response.writeHead(401).end());
  let refusals = 1;
  bench.answers.set('/status/number', (response) => {
    if (refusals-- > 0) response.writeHead(401).end();
    else answerJson(response, { status: { n: 8 } });
  });
  await bench.clock.advance(MINUTE_MS);
  await bench.run('status');
  expect(isPaused()).toBe(false);
});

test('RouterAgent forgets logs of a router that lists new names again and again, with their positions and series', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('log_file=', (response) => response.end('2026-11-21 12:59:00 [app] a line\n'));
  for (let look = 0; look < 4; look++) {
    const names = Array.from({ length: 100 }, (_, index) => `log${look}-${index}/current`);
    bench.answers.set('list_files', (response) => answerJson(response, { log_files: names }));
    expect(await bench.run('logs')).toBe('done');
  }
  expect(bench.store.positions.size).toBe(256);
  const components = new Set(
    Array.from(bench.metrics().matchAll(/component="(log[^"]+)"/g), ([, component]) => component),
  );
  expect(components.size).toBe(256);
  expect([...components]).toEqual(expect.arrayContaining(['log3-0', 'log3-99']));
  expect(bench.ownLog).toContainEqual(expect.objectContaining({ fields: { router: 'plant-7', count: 44 } }));
  // A log that comes back is read from its start: its lines have the ids that they had.
  bench.answers.set('list_files', (response) => answerJson(response, { log_files: ['log0-0/current'] }));
  const uids = () =>
    bench.store.lines.filter((line) => line.includes('"log0-0"')).map((line) => /"uid":"([^"]+)"/.exec(line)?.[1]);
  await bench.run('logs');
  await bench.run('logs');
  expect(new Set(uids()).size).toBe(1);
  expect(bench.metrics()).toContain('router_log_lines_total{router="plant-7",component="log0-0"} 1\n');
}, 30_000);

test('RouterAgent forgets logs of which nothing could ever be read', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('log_file=', (response) => response.end('no line of a log\n'));
  const countLogs = () => new Set(bench.metrics().match(/component="log[^"]+"/g)).size;
  for (let look = 0; look < 4; look++) {
    const names = Array.from({ length: 200 }, (_, index) => `log${look}-${index}/current`);
    bench.answers.set('list_files', (response) => answerJson(response, { log_files: names }));
    expect(await bench.run('logs')).toBe('done');
    expect(countLogs()).toBe(Math.min(256, 200 * (look + 1)));
  }
  expect(bench.store.positions.size).toBe(0);
}, 30_000);

test('RouterAgent makes way between two logs, and goes on behind the one that it has read', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('list_files', (response) => answerJson(response, { log_files: ['a/current', 'b/current'] }));
  bench.answers.set('log_file=', (response) => response.end('2026-11-21 12:59:00 [app] a line\n'));
  const downloads = () =>
    bench
      .asked()
      .flatMap((line) => /log_file=(\w)/.exec(line)?.[1] ?? [])
      .join('');
  await bench.run('logs', { isAwaited: () => true });
  expect(downloads()).toBe('a');
  await bench.run('logs', { isAwaited: () => true });
  expect(downloads()).toBe('b');
  await bench.run('logs');
  expect(new Set(downloads())).toEqual(new Set('ab'));
});

test('RouterAgent leaves the other logs to the next run when one has taken five minutes, which begins behind that', async () => {
  await using bench = await openRouterAgent();
  bench.answers.set('list_files', (response) => answerJson(response, { log_files: ['a/current', 'b/current'] }));
  bench.answers.set('log_file=', (response) => response.end('2026-11-21 12:59:00 [app] a line\n'));
  const { positions } = bench.store;
  const monotonic = bench.clock.monotonic.bind(bench.clock);
  let readingMs = 0;
  bench.clock.monotonic = () => monotonic() + readingMs;
  positions.set = (component, text) => {
    readingMs += 6 * MINUTE_MS;
    return Map.prototype.set.call(positions, component, text);
  };
  const downloads = () => bench.asked().flatMap((line) => /log_file=(\w)/.exec(line)?.[1] ?? []);
  await bench.run('logs');
  expect(new Set(downloads())).toEqual(new Set('a'));
  await bench.run('logs');
  expect(downloads()[0]).toBe('b');
});

test('RouterAgent reports a gap', async () => {
  await using bench = await openRouterAgent();
  // In an unreadable form.
  const files = ['network/current', 'network/log-2026-11-21-12:30:00.Z'];
  bench.answers.set('list_files', (response) => answerJson(response, { log_files: files }));
  bench.answers.set('.Z', (response) => response.end(Buffer.from('\x1f\x9dcompressed', 'latin1')));
  await bench.run('logs');
  expect(bench.events).toContainEqual(expect.objectContaining({ type: 'log-gap-found', reason: 'unsupported' }));
  expect(bench.agent.recorder.describe().recentGaps).toMatchObject([{ reason: 'unsupported' }]);
});

test('RouterAgent passes firmware and serial number of a poll to the logs, which end with the device', async () => {
  await using bench = await openRouterAgent({ timezone: undefined });
  bench.answers.set('/status/device_info', (response) => answerJson(response, BOARD));
  await bench.run('status');
  expect(bench.agent.recorder.state.identity).toEqual({ firmware: '6.1', serial: '4711' });
  bench.answers.set('log_file=', (response) => response.end('2026-11-21 12:59:00 [app] of the one\n'));
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');
  expect(bench.store.lines).toHaveLength(1);
  expect(bench.store.facts).toContain('"firmware":"6.1"');

  const other = { status: { list: [{ board_type: 'main', firmware_version: '6.1', serial_number: '4712' }] } };
  bench.answers.set('/status/device_info', (response) => answerJson(response, other));
  bench.answers.set('log_file=', (response) => response.end('2026-11-21 13:59:00 [app] of the other\n'));
  await bench.run('status', { isTriggered: true });
  await bench.run('logs');
  expect(bench.ownLog).toContainEqual(
    expect.objectContaining({
      message: 'Router log was reset',
      fields: expect.objectContaining({ reason: 'replaced' }),
    }),
  );
});

test('RouterAgent reads the identity of the router when its logs change before a poll reports it, and reads each line once', async () => {
  await using bench = await openRouterAgent({ timezone: undefined });
  const textOf = (name: string) => `2026-11-21 12:59:00 [app] of ${name}\n2026-11-21 12:59:01 [app] more of ${name}\n`;
  bench.answers.set('log_file=', (response) => response.end(textOf('A')));
  await bench.run('status');
  await bench.run('logs');
  const other = { status: { list: [{ board_type: 'main', firmware_version: '6.1', serial_number: '4712' }] } };
  bench.answers.set('/status/device_info', (response) => answerJson(response, other));
  bench.answers.set('log_file=', (response) => response.end(textOf('B')));
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  // Polls still report the former one, until the next poll.
  await bench.run('logs');
  await bench.run('status');
  expect(bench.agent.recorder.state.identity.serial).toBe('4712');
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');

  const records = bench.store.lines.map((line) => JSON.parse(line) as { event?: string; message: string; uid: string });
  const messages = records.filter(({ event }) => event === undefined).map(({ message }) => message);
  expect(messages).toEqual(['of A', 'more of A', 'of B', 'more of B']);
  expect(records.filter(({ event }) => event === 'log.reset')).toHaveLength(1);
  const facts = JSON.parse(bench.store.facts?.split('\n')[0] ?? '') as { serial: string };
  expect(facts.serial).toBe('4712');
});

test('RouterAgent writes down what it learns of the configuration, and goes on with it after a restart', async () => {
  const reader = 'configuration' as const;
  const modules = [...MODULES, { name: reader, help: '', isIdentity: false, resources: [], reader }];
  const written: string[] = [];
  const values = {
    read: (_router: string, key: string) => (key === 'configuration' ? written.at(-1) : undefined),
    write: (_router: string, key: string, text: string) => void (key === 'configuration' && written.push(text)),
  };
  const isOfConfiguration = (line: string) => line.includes('/configuration');
  for (const isFirst of [true, false]) {
    await using bench = await openRouterAgent({ modules }, { values });
    // The router has none of the lists, which is not looked for again so soon.
    await bench.run('status');
    expect(bench.asked().some(isOfConfiguration)).toBe(isFirst);
    expect(written).toHaveLength(1);
    await bench.run('status', { isTriggered: true });
    expect(written).toHaveLength(1);
  }
});

test('RouterAgent does not follow logs without a sink or when they are off, and has their files counted by the poll', async () => {
  const logFiles = { name: 'log_files', help: '', isIdentity: false, resources: [], reader: 'log_files' as const };
  for (const [changes, options, isFollowed] of [
    [{}, { hasSinks: true }, true],
    [{}, { hasSinks: false }, false],
    [
      { logs: { enabled: false, interval: 30 * SECOND_MS, start: 'all' as const, components: ['*'] } },
      { hasSinks: true },
      false,
    ],
  ] as const) {
    await using bench = await openRouterAgent({ ...changes, modules: [logFiles] }, options);
    expect(bench.activity('logs') !== undefined).toBe(isFollowed);
    await bench.run('status');
    expect(bench.asked().some((line) => line.includes('list_files'))).toBe(!isFollowed);
  }
});

test('RouterAgent serves what the module generic reads, and remembers over a restart what the router lacks', async () => {
  const generic = { name: 'generic', help: '', isIdentity: false, resources: [], reader: 'generic' as const };
  const kept = new Map<string, string>();
  const values = {
    read: (_router: string, key: string) => kept.get(key),
    write: (_router: string, key: string, text: string) => void kept.set(key, text),
  };
  for (const isFirst of [true, false]) {
    await using bench = await openRouterAgent({ modules: [...MODULES, generic] }, { values });
    bench.answers.set('/status/wlan1', (response) => answerJson(response, { status: { unique: { channel: '6' } } }));
    await bench.run('status');
    expect(bench.asked().some((line) => line.includes('/status/serial1'))).toBe(isFirst);
    expect(bench.metrics()).toMatch(/^router_status_value\{.*resource="wlan1".*\} 6$/m);
  }
});

test('RouterAgent looks more often for logs that may be lost, in whole parts of the interval', async () => {
  for (const [intervalMs, floorMs] of [
    [30_000, 5000],
    [10_000, 2000],
    [2000, 1000],
    [1000, 1000],
    [7001, 7001],
  ] as const) {
    await using bench = await openRouterAgent({
      logs: { enabled: true, interval: intervalMs, start: 'all', components: ['*'] },
    });
    const logs = bench.activity('logs');
    expect([logs?.intervalMs, logs?.intervalMultiplier?.()]).toEqual([floorMs, intervalMs / floorMs]);
  }
});

test('RouterAgent reads the logs of a slow router half as often, but not those that may be lost', async () => {
  const logs = { enabled: true, interval: 30_000, start: 'all' as const, components: ['*'] };
  await using bench = await openRouterAgent({ logs });
  const multiplierOf = () => bench.activity('logs')?.intervalMultiplier?.();
  const usual = multiplierOf();
  bench.answers.set('/status/', (response) => {
    void bench.clock.advance(3 * SECOND_MS).then(() => answerJson(response, BOARD));
  });
  for (let poll = 0; poll < 5; poll++) {
    expect(multiplierOf()).toBe(usual);
    await bench.run('status');
    await bench.clock.advance(MINUTE_MS);
  }
  expect(multiplierOf()).toBe(2 * (usual ?? 0));
  expect(bench.metrics()).toContain('router_interval_stretch_ratio{router="plant-7",activity="logs"} 2\n');

  let length = 0;
  bench.answers.set('log_file=', (response) => {
    length += 1024 * 1024;
    return response.end(`2026-11-21 12:59:00 [app] ${'x'.repeat(length)}\n`);
  });
  for (let look = 0; look < 3; look++) {
    await bench.run('logs');
    await bench.clock.advance(MINUTE_MS);
  }
  expect(multiplierOf()).toBeLessThan(2 * (usual ?? 0));
});

test('RouterAgent redacts and counts by the rules of the configuration', async () => {
  const lines = new LineProcessing(
    [
      {
        name: 'router_words_total',
        help: 'Words.',
        type: 'counter',
        components: ['net*'],
        pattern: 'line',
        labels: [],
        fixed_labels: { kind: 'any' },
      },
    ],
    [{ pattern: '^a ', replacement: 'the ' }],
  );
  await using bench = await openRouterAgent({}, { lines });
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');
  expect(bench.store.lines.map((line) => JSON.parse(line).message)).toEqual(['the line']);
  expect(bench.metrics()).toContain('router_words_total{router="plant-7",component="network",kind="any"} 1\n');
});

test('RouterAgent warns at its start of what lets others read the password', async () => {
  await using bench = await openRouterAgent({
    tls: { insecure_skip_verify: true },
  });
  bench.agent.start();
  expect(bench.ownLog.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'Polling over plain HTTP: anyone on the network path can read the password'],
    ['warn', 'Any certificate is accepted: anyone on the network path can read the password'],
  ]);
});

/** What a router's agent needs for backups, every day, in a folder that is there. */
async function createDailyBackup(path: string) {
  const archive = new ProfileArchive({ path, keep: 3, clock: createSteppedClock(0) });
  await archive.prepare();
  return { archive, calendar: new BackupCalendar('@daily'), format: 'binary' as const };
}

test('RouterAgent asks for a backup when one is due, until it is closed', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-agent-'));
  await using bench = await openRouterAgent({}, { backup: await createDailyBackup(folder.path) });
  expect(bench.activity('backup')?.intervalMs).toBe(Number.POSITIVE_INFINITY);
  bench.agent.start();
  const letTimePass = async () => {
    await bench.clock.advance(60 * MINUTE_MS);
    return bench.triggered;
  };
  await expect.poll(letTimePass).toContain('plant-7/backup');
  await bench.agent.close(NEVER);
  bench.triggered.length = 0;
  await bench.clock.advance(48 * 60 * MINUTE_MS);
  expect(bench.triggered).toEqual([]);
});

test('RouterAgent asks for a backup when a poll has seen another configuration', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-agent-'));
  const backup = await createDailyBackup(folder.path);
  await using bench = await openRouterAgent(
    { modules: [...MODULES, createModule('hash', 'sysdetail/system')] },
    { backup },
  );
  const triggeredBy = async (hash: string) => {
    bench.answers.set('/status/sysdetail/system', (response) =>
      answerJson(response, { status: { n: 1, unique: { hash } } }),
    );
    await bench.run('status');
    await bench.clock.advance(MINUTE_MS);
    return bench.triggered.splice(0);
  };
  expect(await triggeredBy('one')).toEqual([]);
  expect(await triggeredBy('two')).toEqual(['plant-7/backup']);
  expect(await triggeredBy('two')).toEqual([]);
});

test('RouterAgent that is closed logs out, and counts that as well', async () => {
  await using bench = await openRouterAgent({ byte_budget: { perDay: 10_000_000, statusShare: 0.2 } });
  await bench.run('logs');
  await bench.clock.advance(MINUTE_MS);
  await bench.run('logs');
  const usedBefore = bench.agent.recorder.describe().bytes.usedToday;
  await bench.agent.close(NEVER);
  const { sent, received, usedToday } = bench.agent.recorder.describe().bytes;
  expect(usedToday).toBe(sent + received);
  expect(usedToday).toBeGreaterThan(usedBefore);
  expect(JSON.parse(bench.values.get('bytes') ?? '')).toEqual({ day: '1970-01-01', bytes: usedToday, polls: [0] });
  expect(bench.ownLog.at(-1)).toMatchObject({ message: 'Logged out' });
});

test('RouterAgent stores its history every five minutes and when it is closed, and continues it', async () => {
  const written: number[] = [];
  const kept = new Map<string, string>();
  await using bench = await openRouterAgent(
    {},
    {
      values: {
        read: () => undefined,
        write: (_router, key, text) => {
          kept.set(key, text);
          if (key === 'history') written.push(bench.clock.monotonic());
        },
      },
    },
  );
  for (let minute = 0; minute < 21; minute++) {
    await bench.run('status');
    await bench.clock.advance(MINUTE_MS);
  }
  const [first = -1, ...others] = written;
  // The first one at any time, so that those of a fleet are spread.
  expect(first).toBeLessThanOrEqual(5 * MINUTE_MS);
  expect(others.map((ms) => (ms - first) / MINUTE_MS)).toEqual([5, 10, 15]);
  await bench.run('status');
  const { lastHours } = bench.agent.recorder.describe();
  await bench.agent.close(NEVER);
  expect(written.at(-1)).toBe(21 * MINUTE_MS);
  await using next = await openRouterAgent({}, { values: { read: (_, key) => kept.get(key), write: () => {} } });
  next.clock.jump(21 * MINUTE_MS);
  const toResults = (points: typeof lastHours) =>
    points.map(({ result }) => result).filter((result) => result !== null);
  expect(toResults(next.agent.recorder.describe().lastHours)).toEqual(toResults(lastHours));
});

test('RouterAgent that was not polled since its last write does not store its history again', async () => {
  await using bench = await openRouterAgent({});
  await bench.agent.close(NEVER);
  expect(bench.values.has('history')).toBe(false);
});

test('RouterAgent does nothing any more today when the byte budget is used up', async () => {
  await using bench = await openRouterAgent({ byte_budget: { perDay: 1, statusShare: 0.2 } });
  await bench.run('status');
  expect([bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()]).toEqual([false, true]);
  // The share kept for status polls is charged for a liveness probe.
  bench.asked();
  await bench.clock.advance(2 * MINUTE_MS);
  await bench.run('status');
  expect(bench.asked()).toEqual(['GET /status/device_info']);
  expect(bench.agent.recorder.state.reach).toBe('budget');
  expect([bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()]).toEqual([true, true]);
  await bench.clock.advance(24 * 60 * MINUTE_MS);
  expect(bench.activity('status')?.isPaused?.()).toBe(false);
});

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** A router on loopback that begins one answer so, and goes on with `part` for ever. */
async function openEndlessRouter(path: string, begin: string, part: string) {
  const open = new Set<Socket>();
  let sentBytes = 0;
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    socket.on('data', (chunk) => {
      // A request comes in one piece, but a body may come behind its head.
      const [, asked] = / (\/\S*) HTTP/.exec(chunk.toString('latin1')) ?? [];
      if (!asked) return;
      if (!asked.includes(path)) {
        const body = JSON.stringify({ access: 'a', refresh: 'b', ...BOARD });
        socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`);
        return;
      }
      const parts = part.repeat(Math.ceil(10_000 / part.length));
      const send = () => {
        sentBytes += parts.length;
        socket.write(parts, (cause) => cause ?? setImmediate(send));
      };
      socket.write(begin, send);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get sentBytes() {
      return sentBytes;
    },
    get connections() {
      return open.size;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

test.each([
  ['interim answers without end', '/status/device_info', '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'],
  ['a head without end', '/status/device_info', HEAD, 'X: 1\r\n'],
  ['one header without end', '/status/device_info', `${HEAD}X: `, 'x'],
  ['chunks with long extensions', '/status/device_info', CHUNKED, `1;${'x'.repeat(1000)}\r\n \r\n`],
  ['one extension of a chunk without end', '/status/device_info', `${CHUNKED}1;`, 'x'],
  ['trailers without end', '/status/device_info', `${CHUNKED}0\r\n`, 'X: 1\r\n'],
  ['an answer to the login without end', '/auth/login', `${HEAD}\r\n`, ' '],
  ['a refusal of the login without end', '/auth/login', 'HTTP/1.1 401 No\r\nContent-Length: 1000000000\r\n\r\n', ' '],
  ['extensions of chunks as an answer to the login', '/auth/login', `${CHUNKED}1;`, 'x'],
])(
  'RouterAgent ends a run no later than soon after the end of the byte budget when a router sends %s',
  async (_, path, begin, part) => {
    await using router = await openEndlessRouter(path, begin, part);
    await using bench = await openRouterAgent({ byte_budget: { perDay: 100_000, statusShare: 0.2 }, url: router.url });
    let isOver = false;
    const run = bench.run('status').finally(() => {
      isOver = true;
    });
    // Far less than any limit of time, and between two looks more than they let pass.
    for (let look = 1; look <= 3; look++) {
      const before = router.sentBytes;
      await expect.poll(() => isOver || router.sentBytes - before > 200_000).toBe(true);
      await bench.clock.advance(SECOND_MS / 4);
    }
    await run;
    await expect.poll(() => router.connections).toBe(0);
  },
);

test("RouterAgent sends nothing to a router that is another replica's: no poll, no log, no logout", async () => {
  const allowed = { ask: true, read: true };
  const gate = { mayAsk: () => allowed.ask, mayRead: () => allowed.read };
  await using bench = await openRouterAgent({}, { gate });
  await bench.run('status');
  const isPaused = () => [bench.activity('status')?.isPaused?.(), bench.activity('logs')?.isPaused?.()];
  expect(isPaused()).toEqual([false, false]);
  allowed.read = false;
  expect(isPaused()).toEqual([false, true]);

  // It goes over between two requests of a poll: the second is not sent, and nothing has failed.
  bench.asked();
  bench.answers.set('/status/device_info', (response) => {
    allowed.ask = false;
    answerJson(response, BOARD);
  });
  expect(await bench.run('status', { isTriggered: true })).toBe('done');
  expect(bench.asked()).toEqual(['GET /status/device_info']);
  expect(bench.agent.recorder.state.reach).toBe('up');
  expect(isPaused()).toEqual([true, true]);
  expect(await bench.run('logs')).toBe('done');
  await bench.agent.close(NEVER);
  expect(bench.asked()).toEqual([]);
  expect(bench.logouts()).toBe(0);
});

test('RouterAgent does not ask a router that goes over while the connection to it is opened', async () => {
  let admissions = 0;
  const gate = { mayAsk: () => ++admissions < 2, mayRead: () => true };
  await using bench = await openRouterAgent({}, { gate });
  expect(await bench.run('status')).toBe('done');
  expect([bench.asked(), bench.logins()]).toEqual([[], 0]);
});
