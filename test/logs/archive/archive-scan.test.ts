import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { createSteppedClock, cutLines, unpackLines } from '../../../src/base/index.ts';
import { type ArchivePool, openArchivePool } from '../../../src/logs/archive/index.ts';
import { isOwn, markOwn } from '../../../src/logs/archive/own-chunks.ts';
import { startScanWorker } from '../../../src/logs/archive/remote-scan.ts';
import { ScanJob } from '../../../src/logs/archive/scan-job.ts';
import { RECORDS_WINDOW_BYTES, type ScanReply } from '../../../src/logs/archive/scan-protocol.ts';
import type { FileBeginning, Scan, ScanItem, ScanOptions, ScanStart } from '../../../src/logs/file-scan.ts';
import { LineMatcher, type LogRuleSettings } from '../../../src/logs/index.ts';
import type { ScanBatch } from '../../../src/logs/lines/scan-batch.ts';
import { createFile, createStreamState, type LogFile } from '../../../src/logs/position/position.ts';
import { createSkewBounds } from '../../../src/logs/time/log-clock.ts';
import { Zone } from '../../../src/logs/time/zone.ts';
import { chunksOf } from '../../support/archives.ts';
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
  fixedLabels: { kind: 'lte' },
};
const matcher = new LineMatcher([RULE], [{ pattern: String.raw`password=\S+`, replacement: '[gone]' }]);

interface Reading {
  readonly outcome: unknown;
  /** Batches as they were handed out, the rest last, each with how the file stands behind it. */
  readonly batches: readonly unknown[];
  readonly beginnings: readonly FileBeginning[];
  readonly lost: unknown;
  readonly skew: unknown;
}

interface Situation {
  readonly plan?: Partial<ScanOptions> | undefined;
  readonly zone?: string | undefined;
  readonly known?: LogFile | undefined;
  readonly isInOrder?: boolean | undefined;
  /** Where the body fails. */
  readonly failure?: Error | undefined;
}

function describeBatch(scan: Scan, { records, ...batch }: ScanBatch) {
  // What a thread has packed is what the store would have packed.
  if (records.packed && records.length > 0) {
    expect(cutLines(unpackLines(records.packed).memory).map(({ text }) => text)).toEqual([...records]);
  }
  return structuredClone({ ...batch, records: [...records], file: scan.file, stream: scan.stream });
}

/** A copy in memory of its own, as a decoding thread gives it. */
function decoded(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes);
  markOwn(copy);
  return copy;
}

async function* bodyOf(items: readonly ScanItem[], failure?: Error): AsyncGenerator<ScanItem, void, undefined> {
  for (const item of items) yield item instanceof Uint8Array ? decoded(item) : item;
  if (failure) throw failure;
}

/** Reads a file as the reader of files does. */
async function readAll(pool: ArchivePool, items: readonly ScanItem[], situation: Situation = {}): Promise<Reading> {
  const { plan, zone = 'Europe/Berlin', known, isInOrder = true, failure } = situation;
  const beginnings: FileBeginning[] = [];
  const batches: unknown[] = [];
  const skew = createSkewBounds();
  const start = (file: LogFile): ScanStart => ({
    file,
    context: {
      router: { name: 'plant-7', labels: { site: 'münchen' } },
      component: 'network',
      zone: Zone.parse(zone),
      observedMs: OBSERVED_MS,
      now: () => OBSERVED_MS + 1000,
      file: 'network/log-2026-11-21-11:00:00.bz2',
      flags: isInOrder ? [] : ['late'],
      matcher: matcher.of('network'),
      ...(isInOrder && { stream: createStreamState(), notBeforeMs: OBSERVED_MS - 7_200_000, skew }),
    },
  });
  const scan: Scan = pool.scan({
    name: 'network/log-2026-11-21-11:00:00.bz2',
    candidates: known ? [known] : [],
    acceptsNew: true,
    isClosed: true,
    endMs: OBSERVED_MS,
    batchBytes: 600,
    begin: (beginning) => {
      beginnings.push(beginning);
      return start(beginning.known ?? createFile(beginning.key, 2));
    },
    onBatch: (batch) => void batches.push(describeBatch(scan, batch)),
    ...plan,
  });
  let outcome: unknown;
  try {
    outcome = await scan.read(bodyOf(items, failure));
    batches.push(describeBatch(scan, scan.takeBatch()));
  } catch (error) {
    outcome = error;
    batches.push(describeBatch(scan, scan.takeBatch()));
  }
  return { outcome, batches, beginnings, lost: scan.lost, skew };
}

const inline = openArchivePool(
  { workers: 1, inlineBytesMax: Infinity },
  {
    scanner: () => {
      throw new TypeError('A thread was started');
    },
  },
);
const remote = openArchivePool({ workers: 1, inlineBytesMax: 0 });
afterAll(() => remote.close());

/** Reads a file both ways. */
async function expectSame(items: readonly ScanItem[], situation?: Situation): Promise<Reading> {
  const expected = await readAll(inline, items, situation);
  expect(await readAll(remote, items, situation)).toEqual(expected);
  return expected;
}

const FIRST = '2026-11-21 11:36:49 [wan] first\n';
const text = (lines: readonly string[]) => Buffer.from(lines.join(''));
const MANY = Array.from(
  { length: 2000 },
  (_, n) =>
    `2026-11-21 11:${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')} [wan] line ${n}\n`,
);
const MARKERS: readonly ScanItem[] = [
  { kind: 'block-lost', block: 1, startBit: 100, endBit: 900, outputOffset: FIRST.length + 3 },
  { kind: 'block-recovered', block: 2, startBit: 900, outputOffset: FIRST.length + 3 },
] as unknown as readonly ScanItem[];

describe('ArchivePool.scan()', () => {
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
        fc.boolean(),
        async (bytes, places, isInOrder, zone, failure, isDamaged) => {
          const chunks = cutInto(bytes, places);
          const half = Math.floor(chunks.length / 2);
          const items = isDamaged ? [...chunks.slice(0, half), ...MARKERS, ...chunks.slice(half)] : chunks;
          await expectSame(items, { isInOrder, zone, failure });
        },
      ),
      { numRuns: countRuns(300) },
    ));

  test('goes on in a file that was begun, and tells one that only begins alike', async () => {
    const { outcome } = await readAll(inline, [text(MANY.slice(0, 500))]);
    const { file } = outcome as { readonly file: LogFile };
    const { batches } = await expectSame(cutInto(text(MANY), 5000), { known: file });
    expect(batches.length).toBeGreaterThan(10);
    const other = await expectSame([text([...MANY.slice(0, 400), FIRST, ...MANY.slice(401)])], { known: file });
    expect(other.outcome).toMatchObject({ kind: 'unrelated', candidate: { key: file.key } });
  });

  test('asks which file it is once, and reads nothing of one that may not be read yet', async () => {
    const { outcome, beginnings } = await expectSame([text(MANY)]);
    expect(outcome).toMatchObject({ kind: 'taken', file: { gen: 2 } });
    expect(beginnings).toHaveLength(1);
    const deferred = await expectSame([text(MANY)], { plan: { begin: () => undefined } });
    expect(deferred).toMatchObject({ outcome: { kind: 'deferred' }, batches: [{ records: [] }] });
  });

  test('throws the state of a page, from a thread too', async () => {
    const { outcome } = await expectSame([Buffer.from('<!doctype html>\n<p>Log in</p>\n')]);
    expect(outcome).toMatchObject({ name: 'LogError', code: 'error_page', disposition: 'retry' });
    const damaged = await expectSame([...MARKERS, Buffer.from('<html></html>')]);
    expect(damaged).toMatchObject({ outcome: { code: 'error_page' }, lost: [{ block: 1 }] });
  });

  test.each(['begin', 'onBatch'])(
    'throws what %s throws, and goes on with the next file in the same thread',
    async (name) => {
      const plan = {
        [name]: () => {
          throw new RangeError('The disk is full');
        },
      };
      const { outcome } = await readAll(remote, [text(MANY)], { plan });
      expect(outcome).toMatchObject({ message: 'The disk is full' });
      await expectSame([text(MANY)]);
    },
  );

  test('finds an outcome although the body hangs behind it, and tells the body', async () => {
    let isClosed = false;
    let isGiven = false;
    const body: AsyncIterable<ScanItem> = {
      [Symbol.asyncIterator]: () => ({
        next() {
          if (isGiven) return new Promise<never>(() => {});
          isGiven = true;
          return Promise.resolve({ done: false, value: decoded(text(MANY)) });
        },
        return() {
          isClosed = true;
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const scan = remote.scan({ ...PLAN, begin: () => undefined });
    expect(await scan.read(body)).toEqual({ kind: 'deferred' });
    expect(isClosed).toBe(true);
  });

  test('starts a thread only for a file with much text that a decoding thread made', async () => {
    const started: Worker[] = [];
    const scanner = () => {
      const worker = startScanWorker();
      started.push(worker);
      return worker;
    };
    await using pool = openArchivePool({ workers: 1 }, { scanner });
    const small = text(MANY);
    await readAll(pool, [small]);
    const large = text(MANY.flatMap((one) => Array.from({ length: 6 }, () => one)));
    const scan = pool.scan({ ...PLAN, begin: ({ key }) => startOf(createFile(key, 0)) });
    await scan.read(chunksOf(large));
    expect(started).toHaveLength(0);
    await readAll(
      pool,
      Array.from({ length: 6 }, () => small),
    );
    expect(started).toHaveLength(1);
  });
});

const PLAN = {
  name: 'network/log-2026-11-21-11:00:00.bz2',
  candidates: [],
  acceptsNew: true,
  isClosed: true,
  endMs: OBSERVED_MS,
  batchBytes: 600,
  onBatch: () => {},
};

describe('a thread that reads lines', () => {
  /** A pool whose thread a test can reach. */
  function openWatched(options: { readonly stallMsMax?: number } = {}, scanner: () => Worker = startScanWorker) {
    const clock = createSteppedClock(0);
    const started: Worker[] = [];
    const start = () => {
      const worker = started.length === 0 ? scanner() : startScanWorker();
      started.push(worker);
      return worker;
    };
    const pool = openArchivePool({ workers: 1, inlineBytesMax: 0, clock, ...options }, { scanner: start });
    return { pool, clock, started };
  }

  test('packs the records as the store would', async () => {
    const { pool } = openWatched();
    await using _ = pool;
    const packed: boolean[] = [];
    const onBatch: ScanOptions['onBatch'] = ({ records: { packed: body, bytes } }) => {
      packed.push(body !== undefined && unpackLines(body).memory.equals(bytes));
    };
    const begin: ScanOptions['begin'] = ({ key }) => startOf(createFile(key, 0));
    const scan = pool.scan({ ...PLAN, batchBytes: 8000, onBatch, begin });
    await scan.read(bodyOf([text(MANY)]));
    await onBatch(scan.takeBatch());
    expect(packed.length).toBeGreaterThan(1);
    expect(new Set(packed)).toEqual(new Set([true]));
  });

  test('that dies in the middle of a file fails it; from where its lines are safe, the next one gives the rest', async () => {
    const { pool, started } = openWatched();
    await using _ = pool;
    const expected = await readAll(inline, [text(MANY)]);
    const whole = (expected.batches as { readonly records: readonly string[] }[]).flatMap(({ records }) => records);
    const records: string[] = [];
    let safe: LogFile | undefined;
    let isKilled = false;
    const plan: Partial<ScanOptions> = {
      onBatch: (batch) => {
        records.push(...batch.records);
        safe = scan.file;
        if (safe && safe.off > 20_000 && !isKilled) {
          isKilled = true;
          void started[0]?.terminate();
        }
      },
    };
    const scan = pool.scan({ ...PLAN, ...plan, begin: ({ key }) => startOf(createFile(key, 2)) });
    const chunks = cutInto(text(MANY), 1000);
    const hanging = (async function* () {
      yield* chunks.slice(0, 40).map(decoded);
      await new Promise<never>(() => {});
    })();
    await expect(scan.read(hanging)).rejects.toMatchObject({ code: 'worker-lost' });
    expect(scan.file).toBeUndefined();
    expect(scan.takeBatch().records).toHaveLength(0);
    const rest = pool.scan({
      ...PLAN,
      candidates: safe ? [safe] : [],
      onBatch: (batch) => void records.push(...batch.records),
      begin: ({ known, key }) => startOf(known ?? createFile(key, 3)),
    });
    await rest.read(bodyOf(chunks));
    records.push(...rest.takeBatch().records);
    expect(records.map(messageOf)).toEqual(whole.map(messageOf));
    expect(started).toHaveLength(2);
  });

  test('is replaced when it does not answer', async () => {
    const { Worker } = await import('node:worker_threads');
    const deaf = () => new Worker('require("node:worker_threads").parentPort.on("message", () => {});', { eval: true });
    const { pool, clock, started } = openWatched({ stallMsMax: 60_000 }, deaf);
    await using _ = pool;
    const reading = readAll(pool, [text(MANY)]);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    await clock.advance(59_999);
    await clock.advance(1);
    expect((await reading).outcome).toMatchObject({ code: 'worker-lost' });
    expect((await readAll(pool, [text(MANY)])).outcome).toMatchObject({ kind: 'taken' });
    expect(started).toHaveLength(2);
  });

  test('ends when it has had nothing to do for a minute, and another one comes for the next file', async () => {
    const { pool, clock, started } = openWatched();
    await using _ = pool;
    await readAll(pool, [text(MANY)]);
    await clock.advance(59_999);
    await readAll(pool, [text(MANY)]);
    expect(started).toHaveLength(1);
    const ended = new Promise((resolve) => started[0]?.once('exit', resolve));
    await clock.advance(60_000);
    await ended;
    expect((await readAll(pool, [text(MANY)])).outcome).toMatchObject({ kind: 'taken' });
    expect(started).toHaveLength(2);
  });

  test('throws the reason of its signal while the body hangs', async () => {
    const { pool } = openWatched();
    await using _ = pool;
    const controller = new AbortController();
    const scan = pool.scan({ ...PLAN, begin: ({ key }) => startOf(createFile(key, 0)) }, controller.signal);
    const asked = Promise.withResolvers<void>();
    const body = (async function* () {
      yield decoded(text(MANY));
      asked.resolve();
      await new Promise((_resolve, reject) => {
        controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
      });
    })();
    const reading = scan.read(body);
    await asked.promise;
    controller.abort(new TypeError('The agent stops'));
    await expect(reading).rejects.toThrow('The agent stops');
  });

  test('fails with closed what is under way and what waits when the pool is closed', async () => {
    const { pool } = openWatched();
    const asked = Promise.withResolvers<void>();
    const body = (async function* () {
      yield decoded(text(MANY));
      asked.resolve();
      await new Promise<never>(() => {});
    })();
    const begin = ({ key }: FileBeginning) => startOf(createFile(key, 0));
    const first = pool.scan({ ...PLAN, begin }).read(body);
    const second = pool.scan({ ...PLAN, begin }).read(bodyOf([text(MANY)]));
    for (const reading of [first, second]) reading.catch(() => {});
    await asked.promise;
    await pool.close();
    await expect(first).rejects.toMatchObject({ code: 'closed' });
    await expect(second).rejects.toMatchObject({ code: 'closed' });
  });
});

test('ScanJob stops when so many records are under way, and goes on when they are taken', async () => {
  const replies: ScanReply[] = [];
  const job = new ScanJob(1, { ...PLAN, batchBytes: 64 * 1024 }, (reply) => replies.push(reply));
  const running = job.run();
  const chunk = text(MANY);
  for (let count = 0; count < 100; count++) {
    job.handle({ kind: 'text', job: 1, bytes: new Uint8Array(chunk), nowMs: undefined });
  }
  job.handle({ kind: 'ended', job: 1, isWhole: true });
  const { file, context } = startOf(createFile('ab'.repeat(32), 0));
  const plain = { ...context, zone: 'UTC', matcher: undefined };
  job.handle({ kind: 'start', job: 1, start: { file, context: plain }, nowMs: OBSERVED_MS });
  const batches = () => replies.flatMap((reply) => (reply.kind === 'batch' ? [reply.batch] : []));
  const sumBytes = () => batches().reduce((sum, { recordBytes }) => sum + recordBytes, 0);
  const most = RECORDS_WINDOW_BYTES + 1024 * 1024;
  for (let turn = 0; turn < 200; turn++) await setImmediate();
  expect(sumBytes()).toBeGreaterThanOrEqual(RECORDS_WINDOW_BYTES);
  expect(sumBytes()).toBeLessThan(most);
  let taken = 0;
  for (let turn = 0; turn < 10_000 && !replies.some(({ kind }) => kind === 'result'); turn++) {
    const next = batches()[taken];
    if (next) {
      taken++;
      job.handle({ kind: 'taken', job: 1, bytes: next.recordBytes });
    }
    await setImmediate();
  }
  await running;
  expect(batches().reduce((sum, { lines }) => sum + lines, 0) + lastLines(replies)).toBe(200_000);
});

/** Lines of the batch that came with the end of the file. */
function lastLines(replies: readonly ScanReply[]): number {
  const last = replies.at(-1);
  return last?.kind === 'result' ? last.batch.lines : 0;
}

test('isOwn() knows chunks of a decoding thread, and no parts of them', () => {
  const chunk = decoded(Buffer.from('some text'));
  expect([chunk, chunk.subarray(1), new Uint8Array(chunk.buffer), Buffer.from('some text')].map(isOwn)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

function startOf(file: LogFile): ScanStart {
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
