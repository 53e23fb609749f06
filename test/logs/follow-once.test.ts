import { afterAll, expect, test, vi } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { StepStore } from '../../src/logs/follow/followed-log.ts';
import { createRouterFacts } from '../../src/logs/follow/router-facts.ts';
import { followOnce, type LogSource, openArchivePool, type RecordLog, Zone } from '../../src/logs/index.ts';
import type { LogRecord, RecordLines } from '../../src/model/index.ts';
import { openFileBench } from '../support/log-bench.ts';

const never = new AbortController().signal;
const archives = openArchivePool({ workers: 1 });
afterAll(() => archives.close());

/** Reads once all that `source` has, and gives the messages in the order of their commits. */
async function readAll(source: LogSource): Promise<string[]> {
  const messages: string[] = [];
  const records: RecordLog = {
    readPositions: () => new Map(),
    readFacts: () => undefined,
    commit: (step) => {
      if ('facts' in step) return;
      messages.push(...[...step.lines].map((line) => (JSON.parse(line) as LogRecord).message));
    },
  };
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  const router = { name: 'plant-7', labels: {} };
  const rest = { records, archives, clock, zone: new Zone('UTC'), report: () => {}, isWanted: () => true };
  await followOnce({ ...rest, router, source }, never);
  return messages;
}

test('case 11: followOnce() lists again before it takes up a new current, so that a rotation between the two stays in order', async () => {
  const files = new Map([['network/current', '2026-11-21 11:00:00 [wan] before\n']]);
  const source: LogSource = {
    listLogs: () => Promise.resolve([...files.keys()]),
    readLog(name, _signal, consume) {
      // The router rotates after the first listing, just before its file is read.
      if (files.size === 1) {
        files.set('network/log-2026-11-21-11:30:00.bz2', files.get('network/current') ?? '');
        files.set('network/current', '2026-11-21 11:30:00 [wan] after\n');
      }
      return consume(bodyOf(files.get(name) ?? ''));
    },
  };
  expect(await readAll(source)).toEqual(['before', 'after']);
});

test('followOnce() parses the position of a log once in a run', async () => {
  await using bench = await openFileBench(new Map([['network/current', '2026-11-21 11:00:00 [wan] line\n']]));
  await bench.reader.run();
  const stored = bench.reader.log.positions.get('network')?.split('\n')[0];
  const parse = vi.spyOn(JSON, 'parse');
  await bench.reader.run();
  const parsed = parse.mock.calls.filter(([text]) => text === stored);
  parse.mockRestore();
  expect(parsed).toHaveLength(1);
});

test('followOnce() shows the records of a step before the store has them, and reports once they are stored', async () => {
  await using bench = await openFileBench(new Map([['network/current', '2026-11-21 11:00:00 [wan] line\n']]));
  const steps: string[] = [];
  const records: RecordLog = {
    readPositions: () => new Map(),
    readFacts: () => undefined,
    async commit(...commits) {
      if (commits.every((commit) => 'facts' in commit)) return;
      steps.push('storing');
      await Promise.resolve();
      steps.push('stored');
    },
  };
  const onStoring = (lines: RecordLines) => {
    if (lines.length > 0) steps.push(`shown ${lines.length}`);
    return () => void (lines.length > 0 && steps.push('reported'));
  };
  await bench.reader.run({ records, onStoring });
  expect(steps.slice(0, 4)).toEqual(['shown 1', 'storing', 'stored', 'reported']);
});

test('a run has lost a commit whichever of those that were under way ended last', async () => {
  const stores = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [first, second] = stores;
  const left = [...stores];
  const records: RecordLog = {
    readPositions: () => new Map(),
    readFacts: () => undefined,
    commit: () => left.shift()?.promise,
  };
  const source: LogSource = { listLogs: () => Promise.resolve([]), readLog: () => Promise.reject(new Error('none')) };
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  const router = { name: 'plant-7', labels: {} };
  const options = {
    router,
    source,
    records,
    archives,
    clock,
    zone: new Zone('UTC'),
    report: () => {},
    isWanted: () => true,
  };
  const store = new StepStore(options, createRouterFacts(clock.now()), undefined);
  const commits = [store.commit(), store.commit()];
  expect(store.hasLostCommit).toBe(true);
  first?.reject(new Error('refused'));
  second?.resolve();
  expect((await Promise.allSettled(commits)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(store.hasLostCommit).toBe(true);
});

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
