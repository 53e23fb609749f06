import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import { FollowMemory, followOnce, openArchivePool, Zone } from '../../src/logs/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type RunEnded, Scheduler } from '../../src/schedule/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { MemoryLog, SECOND_MS, START_MS } from '../support/log-bench.ts';

/** As many as a test has time for; what a router costs does not depend on how many there are. */
const ROUTERS = 50;
const TURNS = 4;
/** One Mbit in a second, of lines of 1000 bytes. */
const LINES_PER_SECOND = 125;
const MESSAGE = 'x'.repeat(1000 - '2026-11-21 13:00:00 [network] \n'.length);
/** Fewer slots than routers: a stuck run that occupied one of the others would show. */
const RUNS_MAX = 8;

test('case 74: of 50 routers with 1 Mbit/s each one is stuck, and the runs of all others begin on time and get every line', async () => {
  const clock = createSteppedClock(START_MS);
  await using simulator = await startSimulator({
    routers: ROUTERS,
    clock,
    seed: 7,
    plainHttp: true,
    features: { rangeRequests: true },
  });
  const stuck = simulator.routers[ROUTERS / 2];
  if (!stuck) throw new RangeError('There is no such router');
  await using archives = openArchivePool({ workers: 1 });
  const ended: RunEnded[] = [];
  const scheduler = new Scheduler({ clock, report: (event) => void ended.push(event), runsMax: RUNS_MAX });
  await using clients = new AsyncDisposableStack();
  const logs = new Map<string, MemoryLog>();
  const underWay = new Set<string>();
  for (const { name, url } of simulator.routers) {
    const client = new RouterClient({ url, username: 'monitor', password: 'simulated', clock });
    clients.defer(() => client.close());
    const records = new MemoryLog();
    logs.set(name, records);
    const memory = new FollowMemory();
    const rest = { archives, clock, memory, zone: new Zone('Europe/Berlin'), report: () => {}, isWanted: () => true };
    scheduler.add({
      key: name,
      serialKey: name,
      intervalMs: SECOND_MS,
      run: async (signal) => {
        underWay.add(name);
        try {
          await followOnce({ router: { name, labels: {} }, source: client, records, ...rest }, signal);
          return 'done';
        } finally {
          underWay.delete(name);
        }
      },
    });
  }
  await stuck.fault('hang');
  // In the reverse order: no more runs, a router that answers again, and logouts.
  clients.defer(() => stuck.clearFault());
  clients.defer(() => scheduler.stop());

  scheduler.start();
  for (let turn = 1; turn <= TURNS; turn++) {
    for (const router of simulator.routers) {
      for (let line = 0; line < LINES_PER_SECOND; line++) router.appendLog('network', MESSAGE);
    }
    await clock.advance(SECOND_MS, async () => {
      while ([...underWay].some((name) => name !== stuck.name)) await setImmediate();
    });
  }

  const others = ended.filter(({ key }) => key !== stuck.name);
  expect(others).toHaveLength((ROUTERS - 1) * TURNS);
  expect(others.map(({ lagMs }) => lagMs)).toEqual(others.map(() => 0));
  const linesOf = (name: string) => logs.get(name)?.lines.map((line) => (JSON.parse(line) as LogRecord).message) ?? [];
  for (const { name } of simulator.routers) {
    const expected = name === stuck.name ? 0 : TURNS * LINES_PER_SECOND;
    expect([name, linesOf(name).length]).toEqual([name, expected]);
  }
});
