import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { checkValues } from '../../src/client/index.ts';
import type { RouterFailure } from '../../src/model/index.ts';
import type { FaultName, FaultOptions } from '../../src/simulator/index.ts';
import { failureOf, type InterfaceBench, MINUTE_MS, shareFleets } from './bench.ts';

const openInterface = shareFleets();

const EMAIL = 'events/email_account';
const post = (bench: InterfaceBench, path: string, token: string) => bench.stranger.send('POST', path, { token });

/** Moves the clock by seconds until `call` has come to an end. */
async function drive<T>(bench: InterfaceBench, call: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const end = () => {
    state.isOver = true;
  };
  call.then(end, end);
  while (!state.isOver) {
    // Many iterations of the event loop for a little time of the clock: what is on its way arrives before much time passes.
    for (let turn = 0; turn < 40 && !state.isOver; turn++) await setImmediate();
    await bench.clock.advance(100);
  }
  return call;
}

describe('login', () => {
  test.for([undefined, '', '{', '[]', '"x"', '{}', '{"username":"admin"}', '{"username":1,"password":"simulated"}'])(
    'a login with the body %j is answered with 400',
    async (body) => {
      await using bench = await openInterface();
      const { status, json } = await bench.stranger.send('POST', '/auth/login', { body });
      expect([status, json]).toEqual([400, { error: expect.any(Array) }]);
      expect(bench.router.counters).toMatchObject({ logins: 0, loginFailures: 0 });
    },
  );

  test('a client whose login is answered with 400 says so, and may try again at once', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect({ username: undefined as unknown as string });
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(await failureOf(client.listProfiles())).toMatchObject({ code: 'http', status: 400 });
    }
    expect(events).toEqual(['login-failed', 'login-failed']);
    expect(bench.router.counters.requests).toEqual({ 'POST /auth/login': 2 });
  });

  test.for([
    ['a wrong password', { password: 'guessed' }],
    ['an unknown name', { username: 'nobody' }],
    ['another case of the name', { username: 'Admin' }],
    ['no password', { password: '' }],
  ] as const)('%s is answered with 401, and the client does not ask again before its wait is over', async ([, own]) => {
    await using bench = await openInterface();
    const { client } = bench.connect(own);
    const refused = { code: 'auth', status: 401, topics: [] };
    expect(await failureOf(client.listProfiles())).toEqual(refused);
    await bench.clock.advance(30_000 - 1);
    expect(await failureOf(client.listProfiles())).toEqual(refused);
    expect(bench.router.counters).toMatchObject({ loginFailures: 1, unauthorized: 1 });
    await bench.clock.advance(1);
    expect(await failureOf(client.listProfiles())).toEqual(refused);
    expect(bench.router.counters).toMatchObject({ loginFailures: 2, unauthorized: 2 });
  });
});

describe('refresh and logout', () => {
  test.for(['', 'x', 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.'])(
    'the token %j is answered with 401 by both',
    async (token) => {
      await using bench = await openInterface();
      await bench.stranger.login();
      expect((await post(bench, '/auth/refresh', token)).status).toBe(401);
      expect((await post(bench, '/auth/logout', token)).status).toBe(401);
      expect((await bench.stranger.send('POST', '/auth/refresh')).status).toBe(401);
      expect((await bench.stranger.send('POST', '/auth/logout')).status).toBe(401);
    },
  );

  test('a client whose refresh is answered with 401 logs in instead, and the call does not notice', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    await client.listProfiles();
    await bench.router.fault('unauthorized', { path: '/auth/refresh', times: 1 });
    await bench.clock.advance(4 * MINUTE_MS);
    expect(await client.listProfiles()).toHaveLength(2);
    expect(events).toEqual(['session-opened', 'session-lost', 'session-opened']);
  });

  test('a client whose logout is answered with 401 is closed all the same', async () => {
    await using bench = await openInterface();
    const { client } = bench.connect();
    await client.listProfiles();
    bench.router.restart();
    await client.close();
    expect(bench.router.counters).toMatchObject({ logouts: 0, unauthorized: 1 });
  });
});

describe('other failures', () => {
  test('an error names parameters and what is wrong with each, and the client keeps these words', async () => {
    await using bench = await openInterface();
    const { access } = await bench.stranger.login();
    const unique = { port: '0', encryption: 'tls' };
    const { json } = await bench.stranger.send('PUT', `/configuration/${EMAIL}`, {
      token: access,
      body: { config: { unique } },
    });
    expect(json.error.map(Object.keys)).toEqual([['port'], ['encryption']]);
    await expect(bench.as().configuration.changeParameters(EMAIL, unique)).rejects.toMatchObject({
      code: 'http',
      disposition: 'skip',
      words: json.error.map((one: object) => {
        const [topic, text] = Object.entries(one)[0] ?? [];
        return { topic, text };
      }),
    });
  });

  test('a path that does not exist is 404, an expired token 401, a lack of rights 403', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as('status');
    expect(await failureOf(bench.as().configuration.read('administration/nothing'))).toMatchObject({ status: 404 });
    expect(await failureOf(configuration.read(EMAIL))).toEqual({
      code: 'auth',
      status: 403,
      topics: ['authorization'],
    });
    const { access } = await bench.stranger.login();
    bench.router.expireTokens();
    expect((await bench.stranger.get('/profiles', access)).status).toBe(401);
    expect((await bench.stranger.get('/nothing', access)).status).toBe(401);
  });

  /** What the client makes of a router that misbehaves. */
  const faults: readonly [FaultName, RouterFailure, status: number | undefined, FaultOptions][] = [
    ['http_500', 'http', 500, {}],
    ['http_503', 'http', 503, { retryAfterSeconds: 4 }],
    ['forbidden', 'auth', 403, {}],
    ['unauthorized', 'auth', 401, {}],
    ['garbage_json', 'parse', 200, {}],
    ['html_200', 'parse', 200, {}],
    ['huge_body', 'parse', 200, { bytes: 5 * 1024 * 1024 }],
    ['truncate_body', 'connect', undefined, {}],
    ['reset_mid_body', 'connect', undefined, {}],
    ['slow', 'timeout', undefined, { delayMs: MINUTE_MS }],
    ['hang', 'timeout', undefined, {}],
  ];
  test.for(faults)('a router with the fault %s: the client throws %s', async ([name, code, status, options]) => {
    await using bench = await openInterface();
    const client = bench.as('monitor');
    await client.readStatus('device_info');
    await bench.router.fault(name, { path: '/profiles', ...options });
    expect(await drive(bench, failureOf(client.listProfiles()))).toMatchObject({ code, status });
    await bench.router.clearFault();
    expect(await client.listProfiles()).toHaveLength(2);
  });

  test('a router that is down is a failed connection, and works again when it is back', async () => {
    await using bench = await openInterface();
    const { client, events } = bench.connect();
    await client.listProfiles();
    await bench.router.fault('down');
    expect(await failureOf(client.listProfiles())).toMatchObject({ code: 'connect' });
    await bench.router.clearFault('down');
    expect(await client.listProfiles()).toHaveLength(2);
    expect(events).toEqual(['session-opened']);
  });

  test('a router that is busy for a moment is asked again after the time that it names', async () => {
    await using bench = await openInterface();
    const client = bench.as('monitor');
    await bench.router.fault('http_503', { path: '/profiles', times: 2, retryAfterSeconds: 7 });
    const before = bench.clock.monotonic();
    expect(await drive(bench, client.listProfiles())).toHaveLength(2);
    expect(bench.clock.monotonic() - before).toBeGreaterThanOrEqual(14_000);
  });

  test('a change that was answered with 503 is not sent again', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    await bench.router.fault('http_503', { path: `/configuration/${EMAIL}`, times: 1 });
    expect(await failureOf(configuration.changeParameters(EMAIL, { port: '26' }))).toMatchObject({ status: 503 });
    expect((await configuration.read(EMAIL)).unique['port']).toBe('25');
  });

  test('a body that is larger than any configuration is refused with 413', async () => {
    await using bench = await openInterface();
    const real_name = 'x'.repeat(2 * 1024 * 1024);
    const failure = await failureOf(bench.as().configuration.changeParameters(EMAIL, { real_name }));
    expect(failure).toEqual({ code: 'http', status: 413, topics: ['content'] });
  });
});

describe('limits', () => {
  test.for(['real_name', 'server', 'username', 'password'])(
    '%s of the email account has at most 100 characters',
    async (name) => {
      await using bench = await openInterface();
      const { configuration } = bench.as();
      const scheme = (await configuration.read(EMAIL, { appendScheme: true })).scheme?.unique ?? [];
      expect(scheme.find((one) => one.name === name)?.maxLength).toBe(100);
      // A host name is made of labels of at most 63 characters.
      const longest = `${'a'.repeat(60)}.${'b'.repeat(39)}`;
      const [fits, tooLong] = [{ [name]: longest }, { [name]: `${longest}b` }];
      expect(checkValues(fits, scheme)).toEqual([]);
      expect(checkValues(tooLong, scheme)).toEqual([{ parameter: name, message: 'Expected at most 100 characters' }]);
      expect(await failureOf(configuration.changeParameters(EMAIL, tooLong))).toMatchObject({
        status: 400,
        topics: [name],
      });
      expect((await configuration.changeParameters(EMAIL, fits))?.unique[name]).toBe(longest);
    },
  );

  test.for([
    ['0', 400],
    ['1', 200],
    ['2', 200],
    ['65535', 200],
    ['65536', 400],
    ['25.5', 400],
  ] as const)('the port %s of the email account is answered with %i', async ([port, expected]) => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const scheme = (await configuration.read(EMAIL, { appendScheme: true })).scheme?.unique ?? [];
    expect(checkValues({ port }, scheme)).toHaveLength(expected === 200 ? 0 : 1);
    const failure = await failureOf(configuration.changeParameters(EMAIL, { port }));
    expect(failure).toEqual(expected === 200 ? 'none' : { code: 'http', status: 400, topics: ['port'] });
  });
});
