import { mkdtempDisposable, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RouterBackup } from '../../src/agent/routers/router-backup.ts';
import {
  BackupCalendar,
  type Manifest,
  ProfileArchive,
  type ProfileAttempt,
  type ProfileSource,
} from '../../src/backup/index.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterError } from '../../src/client/index.ts';
import { FleetExposition } from '../../src/exposition/index.ts';
import type { PollResult } from '../../src/status/index.ts';
import { createCollectingLogger } from '../support/collecting-logger.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 21, 12);
const router = { name: 'plant-7', labels: {} };
const never = new AbortController().signal;

const KEPT = {
  profile: 'Profile',
  isListed: true,
  lastSuccessMs: START_MS,
  lastAttempt: { isSuccess: true, atMs: START_MS },
  versions: [],
} as unknown as Manifest;

/** An archive that returns its profiles and its last attempt when the test allows it. */
class HeldArchive extends ProfileArchive {
  readonly attempts = Promise.withResolvers<number | undefined>();
  readonly listed = Promise.withResolvers<readonly Manifest[]>();
  override listProfiles(): Promise<readonly Manifest[]> {
    return this.listed.promise;
  }
  override async readLastAttempts(): Promise<readonly ProfileAttempt[]> {
    const timeMs = await this.attempts.promise;
    return timeMs === undefined ? [] : [{ profile: 'Profile', timeMs, isSuccess: true }];
  }
}

async function createBench(listProfiles: ProfileSource['listProfiles'] = () => Promise.resolve([])) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'router-backup-'));
  const clock = createSteppedClock(START_MS);
  const archive = new HeldArchive({ path: folder.path, keep: 3, clock });
  await archive.prepare();
  const exposition = new FleetExposition();
  const requests: number[] = [];
  const backup = new RouterBackup({
    router,
    source: {
      listProfiles,
      downloadProfile: () => Promise.reject(new TypeError('There is no profile')),
    },
    plan: { archive, calendar: new BackupCalendar('0 3 * * *'), format: 'binary' },
    exposition,
    clock,
    logger: createCollectingLogger([]),
    request: () => void requests.push(clock.now()),
  });
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  };
  return { folder, clock, archive, exposition, requests, backup, settle };
}

test('RouterBackup runs a missed backup at once', async () => {
  const { folder, clock, archive, requests, backup } = await createBench();
  await using _ = folder;
  archive.listed.resolve([]);
  backup.start();
  archive.attempts.resolve(START_MS - 2 * DAY_MS);
  await expect.poll(() => clock.advance(1).then(() => requests.length)).toBe(1);
  backup.close();
});

test('RouterBackup does not repeat a backup that ran while it looked up the last one', async () => {
  const { folder, clock, archive, requests, backup, settle } = await createBench();
  await using _ = folder;
  archive.listed.resolve([]);
  backup.start();
  await backup.run(never);
  archive.attempts.resolve(START_MS - 2 * DAY_MS);
  await settle();
  await clock.advance(60_000);
  expect(requests).toEqual([]);
  backup.close();
});

test('RouterBackup ends a run after 15 minutes, and tries again an hour later', async () => {
  const called = Promise.withResolvers<void>();
  const { folder, clock, archive, requests, backup, settle } = await createBench((signal) => {
    called.resolve();
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  await using _ = folder;
  archive.listed.resolve([]);
  let hasEnded = false;
  const run = backup.run(never).finally(() => {
    hasEnded = true;
  });
  await called.promise;
  await clock.advance(15 * 60_000 - 1);
  await settle();
  expect(hasEnded).toBe(false);
  await clock.advance(1);
  await run;
  await clock.advance(3_600_000);
  expect(requests).toHaveLength(1);
  backup.close();
});

/** An archive that reports when it has returned its last attempts. */
class ToldArchive extends ProfileArchive {
  attempts = Promise.withResolvers<void>();
  override async readLastAttempts(name: string): Promise<readonly ProfileAttempt[]> {
    const attempts = await super.readLastAttempts(name);
    this.attempts.resolve();
    return attempts;
  }
}

/** A router with these profiles, whose downloads may fail, and an archive on a disk with this much room. */
async function createTries(profiles: Readonly<Record<string, () => string>>) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'router-backup-'));
  const clock = createSteppedClock(START_MS);
  const room = { freeBytes: 1e9 };
  const faults: { list?: Error | undefined } = {};
  const exposition = new FleetExposition();
  const readFreeBytes = () => Promise.resolve(room.freeBytes);
  const archive = new ToldArchive({ path: folder.path, keep: 3, clock, readFreeBytes });
  const asked: string[] = [];
  const requests: number[] = [];
  const create = () =>
    new RouterBackup({
      router,
      source: {
        listProfiles: () => {
          asked.push('list');
          if (faults.list) return Promise.reject(faults.list);
          return Promise.resolve(Object.keys(profiles).map((name) => ({ name })));
        },
        downloadProfile: async (name, _options, consume) => {
          asked.push(name);
          const content = profiles[name]?.() ?? '';
          return consume(ReadableStream.from([Buffer.from(content)]));
        },
      },
      plan: { archive, calendar: new BackupCalendar('0 3 * * *'), format: 'ascii' },
      exposition,
      clock,
      logger: createCollectingLogger([]),
      request: () => void requests.push(clock.now()),
    });
  let backup = create();
  /** Runs it; returns what was asked of the router. */
  const run = async (signal = never) => {
    await backup.run(signal);
    return asked.splice(0);
  };
  /** Runs it when it asks for that within this time; returns what was asked of the router, run by run. */
  const runAsAsked = async (durationMs: number) => {
    const runs: string[][] = [];
    for (const endMs = clock.now() + durationMs; clock.now() < endMs; ) {
      await clock.advance(10 * 60_000);
      if (requests.splice(0).length > 0) runs.push(await run());
    }
    return runs;
  };
  /** Goes on as the next process does. */
  const restart = async () => {
    backup.close();
    backup = create();
    archive.attempts = Promise.withResolvers();
    backup.start();
    await archive.attempts.promise;
    await setImmediate();
  };
  const dispose = async () => {
    backup.close();
    await folder[Symbol.asyncDispose]();
  };
  const bench = { path: folder.path, asked, room, faults, clock, archive, exposition };
  return { ...bench, run, runAsAsked, restart, [Symbol.asyncDispose]: dispose };
}

const lost = () => new RouterError('connect', 'It was lost', { disposition: 'retry' });
const HOUR_MS = 3_600_000;

test('RouterBackup tries again after an hour what was lost, and that alone, and once a day what the router refuses', async () => {
  let losses = 2;
  await using bench = await createTries({
    whole: () => 'a',
    lost: () => {
      if (losses-- > 0) throw lost();
      return 'b';
    },
    refused: () => {
      throw new RouterError('http', 'It was answered with 404', { disposition: 'skip', status: 404, isAnswered: true });
    },
  });
  expect([await bench.run(), ...(await bench.runAsAsked(24 * HOUR_MS))]).toEqual([
    ['list', 'whole', 'lost', 'refused'],
    ['list', 'lost'],
    ['list', 'lost'],
    ['list', 'whole', 'lost', 'refused'],
  ]);
});

test('RouterBackup tries all profiles again after an hour when the router was lost, also one that had failed before', async () => {
  let losses = 2;
  const answer = () => {
    if (losses-- > 0) throw lost();
    return 'x';
  };
  await using bench = await createTries({ one: answer, two: answer, three: answer });
  expect([await bench.run(), ...(await bench.runAsAsked(4 * HOUR_MS))]).toEqual([
    ['list', 'one', 'two'],
    ['list', 'one', 'two', 'three'],
  ]);
});

test('RouterBackup sends no request while the disk is full, and checks it every hour', async () => {
  await using bench = await createTries({ one: () => 'x' });
  bench.room.freeBytes = 1000;
  expect([await bench.run(), ...(await bench.runAsAsked(2.5 * HOUR_MS))]).toEqual([[], [], []]);
  bench.room.freeBytes = 1e9;
  expect(await bench.runAsAsked(3 * HOUR_MS)).toEqual([['list', 'one']]);
});

test('RouterBackup reports failing backups of a router whose profiles were never listed, and when the folder cannot be read', async () => {
  await using bench = await createTries({ one: () => 'x' });
  const samples = () =>
    [...bench.exposition.render('text', bench.clock.monotonic())].join('').match(/^router_backup_success.*$/gm);
  const forbidden = new RouterError('auth', 'It was answered with 403', { disposition: 'operator', isAnswered: true });
  bench.faults.list = forbidden;
  await bench.run();
  expect(samples()).toEqual(['router_backup_success{router="plant-7"} 0']);
  bench.faults.list = undefined;
  await bench.run();
  expect(samples()).toEqual(['router_backup_success{router="plant-7",profile="one"} 1']);
  await rm(bench.path, { recursive: true });
  await writeFile(bench.path, 'a file');
  await bench.run();
  expect(samples()).toEqual(['router_backup_success{router="plant-7"} 0']);
});

test('RouterBackup of a process that has ended is tried again by the next one: what had failed, and what it had not reached', async () => {
  let losses = 1;
  await using bench = await createTries({
    whole: () => 'a',
    lost: () => {
      if (losses-- > 0) throw lost();
      return 'b';
    },
  });
  expect(await bench.run()).toEqual(['list', 'whole', 'lost']);
  await bench.restart();
  expect(await bench.runAsAsked(3 * HOUR_MS)).toEqual([['list', 'lost']]);

  // The process ended at the next date, when one profile was kept.
  await bench.clock.advance(DAY_MS);
  const body = ReadableStream.from([Buffer.from('a')]);
  await bench.archive.keep({ router: router.name, profile: 'whole', format: 'ascii', reason: 'schedule', body });
  await bench.restart();
  expect(await bench.runAsAsked(HOUR_MS)).toEqual([['list', 'lost']]);
  await bench.restart();
  expect(await bench.runAsAsked(HOUR_MS)).toEqual([]);
});

test('RouterBackup whose first backup was cut short by the end of the process goes on at the next start', async () => {
  let isEnded = false;
  const end = new AbortController();
  await using bench = await createTries({
    reached: () => 'a',
    cut: () => {
      if (isEnded) return 'b';
      isEnded = true;
      end.abort();
      throw lost();
    },
    waiting: () => 'c',
  });
  await expect(bench.run(end.signal)).rejects.toThrow();
  bench.asked.length = 0;
  await bench.restart();
  expect(await bench.runAsAsked(HOUR_MS)).toEqual([['list', 'cut', 'waiting']]);
});

test('RouterBackup takes a run after the clock was set back for no second try', async () => {
  await using bench = await createTries({
    whole: () => 'a',
    lost: () => {
      throw lost();
    },
  });
  await bench.run();
  bench.clock.jump(-30 * DAY_MS);
  expect(await bench.run()).toEqual(['list', 'whole', 'lost']);
});

test('RouterBackup runs again when a change is seen during a run, which may have read the profile before', async () => {
  const { folder, clock, archive, requests, backup } = await createBench();
  await using _ = folder;
  const poll = (configHash: string) => backup.onPoll({ configHash, resources: [] } as unknown as PollResult);
  poll('a');
  const running = backup.run(never);
  poll('b');
  archive.listed.resolve([]);
  await running;
  requests.length = 0;
  await clock.advance(1);
  expect(requests).toHaveLength(1);
  await backup.run(never);
  requests.length = 0;
  await clock.advance(60_000);
  expect(requests).toEqual([]);
  backup.close();
});

test('RouterBackup keeps only the last values of a router that names new profiles all the time, and detects their changes', async () => {
  const { folder, backup, requests, archive } = await createBench();
  await using _ = folder;
  archive.listed.resolve([]);
  const poll = (profiles: Readonly<Record<string, number>>) => {
    const samples = Object.entries(profiles).map(([profile, value]) => ({ labels: { profile }, value }));
    const family = { name: 'router_profile_modified', help: '', type: 'gauge', samples };
    backup.onPoll({ configHash: undefined, resources: [{ families: [family] }] } as unknown as PollResult);
  };
  poll({ a: 0, b: 0 });
  poll({ a: 0, c: 0 });
  expect(requests).toHaveLength(0);
  poll({ a: 1, c: 0 });
  expect(requests).toHaveLength(1);
  // That b is another one now than long ago is no change.
  poll({ a: 1, b: 1 });
  expect(requests).toHaveLength(1);
  backup.close();
});

test.each([
  [
    'while it waits',
    async (bench: Awaited<ReturnType<typeof createBench>>) => {
      bench.archive.attempts.resolve(START_MS);
      bench.backup.start();
      await bench.settle();
      await bench.clock.advance(60_000);
      bench.clock.jump(-30 * DAY_MS);
    },
  ],
  [
    'before it starts',
    async (bench: Awaited<ReturnType<typeof createBench>>) => {
      bench.archive.attempts.resolve(START_MS + 30 * DAY_MS);
      bench.backup.start();
      await bench.settle();
    },
  ],
])('RouterBackup keeps to its schedule when the clock is set back by a month %s', async (_when, begin) => {
  const bench = await createBench();
  await using _ = bench.folder;
  bench.archive.listed.resolve([]);
  await begin(bench);
  await bench.clock.advance(2 * DAY_MS);
  const { requests } = bench;
  expect(requests.length).toBeGreaterThan(0);
  expect((requests[0] ?? 0) - (bench.clock.now() - 2 * DAY_MS)).toBeLessThan(DAY_MS);
  bench.backup.close();
});

test('RouterBackup that is closed while it looks up the last backup leaves neither series nor a timer', async () => {
  const { folder, clock, archive, exposition, requests, backup, settle } = await createBench();
  await using _ = folder;
  backup.start();
  backup.close();
  exposition.forget(router.name);
  archive.listed.resolve([KEPT]);
  archive.attempts.resolve(START_MS - 2 * DAY_MS);
  await settle();
  await clock.advance(2 * DAY_MS);
  expect(requests).toEqual([]);
  expect([...exposition.render('text', clock.monotonic())].join('')).toBe('');
});
