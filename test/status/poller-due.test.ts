import { expect, test } from 'vitest';
import { body, createModule, device, failure, openBench } from './poller-bench.ts';
import { toModule } from './shipped-modules.ts';

const SIGNAL = new AbortController().signal;
const MINUTE = 60_000;
const FAST = createModule('fast', ['fast'], { interval: '10s' });
const PLAIN = createModule('plain', ['plain']);
const SLOW = createModule('slow', ['slow'], { min_interval: '5m' });
const WHO = createModule('who', ['device_info'], { identity: true, min_interval: '15m' });

test('tickMs is the shortest interval; min_interval never asks for more than the router is polled', () => {
  const tick = (modules: Parameters<typeof openBench>[0], intervalMs = MINUTE) =>
    openBench(modules, {}, { intervalMs }).poller.tickMs;
  expect(tick([PLAIN, SLOW])).toBe(MINUTE);
  expect(tick([PLAIN, SLOW, FAST])).toBe(10_000);
  expect(tick([SLOW])).toBe(5 * MINUTE);
  expect(tick([PLAIN, SLOW], 10 * MINUTE)).toBe(10 * MINUTE);
});

test('each module is read at its own interval, in whole ticks', async () => {
  const odd = createModule('odd', ['odd'], { interval: '25s' });
  const bench = openBench([FAST, odd, PLAIN], { fast: body(), odd: body(), plain: body() });
  const polls: string[] = [];
  for (let atMs = 0; atMs <= 70_000; atMs += 10_000) polls.push((await bench.poll(atMs)).join(' '));
  expect(polls).toEqual(['fast odd plain', 'fast', 'fast', 'fast odd', 'fast', 'fast', 'fast odd plain', 'fast']);
});

test('late or early polls do not delay a resource by another tick', async () => {
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: body() });
  const polls: number[] = [];
  for (const atMs of [50_000, 61_000, 3 * MINUTE, 5 * MINUTE + 25_000, 6 * MINUTE, 10 * MINUTE + 1000]) {
    polls.push((await bench.poll(atMs)).length);
  }
  expect(polls).toEqual([2, 1, 1, 2, 1, 2]);
});

test('a path is read at the shortest interval of the modules that use it', async () => {
  const alsoSlow = createModule('also', ['slow'], { interval: '2m' });
  for (const modules of [
    [PLAIN, SLOW, alsoSlow],
    [PLAIN, alsoSlow, SLOW],
  ]) {
    const bench = openBench(modules, { plain: body(), slow: body() });
    const polls: number[] = [];
    for (const minute of [0, 1, 2, 3, 4]) polls.push((await bench.poll(minute * MINUTE)).length);
    expect(polls).toEqual([2, 1, 2, 1, 2]);
  }
});

test('values may be old by three intervals of their resource, or by stale_after if that is longer', async () => {
  const { poller } = openBench([PLAIN, SLOW, FAST], { plain: body(), slow: body(), fast: body() });
  const { resources } = await poller.pollOnce(SIGNAL);
  expect(resources.map(({ name, staleAfterMs }) => [name, staleAfterMs])).toEqual([
    ['plain', 3 * MINUTE],
    ['slow', 15 * MINUTE],
    ['fast', 3 * MINUTE],
  ]);
});

test('isFresh makes everything due', async () => {
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: body() });
  expect(await bench.poll(0)).toEqual(['plain', 'slow']);
  expect(await bench.poll(1000, { isFresh: true })).toEqual(['plain', 'slow']);
});

test('stretch multiplies the intervals, those of slow modules on their own', async () => {
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: body() });
  const stretch = (isSlow: boolean) => (isSlow ? 2 : 1);
  const polls: number[] = [];
  for (const minute of [0, 5, 9, 10])
    polls.push((await bench.poll(minute * MINUTE, { intervalMultiplier: stretch })).length);
  expect(polls).toEqual([2, 1, 1, 2]);
  const { resources } = await bench.poller.pollOnce(SIGNAL, { intervalMultiplier: stretch, isFresh: true });
  expect(resources.map(({ staleAfterMs }) => staleAfterMs)).toEqual([3 * MINUTE, 30 * MINUTE]);
});

test('with all intervals stretched, idle polls repeat the last result', async () => {
  const bench = openBench([PLAIN], { plain: body() });
  const options = { intervalMultiplier: () => 2.5 };
  expect(await bench.poller.pollOnce(SIGNAL, options)).toMatchObject({ isUp: true, isIdle: false });
  await bench.clock.advance(MINUTE);
  expect(await bench.poller.pollOnce(SIGNAL, options)).toMatchObject({
    isUp: true,
    isIdle: true,
    resources: [],
    failure: undefined,
  });
  expect([await bench.poll(2 * MINUTE, options), await bench.poll(3 * MINUTE, options)]).toEqual([[], ['plain']]);
});

test('a liveness probe reads one resource when none is due, and nothing more when one is', async () => {
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: body() });
  const options = { intervalMultiplier: () => 4, needsLivenessProbe: true };
  expect(await bench.poll(0, options)).toEqual(['plain', 'slow']);
  expect(await bench.poll(2 * MINUTE, options)).toEqual(['plain']);
  expect(await bench.poll(6 * MINUTE, options)).toEqual(['plain']);
  expect(await bench.poll(8 * MINUTE, { intervalMultiplier: () => Infinity, needsLivenessProbe: true })).toEqual([
    'plain',
  ]);
});

/** Polls every minute until `minutes`; `multiplier` and `slowResourcesMax` hold from minute 5 on. Returns the ages of `names` at their readings, in minutes, after the first. */
async function readAges(
  bench: ReturnType<typeof openBench>,
  minutes: number,
  options: Parameters<typeof bench.poller.pollOnce>[1],
) {
  const read = new Map<string, number>();
  const ages: (readonly [name: string, age: number, staleAfter: number])[] = [];
  const lives = new Map<string, number>();
  for (let minute = 0; minute <= minutes; minute++) {
    await bench.clock.advance(minute * MINUTE - bench.clock.monotonic());
    const { resources } = await bench.poller.pollOnce(SIGNAL, minute < 5 ? {} : options);
    for (const { name, staleAfterMs } of resources) {
      const before = read.get(name);
      if (before !== undefined) ages.push([name, minute - before, (lives.get(name) ?? 0) / MINUTE]);
      read.set(name, minute);
      lives.set(name, staleAfterMs);
    }
  }
  return ages;
}

test('an interval that is extended lets no values expire that were read before, however many may be read in one poll', async () => {
  const paths = Array.from({ length: 24 }, (_, index) => `slow${index}`);
  const many = createModule('many', paths, { min_interval: '5m' });
  const hourly = createModule('hourly', ['hourly'], { min_interval: '1h' });
  const script = Object.fromEntries([...paths, 'plain', 'hourly'].map((path) => [path, body()]));
  const bench = openBench([PLAIN, many, hourly], script);
  const ages = await readAges(bench, 6 * 60, {
    intervalMultiplier: (isSlow) => (isSlow ? 4 : 1),
    slowResourcesMax: 2,
  });
  expect(ages.filter(([, age, staleAfter]) => age > staleAfter)).toEqual([]);
  // Read ahead once, as soon as the others leave room; from then on at the longer interval.
  const agesOf = (one: string) => ages.filter(([name]) => name === one).map(([, age]) => age);
  expect(agesOf('hourly')).toEqual([121]);
  expect(agesOf('slow0').slice(0, 4)).toEqual([10, 20, 20, 20]);
});

test('values that would expire before the next poll ends are read whatever slowResourcesMax says; what fails is not tried at each poll for that', async () => {
  const many = createModule('many', ['a', 'b', 'c', 'd'], { min_interval: '5m' });
  const bench = openBench([PLAIN, many], { plain: body(), a: body(), b: body(), c: body(), d: body() });
  await bench.poll(0);
  const options = { intervalMultiplier: (isSlow: boolean) => (isSlow ? 4 : 1), slowResourcesMax: 1 };
  expect(await bench.poll(13 * MINUTE, { ...options, mayExpire: true })).toEqual(['plain']);
  bench.script['a'] = failure('http', true, 500);
  // The polls between were lost.
  expect(await bench.poll(14 * MINUTE, options)).toEqual(['plain', 'a', 'b', 'c', 'd']);
  expect(await bench.poll(15 * MINUTE, options)).toEqual(['plain']);
  expect(await bench.poll(18 * MINUTE, options)).toEqual(['plain', 'a']);
});

test('a stretch without end leaves modules out, also those that were never read or have failed', async () => {
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: failure('http', true, 500) });
  const options = { intervalMultiplier: (isSlow: boolean) => (isSlow ? Infinity : 0.5) };
  expect(await bench.poll(0, options)).toEqual(['plain']);
  expect(await bench.poll(MINUTE)).toEqual(['plain', 'slow']);
  expect(await bench.poll(60 * MINUTE, options)).toEqual(['plain']);
});

test('a slow resource that failed is tried again soon, then ever later, up to its interval', async () => {
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: failure('http', true, 500) });
  const tried: number[] = [];
  for (let minute = 0; minute <= 20; minute++) if ((await bench.poll(minute * MINUTE)).length === 2) tried.push(minute);
  expect(tried).toEqual([0, 1, 3, 7, 12, 17]);
  bench.script['slow'] = body();
  expect(await bench.poll(22 * MINUTE)).toHaveLength(2);
  expect(await bench.poll(23 * MINUTE)).toHaveLength(1);
  expect(await bench.poll(27 * MINUTE)).toHaveLength(2);
});

test('what a lost router was not asked for stays due, and who it is is asked again first', async () => {
  const bench = openBench([PLAIN, SLOW, WHO], { device_info: device('9.5'), plain: body(), slow: body() });
  await bench.poll(0);
  bench.script['plain'] = failure('connect');
  expect(await bench.poll(5 * MINUTE)).toEqual(['plain']);
  bench.script['plain'] = body();
  expect(await bench.poll(6 * MINUTE)).toEqual(['device_info', 'slow', 'plain']);
  expect(await bench.poll(7 * MINUTE)).toEqual(['plain']);
});

test('a poll that loses the router only after an answer does not make its identity due', async () => {
  const bench = openBench([WHO, createModule('m', ['a', 'b'])], { device_info: device('9.5'), a: body(), b: body() });
  await bench.poll(0);
  bench.script['b'] = failure('connect');
  expect(await bench.poll(MINUTE)).toEqual(['a', 'b']);
  expect(await bench.poll(2 * MINUTE)).toEqual(['a', 'b']);
});

test('renewIdentity() makes identity due in the next poll', async () => {
  const bench = openBench([PLAIN, WHO], { device_info: device('9.5'), plain: body() });
  await bench.poll(0);
  bench.poller.renewIdentity();
  expect(await bench.poll(MINUTE)).toEqual(['device_info', 'plain']);
  expect(await bench.poll(2 * MINUTE)).toEqual(['plain']);
});

test('renewIdentity() during a poll has identity read in it, once, unless it was read after that', async () => {
  const bench = openBench([PLAIN, WHO], { device_info: device('9.5'), plain: body() });
  const loggingIn = (document: object) => () => {
    bench.poller.renewIdentity();
    return document;
  };
  bench.script['device_info'] = loggingIn(device('9.5'));
  expect(await bench.poll(0)).toEqual(['device_info', 'plain']);
  bench.script['device_info'] = device('9.5');
  bench.script['plain'] = loggingIn(body());
  expect(await bench.poll(MINUTE)).toEqual(['plain', 'device_info']);
  bench.script['device_info'] = loggingIn(device('9.5'));
  expect(await bench.poll(2 * MINUTE)).toEqual(['plain', 'device_info']);
});

test('slowResourcesMax spreads slow modules over several polls, the ones that waited first, and leaves the others alone', async () => {
  const many = createModule('many', ['a', 'b', 'c'], { min_interval: '5m' });
  const bench = openBench([PLAIN, many], { plain: body(), a: body(), b: body(), c: body() });
  const polls: string[] = [];
  for (let minute = 0; minute <= 5; minute++) {
    polls.push((await bench.poll(minute * MINUTE, { slowResourcesMax: 2 })).join(' '));
  }
  expect(polls).toEqual(['plain a b', 'c plain', 'plain', 'plain', 'plain', 'plain a b']);
  expect((await bench.poll(30 * MINUTE, { slowResourcesMax: 2, isFresh: true })).toSorted()).toEqual([
    'a',
    'b',
    'c',
    'plain',
  ]);
});

test('after a restart, everything is read at once, and slow modules then again when the earlier poller would have read them', async () => {
  const script = { device_info: device('6.1', 'SN-1'), plain: body(), slow: body() };
  const modules = [WHO, PLAIN, SLOW];
  const first = openBench(modules, script);
  await first.poll(0);
  await first.poll(5 * MINUTE);
  // The clocks of both begin at the same time.
  const next = openBench(modules, script, { previous: first.poller.takeState() });
  const polls: string[] = [];
  for (const minute of [2, 3, 4, 5, 6, 9, 10, 15]) {
    if ((await next.poll(minute * MINUTE)).includes('slow')) polls.push(String(minute));
  }
  expect(polls).toEqual(['2', '5', '10', '15']);
});

test.for([
  ['of another interval', [{ resource: 'slow', intervalMs: 6 * MINUTE, phaseMs: 0 }]],
  ['beyond the interval', [{ resource: 'slow', intervalMs: 5 * MINUTE, phaseMs: 6 * MINUTE }]],
  ['that is no number', [{ resource: 'slow', intervalMs: 5 * MINUTE, phaseMs: null }]],
] as const)('a phase %s changes nothing', async ([, phases]) => {
  const previous = JSON.stringify({ version: 1, serial: 'SN-1', lacks: [], phases });
  const bench = openBench([PLAIN, SLOW], { plain: body(), slow: body() }, { previous });
  const polls: number[] = [];
  for (const minute of [2, 5, 6, 7]) polls.push((await bench.poll(minute * MINUTE)).length);
  expect(polls).toEqual([2, 1, 1, 2]);
});

test('labels of another resource go when the rows of that could not be read for as long as its values last', async () => {
  const module = createModule('joined', [], {
    resources: [
      {
        path: 'ports',
        each: 'status.list',
        labels: { place: '@room' },
        join: { path: 'places', each: 'status.list', by: 'name', key: 'id' },
        metrics: [{ name: 'router_port', help: 'A port.', type: 'gauge', value: 'v' }],
      },
    ],
  });
  const ports = { status: { list: [{ name: 'a', v: 1 }] } };
  const places = { status: { list: [{ id: 'a', room: 'cellar' }] } };
  const bench = openBench([module], { ports, places });
  const seen: unknown[] = [];
  const poll = async (minute: number) => {
    await bench.clock.advance(minute * MINUTE - bench.clock.monotonic());
    const { resources } = await bench.poller.pollOnce(SIGNAL, { holdsValues: () => true });
    const read = resources.find(({ name }) => name === 'ports');
    seen.push(read?.families[0]?.samples[0]?.labels);
  };
  await poll(0);
  bench.script['places'] = failure('http', true, 500);
  for (const minute of [1, 2, 3]) await poll(minute);
  bench.script['places'] = places;
  await poll(4);
  expect(seen).toEqual([{ place: 'cellar' }, { place: 'cellar' }, { place: 'cellar' }, {}, { place: 'cellar' }]);
});

test('the resources of an aborted poll are read again by the next one, whatever their interval', async () => {
  const abort = new AbortController();
  const { poller, asked, script } = openBench([WHO, SLOW, PLAIN], {
    device_info: device('5.3'),
    slow: body(),
    plain: () => {
      abort.abort(new RangeError('stop'));
      return body();
    },
  });
  await expect(poller.pollOnce(abort.signal)).rejects.toThrow('stop');
  script['plain'] = body();
  asked.length = 0;
  const { resources } = await poller.pollOnce(SIGNAL);
  expect(asked).toEqual(['device_info', 'slow', 'plain']);
  expect(resources.map(({ name, state, families }) => [name, state, families.length])).toEqual([
    ['device_info', 'read', 1],
    ['slow', 'read', 1],
    ['plain', 'read', 1],
  ]);
});

test('a resource that is joined with one at which the router always breaks off is read all the same', async () => {
  const things = {
    path: 'things',
    each: 'status.list',
    join: { path: 'places', each: 'status.list', by: 'name', key: 'id' },
    metrics: [{ name: 'router_thing', value: 'v', labels: { name: 'name', place: '@place' } }],
  };
  const answers = { places: failure('connect'), things: body(), plain: body() };
  const bench = openBench([toModule('joined', { resources: [things] }), PLAIN], answers);
  const polls: string[] = [];
  for (let poll = 0; poll < 4; poll++) polls.push((await bench.poll(poll * MINUTE)).join(' '));
  expect(polls).toEqual(['places', 'things plain places', 'places', 'things plain places']);
});
