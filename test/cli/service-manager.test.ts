import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { openServiceManager, type WatchedAgent } from '../../src/cli/support/service-manager.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';

const PID = 4711;
/** As `WatchdogSec=90` of the unit. */
const WATCHDOG = { WATCHDOG_USEC: '90000000', WATCHDOG_PID: String(PID) };

/** A service manager on a stepped clock, with an agent whose state the test sets. */
function createBench(environment: NodeJS.ProcessEnv, send?: (assignments: readonly string[]) => Promise<unknown>) {
  const clock = createSteppedClock(0);
  const sent: (readonly string[])[] = [];
  const ownLog: OwnLine[] = [];
  const agent: WatchedAgent & { stall: string | undefined } = {
    stall: undefined,
    findStall: () => agent.stall,
    summary: () => ({ routers: 6, states: { up: 5 } }),
  };
  const manager = openServiceManager({
    environment,
    pid: PID,
    clock,
    logger: createCollectingLogger(ownLog),
    send: async (assignments, signal) => {
      sent.push(assignments);
      await Promise.race([send?.(assignments), new Promise((_, reject) => signal.addEventListener('abort', reject))]);
    },
  });
  const beats = () => sent.filter(([first]) => first === 'WATCHDOG=1').length;
  const advance = async (durationMs: number) => {
    // What is being sent now must not count as sent later.
    await setImmediate();
    await clock.advance(durationMs, () => setImmediate());
  };
  return { advance, manager, agent, sent, ownLog, beats };
}

const answered = () => Promise.resolve();

test('says in order that the agent is ready, loads its configuration again, is ready again, and stops', async () => {
  const { manager, agent, sent } = createBench({ NOTIFY_SOCKET: '/run/notify' }, answered);
  manager.ready(agent);
  manager.reloading();
  manager.ready(agent);
  manager.stopping();
  await manager.close();
  expect(sent).toEqual([
    ['READY=1', 'STATUS=5 of 6 routers up'],
    ['RELOADING=1', 'STATUS=Loading the configuration'],
    ['READY=1', 'STATUS=5 of 6 routers up'],
    ['STOPPING=1', 'STATUS=Stopping'],
  ]);
});

test('feeds the watchdog three times per period from the start on, and not while the agent stops', async () => {
  const { advance, manager, agent, beats } = createBench({ NOTIFY_SOCKET: '/run/notify', ...WATCHDOG }, answered);
  await advance(90_000);
  expect(beats()).toBe(0);
  manager.ready(agent);
  await advance(90_000);
  expect(beats()).toBe(3);
  manager.stopping();
  await advance(90_000);
  expect(beats()).toBe(3);
});

test('feeds the watchdog no more while the agent is stalled, and logs the reason once', async () => {
  const { advance, manager, agent, beats, ownLog } = createBench({ NOTIFY_SOCKET: '/run', ...WATCHDOG }, answered);
  manager.ready(agent);
  agent.stall = 'Nothing runs';
  await advance(90_000);
  expect(beats()).toBe(0);
  expect(ownLog).toMatchObject([{ level: 'error', fields: { reason: 'Nothing runs' } }]);
  agent.stall = undefined;
  await advance(30_000);
  expect(beats()).toBe(1);
});

test.for([
  ['of another process', { ...WATCHDOG, WATCHDOG_PID: '1' }],
  ['without a time', { WATCHDOG_PID: String(PID) }],
  ['with a time that is no number', { ...WATCHDOG, WATCHDOG_USEC: 'soon' }],
  ['with a time of zero', { ...WATCHDOG, WATCHDOG_USEC: '0' }],
] as const)('feeds no watchdog %s', async ([, environment]) => {
  const { advance, manager, agent, beats } = createBench({ NOTIFY_SOCKET: '/run/notify', ...environment }, answered);
  manager.ready(agent);
  await advance(3_600_000);
  expect(beats()).toBe(0);
});

test('sends nothing without a socket', async () => {
  const { advance, manager, agent, sent } = createBench(WATCHDOG, answered);
  manager.ready(agent);
  await advance(90_000);
  manager.reloading();
  manager.stopping();
  await manager.close();
  expect(sent).toEqual([]);
});

test('logs once that systemd cannot be notified, and retries', async () => {
  let isThere = false;
  const { advance, manager, agent, beats, ownLog } = createBench({ NOTIFY_SOCKET: '/run', ...WATCHDOG }, async () => {
    if (!isThere) throw new RangeError('spawn systemd-notify ENOENT');
  });
  manager.ready(agent);
  await advance(90_000);
  expect(beats()).toBe(3);
  expect(ownLog).toMatchObject([{ level: 'warn', fields: { error: expect.stringContaining('ENOENT') } }]);
  isThere = true;
  await advance(30_000);
  isThere = false;
  await advance(30_000);
  expect(ownLog).toHaveLength(2);
});

test('a message that hangs ends after five seconds and holds up no queue of others', async () => {
  const { advance, manager, agent, sent } = createBench(
    { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '3000000' },
    () => Promise.withResolvers<void>().promise,
  );
  manager.ready(agent);
  await advance(4900);
  expect(sent).toHaveLength(1);
  await advance(1200);
  expect(sent.map(([first]) => first)).toEqual(['READY=1', 'WATCHDOG=1']);
  manager.stopping();
  let isClosed = false;
  const closed = manager.close().then(() => {
    isClosed = true;
    return isClosed;
  });
  await advance(499);
  expect(isClosed).toBe(false);
  await advance(1);
  expect(await closed).toBe(true);
});
