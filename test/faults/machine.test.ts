import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { sampled, sampleNote } from '../support/sampled.ts';
import { findNoDiskReason, findNoLimitReason, limitFileBytes, openSmallDisk } from '../support/small-disk.ts';
import { type ProgramPart, withPrograms } from '../support/tools.ts';
import { openFaultBench, type RunningAgent, untilMetric } from './fault-bench.ts';

const run = promisify(execFile);
const MIB = 1024 ** 2;
const DAY_SECONDS = 86_400;
const LINES = 40;
/** Files of the history of each log, and their lines: a megabyte for each file of the four logs. */
const [HISTORY_FILES, HISTORY_LINES] = [5, 4000];
/** A short run tries a clock set forward, and a process that is stopped. */
const isShort = sampled('faults of the machine', false, true);
const ROTATION_MS = 2000;
/** The minute of the issue takes `FAULT_STOP_MS=60000`; three seconds are more than every time limit of the configuration. */
const STOP_MS = Number(process.env['FAULT_STOP_MS'] ?? 3000);
const noDisk = findNoDiskReason();
const noLimit = findNoLimitReason();
const FAKETIME_LIBRARIES = ['x86_64-linux-gnu/', 'aarch64-linux-gnu/', ''].map(
  (folder) => `/usr/lib/${folder}faketime/libfaketime.so.1`,
);
const faketime: ProgramPart = {
  name: 'faketime',
  isInstalled: () => FAKETIME_LIBRARIES.some((path) => existsSync(path)),
};

/** The two files of the state: records and positions, and the dead letters of a sink that refuses every tenth record. */
const STORES = sampled(
  'faults of the machine',
  [
    { store: 'records', refuses: false },
    { store: 'dead letters', refuses: true },
  ],
  [],
);
const limits = { timeout: 180_000 };
const UP = /^router_up\{router="sim-1"\} 1$/m;

/** Ends the agent in the way of a service manager. */
async function stop(agent: RunningAgent): Promise<void> {
  agent.process.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
}

const pidOf = ({ process: { pid = 0 } }: RunningAgent) => pid;

describe(`the whole agent, in a process of its own${sampleNote('faults of the machine')},`, () => {
  test.for(STORES)(
    'goes on by itself when its full disk has room again: $store',
    limits,
    async ({ refuses }, context) => {
      context.skip(noDisk !== undefined, noDisk);
      await using disk = await openSmallDisk(48 * MIB);
      await using bench = await openFaultBench({ storagePath: join(disk.path, 'data') });
      bench.receiver.refuses = refuses;
      await using agent = await bench.startAgent();
      bench.write(LINES);
      await bench.expectComplete();
      const filler = join(disk.path, 'filler');
      await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']).catch(() => {});
      bench.write(LINES);
      await untilMetric(agent, /^router_exporter_spool_held_back 1$/m);
      expect(await agent.readMetrics()).toMatch(UP);
      await rm(filler);
      await bench.expectComplete();
      await untilMetric(agent, /^router_exporter_spool_held_back 0$/m);
      await expectDeadLetters(agent, refuses ? bench.receiver.refused.size : 0);
      await stop(agent);
    },
  );

  test.skipIf(isShort).for(STORES)(
    'goes on by itself when its disk, which became read-only while it was down, can be written again: $store',
    limits,
    async ({ refuses }, context) => {
      context.skip(noDisk !== undefined, noDisk);
      await using disk = await openSmallDisk(48 * MIB);
      await using bench = await openFaultBench({ storagePath: join(disk.path, 'data') });
      bench.receiver.refuses = refuses;
      {
        await using agent = await bench.startAgent();
        bench.write(LINES);
        await bench.expectComplete();
        await stop(agent);
      }
      await disk.remount('ro');
      await using agent = await bench.startAgent();
      bench.write(LINES);
      await untilMetric(agent, UP);
      await untilMetric(agent, /^router_exporter_spool_held_back 1$/m);
      await disk.remount('rw');
      await bench.expectComplete();
      await expectDeadLetters(agent, refuses ? bench.receiver.refused.size : 0);
      await stop(agent);
    },
  );

  test.skipIf(isShort).for(STORES)(
    'goes on by itself when the system fails its writes for a while: $store',
    limits,
    async ({ refuses }, context) => {
      context.skip(noLimit !== undefined, noLimit);
      await using bench = await openFaultBench();
      bench.receiver.refuses = refuses;
      await using agent = await bench.startAgent();
      bench.write(LINES);
      await bench.expectComplete();
      await limitFileBytes(pidOf(agent), 1);
      bench.write(LINES);
      await untilMetric(agent, /^router_exporter_spool_held_back 1$/m);
      await limitFileBytes(pidOf(agent), 'unlimited');
      await bench.expectComplete();
      await expectDeadLetters(agent, refuses ? bench.receiver.refused.size : 0);
      await stop(agent);
    },
  );

  test.skipIf(isShort)(
    'reaches its routers and its sink again when there are file descriptors again',
    limits,
    async (context) => {
      context.skip(noLimit !== undefined, noLimit);
      await using bench = await openFaultBench();
      await using agent = await bench.startAgent();
      bench.write(LINES);
      await bench.expectComplete();
      const open = (await readdir(`/proc/${pidOf(agent)}/fd`)).map(Number);
      await run('prlimit', ['--pid', String(pidOf(agent)), `--nofile=3:${Math.max(...open) + 1000}`]);
      for (const router of bench.routers) await router.fault('down');
      for (const router of bench.routers) await router.clearFault('down');
      bench.receiver.disconnect();
      bench.write(LINES);
      await agent.waitFor('stderr', /reached its limit of open files/);
      await run('prlimit', ['--pid', String(pidOf(agent)), `--nofile=${Math.max(...open) + 1000}`]);
      await bench.expectComplete();
      await untilMetric(agent, UP);
      await stop(agent);
    },
  );

  test.skipIf(isShort)('reads a history of many files in a heap of 96 MiB', limits, async () => {
    await using bench = await openFaultBench({ fileBytes: 256 * 1024, behindMs: HISTORY_FILES * ROTATION_MS });
    for (let file = 0; file < HISTORY_FILES; file++) {
      bench.write(HISTORY_LINES);
      // Two files of one second would have one name.
      for (const router of bench.routers) router.jumpClock(ROTATION_MS);
    }
    await Promise.all(bench.routers.map((router) => router.whenQuiet()));
    await using agent = await bench.startAgent([], { NODE_OPTIONS: '--max-old-space-size=96' });
    await bench.expectComplete();
    await stop(agent);
  });

  withPrograms([faketime], test.for(sampled('faults of the machine', ['+', '-'], ['+'])))(
    'goes on when the clock is set by a day (%s1 d), there and back',
    limits,
    async (sign) => {
      await using bench = await openFaultBench();
      const clock = join(bench.folder, 'clock');
      await writeFile(clock, '+0\n');
      await using agent = await bench.startAgent([], {
        LD_PRELOAD: findFaketime(),
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      });
      bench.write(LINES);
      await bench.expectComplete();
      for (const step of [`${sign}${DAY_SECONDS}\n`, '+0\n']) {
        await writeFile(clock, step);
        bench.write(LINES);
        await bench.expectComplete();
        await untilMetric(agent, UP);
      }
      // It was the agent's own clock that jumped, and no router's: nothing is missing.
      expect(await agent.readMetrics()).not.toMatch(/^router_log_gaps_total\{.*\} [1-9]/m);
      await stop(agent);
    },
  );

  withPrograms(['unshare', 'mount'], test.skipIf(isShort))(
    'goes on when names are resolved again',
    limits,
    async (context) => {
      context.skip(noDisk !== undefined, 'this user may not mount a file over /etc/hosts');
      await using bench = await openFaultBench({ host: 'fault-bench.test' });
      const hosts = join(bench.folder, 'hosts');
      const resolver = join(bench.folder, 'resolv.conf');
      await writeFile(hosts, '127.0.0.1 localhost fault-bench.test\n');
      // Nothing listens there.
      await writeFile(resolver, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
      const mounts = `mount --bind ${hosts} /etc/hosts && mount --bind ${resolver} /etc/resolv.conf && exec "$0" "$@"`;
      await using agent = await bench.startAgent(['unshare', '--mount', 'sh', '-c', mounts]);
      bench.write(LINES);
      await bench.expectComplete();
      await writeFile(hosts, '127.0.0.1 localhost\n');
      for (const router of bench.routers) await router.fault('down');
      for (const router of bench.routers) await router.clearFault('down');
      bench.receiver.disconnect();
      bench.write(LINES);
      await untilMetric(agent, /^router_exporter_sink_up\{.*\} 0$/m);
      // Routers are reached at the addresses that they had.
      await untilMetric(agent, /^router_exporter_spool_records [1-9]/m);
      await untilMetric(agent, UP);
      await writeFile(hosts, '127.0.0.1 localhost fault-bench.test\n');
      await bench.expectComplete();
      await untilMetric(agent, UP);
      await stop(agent);
    },
  );

  test(`goes on after it was stopped for ${STOP_MS} ms, longer than all of its time limits`, limits, async () => {
    await using bench = await openFaultBench();
    const end = bench.keepWriting();
    await using agent = await bench.startAgent();
    await bench.receiver.untilArrived(LINES);
    agent.process.kill('SIGSTOP');
    const continued = new Promise<void>((resolve) => {
      setTimeout(() => {
        agent.process.kill('SIGCONT');
        resolve();
      }, STOP_MS);
    });
    await continued;
    await bench.receiver.untilArrived(LINES);
    end();
    await bench.expectComplete();
    await untilMetric(agent, UP);
    await stop(agent);
  });
});

/** Every record that the receiver refused for good is a dead letter, and nothing else is. */
async function expectDeadLetters(agent: RunningAgent, records: number): Promise<void> {
  const pattern = new RegExp(`^router_exporter_dead_letters\\{sink="keyed"\\} ${records}$`, 'm');
  await untilMetric(agent, pattern);
}

function findFaketime(): string {
  const found = FAKETIME_LIBRARIES.find((path) => existsSync(path));
  if (found === undefined) throw new RangeError(`There is none of ${FAKETIME_LIBRARIES.join(', ')}`);
  return found;
}
