import { expect, test } from 'vitest';
import type { PollResult } from '../../src/status/index.ts';
import { body, createModule, device, FORBIDDEN, failure, NOT_FOUND, openBench, type Script } from './poller-bench.ts';
import { toModule } from './shipped-modules.ts';

const SIGNAL = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const METRICS = [{ name: 'router_x', value: 'v', labels: { slot: '$slot' } }];
const MODEM = toModule('modem', { resources: [{ path: 'lte*', optional: true, metrics: METRICS }] });
const PLAIN = createModule('plain', ['plain']);
const WHO = createModule('who', ['device_info'], { identity: true, min_interval: '15m' });

function lacksOf({ lacks }: PollResult): string[] {
  return lacks.map(({ name, isOptional }) => (isOptional ? `${name} optional` : name));
}

test('a star is asked for in every slot of firmware 9.5, and then only where there is something', async () => {
  const bench = openBench([MODEM], { lte2: body(), lte4: body() });
  const result = await bench.poller.pollOnce(SIGNAL);
  expect(bench.asked).toEqual(['lte2', 'lte3', 'lte4', 'lte5']);
  expect(result.resources.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'lte2 read',
    'lte3 unsupported',
    'lte4 read',
    'lte5 unsupported',
  ]);
  expect(result.resources[2]?.families[0]?.samples).toEqual([{ labels: { slot: '4' }, value: 1 }]);
  expect(result.resources[1]).toMatchObject({ families: [], isOptional: true, error: NOT_FOUND });
  expect(lacksOf(result)).toEqual([]);
  expect(await bench.poll(MINUTE)).toEqual(['lte2', 'lte4']);
});

test('a star without any slot is shown as it is written', async () => {
  const bench = openBench([MODEM, PLAIN], { plain: body() });
  expect(lacksOf(await bench.poller.pollOnce(SIGNAL))).toEqual(['lte* optional']);
});

test('a star is not shown as absent before every slot was asked for', async () => {
  const bench = openBench([MODEM], { lte4: failure('connect') });
  expect(lacksOf(await bench.poller.pollOnce(SIGNAL))).toEqual([]);
});

test('a path that one module names and another has by a star is one resource, absent or not', async () => {
  const named = toModule('named', { resources: [{ path: 'lte3', metrics: METRICS }] });
  const bench = openBench([MODEM, named], { lte2: body() });
  const result = await bench.poller.pollOnce(SIGNAL);
  expect(bench.asked).toHaveLength(4);
  expect(result.resources.map(({ name, modules }) => [name, modules])).toContainEqual(['lte3', ['modem', 'named']]);
  expect(lacksOf(result)).toEqual(['lte3']);
});

test('what is absent is asked for again after a day, what is forbidden after an hour', async () => {
  const bench = openBench([createModule('m', ['plain', 'absent', 'forbidden'])], {
    plain: body(),
    forbidden: FORBIDDEN,
  });
  const result = await bench.poller.pollOnce(SIGNAL);
  expect(result).toMatchObject({ isUp: true, failure: undefined, error: undefined });
  expect(result.resources.map(({ state }) => state)).toEqual(['read', 'unsupported', 'forbidden']);
  expect(lacksOf(result)).toEqual(['absent']);
  expect(await bench.poll(HOUR - 1)).toEqual(['plain']);
  expect(await bench.poll(HOUR)).toEqual(['plain', 'forbidden']);
  bench.script['forbidden'] = body();
  expect(await bench.poll(2 * HOUR)).toEqual(['plain', 'forbidden']);
  expect(await bench.poll(24 * HOUR - 1)).toEqual(['plain', 'forbidden']);
  bench.script['absent'] = body();
  expect(await bench.poll(24 * HOUR)).toEqual(['plain', 'absent', 'forbidden']);
  expect(lacksOf(await bench.poller.pollOnce(SIGNAL))).toEqual([]);
});

test('isFresh does not ask for what is known to be absent', async () => {
  const bench = openBench([createModule('m', ['plain', 'absent'])], { plain: body() });
  await bench.poll(0);
  expect(await bench.poll(1000, { isFresh: true })).toEqual(['plain']);
});

test('a resource that vanishes fails and is asked for with growing waits for an hour, and is absent from then on', async () => {
  const bench = openBench([PLAIN, MODEM], { plain: body(), lte2: body() });
  await bench.poll(0);
  bench.script['lte2'] = NOT_FOUND;
  const states: string[] = [];
  const minutes: number[] = [];
  for (let minute = 1; minute <= 180; minute++) {
    await bench.clock.advance(MINUTE);
    bench.asked.length = 0;
    const result = await bench.poller.pollOnce(SIGNAL);
    if (bench.asked.includes('lte2')) minutes.push(minute);
    states.push(...result.resources.filter(({ name }) => name === 'lte2').map(({ state }) => state));
    if (minute === 60) expect(lacksOf(result)).toEqual([]);
    if (minute === 180) expect(lacksOf(result)).toEqual(['lte* optional']);
  }
  expect(minutes).toEqual([1, 2, 3, 5, 9, 17, 33, 65]);
  expect(states).toEqual([...minutes.slice(1).map(() => 'failed'), 'unsupported']);
});

test('a resource that vanishes and comes back is read in the next poll, and needs confirmation again when it vanishes again', async () => {
  const bench = openBench([PLAIN, MODEM], { plain: body(), lte2: body() });
  await bench.poll(0);
  for (const minute of [1, 3]) {
    bench.script['lte2'] = NOT_FOUND;
    expect(await bench.poll(minute * MINUTE)).toEqual(['plain', 'lte2']);
    bench.script['lte2'] = body();
    expect(await bench.poll((minute + 1) * MINUTE)).toEqual(['plain', 'lte2']);
  }
});

test('a resource that vanishes with another firmware is absent at once', async () => {
  const bench = openBench([WHO, MODEM], { device_info: device('6.1'), lte2: body() });
  await bench.poll(0);
  bench.script['device_info'] = device('9.5');
  bench.script['lte2'] = NOT_FOUND;
  const result = await bench.poller.pollOnce(SIGNAL, { isFresh: true });
  expect(result.resources.find(({ name }) => name === 'lte2')?.state).toBe('unsupported');
});

test('a resource that only failed keeps what was known of it', async () => {
  const bench = openBench([PLAIN], { plain: body() });
  await bench.poll(0);
  bench.script['plain'] = failure('http', true, 500);
  expect(lacksOf(await bench.poller.pollOnce(SIGNAL))).toEqual([]);
});

test('a router that refuses everything is asked for one resource in each poll, and is not up', async () => {
  const bench = openBench([createModule('m', ['a', 'b'])], { a: FORBIDDEN, b: FORBIDDEN });
  await bench.poll(0);
  expect(await bench.poll(MINUTE)).toEqual(['a']);
  expect(await bench.poller.pollOnce(SIGNAL)).toMatchObject({ isUp: false, isIdle: false, failure: 'auth' });
});

test('after its firmware changed a router is asked for everything at once, in the same poll', async () => {
  const slow = toModule('slow', {
    min_interval: '5m',
    resources: [{ path: 'sfp*', optional: true, metrics: METRICS }],
  });
  const bench = openBench([WHO, PLAIN, slow], { device_info: device('6.1'), plain: body() });
  expect(await bench.poll(0)).toHaveLength(6);
  bench.poller.renewIdentity();
  expect(await bench.poll(MINUTE)).toEqual(['device_info', 'plain']);
  bench.script['device_info'] = device('9.5');
  bench.script['sfp2'] = body();
  bench.poller.renewIdentity();
  expect(await bench.poll(2 * MINUTE)).toEqual(['device_info', 'plain', 'sfp2', 'sfp3', 'sfp4', 'sfp5']);
  const result = await bench.poller.pollOnce(SIGNAL);
  expect(result.firmwareVersion).toBe('9.5');
  expect(lacksOf(result)).toEqual([]);
});

test('a device_info that says no firmware changes nothing', async () => {
  const bench = openBench([WHO, createModule('m', ['absent'])], { device_info: device('6.1') });
  await bench.poll(0);
  bench.script['device_info'] = device('');
  bench.poller.renewIdentity();
  expect(await bench.poll(MINUTE)).toEqual(['device_info']);
  expect((await bench.poller.pollOnce(SIGNAL)).firmwareVersion).toBe('6.1');
});

test('what a router lacks is known to the next poller of it, until its day is over', async () => {
  const script = { device_info: device('6.1'), plain: body(), lte2: body(), forbidden: FORBIDDEN };
  const modules = [WHO, PLAIN, MODEM, createModule('m', ['forbidden'])];
  const first = openBench(modules, script);
  await first.poll(0);
  const state = first.poller.takeState();
  expect(first.poller.takeState()).toBeUndefined();
  await first.poll(MINUTE);
  expect(first.poller.takeState()).toBeUndefined();

  const next = openBench(modules, script, { previous: state });
  // Rights may have been granted meanwhile.
  expect(await next.poll(HOUR)).toEqual(['device_info', 'plain', 'lte2', 'forbidden']);
  expect(lacksOf(await next.poller.pollOnce(SIGNAL))).toEqual([]);
  expect(await next.poll(24 * HOUR)).toEqual(expect.arrayContaining(['lte3', 'lte4', 'lte5']));
  expect(next.poller.takeState()).toBeDefined();
});

test.for([
  ['another firmware', { device_info: device('9.5') }],
  ['another device', { device_info: device('6.1', 'SN-2') }],
] as const)('the next poller asks for everything if it meets %s', async ([, other]) => {
  const first = openBench([WHO, MODEM], { device_info: device('6.1', 'SN-1'), lte2: body() });
  await first.poll(0);
  const next = openBench([WHO, MODEM], { ...other, lte2: body() }, { previous: first.poller.takeState() });
  expect(await next.poll(0)).toEqual(['device_info', 'lte2', 'lte3', 'lte4', 'lte5']);
});

test('a router is asked for everything, whatever another one of the same product and firmware lacks', async () => {
  await openBench([WHO, MODEM], { device_info: device('9.5', 'SN-1'), lte2: body() }).poll(0);
  const second = openBench([WHO, MODEM], { device_info: device('9.5', 'SN-2'), lte2: body(), lte5: body() });
  expect(await second.poll(0)).toEqual(['device_info', 'lte2', 'lte3', 'lte4', 'lte5']);
  expect(await second.poll(MINUTE)).toEqual(['lte2', 'lte5']);
});

test.for([
  '',
  '{',
  '[]',
  '{"version":2,"lacks":[]}',
  '{"version":1,"lacks":[null,3,{"resource":"lte2","untilMs":"1"}]}',
])('a state that is none of these is as good as none: %s', async (previous) => {
  const bench = openBench([MODEM], { lte2: body() }, { previous });
  expect(await bench.poll(0)).toEqual(['lte2', 'lte3', 'lte4', 'lte5']);
});

test('a state lasts no longer than a day, whatever the clock of this machine said when it was written', async () => {
  const lacks = [{ resource: 'lte3', untilMs: Date.UTC(2099, 0) }];
  const bench = openBench(
    [MODEM],
    { lte2: body() },
    { previous: JSON.stringify({ version: 1, serial: 'SN-1', lacks, phases: [] }) },
  );
  expect(await bench.poll(0)).toEqual(['lte2', 'lte4', 'lte5']);
  expect(await bench.poll(24 * HOUR)).toContain('lte3');
});

test('what a router lacks is not known to the next poller without the identity of the router, and is handed over with it once it is read', async () => {
  const script: Script = { device_info: failure('http', true, 503), lte2: body() };
  const first = openBench([WHO, MODEM], script);
  await first.poll(0);
  const early = openBench(
    [WHO, MODEM],
    { device_info: device('9.5'), lte2: body() },
    { previous: first.poller.takeState() },
  );
  expect(await early.poll(0)).toEqual(['device_info', 'lte2', 'lte3', 'lte4', 'lte5']);

  first.script['device_info'] = device('6.1', 'SN-1');
  await first.poll(2 * MINUTE);
  const previous = first.poller.takeState();
  const next = openBench([WHO, MODEM], script, { previous });
  next.script['device_info'] = failure('http', true, 503);
  expect(await next.poller.pollOnce(SIGNAL)).toMatchObject({ serialNumber: undefined, firmwareVersion: undefined });
  next.script['device_info'] = device('9.5', 'SN-1');
  next.poller.renewIdentity();
  expect(await next.poll(HOUR)).toEqual(['device_info', 'lte2', 'lte3', 'lte4', 'lte5']);
});
