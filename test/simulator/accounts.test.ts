import { describe, expect, test } from 'vitest';
import { findFreePort } from '../support/free-port.ts';
import { openAdmin, openClient } from './client.ts';

const USERS = '/configuration/administration/users';
const BOARDS = '/status/device_info';
const MINUTE_MS = 60_000;
const activate = { profile: { activate: '1' } };

type Bench = Awaited<ReturnType<typeof openAdmin>>;

async function tryLogin(bench: Bench, username: string, password = 'simulated'): Promise<number> {
  const body = JSON.stringify({ username, password });
  return (await bench.client.send('POST', '/auth/login', { body })).status;
}

/** An exception of the firewall for a port, in addition to the existing ones; it applies from the next activation on. */
const letThrough = (bench: Bench, port: number) =>
  bench.call('POST', '/configuration/netfilter/ip_filter', {
    config: { list: [{ protocol: 'tcp', dst_port: String(port) }] },
  });

const setWeb = (bench: Bench, unique: object) =>
  bench.call('PUT', '/configuration/administration/webinterface', { config: { unique }, ...activate });

const changeUser = async (bench: Bench, index: string, change: object) => {
  const { list } = (await bench.call('GET', USERS)).json.config;
  const { list_uid } = list.find((one: { readonly index: string }) => one.index === index);
  return bench.call('PUT', USERS, { config: { list: [{ list_uid, ...change }] }, ...activate });
};

describe('accounts', () => {
  test('a user added over the interface logs in once the profile is activated, with the rights of its group', async () => {
    await using bench = await openAdmin();
    const list = [{ username: 'new', password: 'pässword', group: 'status' }];
    await bench.call('POST', USERS, { config: { list } });
    expect(await tryLogin(bench, 'new', 'pässword')).toBe(401);
    await bench.call('PUT', '/profiles/activate', { profile: 'Profile' });
    await bench.clock.advance(3000);
    const body = JSON.stringify({ username: 'new', password: 'pässword' });
    const { access } = (await bench.client.send('POST', '/auth/login', { body })).json;
    expect((await bench.client.get(BOARDS, access)).status).toBe(200);
    expect((await bench.client.get(USERS, access)).status).toBe(403);
  });

  test('with implicit activation a change of the running profile counts at once', async () => {
    await using bench = await openAdmin({ features: { implicitActivation: true } });
    await bench.call('POST', USERS, { config: { list: [{ username: 'new', password: 'x' }] } });
    expect(await tryLogin(bench, 'new', 'x')).toBe(200);
  });

  test('an inactive or deleted user cannot log in, and its sessions end', async () => {
    await using bench = await openAdmin();
    const tokens = await bench.client.login('monitor');
    await changeUser(bench, 'user2', { active: '0' });
    expect(await tryLogin(bench, 'monitor')).toBe(401);
    expect((await bench.client.get(BOARDS, tokens.access)).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/refresh', { token: tokens.refresh })).status).toBe(401);
  });

  test('a new password ends no session and is needed at the next login', async () => {
    await using bench = await openAdmin();
    const { access, refresh } = await bench.client.login('monitor');
    await changeUser(bench, 'user2', { password: 'changed' });
    expect((await bench.client.get(BOARDS, access)).status).toBe(200);
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(200);
    expect(await tryLogin(bench, 'monitor', 'changed')).toBe(200);
    expect(await tryLogin(bench, 'monitor')).toBe(401);
  });

  test('a new group counts for sessions that exist', async () => {
    await using bench = await openAdmin();
    const { access } = await bench.client.login('monitor');
    expect((await bench.client.get('/profiles', access)).status).toBe(200);
    await changeUser(bench, 'user2', { group: 'status' });
    expect((await bench.client.get('/profiles', access)).status).toBe(403);
  });

  test('a failed login locks the name for three seconds, and no other name', async () => {
    await using bench = await openAdmin();
    expect(await tryLogin(bench, 'monitor', 'wrong')).toBe(401);
    expect(await tryLogin(bench, 'monitor')).toBe(401);
    expect(await tryLogin(bench, 'status')).toBe(200);
    await bench.clock.advance(2999);
    expect(await tryLogin(bench, 'monitor')).toBe(401);
    await bench.clock.advance(1);
    expect(await tryLogin(bench, 'monitor')).toBe(200);
    expect(bench.router.counters).toMatchObject({ loginFailures: 1, lockedLogins: 2 });
  });

  test('login_timeout sets the length of the lock', async () => {
    await using bench = await openAdmin();
    await setWeb(bench, { login_timeout: '0' });
    expect(await tryLogin(bench, 'monitor', 'wrong')).toBe(401);
    expect(await tryLogin(bench, 'monitor')).toBe(200);
  });

  test('basic credentials count only where that is switched on', async () => {
    const headers = { authorization: `Basic ${Buffer.from('monitor:simulated').toString('base64')}` };
    await using plain = await openAdmin();
    expect((await plain.client.send('GET', '/profiles', { headers })).status).toBe(401);
    await using bench = await openAdmin({ features: { basicAuth: true } });
    expect((await bench.client.send('GET', '/profiles', { headers })).status).toBe(200);
    expect((await bench.client.send('POST', '/reboot', { headers })).status).toBe(403);
    const wrong = { authorization: `Basic ${Buffer.from('monitor').toString('base64')}` };
    expect((await bench.client.send('GET', '/profiles', { headers: wrong })).status).toBe(401);
  });
});

describe('session_timeout', () => {
  test('sets after how many minutes of silence a session ends', async () => {
    await using bench = await openAdmin();
    await setWeb(bench, { session_timeout: '60' });
    const { refresh } = await bench.client.login();
    await bench.clock.advance(60 * MINUTE_MS - 1);
    const second = (await bench.client.send('POST', '/auth/refresh', { token: refresh })).json;
    await bench.clock.advance(60 * MINUTE_MS);
    expect((await bench.client.send('POST', '/auth/refresh', { token: second.refresh })).status).toBe(401);
  });

  test.each(['5', '3601', ''])('refuses %s', async (session_timeout) => {
    await using bench = await openAdmin();
    expect((await setWeb(bench, { session_timeout })).json.error[0]).toHaveProperty('session_timeout');
  });
});

describe('tokens and wall time', () => {
  test.each([-10, 10])('a jump of the wall clock by %i years neither ends nor prolongs a token', async (years) => {
    await using bench = await openAdmin();
    const { access, refresh } = await bench.client.login();
    bench.router.jumpClock(years * 365 * 86_400_000);
    await bench.clock.advance(5 * MINUTE_MS - 1);
    expect((await bench.client.get(BOARDS, access)).status).toBe(200);
    bench.router.jumpClock(-years * 365 * 86_400_000);
    await bench.clock.advance(1);
    expect((await bench.client.get(BOARDS, access)).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(200);
  });

  test('advanceClock() lets time pass for one router: tokens age, and a growing archive is finished', async () => {
    await using bench = await openAdmin({ logs: { compressionMs: 60_000 } });
    bench.router.appendLog('n', 'one');
    bench.router.rotate('n');
    await bench.router.advanceClock(4 * MINUTE_MS);
    await bench.router.whenQuiet();
    expect((await bench.client.get(BOARDS, bench.access)).headers['date']).toBe('Sat, 21 Nov 2026 08:04:00 GMT');
    await bench.router.advanceClock(MINUTE_MS);
    expect((await bench.client.get(BOARDS, bench.access)).status).toBe(401);
    // What the fleet's clock does still counts on top.
    const { access } = await bench.client.login();
    await bench.clock.advance(5 * MINUTE_MS);
    expect((await bench.client.get(BOARDS, access)).status).toBe(401);
  });
});

describe('listeners', () => {
  test('an activated port is open before the answer, and the former one closes after it', async () => {
    await using bench = await openAdmin();
    const former = bench.router.url;
    const port = await findFreePort();
    await letThrough(bench, port);
    const { status, json } = await setWeb(bench, { http_port: String(port) });
    expect([status, json.config.unique.http_port]).toEqual([200, String(port)]);
    expect(bench.router.url).toBe(`http://127.0.0.1:${port}`);
    expect((await bench.client.get(BOARDS, bench.access)).status).toBe(200);
    await expect(fetch(former)).rejects.toThrow('fetch failed');
  });

  test('HTTPS can be switched on in addition to HTTP, and HTTP off', async () => {
    await using bench = await openAdmin();
    const former = bench.router.url;
    const port = await findFreePort();
    await letThrough(bench, port);
    await setWeb(bench, { https_active: '1', https_port: String(port) });
    expect(bench.router.url).toBe(`https://127.0.0.1:${port}`);
    await using secure = openClient(bench.router, bench.simulator.caPem);
    const { access } = await secure.login();
    await secure.send('PUT', '/configuration/administration/webinterface', {
      token: access,
      body: JSON.stringify({ config: { unique: { http_active: '0' } }, ...activate }),
    });
    expect((await secure.get(BOARDS, access)).status).toBe(200);
    await expect(fetch(former)).rejects.toThrow('fetch failed');
  });

  test('a port that cannot be had answers 500, and the router goes on as before with the change stored', async () => {
    await using other = await openAdmin();
    await using bench = await openAdmin();
    const port = new URL(other.router.url).port;
    await letThrough(bench, Number(port));
    const { status, json } = await setWeb(bench, { http_port: port });
    expect([status, Object.keys(json.error[0])]).toEqual([500, ['profile']]);
    const { profile, config } = (await bench.call('GET', '/configuration/administration/webinterface')).json;
    expect([profile.modified, config.unique.http_port]).toEqual([true, port]);
  });

  test('one port for both schemes is refused', async () => {
    await using bench = await openAdmin();
    const unique = { https_active: '1', https_port: new URL(bench.router.url).port };
    expect((await setWeb(bench, unique)).json.error[0]).toHaveProperty('http_port');
  });

  test('factoryReset() brings back ports, accounts and profiles, and deletes the logs', async () => {
    await using bench = await openAdmin();
    const former = bench.router.url;
    bench.router.appendLog('n', 'one');
    await bench.call('DELETE', USERS);
    const port = await findFreePort();
    await letThrough(bench, port);
    await setWeb(bench, { http_port: String(port) });
    expect(await tryLogin(bench, 'admin')).toBe(401);
    await bench.router.factoryReset();
    expect(bench.router.url).toBe(former);
    const { access } = await bench.client.login();
    expect((await bench.client.get('/download/log?list_files', access)).json.log_files).toEqual([]);
    expect((await bench.client.get('/profiles', access)).json.profiles[0]).toMatchObject({ modified: false });
    expect(bench.router.truth('n')[0]).toMatchObject({ loss: 'reset', lostUnread: true });
  });
});

describe('two clients of one router', () => {
  test('each sees what the other has changed, and keeps its own session', async () => {
    await using bench = await openAdmin();
    await using second = openClient(bench.router, '');
    const { access } = await second.login();
    const add = (client: typeof second, token: string, username: string) =>
      client.send('POST', USERS, { token, body: JSON.stringify({ config: { list: [{ username, password: 'x' }] } }) });
    const names = Array.from({ length: 20 }, (_none, number) => `user-${number}`);
    const answers = await Promise.all(
      names.map((name, number) => (number % 2 ? add(second, access, name) : add(bench.client, bench.access, name))),
    );
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    const { list } = (await bench.call('GET', USERS)).json.config;
    expect(list.map((one: { username: string }) => one.username)).toEqual(expect.arrayContaining(names));
    expect(new Set(list.map((one: { index: string }) => one.index)).size).toBe(23);
    await second.send('POST', '/auth/logout', { token: access });
    expect((await bench.call('GET', USERS)).status).toBe(200);
  });
});
