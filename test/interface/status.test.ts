import { describe, expect, test } from 'vitest';
import { failureOf, shareFleets } from './bench.ts';

const openInterface = shareFleets();

describe('status', () => {
  test('device_info has one entry per board, each with the five texts of the interface', async () => {
    await using bench = await openInterface({ routers: 1 });
    const body = await bench.as('status').readStatus('device_info');
    const board = {
      board_type: expect.stringMatching(/^M3/),
      hardware_features: expect.stringMatching(/^[0-9a-f]+$/),
      hardware_version: expect.stringMatching(/^\d+$/),
      firmware_version: '',
      serial_number: '',
    };
    expect(body).toMatchObject({
      status: { list: [{ ...board, firmware_version: '9.5', serial_number: bench.router.serial }, board, board] },
    });
    const { json } = await bench.stranger.get('/status/device_info', (await bench.stranger.login('status')).access);
    expect(json.status.list).toHaveLength(3);
    expect(json).toEqual(body);
  });

  test('a path of several parts names a resource, and what moves is read anew each time', async () => {
    await using bench = await openInterface({ routers: 1 });
    const client = bench.as('status');
    const date = async () =>
      ((await client.readStatus('sysdetail/system')) as { status: { unique: { date: string } } }).status.unique.date;
    expect(await date()).toBe('2026-11-21 09:00:00');
    await bench.clock.advance(61_000);
    expect(await date()).toBe('2026-11-21 09:01:01');
  });

  test('a resource that the router does not have is 404, and says so in its own words', async () => {
    await using bench = await openInterface();
    const client = bench.as('status');
    const refused = { code: 'http', status: 404, topics: ['resource'] };
    for (const resource of ['nothing', 'lte5', '', 'device_info/more', 'device_info?x=1']) {
      expect([resource, await failureOf(client.readStatus(resource))]).toEqual([resource, refused]);
    }
    expect(bench.router.counters).toMatchObject({ logins: 1, unauthorized: 0 });
  });

  test('a path that would lead out of the area is refused before anything is sent', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    for (const path of ['../profiles', '..', './device_info', 'a/../../auth/login']) {
      await expect(client.readStatus(path)).rejects.toMatchObject({ code: 'http', isUnsent: true });
      const all = { filter: 'all' } as const;
      await expect(client.configuration.deleteEntries(path, all)).rejects.toMatchObject({ isUnsent: true });
    }
    expect(bench.router.counters.requests).toEqual({});
  });

  test('a body of any other shape comes through as it is', async () => {
    await using bench = await openInterface();
    const client = bench.as('status');
    for (const body of [{}, { list: 7 }, { unique: { a: '1' }, list: [], more: [[null]] }]) {
      bench.router.setStatus('device_info', { body });
      expect(await client.readStatus('device_info')).toEqual({ status: body });
    }
  });
});
