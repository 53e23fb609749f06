import { describe, expect, it, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { ComplianceReader, type ExpectedValue } from '../../src/status/index.ts';

const START_MS = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEB = 'administration/webinterface';
const LOGGING = 'administration/logging';
const RULES: readonly ExpectedValue[] = [
  { resource: WEB, field: ['active', 'http_active'], value: '0' },
  { resource: LOGGING, field: 'active', value: '1' },
  { rule: 'timeout', resource: WEB, field: 'session_timeout', value: '15' },
];

const refusal = (status: number) =>
  new RouterReadError('http', `answered with ${status}`, { disposition: 'skip', status, isAnswered: true });
const GONE = new RouterReadError('connect', 'The connection was lost', { disposition: 'retry' });

/** A router with resources; an error in the place of one is thrown. */
function createBench(rules: readonly ExpectedValue[] = RULES) {
  const clock = createSteppedClock(START_MS);
  const resources = new Map<string, Record<string, string> | Error>([
    [WEB, { http_active: '0', session_timeout: '60' }],
    [LOGGING, { active: '1' }],
  ]);
  const asked: string[] = [];
  const open = (own: readonly ExpectedValue[], previous?: string) =>
    new ComplianceReader({
      rules: own,
      clock,
      previous,
      async readFields(resource) {
        asked.push(resource);
        const answer = resources.get(resource) ?? refusal(404);
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
  let reader = open(rules);
  return {
    clock,
    resources,
    asked,
    get state() {
      return reader.state;
    },
    /** One reading: `rule value` of each series, and what was asked for. */
    async read(configHash: string | undefined, serialNumber?: string) {
      asked.length = 0;
      const { families, isFromMemory } = await reader.read({ configHash, serialNumber }, new AbortController().signal);
      const series = families.flatMap(({ samples }) =>
        samples.map(({ labels, value }) => `${labels['rule']} ${value}`),
      );
      return { series, asked: [...asked], isFromMemory };
    },
    restart(own = rules, state = reader.state) {
      reader = open(own, state);
    },
  };
}

const ALL = ['webinterface.active 1', 'logging.active 1', 'timeout 0'];

describe('expected values of the configuration', () => {
  it('are compared at the first contact, with one request for each resource', async () => {
    const bench = createBench();
    expect(await bench.read('a')).toEqual({ series: ALL, asked: [WEB, LOGGING], isFromMemory: false });
    expect(await bench.read('a')).toEqual({ series: ALL, asked: [], isFromMemory: true });
  });

  it('are read again at once of another device, and not when a device is first known', async () => {
    const bench = createBench();
    await bench.read('a');
    await bench.read('a', '1');
    bench.restart();
    expect((await bench.read('a', '1')).asked).toEqual([]);
    expect((await bench.read('a', '2')).asked).toEqual([WEB, LOGGING]);
  });

  it('are read again once the hash has changed and a day has passed, and not before', async () => {
    const bench = createBench();
    await bench.read('a');
    bench.resources.set(LOGGING, { active: '0' });
    await bench.clock.advance(DAY_MS - HOUR_MS);
    expect((await bench.read('b')).series).toEqual(ALL);
    await bench.clock.advance(HOUR_MS);
    const changed = ['webinterface.active 1', 'logging.active 0', 'timeout 0'];
    expect(await bench.read('b')).toEqual({ series: changed, asked: [WEB, LOGGING], isFromMemory: false });
    await bench.clock.advance(30 * DAY_MS);
    expect(await bench.read('b')).toEqual({ series: changed, asked: [], isFromMemory: true });
  });

  it('are read every day from a router without a hash', async () => {
    const bench = createBench();
    await bench.read(undefined);
    await bench.clock.advance(DAY_MS - HOUR_MS);
    expect((await bench.read(undefined)).asked).toEqual([]);
    await bench.clock.advance(HOUR_MS);
    expect((await bench.read(undefined)).asked).toEqual([WEB, LOGGING]);
  });

  it('are known after a restart, from at most 200 bytes, and read again at once if the rules have changed', async () => {
    const bench = createBench();
    await bench.read('a');
    bench.restart();
    expect(await bench.read('a')).toEqual({ series: ALL, asked: [], isFromMemory: true });
    bench.restart(RULES.slice(1));
    expect((await bench.read('a')).asked).toEqual([LOGGING, WEB]);
    for (const state of ['', 'null', '{', '{"rules":1}', JSON.stringify({ rules: 'x', verdicts: '111' })]) {
      bench.restart(RULES, state);
      expect((await bench.read('a')).series).toEqual(ALL);
    }
    const many = createBench(
      Array.from({ length: 32 }, (_, index) => ({ resource: WEB, field: `f${index}`, value: '' })),
    );
    await many.read('a'.repeat(10_000));
    expect(many.state.length).toBeLessThan(200);
  });

  it('have no series where the router lacks the resource or the field, which are asked for again the next day', async () => {
    const bench = createBench();
    bench.resources.set(WEB, { other: '0', session_timeout: '15' });
    bench.resources.delete(LOGGING);
    expect((await bench.read('a')).series).toEqual(['timeout 1']);
    await bench.clock.advance(HOUR_MS);
    expect((await bench.read('a')).asked).toEqual([]);
    await bench.clock.advance(DAY_MS);
    bench.resources.set(LOGGING, { active: '1' });
    expect(await bench.read('a')).toEqual({
      series: ['logging.active 1', 'timeout 1'],
      asked: [WEB, LOGGING],
      isFromMemory: false,
    });
  });

  it('cost one request a day of an account that may not read them, also after a restart', async () => {
    const bench = createBench();
    bench.resources.set(WEB, refusal(403));
    for (const asked of [1, 0, 0]) {
      bench.asked.length = 0;
      await expect(bench.read('a')).rejects.toMatchObject({ status: 403, isAnswered: true });
      expect(bench.asked).toHaveLength(asked);
      bench.restart();
    }
    await bench.clock.advance(DAY_MS);
    bench.resources.set(WEB, { active: '0', session_timeout: '15' });
    expect((await bench.read('a')).series).toEqual(['webinterface.active 1', 'logging.active 1', 'timeout 1']);
  });

  it('of one refused resource are unknown, beside those of the others', async () => {
    const bench = createBench();
    bench.resources.set(LOGGING, refusal(403));
    expect((await bench.read('a')).series).toEqual(['webinterface.active 1', 'timeout 0']);
  });

  it('go on after an outage with what was not reached, also after a restart', async () => {
    const bench = createBench();
    bench.resources.set(LOGGING, GONE);
    await expect(bench.read('a')).rejects.toBe(GONE);
    bench.restart();
    bench.resources.set(LOGGING, { active: '1' });
    expect(await bench.read('a')).toEqual({ series: ALL, asked: [LOGGING], isFromMemory: false });
  });

  it('are unknown for a day where one resource is silent, and an outage where two are', async () => {
    const bench = createBench();
    const silence = new RouterReadError('timeout', 'No answer', { disposition: 'retry' });
    bench.resources.set(WEB, silence);
    expect((await bench.read('a')).series).toEqual(['logging.active 1']);
    bench.resources.set(LOGGING, silence);
    await bench.clock.advance(DAY_MS);
    await expect(bench.read('b')).rejects.toBe(silence);
  });

  it('are left to the next poll if the router asks for a delay', async () => {
    const bench = createBench();
    const options = { disposition: 'retry', status: 503, isAnswered: true, retryAfterMs: 1000 } as const;
    const delay = new RouterReadError('http', 'answered with 503', options);
    bench.resources.set(LOGGING, delay);
    await expect(bench.read('a')).rejects.toBe(delay);
    bench.resources.set(LOGGING, { active: '1' });
    expect(await bench.read('a')).toMatchObject({ series: ALL, asked: [LOGGING] });
  });

  it('are not read again before a day has passed if the clock is set back', async () => {
    const bench = createBench();
    await bench.read('a');
    bench.clock.jump(-HOUR_MS);
    expect((await bench.read('b')).asked).toEqual([]);
  });
});

test('a field with a name that every object has is unknown', async () => {
  const bench = createBench([{ resource: WEB, field: ['constructor', '__proto__'], value: '0' }]);
  expect((await bench.read('a')).series).toEqual([]);
});
