import { expect, test } from 'vitest';
import { SpoolGuard } from '../../src/agent/spool-guard.ts';
import { createSteppedClock, type Logger } from '../../src/base/index.ts';
import { followOnce, openArchivePool, Zone } from '../../src/logs/index.ts';
import { StoreError } from '../../src/model/index.ts';
import { chunksOf, compress, createLog } from '../support/archives.ts';

const commit = { router: 'plant-7', component: 'network', position: 'p', lines: ['{}'] };

function createBench() {
  const clock = createSteppedClock(0);
  const messages: string[] = [];
  const log = (message: string) => void messages.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const state = {
    fault: undefined as StoreError | undefined,
    readFault: undefined as StoreError | undefined,
    diskFault: undefined as StoreError | undefined,
    bytes: 0,
    trials: 0,
    /** Whether the records of each commit came packed. */
    packed: [] as boolean[],
    hasShare: false,
    wakes: 0,
  };
  const guard = new SpoolGuard({
    store: {
      openRouter: () => {},
      readPositions: () => {
        if (state.readFault) throw state.readFault;
        return new Map([['network', 'p']]);
      },
      readFacts: () => 'facts',
      commit: (...commits) => {
        if (state.fault) throw state.fault;
        for (const one of commits) if ('lines' in one) state.packed.push(one.lines.packed !== undefined);
      },
      get spooled() {
        return { records: 0, bytes: state.bytes };
      },
      forgetLogs: () => {},
      hasShare: () => state.hasShare,
      checkWritable: () => {
        state.trials++;
        if (state.diskFault) throw state.diskFault;
      },
    },
    spoolBytesMax: () => 1000,
    onSpooled: () => {
      state.wakes++;
    },
    clock,
    logger,
  });
  return { clock, messages, state, guard };
}

const full = new StoreError('full', 'no room', { disposition: 'hold-back' });

test('SpoolGuard passes commits and positions on, and holds nothing back while there is room', async () => {
  const { guard, messages, state } = createBench();
  await guard.commit(commit);
  expect(guard.readPositions('plant-7')).toEqual(new Map([['network', 'p']]));
  expect([guard.isHeldBack, messages, state.trials]).toEqual([false, [], 0]);
});

test('SpoolGuard holds reading back when positions cannot be read, and goes on when the disk can be written', async () => {
  const { guard, state, clock } = createBench();
  state.readFault = new StoreError('unwritable', 'disk I/O error', { disposition: 'hold-back' });
  expect(() => guard.readPositions('plant-7')).toThrow('disk I/O error');
  state.diskFault = state.readFault;
  await clock.advance(10_000);
  expect(guard.isHeldBack).toBe(true);
  state.readFault = undefined;
  state.diskFault = undefined;
  await clock.advance(10_000);
  expect(guard.isHeldBack).toBe(false);
  expect(guard.readPositions('plant-7')).toEqual(new Map([['network', 'p']]));
});

test('SpoolGuard holds reading back when there is no room, says so once, and goes on when a tenth of the spool is free', async () => {
  const { guard, messages, state, clock } = createBench();
  state.fault = full;
  state.bytes = 1000;
  for (let attempt = 0; attempt < 3; attempt++) await expect(guard.commit(commit)).rejects.toThrow(full);
  expect(guard.isHeldBack).toBe(true);
  await clock.advance(60_000);
  state.bytes = 901;
  expect(guard.isHeldBack).toBe(true);
  state.bytes = 900;
  expect(guard.isHeldBack).toBe(false);
  expect(messages).toEqual([
    expect.stringContaining('Log reading paused'),
    'Log reading resumed: there is room for records again',
  ]);
});

test('SpoolGuard tries a disk that is in the way every ten seconds, not at every question', async () => {
  const { guard, state, clock } = createBench();
  state.fault = full;
  state.diskFault = new StoreError('unwritable', 'read-only', { disposition: 'hold-back' });
  await expect(guard.commit(commit)).rejects.toThrow(full);
  expect([guard.isHeldBack, state.trials]).toEqual([true, 0]);
  await clock.advance(10_000);
  expect([guard.isHeldBack, guard.isHeldBack, state.trials]).toEqual([true, true, 1]);
  state.diskFault = undefined;
  await clock.advance(9_999);
  expect(guard.isHeldBack).toBe(true);
  await clock.advance(1);
  expect([guard.isHeldBack, state.trials]).toEqual([false, 2]);
});

test('SpoolGuard holds back only the router that has used its share, says so once, and lets it go on when it may', async () => {
  const { guard, messages, state } = createBench();
  state.fault = new StoreError('share', 'plant-7 has too much', { disposition: 'hold-back' });
  for (let attempt = 0; attempt < 3; attempt++) await expect(guard.commit(commit)).rejects.toThrow('too much');
  expect([guard.isHeldBack, guard.isRouterHeldBack('plant-7'), guard.isRouterHeldBack('other')]).toEqual([
    false,
    true,
    false,
  ]);
  expect(guard.listRoutersHeldBack()).toEqual(['plant-7']);
  state.hasShare = true;
  expect(guard.listRoutersHeldBack()).toEqual([]);
  expect(guard.isRouterHeldBack('plant-7')).toBe(false);
  expect(messages).toEqual([
    'Log reading of the router paused: its records cannot be stored',
    'Log reading of the router resumed: its records take less of the spool again',
  ]);
});

test('SpoolGuard holds nothing back for a fault of another kind', async () => {
  const { guard, state } = createBench();
  state.fault = new StoreError('damaged', 'rebuilt', { disposition: 'retry' });
  await expect(guard.commit(commit)).rejects.toThrow('rebuilt');
  expect(guard.isHeldBack).toBe(false);
});

test('SpoolGuard says that records were made durable, and says nothing of positions alone and of what was refused', async () => {
  const { guard, state } = createBench();
  const position = { ...commit, lines: [] };
  await guard.commit(position);
  await guard.commit();
  expect(state.wakes).toBe(0);
  await guard.commit(commit);
  await guard.commit(position, commit);
  expect(state.wakes).toBe(2);
  state.fault = full;
  await expect(guard.commit(commit)).rejects.toThrow(full);
  expect(state.wakes).toBe(2);
});

test('SpoolGuard gets the records of a long archive packed as they are stored, by the thread that makes them', async () => {
  const { clock, guard, state } = createBench();
  const archive = compress(createLog(600_000));
  await using archives = openArchivePool({ workers: 1 });
  await followOnce(
    {
      router: { name: 'plant-7', labels: {} },
      source: {
        listLogs: async () => ['network/log-2026-11-21-12:30:00.bz2'],
        readLog: (_name, _signal, consume) => consume(chunksOf(archive)),
      },
      records: guard,
      archives,
      clock,
      zone: new Zone('UTC'),
      isWanted: () => true,
      isOnlyRun: true,
      report: () => {},
    },
    new AbortController().signal,
  );
  expect(state.packed).toContain(true);
});
