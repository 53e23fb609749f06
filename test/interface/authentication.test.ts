import { describe, expect, test } from 'vitest';
import type { RouterClient } from '../../src/client/index.ts';
import { failureOf, type InterfaceBench, MINUTE_MS, readText, shareFleets, statusOf } from './bench.ts';

const openInterface = shareFleets();

const USERS = 'administration/users';
const BOARDS = '/status/device_info';

/** The status with which the router meets a bare request that carries `token`. */
const statusWith = async (bench: InterfaceBench, token: string) => (await bench.stranger.get(BOARDS, token)).status;
const post = (bench: InterfaceBench, path: string, token: string) => bench.stranger.send('POST', path, { token });

/** Adds an account to the running profile and activates it. */
async function addUser(admin: RouterClient, parameters: Record<string, string>): Promise<void> {
  await admin.configuration.addEntries(USERS, [{ parameters }], { activate: true });
}

describe('login', () => {
  test('login gives two tokens for the name and the password of an account, and calls work from then on', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    expect(await client.listProfiles()).toHaveLength(2);
    expect(events).toEqual(['session-opened']);
    const { status, json } = await bench.stranger.send('POST', '/auth/login', {
      body: { username: 'admin', password: 'simulated' },
    });
    expect([status, Object.keys(json).toSorted()]).toEqual([200, ['access', 'refresh']]);
    expect(bench.router.counters).toMatchObject({ logins: 2, unauthorized: 0 });
  });

  test('a token counts with the scheme Bearer and with no other, and no call works without one', async () => {
    await using bench = await openInterface();
    const { access } = await bench.stranger.login();
    const ask = async (authorization: string) => (await bench.stranger.send('GET', BOARDS, { authorization })).status;
    expect(await ask(`Bearer ${access}`)).toBe(200);
    expect(await ask(access)).toBe(401);
    expect(await ask(`Token ${access}`)).toBe(401);
    expect((await bench.stranger.get(BOARDS)).status).toBe(401);
    const { client } = bench.connect({ auth: 'none' });
    expect(await failureOf(client.readStatus('device_info'))).toMatchObject({ code: 'auth', status: 401 });
  });

  test('basic credentials are refused by a router that does not take them, and work on one that does', async () => {
    await using strict = await openInterface();
    const refused = strict.connect({ auth: 'basic' }).client;
    expect(await failureOf(refused.listProfiles())).toMatchObject({ code: 'auth', status: 401 });
    await using open = await openInterface({ features: { basicAuth: true } });
    expect(await open.connect({ auth: 'basic' }).client.listProfiles()).toHaveLength(2);
    expect(open.router.counters).toMatchObject({ logins: 0, unauthorized: 0 });
    const wrong = open.connect({ auth: 'basic', password: 'guessed' }).client;
    expect(await failureOf(wrong.listProfiles())).toMatchObject({ code: 'auth', status: 401 });
  });
});

describe('tokens', () => {
  test('an access token counts for 5 minutes and not a moment longer', async () => {
    await using bench = await openInterface();
    const { access } = await bench.stranger.login();
    await bench.clock.advance(5 * MINUTE_MS - 1);
    expect(await statusWith(bench, access)).toBe(200);
    await bench.clock.advance(1);
    expect(await statusWith(bench, access)).toBe(401);
  });

  test('the client refreshes before the 5 minutes are over, so that no call is ever refused', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    for (let minute = 0; minute < 12; minute++) {
      await client.readStatus('device_info');
      await bench.clock.advance(MINUTE_MS);
    }
    expect(events).toEqual(['session-opened', 'session-refreshed', 'session-refreshed']);
    expect(bench.router.counters).toMatchObject({ logins: 1, refreshes: 2, refreshReuses: 0, unauthorized: 0 });
  });

  test('a token that ended earlier than the client counted is met with a refresh, and the call succeeds', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    await client.readStatus('device_info');
    await bench.router.advanceClock(5 * MINUTE_MS);
    await client.readStatus('device_info');
    expect(events).toEqual(['session-opened', 'session-refreshed']);
    expect(bench.router.counters).toMatchObject({ logins: 1, refreshes: 1, refreshReuses: 0, unauthorized: 1 });
  });

  test('a refresh gives two new tokens, and the old refresh token is refused from then on', async () => {
    await using bench = await openInterface();
    const first = await bench.stranger.login();
    const answer = await post(bench, '/auth/refresh', first.refresh);
    const second = answer.json as typeof first;
    expect(answer.status).toBe(200);
    expect(new Set([first.access, first.refresh, second.access, second.refresh]).size).toBe(4);
    expect(await statusWith(bench, second.access)).toBe(200);
    expect((await post(bench, '/auth/refresh', first.refresh)).status).toBe(401);
    expect((await post(bench, '/auth/refresh', second.refresh)).status).toBe(200);
  });

  test('each token has its own use: an access token refreshes nothing, and a refresh token opens nothing', async () => {
    await using bench = await openInterface();
    const { access, refresh } = await bench.stranger.login();
    expect((await post(bench, '/auth/refresh', access)).status).toBe(401);
    expect(await statusWith(bench, refresh)).toBe(401);
  });

  test.for(['access', 'refresh'] as const)(
    'a logout with the %s token ends the session: both tokens lose validity',
    async (which) => {
      await using bench = await openInterface();
      const tokens = await bench.stranger.login();
      expect((await post(bench, '/auth/logout', tokens[which])).status).toBe(200);
      expect(await statusWith(bench, tokens.access)).toBe(401);
      expect((await post(bench, '/auth/refresh', tokens.refresh)).status).toBe(401);
      expect((await post(bench, '/auth/logout', tokens[which])).status).toBe(401);
    },
  );

  test('the client logs out when it is closed, and sends nothing afterwards', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    await client.readStatus('device_info');
    await client.close();
    expect(events).toEqual(['session-opened', 'session-closed']);
    expect(bench.router.counters).toMatchObject({ logins: 1, logouts: 1, unauthorized: 0 });
    expect(await failureOf(client.readStatus('device_info'))).toMatchObject({ code: 'auth', status: undefined });
    expect(bench.router.counters.requests).toMatchObject({ 'GET /status/device_info': 1 });
  });

  test('a session that another client has ended is opened again by the next call', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    // The client's own token ends its session behind its back.
    expect(await client.call({ method: 'POST', path: '/auth/logout' })).toMatchObject({ status: 200 });
    await client.readStatus('device_info');
    expect(events).toEqual(['session-opened', 'session-lost', 'session-opened']);
    // The call and the refresh after it.
    expect(bench.router.counters).toMatchObject({ logouts: 1, logins: 2, unauthorized: 2 });
  });

  test('a session that is silent for the auto-logout time ends, both tokens with it', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    await client.readStatus('device_info');
    const [silent, busy] = [await bench.stranger.login(), await bench.stranger.login()];
    await bench.clock.advance(14 * MINUTE_MS);
    expect((await post(bench, '/auth/refresh', busy.refresh)).status).toBe(200);
    await bench.clock.advance(MINUTE_MS);
    expect((await post(bench, '/auth/refresh', silent.refresh)).status).toBe(401);
    await client.readStatus('device_info');
    expect(events).toEqual(['session-opened', 'session-lost', 'session-opened']);
  });

  test('a changed session_timeout takes effect when it is activated', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    const web = 'administration/webinterface';
    await admin.configuration.changeParameters(web, { session_timeout: '6' });
    const before = await bench.stranger.login();
    await bench.clock.advance(6 * MINUTE_MS);
    expect((await post(bench, '/auth/refresh', before.refresh)).status).toBe(200);
    await admin.configuration.changeParameters(web, { session_timeout: '6' }, { activate: true });
    const { client, events } = bench.connect();
    await client.readStatus('device_info');
    const [early, late] = [await bench.stranger.login(), await bench.stranger.login()];
    await bench.clock.advance(6 * MINUTE_MS - 1);
    expect((await post(bench, '/auth/refresh', early.refresh)).status).toBe(200);
    await bench.clock.advance(1);
    expect((await post(bench, '/auth/refresh', late.refresh)).status).toBe(401);
    await client.readStatus('device_info');
    expect(events).toEqual(['session-opened', 'session-lost', 'session-opened']);
  });

  test('a restart of the router ends all tokens, and the client logs in again by itself', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    await client.readStatus('device_info');
    const { access, refresh } = await bench.stranger.login();
    bench.router.restart();
    expect(await statusWith(bench, access)).toBe(401);
    expect((await post(bench, '/auth/refresh', refresh)).status).toBe(401);
    expect((await post(bench, '/auth/logout', refresh)).status).toBe(401);
    await client.readStatus('device_info');
    expect(events).toEqual(['session-opened', 'session-lost', 'session-opened']);
  });

  test.for([-10, 10])('a wall clock that jumps by %i years on either side ends no session', async (years) => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    const jumpMs = years * 365 * 86_400_000;
    await client.readStatus('device_info');
    bench.router.jumpClock(jumpMs);
    await client.readStatus('device_info');
    bench.clock.jump(-2 * jumpMs);
    await bench.clock.advance(4 * MINUTE_MS);
    await client.readStatus('device_info');
    expect(events).toEqual(['session-opened', 'session-refreshed']);
    expect(bench.router.counters.unauthorized).toBe(0);
  });
});

describe('two clients of one router', () => {
  test('each has a session of its own, and sees what the other has changed', async () => {
    await using bench = await openInterface();
    const [first, second] = [bench.connect(), bench.connect()];
    await first.client.configuration.addEntries('administration/hostnames', [
      { parameters: { hostname: 'pump', ip_address: '192.168.1.21' } },
    ]);
    const { list } = await second.client.configuration.read('administration/hostnames');
    expect(list.map(({ parameters }) => parameters['hostname'])).toEqual(['plc', 'pump']);
    await bench.clock.advance(4 * MINUTE_MS);
    await second.client.readStatus('device_info');
    await first.client.close();
    await second.client.readStatus('device_info');
    expect(second.events).toEqual(['session-opened', 'session-refreshed']);
    expect(bench.router.counters).toMatchObject({ logins: 2, refreshes: 1, logouts: 1, unauthorized: 0 });
  });
});

describe('accounts', () => {
  test('a user who is added over the interface logs in once the profile is activated, and not before', async () => {
    await using bench = await openInterface();
    const parameters = { username: 'new', password: 'pässword', group: 'read' };
    await bench.as().configuration.addEntries(USERS, [{ parameters }]);
    const { client, events } = bench.connect({ username: 'new', password: 'pässword' });
    expect(await failureOf(client.listProfiles())).toMatchObject({ code: 'auth', status: 401 });
    await bench.as().configuration.changeParameters(USERS, { password_hashes: '0' }, { activate: true });
    await bench.clock.advance(MINUTE_MS);
    expect(await client.listProfiles()).toHaveLength(2);
    expect(events).toEqual(['login-failed', 'session-opened']);
  });

  test('a user who is not active cannot log in, and loses the session when it was active before', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    await addUser(admin, { username: 'idle', password: 'x', group: 'read', active: '0' });
    const idle = bench.connect({ username: 'idle', password: 'x' }).client;
    expect(await failureOf(idle.listProfiles())).toMatchObject({ code: 'auth', status: 401 });
    const monitor = bench.as('monitor');
    await monitor.listProfiles();
    const { list } = await admin.configuration.read(USERS);
    const uid = list.find(({ parameters }) => parameters['username'] === 'monitor')?.uid ?? '';
    await admin.configuration.changeEntries(USERS, [{ list_uid: uid, parameters: { active: '0' } }], {
      activate: true,
    });
    expect(await failureOf(monitor.listProfiles())).toMatchObject({ code: 'auth', status: 401 });
  });

  /** What each group may do: the status of a call that fails, or that of its success. */
  const rights: readonly [group: string, status: number, read: number, change: number][] = [
    ['status', 200, 403, 403],
    ['read', 200, 200, 403],
    ['readwrite', 200, 200, 201],
  ];
  test.for(rights)(
    'a user of the group %s: status %i, reading %i, changing %i',
    async ([group, status, read, change]) => {
      await using bench = await openInterface();
      bench.router.appendLog('network', 'one line');
      await addUser(bench.as(), { username: 'someone', password: 'x', group });
      const { client } = bench.connect({ username: 'someone', password: 'x' });
      const { signal } = new AbortController();
      expect(await statusOf(client.readStatus('device_info'), 200)).toBe(status);
      expect(await statusOf(client.configuration.read(USERS), 200)).toBe(read);
      expect(await statusOf(client.listProfiles(), 200)).toBe(read);
      expect(await statusOf(client.downloadProfile('Profile', {}, readText), 200)).toBe(read);
      expect(await statusOf(client.listLogs(), 200)).toBe(read);
      expect(await statusOf(client.readLog('network/current', signal, readText), 200)).toBe(read);
      const led = { type: 'info_led', options: { info_led: 'on' } } as const;
      expect(await statusOf(client.performAction(led), 201)).toBe(change);
      const entry = { parameters: { hostname: 'pump', ip_address: '192.168.1.21' } };
      expect(await statusOf(client.configuration.addEntries('administration/hostnames', [entry]), 201)).toBe(change);
      // PUT and DELETE answer 200 where POST answers 201.
      const changed = change === 201 ? 200 : change;
      expect(await statusOf(client.configuration.changeParameters('services/mcip', { active: '1' }), 200)).toBe(
        changed,
      );
      const all = { filter: 'all' } as const;
      expect(await statusOf(client.configuration.deleteEntries('administration/hostnames', all), 200)).toBe(changed);
      // An account without a right stays logged in.
      expect(bench.router.counters).toMatchObject({ logins: 2, unauthorized: 0 });
    },
  );
});
