import { hashSync } from 'bcryptjs';
import { describe, expect, test, vi } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { type WebContent, WebError, type WebSecurity } from '../../src/web/index.ts';
import { Access, type AccessRules, type Role } from '../../src/web/server/access.ts';
import { ask as askRoutes, createApp, DETAIL, openBench, toBasic } from './bench.ts';

const HASH = hashSync('secret', 4);
const SECURITY: WebSecurity = { headers: {}, users: new Map(['alice', 'bob', 'carol'].map((user) => [user, HASH])) };
const RULES: AccessRules = {
  isHealthOpen: false,
  users: new Map([
    ['alice', 'metrics'],
    ['bob', 'read'],
  ]),
  tokens: [
    { name: 'prometheus', role: 'metrics', token: 'token-of-a-scraper' },
    { name: 'dashboard', role: 'read', token: 'token-of-a-reader' },
    { name: 'operator', role: 'admin', token: 'token-of-an-admin' },
  ],
};

const toBearer = (token: string) => ({ authorization: `Bearer ${token}` });

const CREDENTIALS: readonly (readonly [string, Role, Record<string, string>])[] = [
  ['a user with the role metrics', 'metrics', toBasic('alice', 'secret')],
  ['a user with the role read', 'read', toBasic('bob', 'secret')],
  ['a user without a role', 'admin', toBasic('carol', 'secret')],
  ['a token with the role metrics', 'metrics', toBearer('token-of-a-scraper')],
  ['a token with the role read', 'read', toBearer('token-of-a-reader')],
  ['a token with the role admin', 'admin', toBearer('token-of-an-admin')],
];

/** Every route, and the role it needs. */
const ROUTES: readonly (readonly [method: string, path: string, roles: readonly Role[], allowed?: number])[] = [
  ['GET', '/-/healthy', ['metrics', 'read', 'admin']],
  ['GET', '/-/ready', ['metrics', 'read', 'admin']],
  ['GET', '/metrics', ['metrics', 'read', 'admin']],
  ['HEAD', '/metrics', ['metrics', 'read', 'admin']],
  ['GET', '/metrics/agent', ['metrics', 'read', 'admin']],
  ['GET', '/probe?target=plant-7', ['metrics', 'read', 'admin']],
  ['GET', '/sd', ['metrics', 'read', 'admin']],
  ['GET', '/', ['read', 'admin']],
  ['GET', '/router/plant-7', ['read', 'admin']],
  ['GET', '/logs', ['read', 'admin']],
  ['GET', '/logs/positions', ['read', 'admin']],
  ['HEAD', '/logs/stream', ['read', 'admin']],
  ['HEAD', '/router/plant-7/stream', ['read', 'admin']],
  ['GET', '/api/v1/records', ['read', 'admin']],
  ['HEAD', '/api/v1/records/stream', ['read', 'admin']],
  ['GET', '/api/v1/logs', ['read', 'admin']],
  ['GET', '/api/v1/events', ['read', 'admin']],
  ['GET', '/api/v1/dead-letters', ['read', 'admin']],
  ['GET', '/api/v1/dead-letters/1', ['read', 'admin'], 404],
  ['GET', '/api/v1/process', ['read', 'admin']],
  ['GET', '/api/v1/routers/plant-7/records', ['read', 'admin']],
  ['GET', '/sinks', ['read', 'admin']],
  ['GET', '/dead-letters', ['read', 'admin']],
  ['GET', '/dead-letters/1', ['read', 'admin'], 404],
  ['GET', '/config', ['read', 'admin']],
  ['GET', '/assets/pages.css', ['read', 'admin']],
  ['GET', '/assets/pages.js', ['read', 'admin']],
  ['GET', '/api/v1/events', ['read', 'admin']],
  ['GET', '/api/v1/routers', ['read', 'admin']],
  ['GET', '/api/v1/routers/plant-7', ['read', 'admin']],
  ['GET', '/api/v1/runs', ['read', 'admin']],
  ['GET', '/api/v1/sinks', ['read', 'admin']],
  ['POST', '/-/reload', ['admin']],
  ['PUT', '/-/reload', ['admin']],
  ['PUT', '/api/v1/routers/plant-7/state', ['admin'], 400],
  ['POST', '/-/quit', ['admin']],
  ['PUT', '/-/quit', ['admin']],
  ['POST', '/-/poll?router=plant-7', ['admin'], 303],
  ['POST', '/-/maintenance?router=plant-7', ['admin'], 400],
];
const CONTENT: Partial<WebContent> = { describeRouter: () => DETAIL };

/** The routes as they are registered; `HEAD` belongs to `GET`, and `OPTIONS` and other methods do nothing. */
function listRegistered(): string[] {
  const methods = createApp().app.routes.filter(({ method }) => method !== 'ALL' && method !== 'OPTIONS');
  return methods.map(({ method, path }) => `${method} ${path}`);
}

test('the list of routes in this file has every route that there is, so that a new one must state its role', () => {
  const toPattern = (path: string) =>
    path
      .replace(/\?.*/, '')
      .replace(/(?<=\/(router|routers)\/)plant-7/, ':name')
      .replace(/(?<=\/dead-letters\/)1/, ':id');
  const listed = ROUTES.map(([method, path]) => `${method.replace('HEAD', 'GET')} ${toPattern(path)}`);
  // Routers have no role: see notify.test.ts.
  const ofRouters = 'POST /api/v1/routers/:name/notify';
  expect([...new Set([...listed, ofRouters])].toSorted()).toEqual(listRegistered().toSorted());
});

test('every route that changes something does nothing for a page of another site, and nothing unless it is allowed', async () => {
  const acts = ['reload', 'tryReload', 'setRouterState', 'quit', 'refresh'] as const;
  const spies = Object.fromEntries(acts.map((act) => [act, vi.fn()]));
  const changing = ROUTES.filter(([method]) => method !== 'GET' && method !== 'HEAD');
  expect(changing.length).toBeGreaterThan(0);
  const body = '{"state":"paused"}';
  for (const [method, path] of changing) {
    for (const query of ['', '?dry_run=1', '?accept_removals=x']) {
      const asked = path.includes('?') ? path : path + query;
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { origin: 'null' },
        { referer: 'http://evil.example/' },
      ]) {
        const settings = { content: spies, isLifecycleEnabled: true };
        const { status, text } = await askRoutes(asked, settings, { method, headers, body });
        expect([asked, status, text]).toEqual([asked, 403, 'Cross-site request refused.\n']);
      }
      const { status, text } = await askRoutes(asked, { content: spies }, { method, body });
      expect([asked, status, text]).toEqual([asked, 403, expect.stringContaining('Disabled')]);
    }
  }
  for (const act of acts) expect([act, spies[act]?.mock.calls]).toEqual([act, []]);
});

test('no route that is asked by GET changes anything, and none takes a body that is long', async () => {
  const acts = ['reload', 'setRouterState', 'quit'] as const;
  const spies = Object.fromEntries(
    acts.map((act) => [act, vi.fn(() => Promise.resolve({ ok: false, reason: 'unknown' }))]),
  );
  await using bench = await openBench({ ...CONTENT, ...spies }, { isLifecycleEnabled: true });
  for (const [, path] of ROUTES) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH']) {
      // A stream does not end.
      if (method === 'GET' && path.endsWith('/stream')) continue;
      const { status } = await bench.get(path, { method });
      expect([method, path, status]).not.toEqual([method, path, 500]);
    }
  }
  for (const act of acts) expect([act, spies[act]?.mock.calls]).toEqual([act, []]);
  const long = new Uint8Array(1024 * 1024).fill(0x20);
  const put = await fetch(`${bench.url}/api/v1/routers/plant-7/state`, { method: 'PUT', body: long }).catch(
    () => undefined,
  );
  expect([undefined, 400]).toContain(put?.status);
  expect(spies['setRouterState']?.mock.calls).toEqual([]);
});

describe.for(['', '/prefix'])('a server below %j with roles', (routePrefix) => {
  test.for(CREDENTIALS)('lets %s ask what the role allows, and nothing else', async ([, role, headers]) => {
    const options = { security: SECURITY, access: RULES, isLifecycleEnabled: true, routePrefix };
    await using bench = await openBench(CONTENT, options);
    for (const [method, path, roles, allowed = 200] of ROUTES) {
      const { status } = await bench.get(path, { method, headers });
      expect([method, path, status]).toEqual([method, path, roles.includes(role) ? allowed : 403]);
    }
    // Other spellings of a route are not found.
    for (const path of [
      '/-/reload/',
      '//-/reload',
      '/-/Reload',
      '/metrics/',
      '/config/',
      '/%63onfig',
      '/./config',
      '/-/../config',
    ]) {
      const { status } = await bench.get(path, { method: 'GET', headers });
      expect([path, status]).not.toEqual([path, role === 'metrics' ? 200 : 'nothing']);
    }
  });

  test('refuses all other clients with 401, on every route', async () => {
    await using bench = await openBench(CONTENT, {
      security: SECURITY,
      access: RULES,
      isLifecycleEnabled: true,
      routePrefix,
    });
    for (const headers of [
      {},
      toBearer('token-of-nobody'),
      toBearer(''),
      toBearer('token-of-a-scraper x'),
      toBasic('prometheus', 'token-of-a-scraper'),
      toBearer(HASH),
    ]) {
      for (const [method, path] of ROUTES) {
        expect([method, path, (await bench.get(path, { method, headers })).status]).toEqual([method, path, 401]);
      }
    }
  });
});

test('a scraper is refused log lines in a few words', async () => {
  await using bench = await openBench(CONTENT, { security: SECURITY, access: RULES });
  const { status, body } = await bench.get('/api/v1/routers/plant-7', { headers: toBearer('token-of-a-scraper') });
  expect([status, body.toString()]).toEqual([403, 'The role "metrics" does not allow this.\n']);
});

test('open_health opens the health checks, and nothing else, also while there is no content', async () => {
  await using bench = await openBench(CONTENT, { security: SECURITY, access: { ...RULES, isHealthOpen: true } });
  const ask = async (path: string) => (await bench.get(path)).status;
  expect([await ask('/-/healthy'), await ask('/-/ready'), await ask('/metrics'), await ask('/-/reload')]).toEqual([
    200, 200, 401, 401,
  ]);
  bench.server.serve(undefined);
  expect([await ask('/-/healthy'), await ask('/-/ready'), await ask('/metrics')]).toEqual([200, 503, 401]);
});

test('tokens alone close a server, which then asks for one', async () => {
  await using bench = await openBench({}, { access: { ...RULES, users: new Map() } });
  const refused = await bench.get('/metrics');
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer realm="router-exporter"']);
  expect((await bench.get('/metrics', { headers: toBearer('token-of-a-scraper') })).status).toBe(200);
});

test('a token that has changed where it comes from is valid from the next request on, and the former one is not', async () => {
  const token = new Secret('token-of-yesterday');
  const access = { ...RULES, users: new Map(), tokens: [{ name: 'a', role: 'read' as const, token }] };
  await using bench = await openBench({}, { access });
  const ask = async (one: string) => (await bench.get('/metrics', { headers: toBearer(one) })).status;
  expect([await ask('token-of-yesterday'), await ask('token-of-today')]).toEqual([200, 401]);
  token.replace('token-of-today');
  expect([await ask('token-of-yesterday'), await ask('token-of-today')]).toEqual([401, 200]);
});

test('a reload changes roles and tokens from the next request on, and compares no known password again', async () => {
  const onFailed = vi.fn<WebContent['onFailed']>();
  await using bench = await openBench({ ...CONTENT, onFailed }, { security: SECURITY, access: RULES });
  const ask = async (headers: Record<string, string>) => (await bench.get('/config', { headers })).status;
  expect([await ask(toBasic('bob', 'secret')), await ask(toBearer('token-of-a-reader'))]).toEqual([200, 200]);
  const users = new Map<string, Role>([['bob', 'metrics']]);
  bench.server.prepare({ security: SECURITY, access: { isHealthOpen: false, users, tokens: [] } })();
  expect([await ask(toBasic('bob', 'secret')), await ask(toBearer('token-of-a-reader'))]).toEqual([403, 401]);
});

test('a role for a user who does not exist is refused', async () => {
  const options = { security: SECURITY, access: { ...RULES, users: new Map([['alise', 'metrics' as const]]) } };
  await expect(openBench({}, options)).rejects.toMatchObject({ code: 'settings', disposition: 'operator' });
  await using bench = await openBench();
  expect(() => bench.server.prepare(options)).toThrow(WebError);
});

test('Access reads a token again after one that it does not know, for the next request', async () => {
  const renew = vi.fn(async () => token.replace('new-token'));
  const token: Secret = new Secret('old-token', { id: 'command', renew });
  const rules = { isHealthOpen: false, users: new Map(), tokens: [{ name: 'a', token, role: 'metrics' as const }] };
  const access = new Access(rules, undefined);
  expect(await access.identify('Bearer old-token', '192.0.2.1')).toBe('metrics');
  expect(renew).not.toHaveBeenCalled();
  expect(await access.identify('Bearer new-token', '192.0.2.1')).toBeUndefined();
  expect(renew).toHaveBeenCalledOnce();
  expect(await access.identify('Bearer new-token', '192.0.2.1')).toBe('metrics');
  // However many are refused, it is not read again at once.
  expect(await access.identify('Bearer old-token', '192.0.2.1')).toBeUndefined();
  expect(renew).toHaveBeenCalledOnce();
});
