import { afterAll, describe, expect, test } from 'vitest';
import { createSeededRandom, createSteppedClock } from '../../../src/base/index.ts';
import { type LogSource, openArchivePool, type RecordLog, Zone } from '../../../src/logs/index.ts';
import { type LogRecord, RouterReadError } from '../../../src/model/index.ts';
import type { EmbeddedStore } from '../../../src/store/index.ts';
import { compress } from '../../support/archives.ts';
import { gapsOf, LogReader, linesOf, MINUTE_MS, SECOND_MS, START_MS } from '../../support/log-bench.ts';
import { sampled, sampleNote } from '../../support/sampled.ts';
import { createStoreFolder, drain, type StoreFolder } from '../../support/store-folder.ts';

/** Whatever the store refuses or a kill cuts off, one step of reading is there as a whole or not at all. */

/** Ends the process: nothing after this happens. */
class Killed extends RangeError {
  override readonly name = 'Killed';
}

/** The store of the product, in a process that dies at one of its commits: before or behind the transaction. */
class MortalStore implements RecordLog {
  readonly #folder: StoreFolder;
  readonly #spoolBytesMax: number | undefined;
  #store: EmbeddedStore;
  #isDead = false;
  commits = 0;
  death: { readonly commit: number; readonly isAfter: boolean } | undefined;

  constructor(folder: StoreFolder, spoolBytesMax?: number) {
    this.#folder = folder;
    this.#spoolBytesMax = spoolBytesMax;
    this.#store = this.#open();
  }

  readPositions(router: string): ReadonlyMap<string, string> {
    return this.#store.readPositions(router);
  }

  readFacts(router: string): string | undefined {
    return this.#store.readFacts(router);
  }

  commit(...commits: Parameters<RecordLog['commit']>): void {
    if (this.#isDead) throw new Killed('long ago');
    this.#isDead = this.death?.commit === this.commits++;
    if (this.#isDead && !this.death?.isAfter) throw new Killed('before the transaction');
    this.#store.commit(...commits);
    if (this.#isDead) throw new Killed('behind the transaction');
  }

  reopen(): void {
    this.#isDead = false;
    this.#store.close();
    this.#store = this.#open();
  }

  take(): LogRecord[] {
    return drain(this.#store, 'a').map((line) => JSON.parse(line) as LogRecord);
  }

  close(): void {
    this.#store.close();
  }

  #open(): EmbeddedStore {
    return this.#folder.open(this.#spoolBytesMax === undefined ? {} : { spoolBytesMax: this.#spoolBytesMax });
  }
}

const random = createSeededRandom(7);
const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
/** Several blocks of an archive, and more than one batch. */
const LONG = Array.from({ length: 1300 }, (_, index) => {
  const noise = Array.from({ length: 50 }, () => random().toString(36).slice(2)).join('');
  return line('12:30:00', `line ${index} ${noise}`);
}).join('');
/** Of small blocks. */
const pack = (text: string) => compress(text, 1);

/** An archive with damage in its middle, at these shares of its bytes. */
function damage(archive: Buffer, ...shares: readonly number[]): Buffer {
  const damaged = Buffer.from(archive);
  for (const share of shares) {
    const at = Math.floor(archive.length * share);
    damaged.fill(0x55, at, at + 16);
  }
  return damaged;
}

const ARCHIVE = 'network/log-2026-11-21-12:00:00.bz2';
const DAMAGED = damage(pack(LONG), 0.3, 0.8);
const NETWORK_1 = line('13:00:00', 'first behind the damaged archive');
const NETWORK_2 = line('13:10:00', 'first behind the archive that went');
const SYSTEM_1 = line('13:00:00', 'system');

type Files = Readonly<Record<string, string | Buffer>>;

/** What the router shows from then on, its serial number, and how many looks the agent takes at it, 11 seconds apart. */
const STEPS: readonly { readonly files: Files; readonly serial: string; readonly looks: number }[] = [
  { files: { [ARCHIVE]: DAMAGED, 'network/current': NETWORK_1, 'system/current': SYSTEM_1 }, serial: '1', looks: 6 },
  // An archive that stays unfinished, and is deleted.
  {
    files: {
      [ARCHIVE]: DAMAGED,
      'network/log-2026-11-21-12:10:00.bz2': pack(NETWORK_1).subarray(0, 20),
      'network/current': NETWORK_2,
      'system/current': SYSTEM_1,
    },
    serial: '1',
    looks: 2,
  },
  { files: { [ARCHIVE]: DAMAGED, 'network/current': NETWORK_2, 'system/current': SYSTEM_1 }, serial: '1', looks: 1 },
  // All files are deleted.
  { files: { 'system/current': SYSTEM_1 }, serial: '1', looks: 1 },
  {
    files: { 'network/current': line('13:20:00', 'behind the reset'), 'system/current': SYSTEM_1 },
    serial: '1',
    looks: 2,
  },
  // Another device answers under the name.
  {
    files: { 'network/current': line('13:30:00', 'of another'), 'system/current': line('13:30:00', 'of another') },
    serial: '2',
    looks: 2,
  },
];

const archives = openArchivePool({ workers: 1 });
afterAll(() => archives[Symbol.asyncDispose]());

/** Runs all steps. A run ended by a kill is repeated by another process. Returns the records of the sink. */
async function live(death: MortalStore['death']) {
  await using folder = await createStoreFolder();
  const store = new MortalStore(folder);
  store.death = death;
  const clock = createSteppedClock(START_MS);
  let files: Files = {};
  const source: LogSource = {
    listLogs: () => Promise.resolve(Object.keys(files)),
    readLog: (name, _signal, consume) =>
      consume(
        (async function* () {
          yield Buffer.from(files[name] ?? '');
        })(),
      ),
  };
  const reader = new LogReader(source, archives, { clock, records: store });
  let kills = 0;
  for (const step of STEPS) {
    files = step.files;
    for (let look = 0; look < step.looks; look++) {
      try {
        await reader.run({ serial: step.serial });
      } catch (cause) {
        if (!(cause instanceof Killed)) throw cause;
        kills++;
        store.reopen();
        reader.restart();
        await reader.run({ serial: step.serial });
      }
      await clock.advance(11 * SECOND_MS);
    }
  }
  const records = store.take();
  store.close();
  return { records, kills, commits: store.commits };
}

/** All that must not depend on when the agent died. */
const shapeOf = (records: readonly LogRecord[]) =>
  records
    .map(({ uid, event = 'line', message, details }) =>
      [uid, event, message.slice(0, 20), String(details?.['to_uid'])].join(' '),
    )
    .toSorted((a, b) => a.localeCompare(b));

describe(`a kill at any commit${sampleNote('kills at a commit')}`, { timeout: 10 * MINUTE_MS }, () => {
  test('before or behind its transaction changes no line, no gap, no end of a gap and no reset', async () => {
    const whole = await live(undefined);
    const gaps = gapsOf(whole.records);
    expect(gaps.map(({ details }) => details?.['reason'])).toEqual([
      'damaged',
      'damaged',
      'expired',
      ...Array.from({ length: 3 }, () => 'reset'),
    ]);
    expect(whole.records.filter(({ event }) => event === 'log.reset')).toHaveLength(3);
    // Every gap reported without its end has got one.
    const ends = whole.records.filter(({ event }) => event === 'log.gap_end');
    const open = gaps.filter(({ details }) => details?.['to_uid'] === null);
    expect(new Set(ends.map(({ details }) => details?.['gap_uid']))).toEqual(new Set(open.map(({ uid }) => uid)));
    expect(ends).toHaveLength(open.length);
    expect(open.length).toBeGreaterThan(2);
    for (const isAfter of [false, true]) {
      for (let commit = 0; commit < whole.commits; commit += sampled('kills at a commit', 1, 3)) {
        const { records, kills } = await live({ commit, isAfter });
        expect(kills).toBe(1);
        expect(shapeOf(records), `killed ${isAfter ? 'behind' : 'before'} commit ${commit}`).toEqual(
          shapeOf(whole.records),
        );
      }
    }
  });
});

/** One log of these files on the store of the product, of which a commit fails now and then. */
async function openBench(files: Map<string, string | Buffer>, spoolBytesMax?: number) {
  const folder = await createStoreFolder();
  const store = new MortalStore(folder, spoolBytesMax);
  const clock = createSteppedClock(START_MS);
  const source: LogSource = {
    listLogs: () => Promise.resolve([...files.keys()]),
    readLog: (name, _signal, consume) =>
      consume(
        (async function* () {
          yield Buffer.from(files.get(name) ?? '');
        })(),
      ),
  };
  const reader = new LogReader(source, archives, { clock, records: store });
  return {
    store,
    clock,
    reader,
    async [Symbol.asyncDispose]() {
      store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const FEW = Array.from({ length: 130 }, (_, index) => line('12:30:00', `line ${index} ${index * 7919 ** 3}`)).join('');

test('the damage of an archive that fills the spool is emitted once there is room', async () => {
  const archive = Buffer.concat([pack(FEW), damage(pack(FEW), 0.5), pack(FEW)]);
  await using bench = await openBench(new Map([[ARCHIVE, archive]]), 100);
  const taken: LogRecord[] = [];
  for (let look = 0; look < 20; look++) {
    await bench.reader.run().catch((cause: unknown) => expect(cause).toMatchObject({ code: 'full' }));
    await bench.clock.advance(11 * SECOND_MS);
    if (look % 3 === 2) taken.push(...bench.store.take());
  }
  expect(gapsOf(taken)).toMatchObject([{ details: { reason: 'damaged', certainty: 'certain' } }]);
  expect(linesOf(taken).length).toBeGreaterThanOrEqual(259);
  expect(new Set(taken.map(({ uid }) => uid)).size).toBe(taken.length);
});

/** A router with one log that answers 304 to a request with its entity tag. */
function createTaggingSource(read: () => string, onUnchanged = () => {}): LogSource {
  return {
    listLogs: () => Promise.resolve(['network/current']),
    readLog: (_name, _signal, consume, options = {}) => {
      const body = read();
      const etag = `"${body.length}"`;
      if (options.unlessEtag === etag) {
        onUnchanged();
        throw new RouterReadError('http', 'not changed', { disposition: 'retry', status: 304 });
      }
      return consume(
        (async function* () {
          yield Buffer.from(body);
        })(),
        0,
        { etag },
      );
    },
  };
}

test('what a store has refused is read again, although the router says that nothing has changed', async () => {
  const content = line('13:00:00', 'first');
  const later = content + line('13:00:30', 'second');
  await using bench = await openBench(new Map([['network/current', content]]));
  let body = content;
  const source = createTaggingSource(() => body);
  await bench.reader.run({ source });
  body = later;
  bench.store.death = { commit: bench.store.commits, isAfter: false };
  await expect(bench.reader.run({ source })).rejects.toThrow(Killed);
  // The process did not end: it was only refused, and goes on with what it has in memory.
  bench.store.reopen();
  await bench.reader.run({ source });
  expect(bench.store.take().map(({ message }) => message)).toEqual(['first', 'second']);
});

test('what a store has lost again is read again, although the router says that nothing has changed', async () => {
  let body = line('13:00:00', 'first');
  await using bench = await openBench(new Map([['network/current', body]]));
  let unchanged = 0;
  const source = createTaggingSource(
    () => body,
    () => unchanged++,
  );
  await bench.reader.run({ source });
  const before = bench.store.readPositions('plant-7');
  body += line('13:00:30', 'second');
  await bench.reader.run({ source });
  await bench.reader.run({ source });
  expect([unchanged, bench.store.take().map(({ message }) => message)]).toEqual([1, ['first', 'second']]);
  // As after a power cut of the only server of a cluster: positions and records of the last step are gone.
  Object.assign(bench.store, { readPositions: () => before });
  await bench.reader.run({ source });
  expect(bench.store.take().map(({ message }) => message)).toEqual(['second']);
});

test('another router behind a name is reported although the spool was full when it showed', async () => {
  const files = new Map<string, string | Buffer>([['network/current', line('13:00:00', 'of the first')]]);
  await using bench = await openBench(files, 100);
  await bench.reader.run({ serial: '1' });
  files.set('network/current', line('13:10:00', 'of the second'));
  // A log that the first one had not, of which something is stored before it is read.
  files.set('system/log-2026-11-21-12:00:00', '');
  await expect(bench.reader.run({ serial: '2' })).rejects.toMatchObject({ code: 'full' });
  bench.store.take();
  const records: LogRecord[] = [];
  for (let look = 0; look < 4; look++) {
    await bench.reader.run({ serial: '2' }).catch(() => {});
    records.push(...bench.store.take());
  }
  expect(records.map(({ event, message }) => event ?? message)).toEqual([
    'log.gap',
    'log.reset',
    'log.gap_end',
    'of the second',
  ]);
});

test('the zone that a rotation has shown is stored with the lines that it was used for', async () => {
  const files = new Map<string, string | Buffer>();
  await using bench = await openBench(files);
  files.set('network/log-2026-11-21-11:00:00', line('11:30:00', 'a'));
  files.set('network/log-2026-11-21-11:10:00', line('12:00:00', 'b'));
  files.set('network/current', line('12:10:00', 'c'));
  const run = () => bench.reader.run({ zone: new Zone(undefined) });
  // Every commit of a run that dies at its very end is there.
  bench.store.death = { commit: 2, isAfter: true };
  await expect(run()).rejects.toThrow(Killed);
  const stored = bench.store.readFacts('plant-7');
  expect(stored).toContain('"seen":[{');
});
