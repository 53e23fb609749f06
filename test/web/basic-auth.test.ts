import { spawnSync } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { getRounds, hashSync } from 'bcryptjs';
import { describe, expect, test, vi } from 'vitest';
import { type WebContent, WebError, type WebSecurity } from '../../src/web/index.ts';
import {
  BasicAuth,
  type PasswordComparer,
  PasswordThread,
  type PasswordWork,
  type Standing,
} from '../../src/web/server/passwords.ts';
import { ask, openBench, toBasic } from './bench.ts';

// The lowest cost that there is; tests need no more.
const ALICE = hashSync('correct horse', 4);
const BOB = hashSync('geheim: ö', 4).replace(/^\$2b/, '$2y');

const CLIENT = '192.0.2.7';
const PLAIN: PasswordWork = { fillers: [], standing: 'new', client: CLIENT };

function toSecurity(users: Record<string, string> = { alice: ALICE, bob: BOB }): WebSecurity {
  return { headers: { 'X-Frame-Options': 'deny' }, users: new Map(Object.entries(users)) };
}

const openAuthBench = (content: Partial<WebContent> = {}) => openBench(content, { security: toSecurity() });

describe('a server with users', () => {
  test('asks for a password on every path, also on those that do not exist', async () => {
    const renderMetrics = vi.fn<WebContent['renderMetrics']>(() => []);
    await using bench = await openAuthBench({ renderMetrics });
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/metrics'],
      ['HEAD', '/metrics'],
      ['GET', '/-/healthy'],
      ['GET', '/-/ready'],
      ['GET', '/nothing'],
      ['DELETE', '/metrics'],
      ['OPTIONS', '/metrics'],
      ['POST', '/-/reload'],
    ] as const) {
      const { status, headers } = await bench.get(path, { method });
      expect([method, path, status]).toEqual([method, path, 401]);
      expect(headers).toMatchObject({
        'www-authenticate': 'Basic realm="router-exporter", charset="UTF-8"',
        'x-frame-options': 'deny',
        'x-content-type-options': 'nosniff',
      });
    }
    expect(renderMetrics).not.toHaveBeenCalled();
  });

  test('accepts the password of a user', async () => {
    await using bench = await openAuthBench();
    for (const headers of [toBasic('alice', 'correct horse'), toBasic('bob', 'geheim: ö')]) {
      expect((await bench.get('/metrics', { headers })).status).toBe(200);
      expect((await bench.get('/nothing', { headers })).status).toBe(404);
    }
    for (const headers of [
      toBasic('alice', 'geheim: ö'),
      toBasic('alice', ''),
      toBasic('', ''),
      toBasic('carol', 'correct horse'),
      toBasic('Alice', 'correct horse'),
      toBasic('alice', ALICE),
      toBasic('constructor', ''),
    ]) {
      expect((await bench.get('/metrics', { headers })).status).toBe(401);
    }
  });

  test('takes other users from the next request on after an update, and forgets the former ones', async () => {
    await using bench = await openAuthBench();
    const alice = { headers: toBasic('alice', 'correct horse') };
    const bob = { headers: toBasic('bob', 'geheim: ö') };
    expect((await bench.get('/metrics', alice)).status).toBe(200);
    bench.server.prepare({ security: toSecurity({ bob: BOB }) })();
    expect((await bench.get('/metrics', alice)).status).toBe(401);
    expect((await bench.get('/metrics', bob)).status).toBe(200);
    bench.server.prepare({ security: toSecurity({ bob: ALICE }) })();
    expect((await bench.get('/metrics', bob)).status).toBe(401);
    bench.server.prepare({})();
    expect((await bench.get('/metrics')).status).toBe(200);
    bench.server.prepare({ security: toSecurity() })();
    expect((await bench.get('/metrics')).status).toBe(401);
  });

  test('accepts a valid password while other clients flood it with wrong ones', async () => {
    await using bench = await openBench({}, { security: toSecurity({ alice: hashSync('correct horse', 8) }) });
    const guess = async (index: number, localAddress: string) =>
      (await bench.get('/metrics', { headers: toBasic('alice', `guess ${index}`), localAddress })).status;
    const flood = Array.from({ length: 120 }, (_, index) => guess(index, `127.0.0.${2 + (index % 3)}`));
    // The first ones have failed by now, the others wait or were refused.
    await Promise.race(flood);
    const good = { headers: toBasic('alice', 'correct horse'), localAddress: '127.0.0.9' };
    const isAnswered = await bench.get('/metrics', good);
    expect(isAnswered.status).toBe(200);
    const answers = await Promise.all(flood);
    expect(answers.filter((status) => status !== 401 && status !== 503)).toEqual([]);
    expect(answers).toContain(503);
  });

  test('accepts a valid password at once while forty addresses have each sent a wrong one', async () => {
    await using bench = await openBench({}, { security: toSecurity({ alice: hashSync('correct horse', 8) }) });
    const answered: string[] = [];
    const login = async (password: string, localAddress: string) => {
      const headers = toBasic('alice', password);
      const { status } = await bench.get('/metrics', { headers, localAddress });
      if (status !== 503) answered.push(`${localAddress} ${status}`);
      return status;
    };
    const flood = Array.from({ length: 40 }, (_, index) => login(`guess ${index}`, `127.0.0.${20 + index}`));
    // One of them is refused when all others wait.
    expect(await Promise.race(flood.map(async (one) => ((await one) === 503 ? 'full' : new Promise(() => {}))))).toBe(
      'full',
    );
    expect(await login('correct horse', '127.0.0.9')).toBe(200);
    expect(answered.length).toBeLessThan(20);
    await Promise.all(flood);
  });

  test.for([
    ['busy', 0],
    ['password-check', 1],
  ] as const)('answers 503 when passwords cannot be compared (%s)', async ([code, reports]) => {
    const cause = new WebError(code, 'Not now', { disposition: 'hold-back' });
    const auth = new BasicAuth(new Map([['alice', ALICE]]), { isMatch: () => Promise.reject(cause) });
    const onFailed = vi.fn<WebContent['onFailed']>();
    const settings = { auth, content: { onFailed }, headers: { 'X-Frame-Options': 'deny' } };
    const { status, headers } = await ask('/metrics', settings, { headers: toBasic('alice', 'x') });
    expect([status, headers.get('retry-after'), headers.get('x-frame-options')]).toEqual([503, '1', 'deny']);
    expect(onFailed).toHaveBeenCalledTimes(reports);
  });
});

describe('BasicAuth.admits()', () => {
  const { authorization: good } = toBasic('alice', 'correct horse');
  const { authorization: bad } = toBasic('alice', 'wrong');
  const { authorization: unknown } = toBasic('carol', 'correct horse');

  /** Knows one password, and records its calls. */
  function createComparer() {
    const isMatch = vi.fn<PasswordComparer['isMatch']>(async (password) => password === 'correct horse');
    const auth = new BasicAuth(new Map([['alice', ALICE]]), { isMatch });
    return { auth, isMatch };
  }

  test('compares good credentials once, and bad ones each time', async () => {
    const { auth, isMatch } = createComparer();
    for (let round = 0; round < 3; round++) expect(await auth.admits(good, CLIENT)).toBe(true);
    expect(isMatch.mock.calls).toEqual([['correct horse', ALICE, PLAIN]]);
    for (let round = 0; round < 3; round++) expect(await auth.admits(bad, CLIENT)).toBe(false);
    expect(isMatch).toHaveBeenCalledTimes(4);
  });

  test('compares once for concurrent requests with the same credentials', async () => {
    const { auth, isMatch } = createComparer();
    const answers = await Promise.all([good, bad, good, bad, good].map((header) => auth.admits(header, CLIENT)));
    expect(answers).toEqual([true, false, true, false, true]);
    expect(isMatch).toHaveBeenCalledTimes(2);
  });

  test('takes as long for an unknown user as for the costliest known one', async () => {
    const isMatch = vi.fn<PasswordComparer['isMatch']>(async () => true);
    const users = new Map([
      ['alice', ALICE],
      ['bob', ALICE.replace('$04$', '$06$')],
    ]);
    const auth = new BasicAuth(users, { isMatch });
    for (let round = 0; round < 2; round++) expect(await auth.admits(unknown, CLIENT)).toBe(false);
    expect(isMatch).toHaveBeenCalledTimes(2);
    const [, decoy = '', work] = isMatch.mock.calls[0] ?? [];
    expect([decoy.length, getRounds(decoy), work?.fillers]).toEqual([60, 6, []]);
    expect([...users.values()]).not.toContain(decoy);
  });

  test.for([
    ['alice', [4, 4, 5]],
    ['bob', [6]],
    ['carol', [5, 5]],
    ['nobody', [6]],
  ] as const)('does the same work for the wrong password of %s', async ([user, costs]) => {
    const isMatch = vi.fn<PasswordComparer['isMatch']>(async () => false);
    const hashes = [
      ['alice', ALICE],
      ['bob', ALICE.replace('$04$', '$06$')],
      ['carol', ALICE.replace('$04$', '$05$')],
    ];
    const auth = new BasicAuth(new Map(hashes as [string, string][]), { isMatch });
    await auth.admits(toBasic(user, 'wrong').authorization, CLIENT);
    const [[, hash, { fillers }] = ['', '', PLAIN]] = isMatch.mock.calls;
    const done = [hash, ...fillers].map(getRounds);
    expect(done).toEqual(costs);
    expect(done.reduce((sum, cost) => sum + 2 ** cost, 0)).toBe(2 ** 6);
  });

  test('puts a client that failed behind all others until it succeeds, and then before them', async () => {
    const { auth, isMatch } = createComparer();
    const standing = () => isMatch.mock.lastCall?.[2].standing;
    await auth.admits(bad, CLIENT);
    expect(standing()).toBe('new');
    await auth.admits(unknown, CLIENT);
    expect(standing()).toBe('failed');
    await auth.admits(unknown, 'another');
    expect(standing()).toBe('new');
    await auth.admits(good, CLIENT);
    expect(standing()).toBe('failed');
    await auth.admits(bad, CLIENT);
    expect(standing()).toBe('good');
    await auth.admits(bad, CLIENT);
    expect(standing()).toBe('failed');
  });

  test('puts concurrent comparisons of a client with other credentials behind all others', async () => {
    const { auth, isMatch } = createComparer();
    await Promise.all([auth.admits(bad, CLIENT), auth.admits(unknown, CLIENT)]);
    expect(isMatch.mock.calls.map(([, , work]) => work.standing)).toEqual(['new', 'failed']);
  });

  test('compares no more than eight passwords of one client at once, and known credentials always', async () => {
    const end = Promise.withResolvers<boolean>();
    const isMatch = vi.fn<PasswordComparer['isMatch']>((password) =>
      password === 'correct horse' ? Promise.resolve(true) : end.promise,
    );
    const auth = new BasicAuth(new Map([['alice', ALICE]]), { isMatch });
    await auth.admits(good, CLIENT);
    const guess = (index: number) => auth.admits(toBasic('alice', `guess ${index}`).authorization, CLIENT);
    const guesses = Array.from({ length: 8 }, (_, index) => guess(index));
    await expect(guess(8)).rejects.toMatchObject({ code: 'busy' });
    expect(await auth.admits(good, CLIENT)).toBe(true);
    end.resolve(false);
    expect(await Promise.all(guesses)).toEqual(guesses.map(() => false));
    expect(await guess(8)).toBe(false);
  });

  test.for([
    undefined,
    '',
    'Basic',
    'Basic ',
    'Bearer YWxpY2U6Y29ycmVjdCBob3JzZQ==',
    // "alice" without a colon.
    'Basic YWxpY2U=',
    'Basic !!!!',
    good.replace('Basic ', ''),
    `${good}, ${good}`,
  ])('refuses %j without comparing anything', async (header) => {
    const { auth, isMatch } = createComparer();
    expect(await auth.admits(header, CLIENT)).toBe(false);
    expect(isMatch).not.toHaveBeenCalled();
  });

  test('takes the scheme in any case, and a password with colons', async () => {
    const { auth, isMatch } = createComparer();
    expect(await auth.admits(good.replace('Basic', 'bASIC'), CLIENT)).toBe(true);
    await auth.admits(toBasic('alice', 'a:b:').authorization, CLIENT);
    expect(isMatch).toHaveBeenLastCalledWith('a:b:', ALICE, { ...PLAIN, standing: 'good' });
  });

  test('tries again after a comparison that failed', async () => {
    const { auth, isMatch } = createComparer();
    isMatch.mockRejectedValueOnce(new WebError('busy', 'Not now', { disposition: 'hold-back' }));
    await expect(auth.admits(good, CLIENT)).rejects.toMatchObject({ code: 'busy' });
    expect(await auth.admits(good, CLIENT)).toBe(true);
  });

  test('remembers the hundred credentials that were used last', async () => {
    const isMatch = vi.fn<PasswordComparer['isMatch']>(async () => true);
    const users = Array.from({ length: 101 }, (_, index) => `user-${index}`);
    const auth = new BasicAuth(new Map(users.map((user) => [user, ALICE])), { isMatch });
    const comparisonsFor = async (user = '') => {
      isMatch.mockClear();
      expect(await auth.admits(toBasic(user, 'x').authorization, CLIENT)).toBe(true);
      return isMatch.mock.calls.length;
    };
    for (const user of users.slice(0, 100)) expect(await comparisonsFor(user)).toBe(1);
    expect(await comparisonsFor(users[0])).toBe(0);
    expect(await comparisonsFor(users[100])).toBe(1);
    // The one unused for longest was dropped, not the one first seen.
    expect(await comparisonsFor(users[0])).toBe(0);
    expect(await comparisonsFor(users[1])).toBe(1);
  });
});

describe('PasswordThread', () => {
  test('knows the hashes of all programs', async () => {
    await using thread = openThread();
    for (const version of ['a', 'b', 'y']) {
      const hash = ALICE.replace('$2b', `$2${version}`);
      expect(await thread.isMatch('correct horse', hash, PLAIN)).toBe(true);
      expect(await thread.isMatch('correct horses', hash, PLAIN)).toBe(false);
    }
  });

  test('leaves the rest of the program running while it compares', async () => {
    await using thread = openThread();
    await thread.isMatch('x', ALICE, PLAIN);
    const over = new AbortController();
    let iterations = 0;
    const comparison = thread.isMatch('x', ALICE.replace('$04$', '$11$'), PLAIN).finally(() => over.abort());
    for (; !over.signal.aborted; iterations++) await setImmediate();
    expect(await comparison).toBe(false);
    // In this thread it would block the event loop for a tenth of a second each.
    expect(iterations).toBeGreaterThan(100);
  });

  test.for([
    ['good', 32],
    ['failed', 17],
  ] as const)(
    'compares one, lets others of a client that is %s wait, and refuses the next',
    async ([standing, max]) => {
      await using thread = openThread();
      const work = { ...PLAIN, standing };
      const waiting = Array.from({ length: max }, () => thread.isMatch('correct horse', ALICE, work));
      await expect(thread.isMatch('x', ALICE, work)).rejects.toMatchObject({ name: 'WebError', code: 'busy' });
      expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
      expect(await thread.isMatch('correct horse', ALICE, work)).toBe(true);
    },
  );

  test('drops a job of a client with several passwords for one with fewer when too many wait', async () => {
    await using thread = openThread();
    const compare = (client: string) => thread.isMatch('x', ALICE, { ...PLAIN, standing: 'good', client });
    // The first one is being compared while the others come.
    const crowd = Array.from({ length: 32 }, (_, index) => compare(`192.0.2.${1 + (index % 4)}`));
    const outcomes = Promise.allSettled(crowd);
    expect(await compare('198.51.100.1')).toBe(false);
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'busy' } }]);
  });

  test('compares good clients first, then new ones, the newest first, and last those that failed', async () => {
    await using thread = openThread();
    const order: string[] = [];
    const compare = async (name: string, standing: Standing) => {
      await thread.isMatch('x', ALICE, { ...PLAIN, standing, client: name }).then(
        () => order.push(name),
        () => order.push(`${name} refused`),
      );
    };
    // The first one is being compared while the others come, from so many addresses that one of them is refused.
    const asked = Array.from({ length: 3 }, (_, index) => compare(`failed ${index}`, 'failed'));
    asked.push(...Array.from({ length: 32 }, (_, index) => compare(`new ${index}`, 'new')), compare('good', 'good'));
    await Promise.all(asked);
    expect(order.slice(0, 5)).toEqual(['new 0 refused', 'failed 0', 'good', 'new 31', 'new 30']);
    expect(order.slice(-3)).toEqual(['new 1', 'failed 1', 'failed 2']);
  });

  test('compares the fillers only with a password that does not match', async () => {
    await using thread = openThread();
    // A filler that is no hash ends the thread.
    const work = { ...PLAIN, fillers: [ALICE.replace('$2b', '$9z')] };
    expect(await thread.isMatch('correct horse', ALICE, work)).toBe(true);
    await expect(thread.isMatch('x', ALICE, work)).rejects.toMatchObject({ code: 'password-check' });
  });

  test('is replaced when it dies', async () => {
    await using thread = openThread();
    // No server lets such a hash come so far.
    const waiting = [thread.isMatch('x', ALICE.replace('$2b', '$9z'), PLAIN), thread.isMatch('x', ALICE, PLAIN)];
    for (const { status, ...rest } of await Promise.allSettled(waiting)) {
      expect([status, rest]).toMatchObject(['rejected', { reason: { code: 'password-check' } }]);
    }
    expect(await thread.isMatch('correct horse', ALICE, PLAIN)).toBe(true);
  });

  test('fails what waits when it is closed, and what comes later', async () => {
    const thread = openThread();
    const waiting = thread.isMatch('x', ALICE, PLAIN);
    const [outcome] = await Promise.allSettled([waiting, thread.close()]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'password-check' } });
    await expect(thread.isMatch('x', ALICE, PLAIN)).rejects.toMatchObject({ code: 'password-check' });
    await thread.close();
  });

  test('does not keep the process alive', () => {
    const module = new URL('../../src/web/server/passwords.ts', import.meta.url).href;
    const script = `import { PasswordThread } from '${module}';
      console.log(await new PasswordThread().isMatch('correct horse', ${JSON.stringify(ALICE)}, ${JSON.stringify(PLAIN)}));`;
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, 'true\n']);
  });
});

function openThread(): PasswordThread & AsyncDisposable {
  const thread = new PasswordThread();
  return Object.assign(thread, { [Symbol.asyncDispose]: () => thread.close() });
}
