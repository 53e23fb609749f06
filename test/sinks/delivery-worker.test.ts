import { expect, test, vi } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import {
  DeliveryError,
  type DeliveryEvent,
  DeliveryWorker,
  type OutgoingRecord,
  type Sink,
} from '../../src/sinks/index.ts';
import { MemoryDeadLetters, MemorySpool, renderLine } from '../support/memory-spool.ts';

type Deliver = (uids: readonly string[], signal: AbortSignal) => ReturnType<Sink['deliver']>;

const never = new AbortController().signal;
const taken = { bytes: 10 };

function createBench(
  deliver: Deliver,
  {
    sink = {},
    batch = {},
    ...options
  }: Partial<Pick<ConstructorParameters<typeof DeliveryWorker<number>>[0], 'isWanted' | 'isSelected'>> & {
    sink?: Partial<Pick<Sink, 'connection' | 'deliverLines' | 'findRefusal' | 'timeoutMs'>>;
    batch?: Partial<Sink['batch']>;
  } = {},
) {
  const clock = createSteppedClock(0);
  const order: string[] = [];
  const spool = new MemorySpool((name, cursor) => void order.push(`cursor of ${name} at ${cursor}`));
  const deadLetters = new MemoryDeadLetters();
  const events: DeliveryEvent[] = [];
  const attempts: string[][] = [];
  const worker = new DeliveryWorker<number>({
    sink: {
      name: 'archive',
      batch: { recordsMax: 8, bytesMax: 1_000_000, waitMs: 0, ...batch },
      deliver: (records: readonly OutgoingRecord[], signal) => {
        const uids = records.map(({ fields }) => fields.uid);
        attempts.push(uids);
        return deliver(uids, signal);
      },
      preflight: () => Promise.resolve([]),
      close: () => Promise.resolve(),
      ...sink,
    },
    spool,
    deadLetters: deadLetters,
    clock,
    isWanted: () => true,
    report: (event) => {
      events.push(event);
      order.push(event.type);
    },
    ...options,
  });
  /** Steps until nothing is left; gives what stood in the way of steps. */
  const drain = async (stepsMax = 100) => {
    const faults: unknown[] = [];
    for (let step = 0; step < stepsMax; step++) {
      try {
        if ((await worker.step(never)) === 'idle') return faults;
      } catch (cause) {
        faults.push(cause);
      }
    }
    throw new RangeError('The worker does not come to an end');
  };
  return { clock, spool, deadLetters, events, attempts, order, worker, drain };
}

/** A sink that refuses every batch with one of these records in it, as a whole. */
function refusing(...poison: readonly string[]): Deliver {
  return (uids) =>
    uids.some((uid) => poison.includes(uid))
      ? Promise.reject(new DeliveryError('refused', 'Bad field', { disposition: 'dead-letter', answer: '400' }))
      : Promise.resolve(taken);
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);

test('DeliveryWorker is idle, and touches no sink, when the sink has everything', async () => {
  const { worker, attempts, order } = createBench(() => Promise.resolve(taken));
  expect(await worker.step(never)).toBe('idle');
  expect(attempts).toEqual([]);
  expect(order).toEqual([]);
});

test('DeliveryWorker moves the cursor only after the sink has the records', async () => {
  const bench = createBench(async () => {
    await Promise.resolve();
    bench.order.push('taken');
    return taken;
  });
  bench.spool.add(numbers(10));
  expect(await bench.drain()).toEqual([]);
  const one = ['taken', 'records-delivered'];
  expect(bench.order).toEqual([...one, 'cursor of archive at 8', ...one, 'cursor of archive at 10']);
  expect(bench.attempts).toEqual([numbers(8), ['r8', 'r9']]);
});

/** A sink that accepts lines, and records them. */
function takingLines(deliver: Deliver) {
  const whole: string[][] = [];
  const deliverLines: Sink['deliverLines'] = (lines, signal) => {
    const uids = lines.map(({ text }) => (JSON.parse(text) as { uid: string }).uid);
    whole.push(uids);
    return deliver(uids, signal);
  };
  return { whole, sink: { deliverLines } };
}

test('DeliveryWorker gives whole batches as lines to a sink that takes them so, and as records what is left of one', async () => {
  const deliver = refusing('r9');
  const { whole, sink } = takingLines(deliver);
  const bench = createBench(deliver, { sink });
  bench.spool.add(numbers(18));
  expect(await bench.drain()).toEqual([]);
  expect(whole).toEqual([numbers(8), numbers(16).slice(8), ['r16', 'r17']]);
  expect(bench.attempts.flat()).not.toContain('r0');
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(['r9']);
  expect(bench.events).toContainEqual({ type: 'batch-split', records: 8, reason: 'Bad field' });
  const delivered = bench.events.flatMap((event) => (event.type === 'records-delivered' ? event.records : []));
  expect(delivered.reduce((sum, records) => sum + records, 0)).toBe(17);
});

test('DeliveryWorker gives the same lines again when the sink fails, and single records where some are chosen or left out', async () => {
  const cause = new DeliveryError('failed', 'Out of order', { disposition: 'retry' });
  const outcomes = [Promise.reject(cause)];
  const { whole, sink } = takingLines(() => outcomes.shift() ?? Promise.resolve(taken));
  const failing = createBench(() => Promise.resolve(taken), { sink });
  failing.spool.add(numbers(3));
  expect(await failing.drain()).toEqual([cause]);
  expect([whole, failing.attempts]).toEqual([[numbers(3), numbers(3)], []]);
  const choosing = createBench(() => Promise.resolve(taken), { sink, isSelected: ({ uid }) => uid !== 'r1' });
  const leaving = createBench(() => Promise.resolve(taken), {
    sink: { ...sink, findRefusal: ({ uid }) => (uid === 'r1' ? { reason: 'Too long' } : undefined) },
  });
  for (const bench of [choosing, leaving]) {
    bench.spool.add(numbers(3));
    expect(await bench.drain()).toEqual([]);
    expect(bench.attempts).toEqual([['r0', 'r2']]);
  }
  expect(whole).toHaveLength(2);
});

test('DeliveryWorker tries the same records again when the sink fails, and passes its error on', async () => {
  const cause = new DeliveryError('failed', 'Out of order', { disposition: 'retry', retryAfterMs: 7 });
  const outcomes = [Promise.reject(cause), Promise.resolve(taken)];
  const bench = createBench(() => outcomes.shift() ?? Promise.resolve(taken));
  bench.spool.add(numbers(3));
  expect(await bench.drain()).toEqual([cause]);
  expect(bench.attempts).toEqual([numbers(3), numbers(3)]);
  expect(bench.deadLetters.deadLetters).toEqual([]);
});

test('DeliveryWorker isolates a record that the sink refuses by halving, keeps the order, and continues', async () => {
  const bench = createBench(refusing('r5'));
  bench.spool.add(numbers(12));
  expect(await bench.drain()).toEqual([]);
  const delivered = bench.attempts.filter((uids) => !uids.includes('r5')).flat();
  expect(delivered).toEqual(numbers(12).filter((uid) => uid !== 'r5'));
  expect(bench.deadLetters.deadLetters).toMatchObject([
    { sink: 'archive', uid: 'r5', line: renderLine('r5'), reason: 'Bad field', code: '400' },
  ]);
  expect(bench.attempts.length).toBeLessThan(12);
  expect(bench.events).toContainEqual({ type: 'records-refused', records: 1, reason: 'Bad field', isAnswered: true });
});

test('DeliveryWorker makes batches large again after a refused record', async () => {
  const bench = createBench(refusing('r0'), { batch: { recordsMax: 16 } });
  bench.spool.add(numbers(64));
  await bench.drain();
  // 16 → 8 → 4 → 2 → 1, then the rest of the slice by 2, 4, 8 and what is left of it, then whole slices.
  expect(bench.attempts.map(({ length }) => length)).toEqual([16, 8, 4, 2, 1, 2, 4, 8, 1, 16, 16, 16]);
});

test('DeliveryWorker stores dead letters before the cursor moves past them', async () => {
  const bench = createBench(refusing('r1'));
  bench.deadLetters.add = () => void bench.order.push('dead letters');
  bench.spool.add(numbers(2));
  await bench.drain();
  expect(bench.order.indexOf('dead letters')).toBeLessThan(bench.order.indexOf('cursor of archive at 2'));
});

test('DeliveryWorker settles again what could not be stored, and asks the sink no second time', async () => {
  const bench = createBench(refusing('r1'));
  bench.spool.add(numbers(2));
  const add = bench.deadLetters.add.bind(bench.deadLetters);
  let isFull = true;
  bench.deadLetters.add = (...args) => {
    if (isFull) throw new RangeError('disk full');
    add(...args);
  };
  for (let step = 0; step < 6; step++) await bench.worker.step(never).catch(() => {});
  const { length } = bench.attempts;
  expect(bench.spool.cursors.get('archive')).toBeUndefined();
  isFull = false;
  await bench.drain();
  expect(bench.attempts).toHaveLength(length);
  expect(bench.deadLetters.deadLetters).toHaveLength(1);
});

test('DeliveryWorker sends again only the records that the sink asked for, then the rest', async () => {
  let isFirst = true;
  const bench = createBench(() => {
    const report = isFirst
      ? {
          refused: [{ index: 0, reason: 'mapping', code: '400' }],
          retry: { indexes: [1, 3], reason: 'queue full', retryAfterMs: 2000 },
          duplicates: 1,
        }
      : taken;
    isFirst = false;
    return Promise.resolve(report);
  });
  bench.spool.add(numbers(5));
  const [fault] = await bench.drain();
  expect(fault).toMatchObject({ code: 'throttled', retryAfterMs: 2000, disposition: 'retry' });
  expect(bench.attempts).toEqual([numbers(5), ['r1', 'r3']]);
  expect(bench.deadLetters.deadLetters).toMatchObject([{ uid: 'r0', reason: 'mapping', code: '400' }]);
  expect(bench.events.filter(({ type }) => type === 'records-delivered')).toEqual([
    { type: 'records-delivered', records: 2, duplicates: 1, bytes: 0 },
    { type: 'records-delivered', records: 2, duplicates: 0, bytes: 10 },
  ]);
});

test('DeliveryWorker sends the rest at once, and calls it no failure, when the sink asks for no wait', async () => {
  let isFirst = true;
  const bench = createBench(() => {
    const report = isFirst ? { retry: { indexes: [2, 3], reason: 'out of time', retryAfterMs: 0 } } : taken;
    isFirst = false;
    return Promise.resolve(report);
  });
  bench.spool.add(numbers(4));
  expect(await bench.drain()).toEqual([]);
  expect(bench.attempts).toEqual([numbers(4), ['r2', 'r3']]);
});

test('DeliveryWorker counts what a sink rejected without saying which, and does not send it again', async () => {
  const bench = createBench(() =>
    Promise.resolve({ refusedUnnamed: { records: 3, reason: 'no quota' }, warning: 'slow' }),
  );
  bench.spool.add(numbers(5));
  expect(await bench.drain()).toEqual([]);
  expect(bench.attempts).toHaveLength(1);
  expect(bench.events).toEqual([
    { type: 'records-delivered', records: 2, duplicates: 0, bytes: 0 },
    { type: 'records-rejected', records: 3, reason: 'no quota' },
    { type: 'sink-warned', message: 'slow' },
  ]);
});

test('DeliveryWorker makes a dead letter of a record that the sink is known to refuse, unsent', async () => {
  const findRefusal = ({ fields }: OutgoingRecord) => (fields.uid === 'r1' ? { reason: 'too old' } : undefined);
  const bench = createBench(() => Promise.resolve(taken), { sink: { findRefusal } });
  bench.spool.add(numbers(3));
  await bench.drain();
  expect(bench.attempts).toEqual([['r0', 'r2']]);
  expect(bench.deadLetters.deadLetters).toMatchObject([{ uid: 'r1', reason: 'too old' }]);
});

test('DeliveryWorker aborts an attempt at the time limit and sends the same batch again', async () => {
  let isHanging = true;
  const bench = createBench(
    (_, signal) =>
      isHanging
        ? new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        : Promise.resolve(taken),
    { sink: { timeoutMs: 30_000 } },
  );
  bench.spool.add(numbers(2));
  const step = bench.worker.step(never);
  const failure = expect(step).rejects.toMatchObject({ code: 'timeout', disposition: 'retry' });
  await vi.waitFor(() => expect(bench.attempts).toHaveLength(1));
  await bench.clock.advance(30_000);
  await failure;
  isHanging = false;
  await bench.drain();
  expect(bench.attempts).toEqual([numbers(2), numbers(2)]);
});

/** A worker for a sink that takes as long as `durationMs` says, and makes so many attempts. */
function createSlowBench(durationMs: (records: number) => number, recordsMax?: number) {
  const bench = createBench((uids, signal) => bench.clock.sleep(durationMs(uids.length), signal).then(() => taken), {
    sink: { timeoutMs: 30_000 },
    ...(recordsMax !== undefined && { batch: { recordsMax } }),
  });
  /** Resolves with the numbers of their records and how many failed. */
  const attempt = async (count: number) => {
    const from = bench.attempts.length;
    let failures = 0;
    for (let next = from + 1; next <= from + count; next++) {
      const step = bench.worker.step(never).catch((cause: unknown) => {
        expect(cause).toMatchObject({ code: 'timeout' });
        failures++;
      });
      await vi.waitFor(() => expect(bench.attempts).toHaveLength(next), { interval: 1 });
      await bench.clock.advance(30_000);
      await step;
    }
    return { failures, lengths: bench.attempts.slice(from).map(({ length }) => length) };
  };
  return { ...bench, attempt };
}

test('DeliveryWorker sends half after three timeouts, until the sink takes it in time, and more again when it is fast', async () => {
  let recordMs = 10_000;
  const { attempt, ...bench } = createSlowBench((records) => recordMs * records);
  bench.spool.add(numbers(14));
  expect(await attempt(6)).toEqual({ failures: 6, lengths: [8, 8, 8, 4, 4, 4] });
  expect(bench.attempts.slice(0, 3)).toEqual([numbers(8), numbers(8), numbers(8)]);
  // The sink had not answered before, so it is tried once whether four were too many.
  expect(await attempt(4)).toEqual({ failures: 3, lengths: [2, 4, 4, 4] });
  expect(await attempt(6)).toEqual({ failures: 0, lengths: [2, 2, 2, 2, 2, 2] });
  expect(await bench.worker.step(never)).toBe('idle');
  recordMs = 1000;
  bench.spool.add(numbers(20));
  expect(await attempt(5)).toEqual({ failures: 0, lengths: [2, 4, 2, 8, 4] });
  expect(await bench.worker.step(never)).toBe('idle');
});

test('DeliveryWorker sends more again behind an outage also when the sink takes its time, however little it gets', async () => {
  let durationMs = 60_000;
  const { attempt, ...bench } = createSlowBench(() => durationMs, 16);
  bench.spool.add(numbers(100));
  expect((await attempt(15)).lengths.at(-1)).toBe(1);
  durationMs = 20_000;
  expect(await attempt(6)).toEqual({ failures: 0, lengths: [1, 2, 4, 8, 1, 16] });
});

test('DeliveryWorker sends half after three broken connections, and rarely as much as broke them', async () => {
  const bench = createBench((uids) => {
    if (uids.length <= 3) return Promise.resolve(taken);
    return Promise.reject(new DeliveryError('unreachable', 'Reset', { disposition: 'retry', isCutOff: true }));
  });
  bench.spool.add(numbers(40));
  const faults = await bench.drain();
  expect(faults.length).toBe(9);
  const lengths = bench.attempts.map(({ length }) => length);
  expect(lengths.slice(0, 12)).toEqual([8, 8, 8, 4, 4, 4, 2, 4, 4, 4, 2, 2]);
  expect(lengths.slice(12).every((length) => length === 2)).toBe(true);
  expect(bench.spool.cursors.get('archive')).toBe(40);
});

test('DeliveryWorker sends as much as before again soon after an outage that broke connections', async () => {
  let isOut = true;
  const bench = createBench(() => {
    if (!isOut) return Promise.resolve(taken);
    return Promise.reject(new DeliveryError('unreachable', 'Reset', { disposition: 'retry', isCutOff: true }));
  });
  bench.spool.add(numbers(40));
  for (let step = 0; step < 12; step++) await expect(bench.worker.step(never)).rejects.toThrow('Reset');
  isOut = false;
  await bench.drain();
  expect(bench.attempts.slice(12, 17).map(({ length }) => length)).toEqual([1, 2, 4, 1, 8]);
});

test('DeliveryWorker makes no record a dead letter while the sink ends the connection with every record, however long', async () => {
  const bench = createBench(() =>
    Promise.reject(new DeliveryError('unreachable', 'Reset', { disposition: 'retry', isCutOff: true })),
  );
  bench.spool.add(numbers(40));
  for (let step = 0; step < 200; step++) await expect(bench.worker.step(never)).rejects.toThrow('Reset');
  expect(bench.spool.cursors.get('archive') ?? 0).toBe(0);
});

test('DeliveryWorker says that the sink may have the records once three answers in a row could not be read', async () => {
  let isReadable = false;
  const unreadable = new DeliveryError('protocol_error', 'What is this', { disposition: 'retry', hint: 'Look' });
  const bench = createBench(() => (isReadable ? Promise.resolve(taken) : Promise.reject(unreadable)));
  bench.spool.add(numbers(3));
  const fail = () => bench.worker.step(never).catch((cause: unknown) => cause);
  expect(await fail()).toBe(unreadable);
  expect(await fail()).toBe(unreadable);
  expect(await fail()).toMatchObject({
    code: 'protocol_error',
    disposition: 'retry',
    message: 'Sink archive cannot read the answers of the receiver, which may have these 3 records several times',
    cause: unreadable,
  });
  isReadable = true;
  expect(await bench.drain()).toEqual([]);
  isReadable = false;
  bench.spool.add(numbers(1));
  expect(await fail()).toBe(unreadable);
});

test('DeliveryWorker sends a single record for as long as the sink does not answer', async () => {
  const bench = createBench(
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { sink: { timeoutMs: 30_000 } },
  );
  bench.spool.add(['r0']);
  for (let next = 1; next <= 7; next++) {
    const failure = expect(bench.worker.step(never)).rejects.toMatchObject({ code: 'timeout' });
    await vi.waitFor(() => expect(bench.attempts).toHaveLength(next));
    await bench.clock.advance(30_000);
    await failure;
  }
  expect(bench.attempts.flat()).toEqual(Array(7).fill('r0'));
});

test('DeliveryWorker sends more again also when the sink answers in time that it does not accept a single record', async () => {
  let isSlow = true;
  const refusal = { disposition: 'operator', answer: '403', mayBeOfRecords: true } as const;
  const bench = createBench(
    async (uids, signal) => {
      if (isSlow) await bench.clock.sleep(60_000, signal);
      if (uids.every((uid) => uid === 'r0')) throw new DeliveryError('unauthorized', 'Not this one', refusal);
      return uids[0] === 'r0' ? { refused: [{ index: 0, reason: 'Not this one', code: '403' }] } : taken;
    },
    { sink: { timeoutMs: 30_000 } },
  );
  bench.spool.add(numbers(8));
  for (let next = 1; next <= 9; next++) {
    const failure = expect(bench.worker.step(never)).rejects.toMatchObject({ code: 'timeout' });
    await vi.waitFor(() => expect(bench.attempts).toHaveLength(next));
    await bench.clock.advance(30_000);
    await failure;
  }
  isSlow = false;
  // Alone, it is undecided whether the record or the sink is at fault.
  expect(await bench.drain()).toMatchObject([{ code: 'unauthorized' }]);
  expect(bench.attempts.slice(9).map(({ length }) => length)).toEqual([1, 2, 4, 2]);
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(['r0']);
  expect(bench.spool.cursors.get('archive')).toBe(8);
});

test('DeliveryWorker passes an abort on as it is', async () => {
  const stop = new AbortController();
  const bench = createBench(
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  bench.spool.add(['r0']);
  const failure = expect(bench.worker.step(stop.signal)).rejects.toThrow('the end');
  await vi.waitFor(() => expect(bench.attempts).toHaveLength(1));
  stop.abort(new RangeError('the end'));
  await failure;
});

test('DeliveryWorker asks for a wait while a batch may still fill, and not at the end', async () => {
  const { clock, spool, worker, attempts } = createBench(() => Promise.resolve(taken), { batch: { waitMs: 1000 } });
  await clock.advance(5000);
  spool.add(['r0'], { committedMs: 4400 });
  expect(await worker.step(never)).toEqual({ waitMs: 400 });
  expect(attempts).toEqual([]);
  expect(await worker.step(never, { isLast: true })).toBe('more');
  expect(attempts).toEqual([['r0']]);
  spool.add(['r1'], { committedMs: 4400 });
  await clock.advance(400);
  expect(await worker.step(never)).toBe('more');
});

test('DeliveryWorker waits for nothing when the batch is full, or when the wall clock was set back', async () => {
  const { clock, spool, worker } = createBench(() => Promise.resolve(taken), {
    batch: { waitMs: 1000, recordsMax: 2 },
  });
  await clock.advance(5000);
  spool.add(['r0', 'r1'], { committedMs: 5000 });
  expect(await worker.step(never)).toBe('more');
  spool.add(['r2'], { committedMs: 9000 });
  expect(await worker.step(never)).toBe('more');
});

test('DeliveryWorker passes over logs and records that the sink does not want, and moves its cursor', async () => {
  const bench = createBench(() => Promise.resolve(taken), {
    isWanted: (router, component) => router !== 'lab' && component === 'network',
    isSelected: ({ message }) => !message.startsWith('debug'),
  });
  bench.spool.add(['a', 'debug 1']);
  bench.spool.add(['b'], { router: 'lab' });
  bench.spool.add(['c'], { component: 'kernel' });
  await bench.drain();
  expect(bench.attempts).toEqual([['a']]);
  expect(bench.spool.cursors.get('archive')).toBe(4);
  expect(bench.events).toContainEqual({ type: 'records-skipped', records: 3 });
});

test('DeliveryWorker moves the cursor past a slice with nothing in it for the sink', async () => {
  const bench = createBench(() => Promise.resolve(taken), { isWanted: () => false });
  bench.spool.add(numbers(20));
  expect(await bench.drain()).toEqual([]);
  expect(bench.attempts).toEqual([]);
  expect(bench.spool.cursors.get('archive')).toBe(20);
});

test('DeliveryWorker tries marked dead letters again before what is new, and drops those that are taken', async () => {
  const bench = createBench(refusing('bad'));
  bench.deadLetters.add('archive', [
    { uid: 'good', line: renderLine('good'), reason: 'then' },
    { uid: 'bad', line: renderLine('bad'), reason: 'then' },
    { uid: 'other', line: renderLine('other'), reason: 'then' },
  ]);
  for (const deadLetter of bench.deadLetters.deadLetters) deadLetter.isReplayed = deadLetter.uid !== 'other';
  bench.spool.add(['new']);
  await bench.drain();
  expect(bench.attempts).toEqual([['good', 'bad'], ['good'], ['bad'], ['new']]);
  expect(bench.deadLetters.deadLetters).toMatchObject([
    { uid: 'other', reason: 'then' },
    { uid: 'bad', reason: 'Bad field', isReplayed: false },
  ]);
});

test('DeliveryWorker settles a replay in one call, so that a kill leaves all of it or nothing', async () => {
  const bench = createBench(refusing('bad'));
  const deadLetters = ['good', 'bad'].map((uid) => ({ uid, line: renderLine(uid), reason: 'then' }));
  bench.deadLetters.add('archive', deadLetters);
  for (const deadLetter of bench.deadLetters.deadLetters) deadLetter.isReplayed = true;
  const ids = bench.deadLetters.deadLetters.map(({ id }) => id);
  const calls: unknown[] = [];
  const add = bench.deadLetters.add.bind(bench.deadLetters);
  bench.deadLetters.add = (sink, refused, gone) => {
    calls.push([refused.map(({ uid }) => uid), gone]);
    add(sink, refused, gone);
  };
  await bench.drain();
  expect(calls).toEqual([[['bad'], [ids[0]]]]);
});

test('DeliveryWorker keeps records that are to come again in front of the rest after a batch was split', async () => {
  const refusal = new DeliveryError('too_large', 'Too large', { disposition: 'dead-letter', answer: '413' });
  const outcomes: (() => ReturnType<Deliver>)[] = [
    () => Promise.reject(refusal),
    () => Promise.resolve({ retry: { indexes: [1, 3], reason: 'queue full', retryAfterMs: 2000 } }),
    () => Promise.resolve({ retry: { indexes: [1], reason: 'out of time', retryAfterMs: 0 } }),
  ];
  const bench = createBench(() => (outcomes.shift() ?? (() => Promise.resolve(taken)))());
  bench.spool.add(numbers(4));
  bench.spool.add(['k0', 'k1', 'k2', 'k3'], { component: 'kernel' });
  expect(await bench.drain()).toMatchObject([{ code: 'throttled', retryAfterMs: 2000 }]);
  // As many as before at once: what came back, and what comes next behind it.
  expect(bench.attempts).toEqual([
    ['r0', 'r1', 'r2', 'r3', 'k0', 'k1', 'k2', 'k3'],
    ['r0', 'r1', 'r2', 'r3'],
    ['r1', 'r3', 'k0', 'k1'],
    ['r3', 'k2', 'k3'],
  ]);
  expect(bench.deadLetters.deadLetters).toEqual([]);
  expect(bench.spool.cursors.get('archive')).toBe(8);
});

test('DeliveryWorker calls a sink misconfigured that refuses every record of three batches in a row, and makes no more dead letters', async () => {
  let isRefusing = true;
  const refusal = () =>
    Promise.reject(new DeliveryError('refused', 'Too old', { disposition: 'dead-letter', answer: '400' }));
  const bench = createBench(() => (isRefusing ? refusal() : Promise.resolve(taken)), { batch: { recordsMax: 2 } });
  bench.spool.add(numbers(12));
  const faults: unknown[] = [];
  const tryOften = async () => {
    for (let step = 0; step < 40; step++) await bench.worker.step(never).catch((cause: unknown) => faults.push(cause));
  };
  await tryOften();
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(numbers(6));
  expect(faults.length).toBeGreaterThan(5);
  for (const fault of faults) {
    expect(fault).toMatchObject({
      code: 'misconfigured',
      disposition: 'operator',
      hint: expect.stringContaining('replay'),
    });
    expect(String(fault)).toContain('Too old');
  }
  // Not one halving at a time, but the batch and one record of it, and another one the next time.
  expect(bench.attempts.slice(-4)).toEqual([['r6', 'r7'], [expect.any(String)], ['r6', 'r7'], [expect.any(String)]]);
  expect(new Set(bench.attempts.slice(-4).flatMap((uids) => (uids.length === 1 ? uids : [])))).toEqual(
    new Set(['r6', 'r7']),
  );
  isRefusing = false;
  expect(await bench.drain()).toEqual([]);
  expect(bench.deadLetters.deadLetters).toHaveLength(6);
  expect(bench.spool.cursors.get('archive')).toBe(12);
});

test('DeliveryWorker continues when one record of a batch is accepted alone, and makes dead letters of the refused ones', async () => {
  const bench = createBench(refusing('r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r7'), { batch: { recordsMax: 2 } });
  bench.spool.add(numbers(8));
  expect(await bench.drain()).toMatchObject([{ code: 'misconfigured' }, { code: 'misconfigured' }].slice(0, 1));
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r7']);
  expect(bench.attempts.filter((uids) => uids.includes('r6') && uids.length === 1)).not.toEqual([]);
});

test('DeliveryWorker calls no sink misconfigured that takes a record in between, or that was not asked', async () => {
  const poison = ['r0', 'r1', 'r2', 'r3', 'r5', 'r6', 'r7', 'r8', 'r9'];
  const bench = createBench(refusing(...poison), { batch: { recordsMax: 2 } });
  bench.spool.add(numbers(10));
  expect(await bench.drain()).toEqual([]);
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(poison);
  const unasked = createBench(() => Promise.resolve(taken), {
    batch: { recordsMax: 1 },
    sink: { findRefusal: () => ({ reason: 'too old' }) },
  });
  unasked.spool.add(numbers(10));
  expect(await unasked.drain()).toEqual([]);
  expect(unasked.deadLetters.deadLetters).toHaveLength(10);
});

test('DeliveryWorker calls a sink misconfigured that refuses every record one by one', async () => {
  const all = (uids: readonly string[]) => ({
    refused: uids.map((_, index) => ({ index, reason: 'mapping', code: '400' })),
  });
  let isRefusing = true;
  const bench = createBench((uids) => Promise.resolve(isRefusing ? all(uids) : taken), { batch: { recordsMax: 3 } });
  bench.spool.add(numbers(12));
  const faults: unknown[] = [];
  for (let step = 0; step < 6; step++) await bench.worker.step(never).catch((cause: unknown) => faults.push(cause));
  // At the third batch, and at each attempt after it, which is one request.
  expect(faults).toHaveLength(4);
  expect(bench.attempts).toHaveLength(6);
  expect(bench.deadLetters.deadLetters).toHaveLength(9);
  isRefusing = false;
  expect(await bench.drain()).toEqual([]);
});

test('DeliveryWorker calls a sink misconfigured that refuses every record and does not name them, and loses no more of them', async () => {
  const bench = createBench(
    (uids) => Promise.resolve({ refusedUnnamed: { records: uids.length, reason: 'no tenant' } }),
    {
      batch: { recordsMax: 2 },
    },
  );
  bench.spool.add(numbers(12));
  const faults: unknown[] = [];
  for (let step = 0; step < 10; step++) await bench.worker.step(never).catch((cause: unknown) => faults.push(cause));
  expect(faults.length).toBeGreaterThan(3);
  for (const fault of faults)
    expect(fault).toMatchObject({ code: 'misconfigured', message: expect.stringMatching(/: no tenant$/) });
  expect(bench.events).toEqual(
    Array.from({ length: 3 }, () => ({ type: 'records-rejected', records: 2, reason: 'no tenant' })),
  );
  expect(bench.spool.cursors.get('archive')).toBe(6);
});

test('DeliveryWorker reads undelivered records again when another replica may have served its sink since', async () => {
  let isUp = false;
  const { spool, worker, attempts, drain } = createBench(() =>
    isUp ? Promise.resolve(taken) : Promise.reject(new DeliveryError('unreachable', 'Down', { disposition: 'retry' })),
  );
  let term = 1;
  const others = { serves: () => true, termOf: () => term };
  Object.assign(spool, others);
  spool.add(numbers(3));
  await expect(worker.step(never)).rejects.toThrow('Down');
  // Another replica had the sink for a moment, between two calls here.
  spool.acknowledge('archive', 2);
  term = 2;
  isUp = true;
  attempts.length = 0;
  expect(await drain()).toEqual([]);
  expect(attempts.flat()).toEqual(['r2']);
});

test('DeliveryWorker drops what it read when another serves its sink, and repeats what may be lost once it serves it again', async () => {
  let isServed = false;
  let isUp = false;
  const connection = { onEnd: undefined, takeEnd: () => Promise.resolve(undefined) };
  const { spool, deadLetters, worker, attempts, drain } = createBench(
    () =>
      isUp
        ? Promise.resolve(taken)
        : Promise.reject(new DeliveryError('unreachable', 'Down', { disposition: 'retry' })),
    { sink: { connection } },
  );
  Object.assign(spool, { serves: () => isServed });
  spool.add(numbers(4));
  expect(await drain()).toEqual([]);
  expect(attempts).toEqual([]);
  isServed = true;
  await expect(worker.step(never)).rejects.toThrow('Down');
  // The other one continues behind what is in flight here.
  isServed = false;
  isUp = true;
  attempts.length = 0;
  spool.acknowledge('archive', 3);
  deadLetters.add('archive', [{ uid: 'old', line: renderLine('old', 'plant-7', 'network'), reason: 'was refused' }]);
  deadLetters.deadLetters = deadLetters.deadLetters.map((deadLetter) => ({ ...deadLetter, isReplayed: true }));
  expect(await drain()).toEqual([]);
  expect(attempts).toEqual([]);
  spool.repeatFrom = () => 2;
  isServed = true;
  expect(await drain()).toEqual([]);
  expect(attempts).toEqual([['old'], ['r2'], ['r3']]);
});

test('DeliveryWorker delivers the rest of a batch of which a sink that goes to another has taken a part, and begins nothing new', async () => {
  let isLeaving = false;
  const held = Promise.withResolvers<typeof taken>();
  const outcomes: ReturnType<Deliver>[] = [
    Promise.reject(new DeliveryError('refused', 'Too many', { disposition: 'dead-letter' })),
    held.promise,
  ];
  const { spool, worker, attempts, drain } = createBench(() => outcomes.shift() ?? Promise.resolve(taken), {
    batch: { recordsMax: 4 },
  });
  Object.assign(spool, { serves: () => true, isLeaving: () => isLeaving });
  spool.add(numbers(8));
  expect(await worker.step(never)).toBe('more');
  const step = worker.step(never);
  isLeaving = true;
  const done = worker.whenDone().then(() => spool.cursors.get('archive'));
  held.resolve(taken);
  await step;
  expect(await drain()).toEqual([]);
  expect(attempts).toEqual([numbers(4), ['r0', 'r1'], ['r2', 'r3']]);
  expect(await done).toBe(4);
});

test('DeliveryWorker drops a batch of which a sink that goes to another has taken nothing', async () => {
  const { spool, worker, attempts, drain } = createBench(() =>
    Promise.reject(new DeliveryError('unreachable', 'Down', { disposition: 'retry' })),
  );
  let isLeaving = false;
  Object.assign(spool, { serves: () => true, isLeaving: () => isLeaving });
  spool.add(numbers(3));
  await expect(worker.step(never)).rejects.toThrow('Down');
  isLeaving = true;
  await worker.whenDone();
  expect(await drain()).toEqual([]);
  expect(attempts).toEqual([numbers(3)]);
  expect(spool.cursors.get('archive')).toBeUndefined();
});
