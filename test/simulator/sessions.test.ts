import { describe, expect, test } from 'vitest';
import { openBench } from './client.ts';

const MINUTE_MS = 60_000;
const BOARDS = '/status/device_info';

describe('login', () => {
  test('login answers 200 with two tokens when name and password are right', async () => {
    await using bench = await openBench();
    const body = JSON.stringify({ username: 'monitor', password: 'simulated' });
    const { status, json } = await bench.client.send('POST', '/auth/login', { body });
    expect(status).toBe(200);
    expect(Object.keys(json).toSorted()).toEqual(['access', 'refresh']);
    expect(bench.router.counters.logins).toBe(1);
  });

  test('tokens carry the session, the group and uptime seconds, and no end', async () => {
    await using bench = await openBench();
    const tokens = await bench.client.login('monitor');
    const [access, refresh] = [tokens.access, tokens.refresh].map((token) => {
      const [header = '', payload = ''] = token.split('.');
      expect(JSON.parse(Buffer.from(header, 'base64url').toString()).alg).toBe('HS256');
      return JSON.parse(Buffer.from(payload, 'base64url').toString());
    });
    expect(Object.keys(access).toSorted()).toEqual(['group', 'iat', 'jti', 'name', 'session_id', 'usage']);
    expect(access).toMatchObject({ group: 'read', name: 'monitor', usage: 'access' });
    expect(refresh).toMatchObject({ usage: 'refresh', session_id: access.session_id });
    expect(refresh.jti).not.toBe(access.jti);
    expect(access.iat).toBeLessThan(31 * 86_400);
  });

  test.each([
    ['an empty body', ''],
    ['no JSON', '{"username":'],
    ['a list', '[]'],
    ['no password', '{"username":"admin"}'],
    ['a number for a name', '{"username":1,"password":"simulated"}'],
    ['an unknown key', '{"username":"admin","password":"simulated","otp":"1"}'],
  ])('login answers 400 with an error list when given %s', async (_what, body) => {
    await using bench = await openBench();
    const { status, json } = await bench.client.send('POST', '/auth/login', { body });
    expect(status).toBe(400);
    expect(json).toEqual({ error: [expect.any(Object)] });
    expect(bench.router.counters).toMatchObject({ logins: 0, loginFailures: 0, unauthorized: 0 });
  });

  test('login answers 401 and counts when the password is wrong', async () => {
    await using bench = await openBench();
    const body = JSON.stringify({ username: 'admin', password: 'guess' });
    expect((await bench.client.send('POST', '/auth/login', { body })).status).toBe(401);
    expect(bench.router.counters).toMatchObject({ logins: 0, loginFailures: 1, unauthorized: 1 });
  });

  test('login drops the session silent longest when there are too many', async () => {
    await using bench = await openBench();
    const first = await bench.client.login();
    const second = await bench.client.login();
    for (let count = 0; count < 255; count++) await bench.client.login();
    expect((await bench.client.get(BOARDS, first.access)).status).toBe(401);
    expect((await bench.client.get(BOARDS, second.access)).status).toBe(200);
  });
});

describe('access token', () => {
  test('access token opens the interface for 5 minutes and not a moment longer', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    await bench.clock.advance(5 * MINUTE_MS - 1);
    expect((await bench.client.get(BOARDS, access)).status).toBe(200);
    await bench.clock.advance(1);
    expect((await bench.client.get(BOARDS, access)).status).toBe(401);
  });

  test('requests without a valid access token answer 401 whatever the path', async () => {
    await using bench = await openBench();
    const { access, refresh } = await bench.client.login();
    expect((await bench.client.get(BOARDS)).status).toBe(401);
    expect((await bench.client.get('/no/such/thing')).status).toBe(401);
    expect((await bench.client.get(BOARDS, refresh)).status).toBe(401);
    expect((await bench.client.get(BOARDS, `${access}x`)).status).toBe(401);
    expect((await bench.client.get(BOARDS, 'nonsense')).status).toBe(401);
    expect(bench.router.counters.unauthorized).toBe(5);
  });

  test('access token survives a jump of the wall clock', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    bench.clock.jump(3_650 * 86_400_000);
    expect((await bench.client.get(BOARDS, access)).status).toBe(200);
  });

  test('expireTokens() ends access tokens and leaves refresh tokens', async () => {
    await using bench = await openBench();
    const { access, refresh } = await bench.client.login();
    bench.router.expireTokens();
    expect((await bench.client.get(BOARDS, access)).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(200);
  });
});

describe('refresh', () => {
  test('refresh gives a new pair once; the second use of the token answers 401', async () => {
    await using bench = await openBench();
    const first = await bench.client.login();
    const second = (await bench.client.send('POST', '/auth/refresh', { token: first.refresh })).json;
    expect((await bench.client.get(BOARDS, second.access)).status).toBe(200);
    expect((await bench.client.send('POST', '/auth/refresh', { token: first.refresh })).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/refresh', { token: second.refresh })).status).toBe(200);
    expect(bench.router.counters).toMatchObject({ refreshes: 2, refreshReuses: 1, logins: 1 });
  });

  test('refresh gives tokens to one of many that use the same token at once', async () => {
    await using bench = await openBench();
    const { refresh: token } = await bench.client.login();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => bench.client.send('POST', '/auth/refresh', { token })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(bench.router.counters).toMatchObject({ refreshes: 1, refreshReuses: 7, unauthorized: 7 });
  });

  test('refresh refuses an access token', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    expect((await bench.client.send('POST', '/auth/refresh', { token: access })).status).toBe(401);
  });

  test('refresh token ends after 15 minutes without activity', async () => {
    await using bench = await openBench();
    const { refresh } = await bench.client.login();
    await bench.clock.advance(15 * MINUTE_MS);
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(401);
    expect(bench.router.counters.refreshReuses).toBe(0);
  });

  test('refresh token lives on while its session is used', async () => {
    await using bench = await openBench();
    const { access, refresh } = await bench.client.login();
    await bench.clock.advance(4 * MINUTE_MS);
    await bench.client.get(BOARDS, access);
    await bench.clock.advance(14 * MINUTE_MS);
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(200);
  });
});

describe('the end of a session', () => {
  test.each(['access', 'refresh'] as const)('logout with the %s token ends both tokens', async (which) => {
    await using bench = await openBench();
    const tokens = await bench.client.login();
    expect((await bench.client.send('POST', '/auth/logout', { token: tokens[which] })).status).toBe(200);
    expect((await bench.client.get(BOARDS, tokens.access)).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/refresh', { token: tokens.refresh })).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/logout', { token: tokens[which] })).status).toBe(401);
    expect(bench.router.counters).toMatchObject({ logouts: 1, refreshReuses: 0 });
  });

  test('logout leaves other sessions of the same account alone', async () => {
    await using bench = await openBench();
    const [mine, other] = [await bench.client.login(), await bench.client.login()];
    await bench.client.send('POST', '/auth/logout', { token: mine.access });
    expect((await bench.client.get(BOARDS, other.access)).status).toBe(200);
  });

  test('restart() forgets every token and keeps the logs', async () => {
    await using bench = await openBench();
    const { access, refresh } = await bench.client.login();
    bench.router.appendLog('system', 'before');
    bench.router.restart();
    expect((await bench.client.get(BOARDS, access)).status).toBe(401);
    expect((await bench.client.send('POST', '/auth/refresh', { token: refresh })).status).toBe(401);
    const fresh = await bench.client.login();
    expect(JSON.parse(Buffer.from(fresh.access.split('.')[1] ?? '', 'base64url').toString()).iat).toBe(0);
    expect((await bench.client.get('/download/log?list_files=1', fresh.access)).json.log_files).toEqual([
      'system/current',
    ]);
  });
});
