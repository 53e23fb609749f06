import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { createSeededRandom, createSteppedClock, unpackLines } from '../../../src/base/index.ts';
import { type ArchivePool, openArchivePool, startArchiveWorker } from '../../../src/logs/archive/archive-pool.ts';
import type { Bzip2Limits } from '../../../src/logs/archive/bzip2/decoder.ts';
import { ChunkReader } from '../../../src/logs/archive/chunk-reader.ts';
import { readDecoded } from '../../../src/logs/archive/decode.ts';
import { RECORDS_WINDOW_BYTES, type Reply, type Request } from '../../../src/logs/archive/remote-reading.ts';
import { LineMatcher, type LogRuleSettings } from '../../../src/logs/index.ts';
import { createFile, createStreamState, type LogFile } from '../../../src/logs/position/position.ts';
import { ArchiveError } from '../../../src/logs/reading/errors.ts';
import {
  type FileBeginning,
  FileReading,
  type ReadingOptions,
  type ReadingResult,
  type ReadingStart,
} from '../../../src/logs/reading/file-reading.ts';
import { createBatch, type RecordBatch } from '../../../src/logs/records/record-batch.ts';
import { createSkewBounds } from '../../../src/logs/time/log-clock.ts';
import { Zone } from '../../../src/logs/time/zone.ts';
import { chunksOf, compress, findMarks, flipBit } from '../../support/archives.ts';
import { countRuns } from '../../support/sampled.ts';
import { cutInto, cuts } from '../chunking.ts';

const OBSERVED_MS = Date.UTC(2026, 10, 21, 12);
const RULE: LogRuleSettings = {
  name: 'signals_total',
  help: 'Signals.',
  type: 'counter',
  components: ['*'],
  pattern: String.raw`signal (?P<level>\d+)`,
  labels: ['level'],
  fixed_labels: { kind: 'lte' },
};
const matcher = new LineMatcher([RULE], [{ pattern: String.raw`password=\S+`, replacement: '[gone]' }]);

const LIMITS = { outputBytesMax: 2 ** 30, resync: true };
const NAME = 'network/log-2026-11-21-11:00:00.bz2';
const PLAN = {
  name: NAME,
  candidates: [],
  acceptsNew: true,
  isClosed: true,
  endMs: OBSERVED_MS,
  batchBytes: 600,
  onBatch: () => {},
};

interface Reading {
  readonly outcome: unknown;
  /** Batches as they were handed out, the rest last, each with how the file stands behind it. */
  readonly batches: readonly unknown[];
  readonly beginnings: readonly FileBeginning[];
  readonly lost: unknown;
  readonly skew: unknown;
}

interface Situation {
  readonly plan?: Partial<ReadingOptions> | undefined;
  readonly zone?: string | undefined;
  readonly known?: LogFile | undefined;
  readonly isInOrder?: boolean | undefined;
  /** Where the source fails. */
  readonly failure?: Error | undefined;
}

type AnyReading = Pick<FileReading, 'file' | 'stream' | 'lost' | 'takeBatch'>;
/** Reads a file, and gives the reading as it stands. */
type Read = (
  options: ReadingOptions,
  source: AsyncIterable<Uint8Array>,
) => { scan: AnyReading; result: Promise<ReadingResult> };

/** A reading in a pool, as it stands. */
function open(pool: ArchivePool, options: ReadingOptions, limits: Bzip2Limits, signal?: AbortSignal) {
  let reading: AnyReading | undefined;
  let trailing: unknown;
  const onBegun = (begun: AnyReading) => {
    reading = begun;
  };
  return {
    get file() {
      return reading?.file;
    },
    get stream() {
      return reading?.stream;
    },
    get lost() {
      return reading?.lost ?? [];
    },
    get trailing() {
      return trailing;
    },
    takeBatch: () => reading?.takeBatch() ?? createBatch(),
    read: async (source: AsyncIterable<Uint8Array>) => {
      const read = await pool.read(source, options, limits, { signal, onBegun });
      trailing = read.trailing;
      return read.result;
    },
  };
}

const inPool =
  (pool: ArchivePool): Read =>
  (options, source) => {
    const scan = open(pool, options, LIMITS);
    return { scan, result: scan.read(source) };
  };

/** On this thread, whatever it is. */
const readHere: Read = (options, source) => {
  const scan = new FileReading(options);
  return { scan, result: readDecoded(new ChunkReader(source), LIMITS, scan).then(({ result }) => result) };
};

function describeBatch(scan: AnyReading, { records, ...batch }: RecordBatch) {
  return structuredClone({ ...batch, records: [...records], file: scan.file, stream: scan.stream });
}

/** What survives the way between threads. */
function describeError(error: unknown): unknown {
  if (!(error instanceof ArchiveError) || error.code === 'worker-lost') return error;
  const { code, message, bit } = error;
  return { code, message, bit };
}

async function* sourceOf(chunks: readonly Uint8Array[], failure?: Error): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks;
  if (failure) throw failure;
}

/** Reads a file as the reader of files does. */
async function readAll(read: Read, chunks: readonly Uint8Array[], situation: Situation = {}): Promise<Reading> {
  const { plan, zone = 'Europe/Berlin', known, isInOrder = true, failure } = situation;
  const beginnings: FileBeginning[] = [];
  const batches: unknown[] = [];
  const skew = createSkewBounds();
  const start = (file: LogFile): ReadingStart => ({
    file,
    context: {
      router: { name: 'plant-7', labels: { site: 'münchen' } },
      component: 'network',
      zone: Zone.parse(zone),
      observedMs: OBSERVED_MS,
      now: () => OBSERVED_MS + 1000,
      file: NAME,
      flags: isInOrder ? [] : ['late'],
      matcher: matcher.of('network'),
      ...(isInOrder && { stream: createStreamState(), notBeforeMs: OBSERVED_MS - 7_200_000, skew }),
    },
  });
  const { scan, result } = read(
    {
      ...PLAN,
      candidates: known ? [known] : [],
      begin: (beginning) => {
        beginnings.push(beginning);
        return start(beginning.known ?? createFile(beginning.key, 2));
      },
      onBatch: (batch) => void batches.push(describeBatch(scan, batch)),
      ...plan,
    },
    sourceOf(chunks, failure),
  );
  const outcome = await result.catch(describeError);
  batches.push(describeBatch(scan, scan.takeBatch()));
  return { outcome, batches, beginnings, lost: scan.lost, skew };
}

const remote = openArchivePool({ workers: 1 });
afterAll(() => remote.close());

/** Reads an archive in a thread, and on this one. */
async function expectSame(chunks: readonly Uint8Array[], situation?: Situation): Promise<Reading> {
  const expected = await readAll(readHere, chunks, situation);
  expect(await readAll(inPool(remote), chunks, situation)).toEqual(expected);
  return expected;
}

const FIRST = '2026-11-21 11:36:49 [wan] first\n';
const text = (lines: readonly string[]) => Buffer.from(lines.join(''));
const MANY = Array.from(
  { length: 2000 },
  (_, n) =>
    `2026-11-21 11:${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')} [wan] line ${n}\n`,
);
const archive = compress(text(MANY));
/** More than is gathered before a thread is asked for, in many blocks. */
const random = createSeededRandom(1);
const LONG = MANY.slice(0, 1800).flatMap((line) =>
  [1, 2, 3, 4].map(() => line.replace('\n', ` ${Array.from({ length: 9 }, () => random().toString(36)).join('')}\n`)),
);
const long = compress(text(LONG), 1);

describe('ArchivePool', () => {
  const line = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .tuple(fc.nat(23), fc.nat(59), fc.constantFrom('signal 7', 'signal 9', 'x"y\\z', 'GET /status/x', 'grüße ✓'))
        .map(([h, s, rest]) => {
          const [hours, seconds] = [h, s].map((number) => String(number).padStart(2, '0'));
          return `2026-11-21 ${hours}:36:${seconds} [wan] ${rest}`;
        }),
    },
    fc.constantFrom(
      '',
      '\r',
      'no time',
      '    at stack',
      '                - Last output repeated 17 times -',
      '2026-11-21 11:36:49 [auth] [ERROR] password=geheim refused\r',
      '1970-01-01 00:00:09 [boot] unset clock',
      '2036-11-21 11:36:49 [clock] far ahead',
      '2026-10-25 02:30:00 [wan] twice',
      '2026-11-21 11:36:49.250 [wan] fraction',
      '<html>',
    ),
    fc.constant('2026-11-21 11:36:49 [wan] \u0000\u00c3_ü'),
    fc.constantFrom(17_000, 70_000).map((length) => `2026-11-21 11:36:49 [long] ${'y'.repeat(length)}`),
  );
  const content = fc
    .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
    .map(([lines, hasEnd]) => Buffer.from(lines.join('\n') + (hasEnd ? '\n' : ''), 'latin1'));

  test('gives the same records, events, states and outcomes in a thread as without one', () =>
    fc.assert(
      fc.asyncProperty(
        content,
        cuts,
        fc.boolean(),
        fc.constantFrom('Europe/Berlin', '', '0:3600000,1793000000000:7200000'),
        fc.constantFrom(undefined, new RangeError('cut')),
        async (bytes, places, isInOrder, zone, failure) => {
          await expectSame(cutInto(compress(bytes), places), { isInOrder, zone, failure });
        },
      ),
      { numRuns: countRuns(300) },
    ));

  test('gives the same of archives that are damaged, cut, or in another one', async () => {
    const { blocks } = findMarks(long);
    expect(blocks.length).toBeGreaterThan(6);
    for (const bytes of [
      flipBit(long, (blocks[3] ?? 0) + 5000),
      flipBit(long, (blocks[0] ?? 0) + 5000),
      long.subarray(0, Math.floor(long.length / 2)),
      gzipSync(long),
      gzipSync(long).subarray(0, 20_000),
      compress(gzipSync(text(MANY))),
      compress(compress(compress(text(MANY)))),
      Buffer.concat([long, Buffer.from('and more of it\n')]),
    ]) {
      const { batches } = await expectSame([bytes], { plan: { batchBytes: 100_000 } });
      expect(batches.length).toBeGreaterThan(0);
    }
  });

  test('goes on in a file that was begun, and detects one that only begins alike', async () => {
    const { outcome } = await readAll(readHere, [text(MANY.slice(0, 500))]);
    const { file } = outcome as { readonly file: LogFile };
    const { batches } = await expectSame(cutInto(compress(text(MANY), 1), 5000), { known: file });
    expect(batches.length).toBeGreaterThan(1);
    const changed = compress(text([...MANY.slice(0, 400), FIRST, ...MANY.slice(401)]));
    const other = await expectSame([changed], { known: file });
    expect(other.outcome).toMatchObject({ kind: 'unrelated', candidate: { key: file.key } });
  });

  test('asks which file it is once, and reads nothing of one that may not be read yet', async () => {
    const { outcome, beginnings } = await expectSame([archive]);
    expect(outcome).toMatchObject({ kind: 'taken', file: { gen: 2 } });
    expect(beginnings).toHaveLength(1);
    const deferred = await expectSame([archive], { plan: { begin: () => undefined } });
    expect(deferred).toMatchObject({ outcome: { kind: 'deferred' }, batches: [{ records: [] }] });
  });

  test('throws the state of a page, from a thread too', async () => {
    const { outcome } = await expectSame([compress('<!doctype html>\n<p>Log in</p>\n')]);
    expect(outcome).toMatchObject({ name: 'LogError', code: 'error_page', disposition: 'retry' });
  });

  test.each(['begin', 'onBatch'])(
    'throws what %s throws, and goes on with the next file in the same thread',
    async (name) => {
      const plan = {
        [name]: () => {
          throw new RangeError('The disk is full');
        },
      };
      const { outcome } = await readAll(inPool(remote), [archive], { plan });
      expect(outcome).toMatchObject({ message: 'The disk is full' });
      await expectSame([archive]);
    },
  );

  test('reads text without a thread', async () => {
    await using pool = openArchivePool({
      workers: 1,
      startWorker: () => {
        throw new TypeError('A thread was started');
      },
    });
    const lines = text(Array.from({ length: 10 }, () => MANY).flat());
    expect((await readAll(inPool(pool), [lines])).outcome).toMatchObject({
      kind: 'taken',
      file: { off: lines.length },
    });
    expect((await readAll(inPool(pool), [])).outcome).toMatchObject({ code: 'truncated' });
    expect((await readAll(inPool(pool), [archive])).outcome).toMatchObject({ message: 'A thread was started' });
  });

  test('says what follows the end of an archive', async () => {
    const reading = open(remote, { ...PLAN, begin: ({ key }) => startOf(createFile(key, 0)) }, LIMITS);
    await reading.read(sourceOf([archive, Buffer.from('\u0001\u0002\u0003')]));
    expect(reading.trailing).toEqual({ bytes: 3, isText: false });
  });

  test('stops at the bounds of its output', async () => {
    for (const limits of [{ outputBytesMax: 20_000 }, { outputBytesMax: 2 ** 30, ratioMax: 50 }]) {
      const reading = open(remote, { ...PLAN, begin: ({ key }) => startOf(createFile(key, 0)) }, limits);
      const bomb = Buffer.concat([archive, compress(Buffer.alloc(2_000_000))]);
      await expect(reading.read(chunksOf(bomb))).rejects.toMatchObject({ code: 'too-large' });
    }
  });

  test('lets the process end when nothing is read', () => {
    const child = fileURLToPath(new URL('./archive-pool.child.ts', import.meta.url));
    const { stdout, stderr, status } = spawnSync(process.execPath, [child], { input: archive, encoding: 'utf8' });
    expect({ stdout, stderr, status }).toEqual({ stdout: 'deferred', stderr: '', status: 0 });
  });

  test('finds an outcome although the source hangs behind it, and closes the source', async () => {
    const { source, state } = hang(long);
    expect(await open(remote, { ...PLAN, begin: () => undefined }, LIMITS).read(source)).toEqual({ kind: 'deferred' });
    expect(state.isClosed).toBe(true);
  });

  test.for([
    ['text', () => Buffer.from('2026-11-21 some line\n')],
    ['the first bytes', () => Buffer.from('BZ')],
    ['a part of an archive', () => archive.subarray(0, 1000)],
    ['more of an archive than is gathered', () => long.subarray(0, 300_000)],
  ] as const)('throws the reason of its signal while the source hangs after %s', async ([, create]) => {
    const { source, state } = hang(create());
    const controller = new AbortController();
    const begin: ReadingOptions['begin'] = ({ key }) => startOf(createFile(key, 0));
    const reading = open(remote, { ...PLAN, begin }, LIMITS, controller.signal).read(source);
    await state.asked.promise;
    controller.abort(new TypeError('The agent stops'));
    await expect(reading).rejects.toThrow('The agent stops');
    expect(state.isClosed).toBe(true);
  });

  test('throws the reason of its signal at once when that is aborted already', async () => {
    const { source, state } = hang(archive);
    const signal = AbortSignal.abort(new TypeError('Too late'));
    await expect(open(remote, { ...PLAN, begin: () => undefined }, LIMITS, signal).read(source)).rejects.toThrow(
      'Too late',
    );
    expect(state.isClosed).toBe(true);
  });
});

/** A source that never gives anything after `bytes`. */
function hang(bytes: Uint8Array) {
  const state = { isClosed: false, asked: Promise.withResolvers<void>() };
  let isGiven = false;
  const source: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        if (!isGiven) {
          isGiven = true;
          return Promise.resolve({ done: false, value: bytes });
        }
        state.asked.resolve();
        return new Promise<never>(() => {});
      },
      return() {
        state.isClosed = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  return { state, source };
}

function startBroken(): Worker {
  const code = 'require("node:worker_threads").parentPort.on("message", () => { throw new TypeError("Broken"); });';
  return new Worker(code, { eval: true });
}

function startDeaf(): Worker {
  return new Worker('require("node:worker_threads").parentPort.on("message", () => {});', { eval: true });
}

describe('a thread of ArchivePool', () => {
  /** A pool whose threads a test can reach; the first one is started by `first`. */
  function openWatched(workers = 1, first = startArchiveWorker) {
    const clock = createSteppedClock(0);
    const started: Worker[] = [];
    const startWorker = () => {
      const worker = started.length === 0 ? first() : startArchiveWorker();
      started.push(worker);
      return worker;
    };
    return { pool: openArchivePool({ workers, clock, startWorker }), clock, started };
  }

  test('packs the records as the store would', async () => {
    const packed: boolean[] = [];
    const onBatch: ReadingOptions['onBatch'] = ({ records: { packed: body, bytes } }) => {
      packed.push(body !== undefined && unpackLines(body).memory.equals(bytes));
    };
    const begin: ReadingOptions['begin'] = ({ key }) => startOf(createFile(key, 0));
    const scan = open(remote, { ...PLAN, batchBytes: 8000, onBatch, begin }, LIMITS);
    await scan.read(sourceOf([archive]));
    await onBatch(scan.takeBatch());
    expect(packed.length).toBeGreaterThan(1);
    expect(new Set(packed)).toEqual(new Set([true]));
  });

  test('starts for the first archive, serves the next ones, and ends when it has had nothing to do for 5 s', async () => {
    const { pool, clock, started } = openWatched(4);
    await using _ = pool;
    expect(started).toHaveLength(0);
    await readAll(inPool(pool), [archive]);
    await clock.advance(4999);
    await readAll(inPool(pool), [archive]);
    expect(started).toHaveLength(1);
    const ended = once(started[0] as Worker, 'exit');
    await clock.advance(5000);
    await ended;
    expect((await readAll(inPool(pool), [archive])).outcome).toMatchObject({ kind: 'taken' });
    expect(started).toHaveLength(2);
  });

  test('starts while the archive is still on its way', async () => {
    const { pool, started } = openWatched();
    await using _ = pool;
    const seen: number[] = [];
    async function* slow() {
      yield archive.subarray(0, 100);
      seen.push(started.length);
      yield archive.subarray(100);
    }
    await open(pool, { ...PLAN, begin: () => undefined }, LIMITS).read(slow());
    expect(seen).toEqual([1]);
  });

  test('is one of as many as there may be: more archives wait, and are served in the order of asking', async () => {
    const { pool, started } = openWatched(2);
    await using _ = pool;
    const outcomes = await Promise.all(Array.from({ length: 7 }, () => readAll(inPool(pool), [archive])));
    for (const { outcome } of outcomes)
      expect(outcome).toMatchObject({ kind: 'taken', file: { off: text(MANY).length } });
    expect(started).toHaveLength(2);
    const order: number[] = [];
    await using single = openWatched().pool;
    await Promise.all(
      [0, 1, 2, 3, 4].map(async (index) => {
        await readAll(inPool(single), [archive]);
        order.push(index);
      }),
    );
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  test('is not waited for any more by a reading that is aborted', async () => {
    const { pool } = openWatched();
    await using _ = pool;
    const { source, state } = hang(long.subarray(0, 300_000));
    const first = new AbortController();
    const begin: ReadingOptions['begin'] = ({ key }) => startOf(createFile(key, 0));
    const occupying = open(pool, { ...PLAN, begin }, LIMITS, first.signal).read(source);
    await state.asked.promise;
    const second = new AbortController();
    const waiting = open(pool, { ...PLAN, begin }, LIMITS, second.signal).read(sourceOf([archive]));
    const third = readAll(inPool(pool), [archive]);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    second.abort(new TypeError('No longer wanted'));
    await expect(waiting).rejects.toThrow('No longer wanted');
    first.abort(new TypeError('Nor this one'));
    await expect(occupying).rejects.toThrow('Nor this one');
    expect((await third).outcome).toMatchObject({ kind: 'taken' });
  });

  test('that dies in the middle of a file fails it; from where its lines are safe, the next one gives the rest', async () => {
    const { pool, started } = openWatched();
    await using _ = pool;
    const expected = await readAll(readHere, [long]);
    const whole = (expected.batches as { readonly records: readonly string[] }[]).flatMap(({ records }) => records);
    const records: string[] = [];
    let safe: LogFile | undefined;
    let isKilled = false;
    const scan = open(
      pool,
      {
        ...PLAN,
        onBatch: (batch) => {
          records.push(...batch.records);
          safe = scan.file;
          if (safe && safe.off > 200_000 && !isKilled) {
            isKilled = true;
            started[0]?.postMessage(null);
          }
        },
        begin: ({ key }) => startOf(createFile(key, 2)),
      },
      LIMITS,
    );
    await expect(scan.read(hang(long.subarray(0, -5000)).source)).rejects.toMatchObject({ code: 'worker-lost' });
    expect(scan.file).toBeUndefined();
    expect(scan.takeBatch().records).toHaveLength(0);
    const rest = open(
      pool,
      {
        ...PLAN,
        candidates: safe ? [safe] : [],
        onBatch: (batch) => void records.push(...batch.records),
        begin: ({ known, key }) => startOf(known ?? createFile(key, 3)),
      },
      LIMITS,
    );
    await rest.read(sourceOf([long]));
    records.push(...rest.takeBatch().records);
    expect(records.map(messageOf)).toEqual(whole.map(messageOf));
    expect(started).toHaveLength(2);
  });

  test('fails its file when it throws', async () => {
    const { pool } = openWatched(1, startBroken);
    await using _ = pool;
    const { outcome } = await readAll(inPool(pool), [archive]);
    expect(outcome).toMatchObject({ code: 'worker-lost', cause: { message: 'Broken' } });
  });

  test('is replaced when it does not answer for ten minutes', async () => {
    const { pool, clock, started } = openWatched(1, startDeaf);
    await using _ = pool;
    const reading = readAll(inPool(pool), [archive]);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    await clock.advance(599_999);
    await clock.advance(1);
    expect((await reading).outcome).toMatchObject({ code: 'worker-lost' });
    expect((await readAll(inPool(pool), [archive])).outcome).toMatchObject({ kind: 'taken' });
    expect(started).toHaveLength(2);
  });

  test('is not taken for lost while its source is slow, or a batch takes long to be stored', async () => {
    const consumed = Promise.withResolvers<void>();
    const { pool, clock } = openWatched(1, () => {
      const worker = startArchiveWorker();
      let bytes = 0;
      worker.on('message', (reply: Reply) => {
        if (reply.kind === 'consumed') bytes += reply.bytes;
        if (bytes >= 300_000) void setImmediate().then(consumed.resolve);
      });
      return worker;
    });
    await using _ = pool;
    async function* slow() {
      yield long.subarray(0, 300_000);
      await consumed.promise;
      // Batches that came before are stored one after the other.
      for (let turn = 0; turn < 200; turn++) await setImmediate();
      await clock.advance(3_600_000);
      yield long.subarray(300_000);
    }
    const begin: ReadingOptions['begin'] = ({ key }) => startOf(createFile(key, 0));
    await open(pool, { ...PLAN, begin }, LIMITS).read(slow());
    let batches = 0;
    const onBatch = async () => {
      await setImmediate();
      if (batches++ === 0) await clock.advance(3_600_000);
    };
    await open(pool, { ...PLAN, begin, onBatch }, LIMITS).read(sourceOf([long]));
    expect(batches).toBeGreaterThan(1);
  });

  test('fails with closed what is under way and what waits when the pool is closed', async () => {
    const { pool, started } = openWatched();
    const { source, state } = hang(long.subarray(0, 300_000));
    const begin = ({ key }: FileBeginning) => startOf(createFile(key, 0));
    const first = open(pool, { ...PLAN, begin }, LIMITS).read(source);
    const second = open(pool, { ...PLAN, begin }, LIMITS).read(sourceOf([archive]));
    for (const reading of [first, second]) reading.catch(() => {});
    await state.asked.promise;
    const exits = Promise.all(started.map((worker) => once(worker, 'exit')));
    await pool.close();
    // By themselves: what ends them by force may abort the process.
    expect(await exits).toEqual(started.map(() => [0]));
    expect(started).not.toEqual([]);
    await expect(first).rejects.toMatchObject({ code: 'closed' });
    await expect(second).rejects.toMatchObject({ code: 'closed' });
    await expect(open(pool, { ...PLAN, begin }, LIMITS).read(sourceOf([archive]))).rejects.toMatchObject({
      code: 'closed',
    });
    await pool.close();
  });
});

test('a thread stops when so many records are under way, and goes on when they are taken', async () => {
  const worker = startArchiveWorker();
  const replies: Reply[] = [];
  const post = (request: Request) => worker.postMessage(request, []);
  worker.on('message', (reply: Reply) => replies.push(reply));
  const { onBatch: _, ...plan } = { ...PLAN, batchBytes: 64 * 1024 };
  post({ kind: 'begin', job: 1, plan, limits: LIMITS });
  const stream = gzipSync(text(MANY));
  for (let count = 0; count < 100; count++) {
    post({ kind: 'input', job: 1, bytes: new Uint8Array(stream), nowMs: undefined });
  }
  post({ kind: 'ended', job: 1, isWhole: true });
  const { file, context } = startOf(createFile('ab'.repeat(32), 0));
  const plain = { ...context, zone: 'UTC', matcher: undefined, now: undefined };
  post({ kind: 'start', job: 1, start: { file, context: plain }, nowMs: OBSERVED_MS });
  const batches = () => replies.flatMap((reply) => (reply.kind === 'batch' ? [reply.batch] : []));
  const sumBytes = () => batches().reduce((sum, { recordBytes }) => sum + recordBytes, 0);
  await expect.poll(sumBytes, { timeout: 60_000, interval: 1 }).toBeGreaterThanOrEqual(RECORDS_WINDOW_BYTES);
  for (let turn = 0; turn < 200; turn++) await setImmediate();
  expect(sumBytes()).toBeLessThan(RECORDS_WINDOW_BYTES + 1024 * 1024);
  let taken = 0;
  while (!replies.some(({ kind }) => kind === 'ended')) {
    const next = batches()[taken];
    if (next) {
      taken++;
      post({ kind: 'taken', job: 1, bytes: next.recordBytes });
    }
    await setImmediate();
  }
  const last = replies.at(-1);
  const rest = last?.kind === 'ended' ? last.batch.lines : 0;
  expect(batches().reduce((sum, { lines }) => sum + lines, 0) + rest).toBe(200_000);
  const exited = once(worker, 'exit');
  post({ kind: 'exit' });
  expect(await exited).toEqual([0]);
});

function startOf(file: LogFile): ReadingStart {
  return {
    file,
    context: {
      router: { name: 'plant-7', labels: {} },
      component: 'network',
      zone: new Zone('UTC'),
      observedMs: OBSERVED_MS,
      file: 'network/log-2026-11-21-11:00:00.bz2',
      flags: [],
    },
  };
}

const messageOf = (record: string) => (JSON.parse(record) as { readonly message: string }).message;
