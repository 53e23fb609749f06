import { expect, test } from 'vitest';
import { SelfMetrics } from '../../src/agent/metrics/self-metrics.ts';
import { SinkSupervisor } from '../../src/agent/sinks/sink-supervisor.ts';
import { createSteppedClock, type Logger } from '../../src/base/index.ts';
import { StoreError } from '../../src/model/index.ts';
import { ConnectionEnd } from '../../src/sinks/connections.ts';
import { DeliveryError, type OutgoingRecord, type Sink, type SinkSettings } from '../../src/sinks/index.ts';
import { renderLine } from '../support/memory-spool.ts';
import { createHttpSettings, createStdoutSettings } from '../support/sink-settings.ts';
import { commitOf, createStoreFolder } from '../support/store-folder.ts';

const SECOND_MS = 1000;
const never = new AbortController().signal;

type Deliver = Sink['deliver'];

/** A runner over a real store, with sinks that do what the test says by their names. */
async function openBench(
  deliver: Record<string, Deliver> = {},
  places: Record<string, () => Promise<void>> = {},
  closes: Record<string, () => Promise<void>> = {},
) {
  const folder = await createStoreFolder();
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const store = folder.open({ sinks: [], now: () => clock.now() });
  const deadLetters = folder.openDeadLetters({ now: () => clock.now(), keepMs: 3600 * SECOND_MS });
  const ownLog: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const at =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void ownLog.push({ level, message, fields: { ...fields } });
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const happened: string[] = [];
  const use: { now: Pick<Sink, 'claim' | 'release'> } = { now: {} };
  /** The connection of every sink whose settings have `replay`. */
  const connection = new ConnectionEnd();
  const delivered: Record<string, string[]> = {};
  const attemptsMs: number[] = [];
  const metrics = new SelfMetrics('0');
  const runner = new SinkSupervisor({
    store,
    deadLetters,
    clock,
    random: () => 1,
    logger,
    metrics,
    create: ({ name, batch, ...settings }) => {
      happened.push(`create ${name}`);
      return {
        name,
        batch,
        connection: 'replay' in settings ? connection : undefined,
        deliver: async (records: readonly OutgoingRecord[], signal) => {
          attemptsMs.push(clock.monotonic());
          const report = (await deliver[name]?.(records, signal)) ?? {};
          delivered[name] = [...(delivered[name] ?? []), ...records.map(({ fields }) => fields.uid)];
          return report;
        },
        preflight: () => Promise.resolve([]),
        ...use.now,
        checkMachine: () => places[name]?.() ?? Promise.resolve(),
        close: () => {
          happened.push(`close ${name}`);
          return closes[name]?.() ?? Promise.resolve();
        },
      };
    },
    onDelivered: () => {},
    onGone: () => happened.push('gone'),
  });
  metrics.read({
    spool: () => ({ ...store.spooled, bytesMax: 1, secondsToFull: null, isHeldBack: false, routersHeldBack: [] }),
    sinkLags: () => runner.measureLags(),
    deadLetters: () => runner.countDeadLetters(),
    routers: () => ({ up: 0, down: 0, budget: 0, unknown: 0, paused: 0, retired: 0 }),
    runs: () => ({ running: 0, waiting: 0, heldBack: 0, max: 1 }),
    connections: () => ({ busy: 0, idle: 0, waiting: 0, max: 1, evicted: 0 }),
    sources: () => [],
  });
  return {
    clock,
    store,
    deadLetters,
    ownLog,
    happened,
    connection,
    delivered,
    attemptsMs,
    runner,
    set use(now: typeof use.now) {
      use.now = now;
    },
    prepare: (...sinks: readonly SinkSettings[]) => runner.prepare(sinks),
    async apply(...sinks: readonly SinkSettings[]) {
      const { commit } = await runner.prepare(sinks);
      await commit(never);
    },
    commit(uids: readonly string[], component = 'network') {
      store.commit(
        commitOf(
          uids.map((uid) => renderLine(uid, 'plant-7', component)),
          'p',
          component,
        ),
      );
      runner.wake();
    },
    advance: (durationMs: number) => clock.advance(durationMs, () => runner.whenIdle()),
    metrics: () => metrics.render('text'),
    async [Symbol.asyncDispose]() {
      await runner.drain(AbortSignal.abort());
      store.close();
      deadLetters.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const sink = (name: string, change: object = {}): SinkSettings => ({ ...createStdoutSettings(name), ...change });
const fail = (code: 'unauthorized' | 'throttled' | 'closed', retryAfterMs?: number) => () =>
  Promise.reject(
    new DeliveryError(code, 'No', { disposition: code === 'throttled' ? 'retry' : 'operator', retryAfterMs }),
  );

test('SinkSupervisor.prepare() leaves sinks alone whose settings did not change, and restarts one whose settings did', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'), sink('b'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  await bench.apply(sink('b', { format: 'ecs' }), sink('a'));
  bench.commit(['2']);
  await bench.runner.whenIdle();
  expect(bench.happened).toEqual(['create a', 'create b', 'create b', 'close b']);
  expect(bench.delivered).toEqual({ a: ['1', '2'], b: ['1', '2'] });
  expect(bench.runner.describe().map(({ name }) => name)).toEqual(['b', 'a']);
});

test('SinkSupervisor.prepare() ends a sink that is gone with its series, and says what it does not get', async () => {
  await using bench = await openBench({ b: fail('throttled') });
  await bench.apply(sink('a'), sink('b'));
  bench.commit(['1', '2', '3']);
  await bench.runner.whenIdle();
  expect(await bench.metrics()).toContain('router_exporter_sink_failures_total{sink="b",reason="throttled"} 1');
  await bench.apply(sink('a'));
  expect(bench.happened).toContain('close b');
  expect(bench.ownLog).toContainEqual(expect.objectContaining({ level: 'warn', fields: { sink: 'b', records: 3 } }));
  expect(await bench.metrics()).not.toContain('sink="b"');
  expect(bench.store.spooled.records).toBe(0);
});

test('SinkSupervisor.prepare() changes nothing when the disk does not let it', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'));
  bench.store.checkWritable = () => {
    throw new RangeError('read-only');
  };
  await expect(bench.prepare(sink('b'))).rejects.toThrow('read-only');
  // A trial says the same.
  await expect(bench.runner.prepare([sink('b')], true)).rejects.toThrow('read-only');
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ a: ['1'] });
  // What was made for nothing is closed.
  expect(bench.happened).toEqual(['create a', 'create b', 'close b', 'create b', 'close b']);
});

test('SinkSupervisor.prepare() changes nothing when a new sink cannot be where it is to be, but begins with one that cannot', async () => {
  const refuse = () => Promise.reject(new DeliveryError('unwritable', 'No folder', { disposition: 'operator' }));
  await using bench = await openBench({}, { a: refuse, b: refuse });
  await bench.apply(sink('a'));
  await expect(bench.prepare(sink('c'), sink('b'))).rejects.toThrow('No folder');
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ a: ['1'] });
  expect(bench.happened).toEqual(['create a', 'create c', 'create b', 'close c', 'close b']);
  // One that runs is not asked again.
  await bench.apply(sink('a'), sink('c'));
  expect(bench.runner.describe().map(({ name }) => name)).toEqual(['a', 'c']);
});

test('SinkSupervisor.prepare() changes nothing that runs until it is committed', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'), sink('b'));
  const change = await bench.prepare(sink('b', { format: 'ecs' }), sink('c'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ a: ['1'], b: ['1'] });
  await change.commit(never);
  await bench.runner.whenIdle();
  expect(bench.happened).toEqual(['create a', 'create b', 'create b', 'create c', 'close b', 'close a']);
  expect(bench.delivered).toEqual({ a: ['1'], b: ['1'], c: ['1'] });
});

test('SinkSupervisor waits two seconds for sinks whose disk hangs, and the others go on with their new settings', async () => {
  const isHanging = { now: true };
  const hang = () => (isHanging.now ? new Promise<void>(() => {}) : Promise.resolve());
  await using bench = await openBench({}, {}, { a: hang, b: hang });
  await bench.apply(sink('a'), sink('b'), sink('c'));
  const change = await bench.prepare(sink('b', { format: 'ecs' }), sink('c', { format: 'ecs' }));
  let isDone = false;
  const committed = (async () => {
    await change.commit(never);
    isDone = true;
  })();
  await expect.poll(() => bench.happened.filter((one) => one.startsWith('close'))).toHaveLength(3);
  await bench.clock.advance(1900);
  expect(isDone).toBe(false);
  await bench.clock.advance(100);
  await committed;
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ b: ['1'], c: ['1'] });
  isHanging.now = false;
});

test('SinkSupervisor.prepare() refuses a sink whose disk hangs after ten seconds, and changes nothing', async () => {
  await using bench = await openBench({}, { b: () => new Promise<void>(() => {}) });
  await bench.apply(sink('a'));
  const refused = expect(bench.prepare(sink('a'), sink('b'))).rejects.toThrow(
    'Sink b could not check its file within 10s',
  );
  await bench.clock.advance(10 * SECOND_MS);
  await refused;
  expect(bench.happened).toEqual(['create a', 'create b', 'close b']);
});

test('SinkSupervisor frees what a sink that is gone was to get as soon as the disk lets it', async () => {
  await using bench = await openBench({ b: fail('throttled') });
  await bench.apply(sink('a'), sink('b'));
  bench.commit(['1', '2']);
  await bench.runner.whenIdle();
  const change = await bench.prepare(sink('a'));
  const setSinks = bench.store.setSinks.bind(bench.store);
  bench.store.setSinks = () => {
    throw new StoreError('full', 'The disk is full', { disposition: 'hold-back' });
  };
  await change.commit(never);
  expect(bench.runner.describe().map(({ name }) => name)).toEqual(['a']);
  expect(bench.store.spooled.records).toBe(2);
  bench.store.setSinks = setSinks;
  await bench.advance(30 * SECOND_MS);
  expect(bench.store.spooled.records).toBe(0);
});

test('SinkSupervisor frees nothing of a sink that is about to start', async () => {
  let deliveries = 0;
  const isHanging = { now: true };
  const hang = () => (isHanging.now ? new Promise<void>(() => {}) : Promise.resolve());
  const takeThrice: Deliver = () => (++deliveries > 3 ? fail('unauthorized')() : Promise.resolve({}));
  await using bench = await openBench({ a: fail('throttled'), c: takeThrice }, {}, { a: hang });
  await bench.apply(sink('a'), sink('b'));
  const change = await bench.prepare(sink('a'));
  const setSinks = bench.store.setSinks.bind(bench.store);
  bench.store.setSinks = () => {
    throw new StoreError('full', 'The disk is full', { disposition: 'hold-back' });
  };
  await change.commit(never);
  bench.store.setSinks = setSinks;
  await bench.advance(29 * SECOND_MS);
  const next = await bench.prepare(sink('a', { format: 'ecs' }), sink('c'));
  const committed = next.commit(never);
  await expect.poll(() => bench.happened).toContain('close a');
  // In the middle of it, the supervisor looks for what it can free.
  await bench.clock.advance(2 * SECOND_MS);
  await committed;
  isHanging.now = false;
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.delivered['c']).toEqual(['1']);
});

test('SinkSupervisor tries a sink that refuses the credentials once a minute at most', async () => {
  await using bench = await openBench({ a: fail('unauthorized') });
  await bench.apply(sink('a'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  await bench.advance(3 * 60 * SECOND_MS);
  expect(bench.attemptsMs.map((ms) => ms / SECOND_MS)).toEqual([0, 60, 120, 180]);
});

test('SinkSupervisor waits as long as a sink asks, but no longer than an hour', async () => {
  await using bench = await openBench({ a: fail('throttled', 86_400 * SECOND_MS) });
  await bench.apply(sink('a'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  await bench.advance(3600 * SECOND_MS);
  expect(bench.attemptsMs.map((ms) => ms / SECOND_MS)).toEqual([0, 3600]);
});

test('SinkSupervisor counts what became of records, and shows the words of a warning', async () => {
  const report = {
    bytes: 100,
    duplicates: 1,
    refused: [{ index: 0, reason: 'bad', code: '400' }],
    refusedUnnamed: { records: 1, reason: 'quota' },
    warning: 'may be stored twice',
  };
  await using bench = await openBench({ a: () => Promise.resolve(report) });
  await bench.apply(sink('a', { components: ['network'], events: ['line'] }));
  bench.commit(['1', '2', '3', '4']);
  bench.commit(['5'], 'kernel');
  bench.store.commit(commitOf([JSON.stringify({ ...JSON.parse(renderLine('6')), event: 'log.gap' })]));
  bench.runner.wake();
  await bench.runner.whenIdle();
  const text = await bench.metrics();
  const count = (result: string) =>
    new RegExp(`^router_exporter_sink_records_total\\{sink="a",result="${result}"\\} (\\d+)$`, 'm').exec(text)?.[1];
  expect(['delivered', 'duplicate', 'dead_letter', 'rejected', 'skipped'].map(count)).toEqual([
    '1',
    '1',
    '1',
    '1',
    '2',
  ]);
  expect(text).toContain('router_exporter_sink_sent_bytes_total{sink="a"} 100');
  expect(text).toContain('router_exporter_sink_warnings_total{sink="a"} 1');
  expect(bench.ownLog).toContainEqual(expect.objectContaining({ fields: { sink: 'a', words: 'may be stored twice' } }));
  expect(bench.runner.describe()).toMatchObject([{ state: 'up', recordsDelivered: 2, recordsWaiting: 0 }]);
});

test('SinkSupervisor shows a zero for records lost at a sink before the first one, so that an increase is seen', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'));
  const text = await bench.metrics();
  for (const result of ['dead_letter', 'rejected'])
    expect(text).toContain(`router_exporter_sink_records_total{sink="a",result="${result}"} 0`);
});

test('SinkSupervisor tries marked dead letters again within half a minute, and drops those that are too old', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'));
  await bench.runner.whenIdle();
  const deadLetter = (uid: string) => ({ uid, line: renderLine(uid), reason: 'no' });
  bench.deadLetters.add('a', [deadLetter('again'), deadLetter('old')]);
  bench.deadLetters.markReplay({ ids: [1] });
  await bench.advance(30 * SECOND_MS);
  expect(bench.delivered).toEqual({ a: ['again'] });
  expect(bench.runner.describe()).toMatchObject([{ deadLetters: 1 }]);
  await bench.advance(3600 * SECOND_MS);
  expect(bench.deadLetters.count()).toBe(0);
});

test('SinkSupervisor delivers while another process keeps the dead letters to itself', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'));
  await bench.runner.whenIdle();
  const locked = () => {
    throw new StoreError('locked', 'in use', { disposition: 'retry' });
  };
  Object.assign(bench.deadLetters, { counts: locked, readReplayed: locked });
  bench.commit(['1']);
  await bench.advance(60 * SECOND_MS);
  bench.commit(['2']);
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ a: ['1', '2'] });
  expect(await bench.metrics()).toContain('router_exporter_dead_letters{sink="a"} 0');
});

test('SinkSupervisor calls a sink down that does not take its records for half a minute, and up when it does', async () => {
  const taken = Promise.withResolvers<object>();
  await using bench = await openBench({ a: () => taken.promise });
  await bench.apply(sink('a'));
  expect(await bench.metrics()).toContain('router_exporter_sink_up{sink="a"} 1');
  bench.commit(['1']);
  await bench.clock.advance(30 * SECOND_MS);
  expect(bench.runner.describe()).toMatchObject([{ state: 'down', error: 'No records accepted for 30s' }]);
  const [{ since, startedAt } = {}] = bench.runner.describe();
  expect(Date.parse(since ?? '') - Date.parse(startedAt ?? '')).toBe(30 * SECOND_MS);
  taken.resolve({});
  await bench.runner.whenIdle();
  expect(bench.runner.describe()).toMatchObject([{ state: 'up', error: null }]);
});

test('SinkSupervisor does not call a sink up before it has tried it, when records wait for it', async () => {
  await using bench = await openBench({ a: fail('unauthorized') });
  await bench.apply(sink('a'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  await bench.apply(sink('a', { format: 'ecs' }));
  expect(await bench.metrics()).not.toContain('router_exporter_sink_up{sink="a"} 1');
});

test('SinkSupervisor says it when a sink has gone for good, and does not call that a failure', async () => {
  await using bench = await openBench({ a: fail('closed') });
  await bench.apply(sink('a'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.happened).toContain('gone');
  expect(bench.ownLog).toEqual([]);
});

test('SinkSupervisor wakes a sink whose connection has ended, and counts what goes again apart', async () => {
  await using bench = await openBench({ a: () => Promise.resolve({ bytes: 100 }) });
  await bench.apply(sink('a', { replay: 10 * SECOND_MS }));
  bench.commit(['1', '2']);
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ a: ['1', '2'] });
  bench.connection.record(bench.clock.now());
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ a: ['1', '2', '1', '2'] });
  const text = await bench.metrics();
  expect(text).toContain('router_exporter_sink_records_total{sink="a",result="delivered"} 2');
  expect(text).toContain('router_exporter_sink_records_total{sink="a",result="repeated"} 2');
  expect(text).toContain('router_exporter_sink_sent_bytes_total{sink="a"} 200');
  expect(text).toContain('router_exporter_spool_records 0');
  expect(text).toContain('router_exporter_sink_lag_seconds{sink="a"} 0');
  expect(bench.runner.describe()).toMatchObject([{ recordsDelivered: 2, recordsWaiting: 0 }]);
});

test('SinkSupervisor shows which sinks accept any certificate: not those with a fingerprint', async () => {
  await using bench = await openBench();
  const fingerprintSha256 = 'ab'.repeat(32);
  const http = (name: string, change: object) => createHttpSettings(name, 'https://192.0.2.1', change);
  await bench.apply(
    http('checked', {}),
    http('pinned', { tls: { insecure_skip_verify: true, fingerprint_sha256: fingerprintSha256 } }),
    http('any', { tls: { insecure_skip_verify: true } }),
    sink('plain'),
  );
  const shown = (await bench.metrics()).matchAll(/^router_exporter_sink_tls_unverified\{sink="(\w+)"\} (\d)$/gm);
  expect([...shown].map(([, name, value]) => `${name} ${value}`)).toEqual(['checked 0', 'pinned 0', 'any 1']);
});

test('SinkSupervisor calls a sink up again that answers, although it refuses the record', async () => {
  const answers: Deliver[] = [
    fail('throttled'),
    () => Promise.resolve({ refused: [{ index: 0, reason: 'bad', code: '400' }] }),
  ];
  await using bench = await openBench({ a: (...args) => (answers.shift() ?? fail('throttled'))(...args) });
  await bench.apply(sink('a'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(bench.runner.describe()).toMatchObject([{ state: 'down' }]);
  await bench.advance(SECOND_MS);
  expect(bench.deadLetters.counts()).toEqual(new Map([['a', 1]]));
  expect(bench.runner.describe()).toMatchObject([{ state: 'up', error: null }]);
});

test('SinkSupervisor.drain() closes every sink', async () => {
  await using bench = await openBench();
  await bench.apply(sink('a'), sink('b'));
  await bench.runner.drain(never);
  expect(bench.happened).toEqual(['create a', 'create b', 'close a', 'close b']);
});

/** Lets no cursor be stored until the engine returns. */
function loseEngine(store: Awaited<ReturnType<typeof openBench>>['store']): { return(): void } {
  const acknowledge = store.acknowledge.bind(store);
  let isAway = true;
  Object.assign(store, {
    acknowledge(...args: Parameters<typeof acknowledge>) {
      if (isAway) throw new StoreError('unwritable', 'The engine is away', { disposition: 'hold-back' });
      acknowledge(...args);
    },
  });
  return {
    return() {
      isAway = false;
    },
  };
}

test('SinkSupervisor starts no sink of a reload that is under way when the shutdown begins, or comes behind it', async () => {
  const hanging: Deliver = (_records, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await using bench = await openBench({ old: hanging });
  await bench.apply(sink('old'));
  bench.commit(['1']);
  const { commit } = await bench.prepare(sink('new'));
  const reload = new AbortController();
  const committing = commit(reload.signal);
  await bench.runner.drain(AbortSignal.abort());
  reload.abort();
  await committing;
  await bench.apply(sink('newer'));
  bench.commit(['2']);
  await bench.advance(60 * SECOND_MS);
  expect(bench.delivered).toEqual({});
  expect(bench.happened).toEqual(expect.arrayContaining(['close new', 'close newer']));
  // Undelivered records wait for the next process.
  expect(bench.store.spooled.records).toBe(2);
});

test('SinkSupervisor.handOver() waits until a sink that leaves has answered and its cursor is stored, also where that has failed before', async () => {
  const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()];
  const archive: Deliver = () => {
    begun.resolve();
    return answer.promise;
  };
  await using bench = await openBench({ archive });
  await bench.apply(sink('archive'));
  const engine = loseEngine(bench.store);
  bench.commit(['1', '2']);
  await begun.promise;
  Object.assign(bench.store, { isLeaving: () => true });
  answer.resolve({});
  await bench.runner.whenIdle();
  expect(bench.store.countWaiting('archive')).toBe(2);
  engine.return();
  await bench.runner.handOver('archive', never);
  expect(bench.store.countWaiting('archive')).toBe(0);
  expect(bench.delivered['archive']).toEqual(['1', '2']);
});

test('SinkSupervisor.handOver() aborts an attempt without an answer after its time limit', async () => {
  const begun = Promise.withResolvers<void>();
  await using bench = await openBench({
    archive: (_records, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new TypeError('aborted')));
        begun.resolve();
      }),
  });
  await bench.apply(sink('archive'));
  bench.commit(['1', '2']);
  await begun.promise;
  Object.assign(bench.store, { isLeaving: () => true });
  const ended = new AbortController();
  const handedOver = bench.runner.handOver('archive', ended.signal);
  ended.abort();
  await handedOver;
  await bench.runner.whenIdle();
  expect(bench.store.countWaiting('archive')).toBe(2);
  expect(bench.ownLog.filter(({ message }) => message === 'A sink failed')).toEqual([]);
});

test('a sink that another replica serves is down here no longer, and does not wait here when it comes back', async () => {
  let isDown = true;
  await using bench = await openBench({
    archive: async () => {
      if (isDown)
        throw new DeliveryError('throttled', 'Later', { disposition: 'retry', retryAfterMs: 1800 * SECOND_MS });
      return {};
    },
  });
  await bench.apply(sink('archive'));
  bench.commit(['1']);
  await bench.runner.whenIdle();
  expect(await bench.metrics()).toContain('router_exporter_sink_up{sink="archive"} 0');
  const serving = { here: false };
  Object.assign(bench.store, { serves: () => serving.here });
  bench.runner.wake();
  await bench.runner.whenIdle();
  expect(await bench.metrics()).toContain('router_exporter_sink_up{sink="archive"} 1');
  expect(bench.runner.describe()).toMatchObject([{ state: 'unknown', error: null, lastFailure: { error: 'Later' } }]);
  isDown = false;
  serving.here = true;
  bench.runner.wake();
  await bench.runner.whenIdle();
  expect(bench.delivered).toEqual({ archive: ['1'] });
});

test('a sink that no replica serves is down, with the name of the one that does not, until it is served', async () => {
  await using bench = await openBench();
  Object.assign(bench.store, { serves: () => false });
  await bench.apply(sink('archive'));
  bench.runner.recordUnserved('archive', 'b');
  bench.runner.recordUnserved('archive', 'b');
  bench.runner.wake();
  await bench.runner.whenIdle();
  expect(await bench.metrics()).toContain('router_exporter_sink_up{sink="archive"} 0');
  expect(bench.runner.describe()).toMatchObject([
    { state: 'down', error: expect.stringContaining('Replica b does not') },
  ]);
  expect(bench.ownLog.filter(({ level }) => level === 'warn')).toHaveLength(1);
  bench.runner.recordUnserved('archive', undefined);
  expect(await bench.metrics()).toContain('router_exporter_sink_up{sink="archive"} 1');
});

test('a sink lets go of what it alone may use when it leaves, and claims it at the start only where it is served', async () => {
  await using bench = await openBench();
  const serving = { here: false };
  Object.assign(bench.store, { serves: () => serving.here });
  const used: string[] = [];
  bench.use = { claim: async () => void used.push('claim'), release: async () => void used.push('release') };
  await bench.apply(sink('archive'));
  bench.runner.wake();
  await bench.runner.whenIdle();
  expect(used).toEqual([]);
  serving.here = true;
  bench.commit(['1']);
  await bench.runner.whenIdle();
  await bench.runner.handOver('archive', never);
  expect([used, bench.delivered]).toEqual([['release'], { archive: ['1'] }]);
  // One that has lost it without a word.
  bench.commit(['2']);
  await bench.runner.whenIdle();
  serving.here = false;
  bench.runner.wake();
  bench.runner.wake();
  await bench.runner.whenIdle();
  expect(used).toEqual(['release', 'release']);
});

test('a sink that another replica takes without a word while it reads dead letters lets go of what it uses for them', async () => {
  const used: string[] = [];
  await using bench = await openBench({
    archive: async () => {
      used.push('deliver');
      return {};
    },
  });
  const serving = { here: true };
  Object.assign(bench.store, { serves: () => serving.here });
  bench.use = { release: async () => void used.push('release') };
  await bench.apply(sink('archive'));
  await bench.runner.whenIdle();
  bench.deadLetters.add('archive', [{ uid: '1', line: renderLine('1'), reason: 'no' }]);
  bench.deadLetters.markReplay({});
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const readReplayed = bench.deadLetters.readReplayed.bind(bench.deadLetters);
  Object.assign(bench.deadLetters, {
    readReplayed: async (...of: Parameters<typeof readReplayed>) => {
      asked.resolve();
      await answered.promise;
      return readReplayed(...of);
    },
  });
  await bench.clock.advance(30 * SECOND_MS);
  await asked.promise;
  serving.here = false;
  bench.runner.wake();
  answered.resolve();
  await bench.runner.whenIdle();
  expect(used).toEqual(['deliver', 'release']);
});

test('SinkSupervisor.drain() tries again to store the cursor of what a sink has taken', async () => {
  await using bench = await openBench();
  await bench.apply(sink('archive'));
  const engine = loseEngine(bench.store);
  bench.commit(['1', '2']);
  await bench.runner.whenIdle();
  engine.return();
  await bench.runner.drain(never);
  expect(bench.store.countWaiting('archive')).toBe(0);
  expect(bench.delivered['archive']).toEqual(['1', '2']);
});
