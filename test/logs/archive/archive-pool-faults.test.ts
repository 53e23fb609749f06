import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import { OUTPUT_WINDOW_BYTES, type Reply, type Request } from '../../../src/logs/archive/archive-protocol.ts';
import { startArchiveWorker } from '../../../src/logs/archive/archive-thread.ts';
import { type ArchiveItem, type ArchivePool, openArchivePool } from '../../../src/logs/archive/index.ts';
import { startScanWorker } from '../../../src/logs/archive/remote-scan.ts';
import { chunksOf, compress, createLog } from '../../support/archives.ts';

const LIMITS = { outputBytesMax: 2 ** 30 };

/** A source that tells whether it was closed, and of which only so much is given. */
function watch(bytes: Uint8Array, chunkBytes = 16_384) {
  const state = { isClosed: false, isAsked: Promise.withResolvers<void>() };
  async function* source() {
    try {
      yield* chunksOf(bytes, chunkBytes);
      state.isAsked.resolve();
    } finally {
      state.isClosed = true;
    }
  }
  return { state, source: source() };
}

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

async function readAll(items: AsyncIterable<ArchiveItem>): Promise<Buffer> {
  const output: Uint8Array[] = [];
  for await (const item of items) if (item instanceof Uint8Array) output.push(item);
  return Buffer.concat(output);
}

function startBroken(): Worker {
  const code = 'require("node:worker_threads").parentPort.on("message", () => { throw new TypeError("Broken"); });';
  return new Worker(code, { eval: true });
}

function startDeaf(): Worker {
  return new Worker('require("node:worker_threads").parentPort.on("message", () => {});', { eval: true });
}

/** A pool whose threads a test can reach. */
function openWatchedPool(workers: number): { pool: ArchivePool; started: Worker[] } {
  const started: Worker[] = [];
  const start = () => {
    const worker = startArchiveWorker();
    started.push(worker);
    return worker;
  };
  return { pool: openArchivePool({ workers }, { decoder: start }), started };
}

/** Ways to start threads, and which kinds were started. */
function watchStarts() {
  const started: string[] = [];
  const starts = {
    decoder: () => {
      started.push('decoder');
      return startArchiveWorker();
    },
    scanner: () => {
      started.push('scanner');
      return startScanWorker();
    },
  };
  return { started, starts };
}

/** Resolves when a thread has posted replies of one kind for so many bytes, and the pool has received them. */
function waitForBytes(worker: Worker, kind: 'output' | 'consumed', count: number): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    worker.on('message', (reply: Reply) => {
      if (reply.kind === 'output' && kind === 'output') bytes += reply.bytes.length;
      if (reply.kind === 'consumed' && kind === 'consumed') bytes += reply.bytes;
      if (bytes >= count) void setImmediate().then(resolve);
    });
  });
}

describe('ArchivePool', () => {
  // More than may be on its way to a reader, so that a reader who waits finds the thread in the middle.
  const log = createLog(800_000);
  const stream = compress(log);
  const input = Buffer.concat([log, log, log, log, log]);
  const archive = Buffer.concat([stream, stream, stream, stream, stream]);

  test('starts a thread for the first archive only and uses it again', async () => {
    const { pool, started } = openWatchedPool(4);
    await using _ = pool;
    expect(started).toHaveLength(0);
    for (let round = 0; round < 3; round++) {
      const output = await readAll(pool.decode(chunksOf(archive), LIMITS));
      expect(output.equals(input)).toBe(true);
    }
    expect(started).toHaveLength(1);
  });

  test('starts the threads for a long archive while it is still on its way, and none for its lines if it is short', async () => {
    const { started, starts } = watchStarts();
    const scanned = { ...LIMITS, isScanned: true };
    await using pool = openArchivePool({ workers: 2 }, starts);
    await readAll(pool.decode(chunksOf(archive.subarray(0, 100_000)), scanned)).catch(() => {});
    expect(started).toEqual(['decoder']);
    const seen: string[][] = [];
    async function* slow() {
      yield* chunksOf(archive);
      // The rest of the gathered part is asked for only now.
      seen.push([...started]);
    }
    const output = await readAll(pool.decode(slow(), scanned));
    expect(output.equals(input)).toBe(true);
    expect(seen).toEqual([['decoder', 'scanner']]);
    expect(started).toEqual(['decoder', 'scanner']);
  });

  test('starts the threads for one archive when it is told to prepare, and those take the first one that comes', async () => {
    const { started, starts } = watchStarts();
    await using pool = openArchivePool({ workers: 2 }, starts);
    pool.prepare();
    pool.prepare();
    expect(started).toEqual(['decoder', 'scanner']);
    expect((await readAll(pool.decode(chunksOf(archive), LIMITS))).equals(input)).toBe(true);
    expect(started).toEqual(['decoder', 'scanner']);
  });

  test('does not fail when threads cannot be prepared: the first archive tries again', async () => {
    let attempts = 0;
    const decoder = () => {
      if (attempts++ === 0) throw new TypeError('No more threads');
      return startArchiveWorker();
    };
    await using pool = openArchivePool({ workers: 1 }, { decoder });
    pool.prepare();
    expect((await readAll(pool.decode(chunksOf(archive), LIMITS))).equals(input)).toBe(true);
    expect(attempts).toBe(2);
  });

  test('ends a thread that has had nothing to do for a minute', async () => {
    const clock = createSteppedClock(0);
    const started: Worker[] = [];
    const decoder = () => {
      const worker = startArchiveWorker();
      started.push(worker);
      return worker;
    };
    await using pool = openArchivePool({ workers: 1, clock }, { decoder });
    await readAll(pool.decode(chunksOf(archive), LIMITS));
    await clock.advance(59_999);
    await readAll(pool.decode(chunksOf(archive), LIMITS));
    expect(started).toHaveLength(1);
    const ended = once(started[0] as Worker, 'exit');
    await clock.advance(60_000);
    await ended;
    expect((await readAll(pool.decode(chunksOf(archive), LIMITS))).equals(input)).toBe(true);
    expect(started).toHaveLength(2);
  });

  test('lets the process end when nothing is decoded', () => {
    const child = fileURLToPath(new URL('./archive-pool.child.ts', import.meta.url));
    const { stdout, stderr, status } = spawnSync(process.execPath, [child], { input: archive, encoding: 'utf8' });
    expect({ stdout, stderr, status }).toEqual({ stdout: `${input.length}`, stderr: '', status: 0 });
  });

  test('decodes more archives than it has threads, all of them whole', async () => {
    const { pool, started } = openWatchedPool(2);
    await using _ = pool;
    const outputs = await Promise.all(Array.from({ length: 7 }, () => readAll(pool.decode(chunksOf(archive), LIMITS))));
    expect(outputs.every((output) => output.equals(input))).toBe(true);
    expect(started).toHaveLength(2);
  });

  test('serves waiting archives in the order of asking', async () => {
    await using pool = openArchivePool({ workers: 1 });
    const order: number[] = [];
    const small = compress(Buffer.from('line\n'));
    const all = Array.from({ length: 5 }, async (_, index) => {
      await readAll(pool.decode(chunksOf(small), LIMITS));
      order.push(index);
    });
    await Promise.all(all);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  test('closes the source and goes on with the next archive when the reader stops early', async () => {
    const { pool, started } = openWatchedPool(1);
    await using _ = pool;
    const { source, state } = watch(archive, 1000);
    for await (const item of pool.decode(source, LIMITS)) {
      expect(item).toBeInstanceOf(Uint8Array);
      break;
    }
    expect(state.isClosed).toBe(true);
    expect((await readAll(pool.decode(chunksOf(archive), LIMITS))).equals(input)).toBe(true);
    expect(started).toHaveLength(1);
  });

  test('closes a source of text when the reader stops early', async () => {
    await using pool = openArchivePool({ workers: 1 });
    const { source, state } = watch(input);
    for await (const _ of pool.decode(source, LIMITS)) break;
    expect(state.isClosed).toBe(true);
  });

  test('closes the source when decoding fails', async () => {
    await using pool = openArchivePool({ workers: 1 });
    const { source, state } = watch(archive);
    await expect(readAll(pool.decode(source, { outputBytesMax: 1000 }))).rejects.toMatchObject({ code: 'too-large' });
    expect(state.isClosed).toBe(true);
  });

  test('throws the reason of its signal, and closes the source, when aborted between two chunks', async () => {
    await using pool = openArchivePool({ workers: 1 });
    const { source, state } = watch(archive);
    const controller = new AbortController();
    const items = pool.decode(source, { ...LIMITS, signal: controller.signal });
    await items.next();
    controller.abort(new TypeError('The agent stops'));
    await expect(readAll(items)).rejects.toThrow('The agent stops');
    expect(state.isClosed).toBe(true);
    expect((await readAll(pool.decode(chunksOf(archive), LIMITS))).equals(input)).toBe(true);
  });

  test.for([
    ['text', () => Buffer.from('2026-11-21 some line\n')],
    ['the first bytes', () => Buffer.from('BZ')],
    ['a part of an archive', () => archive.subarray(0, 1000)],
    ['more of an archive than is gathered', () => archive.subarray(0, 300_000)],
  ] as const)('throws the reason of its signal while the source hangs after %s', async ([, create]) => {
    await using pool = openArchivePool({ workers: 1 });
    const { source, state } = hang(create());
    const controller = new AbortController();
    const reading = readAll(pool.decode(source, { ...LIMITS, signal: controller.signal }));
    await state.asked.promise;
    controller.abort(new TypeError('The agent stops'));
    await expect(reading).rejects.toThrow('The agent stops');
    expect(state.isClosed).toBe(true);
  });

  test('throws the reason of its signal at once when that is aborted already', async () => {
    await using pool = openArchivePool({ workers: 1 });
    const { source, state } = hang(archive);
    const signal = AbortSignal.abort(new TypeError('Too late'));
    await expect(readAll(pool.decode(source, { ...LIMITS, signal }))).rejects.toThrow('Too late');
    expect(state.isClosed).toBe(true);
  });

  test('leaves its place in the queue when aborted while waiting for a thread', async () => {
    await using pool = openArchivePool({ workers: 1 });
    const first = pool.decode(chunksOf(archive), LIMITS);
    await first.next();
    const controller = new AbortController();
    const { source, state } = watch(compress(createLog(10_000)));
    const second = readAll(pool.decode(source, { ...LIMITS, signal: controller.signal }));
    const third = readAll(pool.decode(chunksOf(archive), LIMITS));
    await state.isAsked.promise;
    controller.abort(new TypeError('No longer wanted'));
    await expect(second).rejects.toThrow('No longer wanted');
    await readAll(first);
    expect((await third).equals(input)).toBe(true);
  });

  test('fails the file of a thread that dies, no other, and replaces the thread', async () => {
    const { pool, started } = openWatchedPool(2);
    await using _ = pool;
    const doomed = pool.decode(chunksOf(archive), LIMITS);
    await doomed.next();
    const other = pool.decode(chunksOf(archive), LIMITS);
    const { value } = await other.next();
    await started[0]?.terminate();
    await expect(readAll(doomed)).rejects.toMatchObject({ code: 'worker-lost' });
    const rest = await readAll(other);
    expect(Buffer.concat([value as Uint8Array, rest]).equals(input)).toBe(true);
    const again = await Promise.all([1, 2].map(() => readAll(pool.decode(chunksOf(archive), LIMITS))));
    expect(again.every((output) => output.equals(input))).toBe(true);
    expect(started).toHaveLength(3);
  });

  test('fails with worker-lost when the thread throws', async () => {
    await using pool = openArchivePool({ workers: 1 }, { decoder: startBroken });
    const reading = readAll(pool.decode(chunksOf(archive), LIMITS));
    await expect(reading).rejects.toMatchObject({ code: 'worker-lost', cause: { message: 'Broken' } });
  });

  test('fails the file of a thread that stops answering for a minute and replaces the thread', async () => {
    const clock = createSteppedClock(0);
    const started: Worker[] = [];
    const start = () => {
      const worker = started.length === 0 ? startDeaf() : startArchiveWorker();
      started.push(worker);
      return worker;
    };
    await using pool = openArchivePool({ workers: 1, clock }, { decoder: start });
    const { source, state } = watch(archive);
    const reading = readAll(pool.decode(source, LIMITS));
    reading.catch(() => {});
    await state.isAsked.promise.then(() => setImmediate());
    await clock.advance(59_999);
    await clock.advance(1);
    await expect(reading).rejects.toMatchObject({ code: 'worker-lost' });
    expect((await readAll(pool.decode(chunksOf(archive), LIMITS))).equals(input)).toBe(true);
    expect(started).toHaveLength(2);
  });

  test('does not call a thread lost while its reader is slow', async () => {
    const clock = createSteppedClock(0);
    const full = Promise.withResolvers<void>();
    const start = () => {
      const worker = startArchiveWorker();
      full.resolve(waitForBytes(worker, 'output', OUTPUT_WINDOW_BYTES));
      return worker;
    };
    await using pool = openArchivePool({ workers: 1, clock }, { decoder: start });
    const items = pool.decode(chunksOf(archive), LIMITS);
    const { value } = await items.next();
    await full.promise;
    await clock.advance(3_600_000);
    const rest = await readAll(items);
    expect(Buffer.concat([value as Uint8Array, rest]).equals(input)).toBe(true);
  });

  test.each([8, 9])(
    'does not call a thread lost whose window is full of what was taken and what was not, after %i chunks',
    async (chunks) => {
      const clock = createSteppedClock(0);
      const bytes = { output: 0, told: 0 };
      const start = () => {
        const worker = startArchiveWorker();
        worker.on('message', (reply: Reply) => {
          if (reply.kind === 'output') bytes.output += reply.bytes.length;
        });
        const post = worker.postMessage.bind(worker);
        worker.postMessage = (request: Request, transferred?: readonly ArrayBuffer[]) => {
          if (request.kind === 'taken') bytes.told += request.bytes;
          post(request, transferred);
        };
        return worker;
      };
      await using pool = openArchivePool({ workers: 1, clock }, { decoder: start });
      const items = pool.decode(chunksOf(archive), LIMITS);
      const taken: Uint8Array[] = [];
      while (taken.length < chunks) {
        const { value } = await items.next();
        if (value instanceof Uint8Array) taken.push(value);
        while (bytes.output < bytes.told + OUTPUT_WINDOW_BYTES) await setImmediate();
      }
      const length = taken.reduce((sum, chunk) => sum + chunk.length, 0);
      await clock.advance(3_600_000);
      expect((await readAll(items)).length).toBe(input.length - length);
    },
  );

  test('does not call a thread lost while its source is slow', async () => {
    const clock = createSteppedClock(0);
    const idle = Promise.withResolvers<void>();
    const part = archive.subarray(0, 300_000);
    const start = () => {
      const worker = startArchiveWorker();
      idle.resolve(waitForBytes(worker, 'consumed', part.length));
      return worker;
    };
    await using pool = openArchivePool({ workers: 1, clock }, { decoder: start });
    async function* slow() {
      yield part;
      await idle.promise;
      await clock.advance(3_600_000);
      yield archive.subarray(part.length);
    }
    expect((await readAll(pool.decode(slow(), LIMITS))).equals(input)).toBe(true);
  });

  test('fails with closed what is under way and what waits when it is closed', async () => {
    const pool = openArchivePool({ workers: 1 });
    const first = pool.decode(chunksOf(archive), LIMITS);
    await first.next();
    const waiting = readAll(pool.decode(chunksOf(archive), LIMITS));
    waiting.catch(() => {});
    await setImmediate();
    await pool.close();
    await expect(readAll(first)).rejects.toMatchObject({ code: 'closed' });
    await expect(waiting).rejects.toMatchObject({ code: 'closed' });
    await expect(readAll(pool.decode(chunksOf(archive), LIMITS))).rejects.toMatchObject({ code: 'closed' });
    await pool.close();
  });
});
