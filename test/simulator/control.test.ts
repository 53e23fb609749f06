import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { filePath, openAdmin, START_MS } from './client.ts';

const control = { host: '127.0.0.1', port: 0 };

async function openControlled() {
  const bench = await openAdmin({ control });
  const url = `${bench.simulator.controlUrl}/control`;
  const post = async (body: unknown, name = 'sim-1', headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${url}/${name}`, { method: 'POST', body: text, headers });
    // biome-ignore lint/suspicious/noExplicitAny: the tests check the shape.
    return { status: response.status, json: (await response.json()) as any };
  };
  return { ...bench, url, post };
}

describe('the control port', () => {
  test('append_log, rotate and truth', async () => {
    await using bench = await openControlled();
    const line = { action: 'append_log', component: 'network', message: 'up', tag: 'wan', count: 2 };
    expect(await bench.post(line)).toEqual({
      status: 200,
      json: { router: 'sim-1', action: 'append_log', lines: 2 },
    });
    expect((await bench.post({ action: 'rotate', component: 'network', message: 'new' })).status).toBe(200);
    expect((await bench.call('GET', filePath('network/current'))).text).toBe('2026-11-21 09:00:00 [network] new\n');
    expect(bench.router.truth('network')).toHaveLength(3);
  });

  test('expire ends access tokens; restart ends all', async () => {
    await using bench = await openControlled();
    await bench.post({ action: 'expire' });
    expect((await bench.call('GET', '/profiles')).status).toBe(401);
    const { refresh } = await bench.client.login();
    await bench.post({ action: 'restart' });
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(401);
  });

  test('factory_reset answers with the address that counts from then on', async () => {
    await using bench = await openControlled();
    await bench.call('DELETE', '/configuration/administration/users');
    expect((await bench.post({ action: 'factory_reset' })).json.url).toBe(bench.router.url);
    const { access } = await bench.client.login();
    expect((await bench.client.get('/configuration/administration/users', access)).json.config.list).toHaveLength(3);
  });

  test('set_status changes a resource and gives it back', async () => {
    await using bench = await openControlled();
    const read = async () => (await bench.call('GET', '/status/lte2')).json.status.unique.state;
    await bench.post({ action: 'set_status', resource: 'lte2', unique: { state: 'Logged out' } });
    expect(await read()).toBe('Logged out');
    await bench.post({ action: 'set_status', resource: 'lte2', absent: true });
    expect((await bench.call('GET', '/status/lte2')).status).toBe(404);
    await bench.post({ action: 'set_status', resource: 'lte2', reset: true });
    expect(await read()).not.toBe('Logged out');
  });

  test('fault and clear_fault', async () => {
    await using bench = await openControlled();
    const fault = { action: 'fault', name: 'http_503', path: '/profiles', retry_after: 9, times: 5 };
    expect((await bench.post(fault)).json.faults).toEqual(['http_503']);
    expect((await bench.call('GET', '/profiles')).headers['retry-after']).toBe('9');
    expect((await bench.post({ action: 'clear_fault', name: 'http_503' })).json.faults).toEqual([]);
    expect((await bench.call('GET', '/profiles')).status).toBe(200);
  });

  test('advance_clock moves time, or the wall clock alone', async () => {
    await using bench = await openControlled();
    await bench.post({ action: 'advance_clock', ms: -3_600_000, wall_only: true });
    expect((await bench.call('GET', '/profiles')).headers['date']).toBe('Sat, 21 Nov 2026 07:00:00 GMT');
    await bench.post({ action: 'advance_clock', ms: 300_000 });
    expect((await bench.call('GET', '/profiles')).status).toBe(401);
  });

  test('GET lists the routers, and one of them with its counters', async () => {
    await using bench = await openControlled();
    const { routers } = (await (await fetch(bench.url)).json()) as { routers: object[] };
    expect(routers).toEqual([
      { name: 'sim-1', url: bench.router.url, serial: bench.router.serial, device_type: 'MRX3', faults: [] },
    ]);
    expect(await (await fetch(`${bench.url}/sim-1`)).json()).toMatchObject({ counters: { logins: 1 } });
  });

  test.each([
    ['no JSON', '{', 400],
    ['no object', '[]', 400],
    ['no action', {}, 400],
    ['an unknown action', { action: 'explode' }, 400],
    ['an action of another kind', { action: 'toString' }, 400],
    ['an unknown parameter', { action: 'restart', now: true }, 400],
    ['a missing parameter', { action: 'append_log', component: 'n' }, 400],
    ['a wrong type', { action: 'append_log', component: 'n', message: 1 }, 400],
    ['a component that is none', { action: 'append_log', component: '../n', message: 'x' }, 400],
    ['a severity that is none', { action: 'append_log', component: 'n', message: 'x', severity: 'BAD' }, 400],
    ['too many lines', { action: 'append_log', component: 'n', message: 'x', count: 1e9 }, 400],
    ['nothing to rotate', { action: 'rotate', component: 'none' }, 400],
    ['an unknown fault', { action: 'fault', name: 'fire' }, 400],
    ['a fault out of bounds', { action: 'fault', name: 'slow', delay_ms: -1 }, 400],
    ['a fault that this router cannot have', { action: 'fault', name: 'bad_certificate' }, 400],
    ['a fault of connections, a number of times', { action: 'fault', name: 'down', times: 2 }, 400],
    ['a fault of connections, for one path', { action: 'fault', name: 'down', path: '/profiles' }, 400],
    ['no status', { action: 'set_status', resource: 'lte2' }, 400],
    ['a status of numbers', { action: 'set_status', resource: 'lte2', unique: { signal: 1 } }, 400],
    ['a clock that goes back', { action: 'advance_clock', ms: -1 }, 400],
    ['a clock without a time', { action: 'advance_clock' }, 400],
    ['a huge body', `"${'x'.repeat(9_000_000)}"`, 413],
  ])('%s is refused with a sentence', async (_what, body, status) => {
    await using bench = await openControlled();
    const answer = await bench.post(body);
    expect(answer).toEqual({ status, json: { error: expect.stringMatching(/\w+ \w+/) } });
  });

  test('an unknown router, another method and a page in a browser are refused', async () => {
    await using bench = await openControlled();
    expect((await bench.post({ action: 'restart' }, 'sim-2')).status).toBe(404);
    expect((await fetch(`${bench.url}/sim-1`, { method: 'DELETE' })).status).toBe(405);
    expect((await bench.post({ action: 'restart' }, 'sim-1', { origin: 'http://example.com' })).status).toBe(403);
  });

  test.each(['0.0.0.0', '192.0.2.1', '::'])('%s is no address for it', async (host) => {
    const clock = createSteppedClock(START_MS);
    const options = { routers: 1, clock, seed: 1, plainHttp: true, control: { host, port: 0 } };
    await expect(startSimulator(options)).rejects.toMatchObject({ code: 'bad-option' });
  });
});
