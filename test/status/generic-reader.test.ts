import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { GenericReader } from '../../src/status/index.ts';
import { loadShippedModules } from './shipped-modules.ts';

const SIGNAL = new AbortController().signal;
const NOW_MS = Date.UTC(2026, 10, 29);
const HOUR_MS = 3_600_000;

/** A router that has the resources of `bodies`, and what it was asked for. */
function createBench(bodies: Readonly<Record<string, unknown>>, previous?: string) {
  const clock = createSteppedClock(NOW_MS);
  const asked: string[] = [];
  const source = {
    async readDocument(path: string) {
      asked.push(path);
      const body = bodies[path];
      if (body instanceof Error) throw body;
      if (body === undefined) throw refuse(404);
      return { body, digest: undefined };
    },
  };
  const reader = new GenericReader({ source, clock, modules: loadShippedModules(), previous });
  return { clock, asked, reader };
}

function refuse(status: number): RouterReadError {
  return new RouterReadError('http', 'No', { disposition: 'skip', isAnswered: true, status });
}

async function readValues(reader: GenericReader): Promise<Record<string, number>> {
  const { families } = await reader.read(undefined, SIGNAL);
  return Object.fromEntries(
    families.flatMap(({ name, samples }) =>
      samples.map(({ labels, value }) => [`${name} ${Object.values(labels).join(' ')}`.trim(), value]),
    ),
  );
}

describe('the module generic', () => {
  test('serves numbers and flags of single values, rows and rows in rows, in base units, under the names of the router', async () => {
    const { reader } = createBench({
      wlan1: {
        status: {
          unique: { channel: '6', active: 'yes', mode: 'access point', noise: '-95 dBm' },
          list: [
            { rate: '54', idle: '3 min', sublist: [{ queue: 1 }] },
            { rate: '11', roaming: false, stats: { frames: '0x10' } },
          ],
        },
      },
    });
    expect(await readValues(reader)).toEqual({
      'router_status_rows wlan1': 2,
      'router_status_value wlan1 channel': 6,
      'router_status_value wlan1 active': 1,
      'router_status_value wlan1 noise': -95,
      'router_status_value wlan1 rate 1': 54,
      'router_status_value wlan1 idle 1': 180,
      'router_status_value wlan1 sublist.queue 1.1': 1,
      'router_status_value wlan1 rate 2': 11,
      'router_status_value wlan1 roaming 2': 0,
      'router_status_value wlan1 stats.frames 2': 16,
    });
  });

  test('leaves out texts, secrets, identities and numbers that no double holds', async () => {
    const { reader } = createBench({
      wlan1: {
        status: {
          unique: {
            pin: { value: '1234' },
            location: { x: '48.13' },
            modem: { id: '356938035643809' },
            params: [{ name: 'IMEI', value: '4711' }],
            macs: { '00:05:B6:01:02:03': 1, AABBCCDDEEFF: 1 },
            ssid: '12345',
            psk: '87654321',
            latitude: '48.1',
            serial: '4711',
            big: '12345678901234567',
            state: 'up',
          },
        },
      },
    });
    expect(await readValues(reader)).toEqual({ 'router_status_rows wlan1': 1 });
  });

  test('asks for no resource that another module of the router reads, and for no result of a scan', async () => {
    const { reader, asked } = createBench({});
    await reader.read(undefined, SIGNAL);
    expect(asked).toContain('dsl2/statistics_spectrum');
    expect(asked.filter((path) => /^(lte\d$|device_info|sysdetail\/system)|providers|scan_results/.test(path))).toEqual(
      [],
    );
  });

  test('asks after an hour for what was refused, and once a day for what is not found then either, also after a restart', async () => {
    const first = createBench({ wlan1: { status: { unique: { channel: '1' } } }, serial1: refuse(403) });
    await first.reader.read(undefined, SIGNAL);
    const all = first.asked.length;
    await first.reader.read(undefined, SIGNAL);
    expect(first.asked.splice(0).slice(all)).toEqual(['wlan1']);
    await first.clock.advance(HOUR_MS);
    await first.reader.read(undefined, SIGNAL);
    expect(first.asked.splice(0)).toHaveLength(all);
    const second = createBench({ wlan1: { status: {} }, serial1: refuse(403) }, first.reader.state);
    await second.clock.advance(2 * HOUR_MS);
    await second.reader.read(undefined, SIGNAL);
    expect(second.asked.splice(0)).toEqual(['wlan1', 'serial1']);
    await second.clock.advance(23 * HOUR_MS);
    await second.reader.read(undefined, SIGNAL);
    expect(second.asked).toHaveLength(all);
  });

  test('asks a router that was starting an hour later, whatever it refused', async () => {
    const bodies: Record<string, unknown> = { wlan1: { status: { unique: { channel: '1' } } } };
    const { reader, clock } = createBench(bodies);
    expect(await readValues(reader)).toEqual({ 'router_status_value wlan1 channel': 1 });
    bodies['wlan1'] = refuse(404);
    expect(await readValues(reader)).toEqual({});
    bodies['wlan1'] = { status: { unique: { channel: '2' } } };
    await clock.advance(HOUR_MS);
    expect(await readValues(reader)).toEqual({ 'router_status_value wlan1 channel': 2 });
  });

  test('asks again when the clock of the agent was ahead at the refusal', async () => {
    const { reader, asked } = createBench({}, JSON.stringify({ wlan1: NOW_MS + 400 * 24 * HOUR_MS, overview: 1e300 }));
    await reader.read(undefined, SIGNAL);
    expect(asked).toEqual(expect.arrayContaining(['wlan1', 'overview']));
  });

  test('takes a state that is not readable for a first contact', async () => {
    for (const previous of ['', '{', '[1]', '{"wlan1":"x"}']) {
      const { reader, asked } = createBench({}, previous);
      await reader.read(undefined, SIGNAL);
      expect(asked).toContain('wlan1');
    }
  });

  test('has at most 100 series of one router, and a fault beyond', async () => {
    const list = Array.from({ length: 80 }, (_none, index) => ({ count: index }));
    const { reader } = createBench({ wlan1: { status: { list } }, serial1: { status: { list } } });
    const { families, faults } = await reader.read(undefined, SIGNAL);
    expect(families.reduce((sum, { samples }) => sum + samples.length, 0)).toBe(100);
    expect(faults).toEqual([{ module: 'generic', metric: 'router_status_value', reason: 'too_many' }]);
  });

  test('bounds the work for a document of half a megabyte, and reports the cut', async () => {
    const list = Array.from({ length: 40_000 }, () => [1, 2, 3, 4]);
    const { reader } = createBench({ wlan1: { status: { list } } });
    const { families, faults } = await reader.read(undefined, SIGNAL);
    expect(families[0]?.samples).toMatchObject([{ value: 40_000 }]);
    expect(faults).toEqual([{ module: 'generic', metric: 'router_status_value', reason: 'too_many' }]);
  });

  test('goes on after a resource that fails, which is a fault, and ends where the router is gone or asks for a delay', async () => {
    const broken = createBench({ overview: refuse(500), wlan1: { status: { unique: { channel: '1' } } } });
    const { families, faults } = await broken.reader.read(undefined, SIGNAL);
    expect(families[0]?.samples).toHaveLength(1);
    expect(faults).toEqual([{ module: 'generic', metric: 'router_status_value', reason: 'unknown_form' }]);
    const busy = new RouterReadError('http', 'Busy', {
      disposition: 'retry',
      isAnswered: true,
      status: 503,
      retryAfterMs: 1,
    });
    const delayed = createBench({ overview: busy });
    await expect(delayed.reader.read(undefined, SIGNAL)).rejects.toBe(busy);
    expect(delayed.asked).toHaveLength(1);
    const gone = new RouterReadError('connect', 'Gone', { disposition: 'retry' });
    const bench = createBench({ overview: gone, wlan1: { status: { unique: { channel: '1' } } } });
    await expect(bench.reader.read(undefined, SIGNAL)).rejects.toBe(gone);
    expect(bench.asked).toHaveLength(1);
  });

  test.for([
    null,
    [],
    'x',
    { status: null },
    { status: [[[[[[[[[[1]]]]]]]]]] },
    { status: { unique: { ['f'.repeat(200)]: 1 } } },
  ])('has no series of %j', async (body) => {
    const { reader } = createBench({ wlan1: body });
    expect(Object.keys(await readValues(reader)).filter((name) => name.startsWith('router_status_value'))).toEqual([]);
  });
});
