import { expect, test } from 'vitest';
import { DeadlineExceeded } from '../../src/base/index.ts';
import type { DocumentSource } from '../../src/status/index.ts';
import { body, createModule, DEADLINE_MS, device, failure, hang, openBench } from './poller-bench.ts';
import { toModule } from './shipped-modules.ts';

const SIGNAL = new AbortController().signal;
const MODULE = createModule('m', ['a', 'b']);

test('pollOnce() asks for every resource and gives what each became', async () => {
  const { poller, asked } = openBench([MODULE], { a: body(1), b: body('x') });
  const { isUp, isIdle, failure: reason, error, resources } = await poller.pollOnce(SIGNAL);
  expect(asked).toEqual(['a', 'b']);
  expect({ isUp, isIdle, reason, error }).toEqual({ isUp: true, isIdle: false, reason: undefined, error: undefined });
  expect(resources).toMatchObject([
    {
      name: 'a',
      modules: ['m'],
      state: 'read',
      families: [
        { name: 'router_m', help: 'Something.', type: 'gauge', samples: [{ labels: { resource: 'a' }, value: 1 }] },
      ],
      faults: [],
      isOptional: false,
      error: undefined,
    },
    { name: 'b', state: 'read', families: [], faults: [{ module: 'm', metric: 'router_m', reason: 'unknown_form' }] },
  ]);
});

test('pollOnce() asks for status resources by their path, and below the root for one with a slash in front', async () => {
  const asked: string[] = [];
  const source: DocumentSource = {
    async readDocument(path) {
      asked.push(path);
      return { body: path.startsWith('/') ? { profiles: [{ v: 1 }] } : body(), digest: undefined };
    },
  };
  const metrics = [{ name: 'router_p', value: 'v', labels: { resource: '$resource' } }];
  const module = toModule('m', {
    resources: [
      { path: 'sysstat/wan', metrics },
      { path: '/profiles', each: 'profiles', metrics },
    ],
  });
  const { poller } = openBench([module], {}, { source });
  const { resources } = await poller.pollOnce(SIGNAL);
  expect(asked).toEqual(['sysstat/wan', '/profiles']);
  expect(resources.map(({ name, families }) => [name, families[0]?.samples])).toEqual([
    ['sysstat/wan', [{ labels: { resource: 'sysstat/wan' }, value: 1 }]],
    ['profiles', [{ labels: { resource: 'profiles' }, value: 1 }]],
  ]);
});

test('pollOnce() reads a path once that several modules use, and each makes of it what it knows', async () => {
  const metric = { name: 'router_shared', value: 'v', labels: { module: '=two' } };
  const two = toModule('two', {
    resources: [
      { path: 'a', metrics: [metric] },
      { path: 'c', metrics: [metric] },
    ],
  });
  const one = toModule('one', { resources: [{ path: 'a', metrics: [{ ...metric, labels: {} }] }] });
  const { poller, asked } = openBench([one, two], { a: body(), c: body() });
  const { resources } = await poller.pollOnce(SIGNAL);
  expect(asked).toEqual(['a', 'c']);
  expect(resources[0]).toMatchObject({
    modules: ['one', 'two'],
    families: [{ name: 'router_shared', samples: [{ labels: {} }, { labels: { module: 'two' } }] }],
  });
  expect(resources[0]?.families).toHaveLength(1);
});

test('pollOnce() asks first who the router is, then as listed', async () => {
  const identity = createModule('who', ['device_info'], { identity: true });
  const { poller, asked } = openBench([MODULE, identity], { a: body(), b: body(), device_info: device('9.5') });
  const { resources, firmwareVersion } = await poller.pollOnce(SIGNAL);
  expect(asked).toEqual(['device_info', 'a', 'b']);
  expect(firmwareVersion).toBe('9.5');
  expect(resources.map(({ staleAfterMs }) => staleAfterMs)).toEqual([Infinity, 180_000, 180_000]);
});

test('pollOnce() measures each resource and the whole poll', async () => {
  const { poller, clock, script } = openBench([MODULE], {});
  const slow = (durationMs: number) => async (signal: AbortSignal) => {
    await clock.sleep(durationMs, signal);
    return body();
  };
  Object.assign(script, { a: slow(300), b: slow(200) });
  await clock.advance(500);
  const result = poller.pollOnce(SIGNAL);
  await clock.advance(10_000);
  const { durationMs, resources } = await result;
  expect(durationMs).toBe(500);
  expect(resources.map((resource) => [resource.durationMs, resource.readAtMs])).toEqual([
    [300, 800],
    [200, 1000],
  ]);
});

test('pollOnce() maps dates with the time of the answer and the zone of the router', async () => {
  const metrics = [{ name: 'router_offset', value: 'date', form: 'clock_offset' }];
  const module = toModule('m', { resources: [{ path: 'a', metrics }] });
  const document = { status: { unique: { date: '2026-11-21 09:00:01' } } };
  const { poller, clock, script } = openBench([module], {}, { zone: 'Europe/Berlin' });
  script['a'] = async (signal: AbortSignal) => {
    await clock.sleep(400, signal);
    return document;
  };
  const result = poller.pollOnce(SIGNAL);
  await clock.advance(1000);
  expect((await result).resources[0]?.families[0]?.samples[0]?.value).toBe(0.6);
});

test('pollOnce() goes on after a resource that failed alone, and the router is up', async () => {
  const refusal = failure('http', true, 500);
  const { poller, asked } = openBench([MODULE], { a: refusal, b: body() });
  const { isUp, failure: reason, error, resources } = await poller.pollOnce(SIGNAL);
  expect(asked).toHaveLength(2);
  expect({ isUp, reason, error }).toEqual({ isUp: true, reason: undefined, error: refusal });
  expect(resources).toMatchObject([{ state: 'failed', families: [], error: refusal }, { state: 'read' }]);
});

test.each([
  ['http', [failure('http', true, 500), failure('auth', true, 403)]],
  ['parse', [failure('parse', true), failure('http', true, 500)]],
  ['auth', [failure('auth', true, 403), failure('http', true, 404)]],
  ['http', [failure('http', true, 404), failure('http', true, 404)]],
] as const)('pollOnce() takes no router for up that gave no resource, and says %s', async (code, [a, b]) => {
  const { poller, asked } = openBench([MODULE], { a, b });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, failure: code, error: a });
  expect(asked).toEqual(['a', 'b']);
});

test('pollOnce() asks a router for one more resource when just those that were due failed', async () => {
  const fast = createModule('fast', ['a'], { interval: '10s' });
  const bench = openBench([fast, createModule('slow', ['b', 'c'])], { a: body(), b: body(), c: body() });
  await bench.poller.pollOnce(SIGNAL);
  bench.script['a'] = failure('http', true, 500);
  expect(await bench.poll(10_000)).toEqual(['a', 'b']);
  bench.script['b'] = failure('http', true, 500);
  await bench.clock.advance(10_000);
  expect(await bench.poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, failure: 'http' });
});

test('pollOnce() takes what a reader knows without an answer for no proof that the router is up', async () => {
  const reader = { read: async () => ({ families: [], faults: [], isFromMemory: true }) };
  const lists = toModule('lists', { reader: 'configuration' });
  const bench = openBench([MODULE, lists], { a: body(), b: body() }, { readers: { configuration: reader } });
  expect(await bench.poller.pollOnce(SIGNAL)).toMatchObject({ isUp: true });
  bench.script['a'] = failure('http', true, 500);
  bench.script['b'] = failure('http', true, 500);
  await bench.clock.advance(60_000);
  expect(await bench.poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, failure: 'http' });
});

test('pollOnce() ends with a router that asks to be left alone', async () => {
  const busy = failure('http', true, 503, 60_000);
  const { poller, asked } = openBench([MODULE], { a: busy, b: body() });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, failure: 'http', error: busy });
  expect(asked).toEqual(['a']);
});

test('pollOnce() counts a document as a fault of its resource when none of its parts is there', async () => {
  const metrics = [{ name: 'router_x', value: 'v' }];
  const both = toModule('m', {
    resources: [
      { path: 'a', metrics },
      { path: 'a', each: 'status.list', metrics },
      { path: 'b', metrics },
    ],
  });
  const { poller } = openBench([both], { a: { status: { list: [{ v: 1 }] } }, b: { status: { list: [] } } });
  const { isUp, resources } = await poller.pollOnce(SIGNAL);
  expect(isUp).toBe(true);
  expect(resources).toMatchObject([
    { state: 'read', families: [{ samples: [{ value: 1 }] }] },
    { state: 'failed', families: [], error: { name: 'StatusError', code: 'parse', isAnswered: true } },
  ]);
});

test.each(['dns', 'connect', 'tls', 'auth', 'http', 'parse'])(
  'pollOnce() ends the poll at the first resource when the router fails with %s',
  async (code) => {
    const cause = failure(code);
    const { poller, asked } = openBench([MODULE], { a: cause, b: body() });
    expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, isIdle: false, failure: code, error: cause });
    expect(asked).toEqual(['a']);
  },
);

test('pollOnce() takes a refusal that is not from the interface for a failure of the router', async () => {
  const { poller } = openBench([MODULE], { a: failure('http', false, 404) });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({
    isUp: false,
    resources: [{ state: 'failed' }],
    withdrawn: [],
    lacks: [],
  });
});

test('pollOnce() calls an error without a code http', async () => {
  const { poller } = openBench([MODULE], { a: () => Promise.reject('not even an error') });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, failure: 'http' });
});

test('pollOnce() tries the next resource after one that timed out, which may be alone with that', async () => {
  const { poller, asked } = openBench([MODULE], { a: failure('timeout'), b: body() });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: true, failure: undefined });
  expect(asked).toHaveLength(2);
});

test('pollOnce() gives the first reason when every resource failed', async () => {
  const first = failure('timeout');
  const { poller } = openBench([MODULE], { a: first, b: failure('connect') });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, failure: 'timeout', error: first });
});

test('pollOnce() keeps the values read before the router becomes unavailable in the middle of a poll', async () => {
  const { poller } = openBench([MODULE], { a: body(), b: failure('connect') });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({
    isUp: true,
    resources: [{ state: 'read' }, { state: 'failed' }],
  });
});

test('pollOnce() ends at its deadline with the reason timeout', async () => {
  const { poller, clock, asked } = openBench([MODULE], { a: hang, b: body() });
  const result = poller.pollOnce(SIGNAL);
  await clock.advance(DEADLINE_MS);
  const { isUp, failure: reason, error, durationMs } = await result;
  expect({ isUp, reason, durationMs }).toEqual({ isUp: false, reason: 'timeout', durationMs: DEADLINE_MS });
  expect(error).toBeInstanceOf(DeadlineExceeded);
  expect(asked).toEqual(['a']);
});

test('pollOnce() keeps the values read before its deadline, and starts the next poll with the rest', async () => {
  const started = Promise.withResolvers<void>();
  const module = createModule('m', ['a', 'b', 'c', 'd']);
  const bench = openBench([module], { a: body(), c: body(), d: body() });
  bench.script['b'] = (signal: AbortSignal) => {
    started.resolve();
    return hang(signal);
  };
  const result = bench.poller.pollOnce(SIGNAL);
  await started.promise;
  await bench.clock.advance(DEADLINE_MS);
  expect(await result).toMatchObject({ isUp: true, resources: [{ state: 'read' }, { state: 'failed' }] });
  bench.script['b'] = body();
  expect(await bench.poll(60_000)).toEqual(['c', 'd', 'a', 'b']);
  expect(await bench.poll(120_000)).toEqual(['a', 'b', 'c', 'd']);
});

test('pollOnce() rejects with the reason when it is aborted', async () => {
  const abort = new AbortController();
  const reason = new RangeError('stop');
  const { poller, asked } = openBench([MODULE], { a: hang });
  const result = poller.pollOnce(abort.signal);
  abort.abort(reason);
  await expect(result).rejects.toBe(reason);
  expect(asked).toEqual(['a']);
});

test('pollOnce() of no modules asks for one resource that every device has, to know that it is up', async () => {
  const { poller, asked } = openBench([], { device_info: {} });
  expect(await poller.pollOnce(SIGNAL)).toMatchObject({ isUp: true, resources: [{ state: 'read', families: [] }] });
  expect(asked).toEqual(['device_info']);
  expect(poller.tickMs).toBe(60_000);
});

test('a reader takes part after everything else, with the hash of the configuration', async () => {
  const contexts: unknown[] = [];
  const reading = {
    families: [{ name: 'router_x', help: 'X.', type: 'gauge' as const, samples: [{ labels: {}, value: 1 }] }],
    faults: [],
  };
  const configuration = {
    async read(context: object) {
      contexts.push({ ...context });
      return reading;
    },
  };
  const modules = [
    toModule('entries', { reader: 'configuration' }),
    toModule('files', { reader: 'log_files' }),
    createModule('system', ['sysdetail/system', '/x']),
  ];
  const bench = openBench(
    modules,
    { 'sysdetail/system': { status: { unique: { v: 1, hash: 'abc' } } }, '/x': body() },
    { readers: { configuration } },
  );
  const { resources } = await bench.poller.pollOnce(SIGNAL);
  expect(resources.map(({ name }) => name)).toEqual(['sysdetail/system', 'x', 'configuration']);
  expect(resources[2]).toMatchObject({ modules: ['entries'], state: 'read', ...reading });
  bench.script['sysdetail/system'] = body();
  await bench.poll(60_000);
  expect(contexts).toEqual([{ configHash: 'abc' }, { configHash: undefined }]);
});

test('a reader gets no hash of the configuration once the resource that has it has failed for as long as its values last', async () => {
  const hashes: unknown[] = [];
  const configuration = {
    async read({ configHash }: { readonly configHash?: string | undefined }) {
      hashes.push(configHash);
      return { families: [], faults: [] };
    },
  };
  const modules = [
    toModule('entries', { reader: 'configuration' }),
    createModule('system', ['sysdetail/system', '/x']),
  ];
  const script = { 'sysdetail/system': { status: { unique: { v: 1, hash: 'abc' } } }, '/x': body() };
  const bench = openBench(modules, script, { readers: { configuration } });
  await bench.poller.pollOnce(SIGNAL);
  bench.script['sysdetail/system'] = failure('http', true, 500);
  await bench.poll(60_000);
  await bench.poll(60_000);
  await bench.poll(5 * 60_000);
  await bench.poll(5 * 60_000);
  expect(hashes[1]).toBe('abc');
  expect(hashes.at(-1)).toBeUndefined();
  bench.script['sysdetail/system'] = { status: { unique: { v: 1, hash: 'abc' } } };
  await bench.poll(60_000);
  await bench.poll(5 * 60_000);
  expect(hashes.at(-1)).toBe('abc');
  bench.script['sysdetail/system'] = failure('http', true, 404);
  for (let minute = 6; minute <= 10; minute++) await bench.poll(minute * 60_000);
  expect(hashes.at(-1)).toBeUndefined();
});

test('a reader that is refused or fails is like any other resource', async () => {
  const module = toModule('files', { reader: 'log_files' });
  const errors = [failure('auth', true, 403), failure('http', true, 500)];
  const states: unknown[] = [];
  for (const error of errors) {
    const { poller } = openBench([module], {}, { readers: { log_files: { read: () => Promise.reject(error) } } });
    states.push((await poller.pollOnce(SIGNAL)).resources[0]?.state);
  }
  expect(states).toEqual(['forbidden', 'failed']);
});

test.for([
  ['has no rows', []],
  ['has empty rows', [{}, { name: '---', ip: '' }, { v: null, w: ' --- ' }]],
])('a list that %s says nothing, so that nothing is missed in it', async ([, list]) => {
  const { resources } = await openLists(list).pollOnce(SIGNAL);
  expect(resources).toMatchObject([{ state: 'read', families: [], isUnread: false }]);
});

test.for([0, false, 'x', [[[['deep']]]], Array.from({ length: 100_000 }, () => '')])(
  'a list of rows without any field that is known is told, as if it were of another firmware: %#',
  async (value) => {
    const { resources } = await openLists([{}, { other: value }]).pollOnce(SIGNAL);
    expect(resources).toMatchObject([{ state: 'read', families: [], isUnread: true }]);
  },
);

/** A router with one resource that is a list. */
function openLists(list: unknown) {
  const metrics = [{ name: 'router_x', value: 'v' }];
  const module = toModule('m', { resources: [{ path: 'a', each: 'status.list', metrics }] });
  return openBench([module], { a: { status: { list } } }).poller;
}
