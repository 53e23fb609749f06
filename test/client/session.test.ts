import { describe, expect, test } from 'vitest';
import { createSteppedClock, DeadlineExceeded, Secret } from '../../src/base/index.ts';
import { RouterError, type SessionEvent } from '../../src/client/index.ts';
import type { JsonAnswer } from '../../src/client/requests/messages.ts';
import { type AskForTokens, Session } from '../../src/client/requests/session.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

type Asked = { path: string; token: string | undefined; json: unknown };
type Reply = JsonAnswer | Error | Promise<JsonAnswer>;

const never = new AbortController().signal;

function tokens(number: number): JsonAnswer {
  return { status: 200, body: { access: `access-${number}`, refresh: `refresh-${number}` } };
}

function refused(status = 401): JsonAnswer {
  return { status, body: { error: [{ auth: 'no' }] } };
}

const unsent = new RouterError('connect', 'Nobody there', { disposition: 'retry', isUnsent: true });
const cut = new RouterError('connect', 'Lost in the middle', { disposition: 'retry' });

/** A session whose requests get these replies, in this order. */
function createBench(...replies: Reply[]) {
  const clock = createSteppedClock(0);
  const asked: Asked[] = [];
  const events: SessionEvent[] = [];
  const ask: AskForTokens = async ({ path, authorization, json }, signal) => {
    asked.push({ path, token: authorization?.replace('Bearer ', ''), json });
    const reply = replies.shift();
    if (reply === undefined) throw new RangeError(`Nobody expected POST ${path}`);
    signal.throwIfAborted();
    if (reply instanceof Error) throw reply;
    return reply;
  };
  const report = (event: SessionEvent) => void events.push(event);
  const session = new Session({ username: 'monitor', password: new Secret('simulated'), clock, ask, report });
  return {
    clock,
    session,
    asked,
    paths: () => asked.map(({ path }) => path.replace('/auth/', '')),
    types: () => events.map(({ type }) => type),
    events,
    token: (signal = never) => session.authorization(signal),
  };
}

describe('login', () => {
  test('Session.authorization() logs in with the credentials at the first call, and holds the token', async () => {
    const { asked, token, types } = createBench(tokens(1));
    expect(await token()).toBe('Bearer access-1');
    expect(await token()).toBe('Bearer access-1');
    expect(asked).toEqual([
      { path: '/auth/login', token: undefined, json: { username: 'monitor', password: 'simulated' } },
    ]);
    expect(types()).toEqual(['session-opened']);
  });

  test.each([
    ['parse', 'no tokens', { status: 200, body: {} }],
    ['parse', 'no JSON', { status: 200, body: undefined }],
    ['parse', 'one token', { status: 200, body: { access: 'a' } }],
    ['parse', 'an empty token', { status: 200, body: { access: 'a', refresh: '' } }],
    ['parse', 'a token with a line break', { status: 200, body: { access: 'a\r\nx: y', refresh: 'r' } }],
    ['parse', 'a number for a token', { status: 200, body: { access: 1, refresh: 'r' } }],
    ['parse', 'an endless token', { status: 200, body: { access: 'a'.repeat(8193), refresh: 'r' } }],
    ['http', 'status 500', { status: 500, body: undefined }],
    ['http', 'status 404', { status: 404, body: undefined }],
  ])(
    'Session.authorization() throws %s when the login is answered with %s, and tries again at once',
    async (code, _what, reply) => {
      const { token, types } = createBench(reply, tokens(1));
      await expect(token()).rejects.toMatchObject({
        name: 'RouterError',
        code,
        disposition: 'retry',
        isAnswered: false,
      });
      expect(await token()).toBe('Bearer access-1');
      expect(types()).toEqual(['login-failed', 'session-opened']);
    },
  );

  test.each([
    [
      'is redirected',
      { status: 302, body: undefined },
      'Redirects are not followed: check scheme, host, port and path',
    ],
    ['finds no such path', { status: 404, body: undefined }, 'There is no REST interface of version 2.0 here'],
    ['is answered by a login page', { status: 200, body: undefined }, 'Another device, or the login page of a proxy'],
  ])('Session.authorization() says what to do when the login %s', async (_what, reply, hint) => {
    const { token } = createBench(reply);
    await expect(token()).rejects.toMatchObject({ hint: expect.stringContaining(hint) as string });
  });

  test('Session.authorization() passes on the reason of an abort, which is no failed login', async () => {
    const { token, types } = createBench(tokens(1), tokens(1));
    const reason = new RangeError('stop');
    await expect(token(AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(types()).toEqual([]);
    expect(await token()).toBe('Bearer access-1');
  });
});

describe('refused credentials', () => {
  test.each([401, 403])(
    'Session.authorization() throws auth for the operator when the login is answered with %d',
    async (status) => {
      const { token } = createBench(refused(status));
      const error: unknown = await token().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'auth', disposition: 'operator', status });
      expect(String(error)).toContain('"monitor"');
      expect(JSON.stringify(error) + String(error)).not.toContain('simulated');
    },
  );

  test('Session.authorization() sends no request before a growing wait is over, at most five minutes', async () => {
    const { clock, token, asked, types } = createBench(...Array.from({ length: 7 }, () => refused()), tokens(1));
    const first: unknown = await token().catch((thrown: unknown) => thrown);
    let count = 1;
    for (const waitMs of [30, 60, 120, 240, 300, 300].map((seconds) => seconds * SECOND_MS)) {
      await clock.advance(waitMs - 1);
      await expect(token()).rejects.toMatchObject({ code: 'auth' });
      expect(asked).toHaveLength(count);
      await clock.advance(1);
      await expect(token()).rejects.toMatchObject({ code: 'auth' });
      expect(asked).toHaveLength(++count);
    }
    expect(first).toBeInstanceOf(RouterError);
    // One event for each time that the router was asked, none for the calls in between.
    expect(types()).toEqual(Array.from({ length: 7 }, () => 'login-failed'));
    await clock.advance(300 * SECOND_MS);
    expect(await token()).toBe('Bearer access-1');
  });

  test('Session.authorization() begins with the shortest wait again after a login that worked', async () => {
    const { clock, session, token } = createBench(refused(), refused(), tokens(1), refused(), refused(), tokens(2));
    await expect(token()).rejects.toThrow('refused');
    await clock.advance(30 * SECOND_MS);
    await expect(token()).rejects.toThrow('refused');
    await clock.advance(60 * SECOND_MS);
    session.lost(await token(), cut, false);
    await expect(token()).rejects.toThrow('refused');
    await clock.advance(30 * SECOND_MS);
    expect(await token()).toBe('Bearer access-2');
  });

  test('Session.authorization() does not wait after a login that failed for another reason', async () => {
    const { token } = createBench(cut, unsent, refused(500), tokens(1));
    for (let count = 0; count < 3; count++) await expect(token()).rejects.toBeInstanceOf(RouterError);
    expect(await token()).toBe('Bearer access-1');
  });
});

describe('refresh', () => {
  test('Session.authorization() refreshes a token four minutes after it came, with the refresh token', async () => {
    const { clock, token, asked, types } = createBench(tokens(1), tokens(2), tokens(3));
    await token();
    await clock.advance(4 * MINUTE_MS - 1);
    expect(await token()).toBe('Bearer access-1');
    await clock.advance(1);
    expect(await token()).toBe('Bearer access-2');
    await clock.advance(4 * MINUTE_MS);
    expect(await token()).toBe('Bearer access-3');
    expect(asked.slice(1)).toEqual([
      { path: '/auth/refresh', token: 'refresh-1', json: undefined },
      { path: '/auth/refresh', token: 'refresh-2', json: undefined },
    ]);
    expect(types()).toEqual(['session-opened', 'session-refreshed', 'session-refreshed']);
  });

  test('Session.authorization() counts the age of a token from when it arrived, on a clock that does not jump', async () => {
    const reply = Promise.withResolvers<JsonAnswer>();
    const { clock, token, paths } = createBench(reply.promise, tokens(2));
    const waiting = token();
    await clock.advance(3 * MINUTE_MS);
    reply.resolve(tokens(1));
    await waiting;
    clock.jump(86_400_000);
    await clock.advance(4 * MINUTE_MS - 1);
    expect(await token()).toBe('Bearer access-1');
    expect(paths()).toEqual(['login']);
  });

  test.each([
    ['is refused', refused()],
    ['is answered without tokens', { status: 200, body: {} }],
    ['is answered with status 500', refused(500)],
    ['loses its connection', cut],
    ['is not answered in time', new RouterError('timeout', 'Too slow', { disposition: 'retry' })],
  ])('Session.authorization() logs in when a refresh %s', async (_what, reply) => {
    const { clock, token, asked, types } = createBench(tokens(1), reply, tokens(2), tokens(3));
    await token();
    await clock.advance(4 * MINUTE_MS);
    expect(await token()).toBe('Bearer access-2');
    expect(types()).toEqual(['session-opened', 'session-lost', 'session-opened']);
    await clock.advance(4 * MINUTE_MS);
    await token();
    expect(asked.filter(({ token: sent }) => sent === 'refresh-1')).toHaveLength(1);
  });

  test('Session.authorization() keeps the refresh token when the refresh certainly never left, and sends it later', async () => {
    const { clock, token, asked, types } = createBench(tokens(1), unsent, unsent, tokens(2));
    await token();
    await clock.advance(4 * MINUTE_MS);
    await expect(token()).rejects.toBe(unsent);
    await expect(token()).rejects.toBe(unsent);
    expect(await token()).toBe('Bearer access-2');
    expect(asked.slice(1).map(({ path, token: sent }) => [path, sent])).toEqual([
      ['/auth/refresh', 'refresh-1'],
      ['/auth/refresh', 'refresh-1'],
      ['/auth/refresh', 'refresh-1'],
    ]);
    expect(types()).toEqual(['session-opened', 'session-refreshed']);
  });

  test.each([
    ['was refused', refused()],
    ['may have arrived', cut],
  ])(
    'Session.authorization() never sends a refresh token again that %s, though the login after it never left',
    async (_what, reply) => {
      const { clock, token, asked } = createBench(tokens(1), reply, unsent, tokens(2));
      await token();
      await clock.advance(4 * MINUTE_MS);
      await expect(token()).rejects.toBe(unsent);
      expect(await token()).toBe('Bearer access-2');
      expect(asked.map(({ path }) => path)).toEqual(['/auth/login', '/auth/refresh', '/auth/login', '/auth/login']);
    },
  );

  test('Session.authorization() takes a refresh token for spent when the refresh was aborted', async () => {
    const abort = new AbortController();
    const reply = Promise.withResolvers<JsonAnswer>();
    const { clock, token, paths, types } = createBench(tokens(1), reply.promise, tokens(2));
    await token();
    await clock.advance(4 * MINUTE_MS);
    const waiting = token(abort.signal);
    const reason = new RangeError('stop');
    abort.abort(reason);
    reply.reject(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(await token()).toBe('Bearer access-2');
    expect(paths()).toEqual(['login', 'refresh', 'login']);
    expect(types()).toEqual(['session-opened', 'session-opened']);
  });
});

describe('lost', () => {
  test('Session.lost() leads to a refresh at the next call, and to no login', async () => {
    const { session, token, asked, types } = createBench(tokens(1), tokens(2));
    expect(session.lost(await token(), cut, false)).toBe(true);
    expect(await token()).toBe('Bearer access-2');
    expect(asked[1]).toEqual({ path: '/auth/refresh', token: 'refresh-1', json: undefined });
    expect(types()).toEqual(['session-opened', 'session-refreshed']);
  });

  test('Session.lost() leads to a login when the refresh is refused, and the refresh token is not sent again', async () => {
    const { session, token, paths, types } = createBench(tokens(1), refused(), cut, tokens(2));
    session.lost(await token(), cut, false);
    await expect(token()).rejects.toBe(cut);
    expect(await token()).toBe('Bearer access-2');
    expect(paths()).toEqual(['login', 'refresh', 'login', 'login']);
    expect(types()).toEqual(['session-opened', 'session-lost', 'login-failed', 'session-opened']);
  });

  test('Session.lost() leads to a login when the token of a refresh is refused for the same request', async () => {
    const { session, token, paths, events } = createBench(tokens(1), tokens(2), tokens(3));
    session.lost(await token(), cut, false);
    expect(session.lost(await token(), cut, true)).toBe(true);
    expect(await token()).toBe('Bearer access-3');
    expect(paths()).toEqual(['login', 'refresh', 'login']);
    expect(events[2]).toEqual({ type: 'session-lost', cause: cut });
  });

  test('Session.lost() knows nothing better when the token of a login is refused for the same request', async () => {
    const { session, token, paths } = createBench(tokens(1), refused(), tokens(2), tokens(3));
    session.lost(await token(), cut, false);
    expect(session.lost(await token(), cut, true)).toBe(false);
    // The next request starts again, with the refresh token of that login.
    session.lost(await token(), cut, false);
    expect(await token()).toBe('Bearer access-3');
    expect(paths()).toEqual(['login', 'refresh', 'login', 'refresh']);
  });

  test('Session.lost() keeps the refresh token when the refresh certainly never left', async () => {
    const { session, token, paths } = createBench(tokens(1), unsent, tokens(2));
    session.lost(await token(), cut, false);
    await expect(token()).rejects.toBe(unsent);
    expect(await token()).toBe('Bearer access-2');
    expect(paths()).toEqual(['login', 'refresh', 'refresh']);
  });

  test('Session.lost() leaves a newer token alone', async () => {
    const { session, token, types } = createBench(tokens(1), tokens(2));
    const old = await token();
    session.lost(old, cut, false);
    await token();
    expect(session.lost(old, cut, false)).toBe(true);
    expect(await token()).toBe('Bearer access-2');
    expect(types()).toEqual(['session-opened', 'session-refreshed']);
  });
});

describe('close', () => {
  test('Session.close() logs out with the token it holds, and refuses every later call', async () => {
    const { session, token, asked, types } = createBench(tokens(1), { status: 200, body: undefined });
    await token();
    await session.close(never);
    expect(asked[1]).toEqual({ path: '/auth/logout', token: 'access-1', json: undefined });
    expect(types()).toEqual(['session-opened', 'session-closed']);
    await expect(token()).rejects.toMatchObject({ name: 'RouterError' });
    expect(asked).toHaveLength(2);
  });

  test('Session.close() logs out with the refresh token when the access token may have expired or was refused', async () => {
    const { clock, session, token, asked } = createBench(tokens(1), { status: 200, body: undefined });
    await token();
    await clock.advance(4 * 60_000);
    await session.close(never);
    expect(asked[1]).toMatchObject({ path: '/auth/logout', token: 'refresh-1' });

    const other = createBench(tokens(1), { status: 200, body: undefined });
    other.session.lost(await other.token(), cut, false);
    await other.session.close(never);
    expect(other.asked[1]).toMatchObject({ path: '/auth/logout', token: 'refresh-1' });
  });

  test('Session.close() reports no logout that the router has not confirmed', async () => {
    const { session, token, types } = createBench(tokens(1), { status: 401, body: undefined });
    await token();
    await session.close(never);
    expect(types()).toEqual(['session-opened']);
  });

  test('Session.close() sends no request without a session', async () => {
    const { session, asked, types } = createBench();
    await session.close(never);
    await session.close(never);
    expect([asked, types()]).toEqual([[], []]);
  });

  test('Session.close() does not throw when the logout fails', async () => {
    const { session, token, types } = createBench(tokens(1), cut);
    await token();
    await session.close(never);
    expect(types()).toEqual(['session-opened']);
  });
});

test('Session reads a refused password again, tries another one at once, and the same one not before its wait is over', async () => {
  const clock = createSteppedClock(0);
  const values = ['second', 'second', 'third'];
  const password: Secret = new Secret('first', {
    id: 'x',
    renew: async () => password.replace(values.shift() ?? 'third'),
  });
  const replies = [refused(), tokens(1)];
  const used: unknown[] = [];
  const session = new Session({
    username: 'monitor',
    password,
    clock,
    ask: async ({ json }) => {
      used.push(Object(json).password);
      return replies.shift() ?? refused();
    },
    report: () => {},
  });
  expect(await session.authorization(never)).toBe('Bearer access-1');
  expect(used.splice(0)).toEqual(['first', 'second']);

  const other = new Session({
    username: 'monitor',
    password,
    clock,
    ask: async ({ json }) => {
      used.push(Object(json).password);
      return refused();
    },
    report: () => {},
  });
  await expect(other.authorization(never)).rejects.toMatchObject({ code: 'auth' });
  await expect(other.authorization(never)).rejects.toMatchObject({ code: 'auth' });
  expect(used.splice(0)).toEqual(['second']);
  // Changed by the watch of its file.
  password.replace('fourth');
  await expect(other.authorization(never)).rejects.toMatchObject({ code: 'auth' });
  expect(used.splice(0)).toEqual(['fourth', 'third']);
  // A source that gives another value each time must not lock the account.
  password.replace('fifth');
  await expect(other.authorization(never)).rejects.toMatchObject({ code: 'auth' });
  expect(used).toEqual([]);
});

test('Session reports a login that the time limit of its caller ends, and not one that the end of the agent does', async () => {
  for (const [reason, types] of [
    [new DeadlineExceeded(45_000), ['login-failed']],
    [new Error('The agent ends'), []],
  ] as const) {
    const caller = new AbortController();
    const events: string[] = [];
    const session = new Session({
      username: 'monitor',
      password: new Secret('simulated'),
      clock: createSteppedClock(0),
      ask: async (_request, signal) => {
        caller.abort(reason);
        throw signal.reason;
      },
      report: ({ type }) => void events.push(type),
    });
    await expect(session.authorization(caller.signal)).rejects.toBe(reason);
    expect(events).toEqual(types);
  }
});

test.each([
  [{ group: 'readwrite', name: 'monitor' }, { group: 'readwrite' }],
  [{ group: 7 }, {}],
  [{ group: 'x'.repeat(65) }, {}],
  [['group'], {}],
  [null, {}],
])('Session tells the group that a token of %j names, if it does', async (claims, expected) => {
  const access = `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  const { token, events } = createBench({ status: 200, body: { access, refresh: 'refresh-1' } });
  await token();
  expect(events).toEqual([{ type: 'session-opened', ...expected }]);
});

test.each(['access-1', '..', 'a.b.c', `a.${'%'.repeat(9)}.c`])(
  'Session reads no group from the token %j',
  async (access) => {
    const { token, events } = createBench({ status: 200, body: { access, refresh: 'refresh-1' } });
    await token();
    expect(events).toEqual([{ type: 'session-opened' }]);
  },
);
