import { expect, test, vi } from 'vitest';
import type { LifecycleWish } from '../../src/model/index.ts';
import type { RouterDetail, WebContent } from '../../src/web/index.ts';
import { waitFor } from '../support/wait-for.ts';
import { ask, createApp, DETAIL, openBench, type Settings } from './bench.ts';

const ENABLED: Settings = { isLifecycleEnabled: true };

test.for(['POST', 'PUT'])(
  '%s /-/reload and /-/quit do nothing unless it is allowed, and say how to',
  async (method) => {
    const reload = vi.fn<WebContent['reload']>();
    const quit = vi.fn<WebContent['quit']>();
    for (const path of ['/-/reload', '/-/quit']) {
      const { status, text } = await ask(path, { content: { reload, quit } }, { method });
      expect(status).toBe(403);
      expect(text).toContain('--web.enable-lifecycle');
    }
    expect(reload).not.toHaveBeenCalled();
    expect(quit).not.toHaveBeenCalled();
  },
);

test.for(['/-/reload', '/-/quit'])('GET %s answers 405 with what is allowed, and does nothing', async (path) => {
  const reload = vi.fn<WebContent['reload']>();
  const quit = vi.fn<WebContent['quit']>();
  for (const method of ['GET', 'HEAD', 'DELETE']) {
    const { status, headers } = await ask(path, { ...ENABLED, content: { reload, quit } }, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'POST, PUT, OPTIONS']);
  }
  expect(reload).not.toHaveBeenCalled();
  expect(quit).not.toHaveBeenCalled();
});

test('POST /-/poll polls a router, and leads back to its page when the poll has ended', async () => {
  const ended = Promise.withResolvers<void>();
  const refresh = vi.fn<WebContent['refresh']>(() => ended.promise);
  const content = { refresh };
  const asked = ask('/-/poll?router=plant-7', { ...ENABLED, content }, { method: 'POST' });
  await waitFor(() => expect(refresh).toHaveBeenCalledExactlyOnceWith('plant-7', expect.any(AbortSignal)));
  ended.resolve();
  const { status, headers } = await asked;
  expect([status, headers.get('location')]).toEqual([303, '../router/plant-7']);
  const below = { ...ENABLED, content, externalUrl: 'https://example.com/routers' };
  const far = await ask('/routers/-/poll?router=plant-7', { ...below, routePrefix: '/routers' }, { method: 'POST' });
  expect(far.headers.get('location')).toBe('/routers/router/plant-7');
  expect((await ask('/-/poll?router=nobody', { ...ENABLED, content }, { method: 'POST' })).status).toBe(404);
  expect(refresh).toHaveBeenCalledTimes(2);
});

test('POST /-/poll polls nothing unless it is allowed, for another site, and by GET; a poll that never ends does not hold it', async () => {
  const refresh = vi.fn<WebContent['refresh']>(() => new Promise(() => {}));
  const content = { refresh };
  const path = '/-/poll?router=plant-7';
  expect((await ask(path, { content }, { method: 'POST' })).status).toBe(403);
  const headers = { 'sec-fetch-site': 'cross-site' };
  expect((await ask(path, { ...ENABLED, content }, { method: 'POST', headers })).status).toBe(403);
  expect((await ask(path, { ...ENABLED, content })).status).toBe(405);
  expect(refresh).not.toHaveBeenCalled();
  const { app, clock } = createApp({ ...ENABLED, content });
  const asked = app.request(path, { method: 'POST' }, {});
  await waitFor(() => expect(refresh).toHaveBeenCalledTimes(1));
  await clock.advance(15_000);
  expect((await asked).status).toBe(303);
});

test('the page of a router has the button only where polling is allowed', async () => {
  const content = { describeRouter: () => DETAIL };
  const page = await ask('/router/plant-7', { ...ENABLED, content });
  expect(page.text).toMatch(
    /<form method="post" action="..\/-\/poll\?router=plant-7"><button [^>]*>Poll now<\/button>/,
  );
  expect(page.text).toMatch(/<form method="post" action="..\/-\/maintenance\?router=plant-7">.*<button>Maintenance</s);
  expect((await ask('/router/plant-7', { content })).text).not.toMatch(/Poll now|<button>Maintenance/);
  const read = async (lifecycle: RouterDetail['lifecycle']) =>
    (await ask('/router/plant-7', { ...ENABLED, content: { describeRouter: () => ({ ...DETAIL, lifecycle }) } })).text;
  const resting = { state: 'maintenance', until: null, setBy: 'request' } as const;
  expect(await read(resting)).toContain('<input type="hidden" name="hours" value="0"><button>End maintenance</button>');
  expect(await read({ ...resting, setBy: 'configuration' })).not.toContain('-/maintenance');
});

test('POST /-/maintenance begins and ends a maintenance, and leads back to the page', async () => {
  const wishes: LifecycleWish[] = [];
  const content: Partial<WebContent> = {
    setRouterState(_, wish) {
      wishes.push(wish);
      return Promise.resolve({ ok: true, lifecycle: { state: wish.state, until: null, setBy: 'request' } });
    },
  };
  const post = (body: string, settings: Settings = { ...ENABLED, content }) =>
    ask('/-/maintenance?router=plant-7', settings, { method: 'POST', body });
  const { status, headers } = await post('hours=4');
  expect([status, headers.get('location')]).toEqual([303, '../router/plant-7']);
  await post('hours=0');
  expect(wishes).toEqual([
    { state: 'maintenance', untilMs: 4 * 3_600_000 },
    { state: 'active', untilMs: undefined },
  ]);
  for (const body of ['', 'hours=', 'hours=-1', 'hours=1e3', 'hours=4'.padEnd(2000, 'x')]) {
    expect((await post(body)).status).toBe(400);
  }
  expect((await post('hours=4', { content })).status).toBe(403);
  const configured: Partial<WebContent> = {
    setRouterState: () => Promise.resolve({ ok: false, reason: 'configured' }),
  };
  expect(await post('hours=4', { ...ENABLED, content: configured })).toMatchObject({
    status: 409,
    text: 'The configuration sets the state of this router and takes precedence.\n',
  });
  const elsewhere = await ask(
    '/-/maintenance?router=nobody',
    { ...ENABLED, content },
    { method: 'POST', body: 'hours=4' },
  );
  expect(elsewhere.status).toBe(404);
  expect(wishes).toHaveLength(2);
});

test.for(['POST', 'PUT'])('%s /-/reload answers when the reload has ended', async (method) => {
  const reload = vi.fn<WebContent['reload']>(() => Promise.resolve({ ok: true }));
  const { status, text } = await ask('/-/reload', { ...ENABLED, content: { reload } }, { method });
  expect([status, text]).toEqual([200, 'Reloaded.\n']);
  expect(reload).toHaveBeenCalledTimes(1);
});

test('POST /-/reload of a faulty configuration answers 500 with all its faults', async () => {
  const faults = ['router-exporter.yaml:3:5: one', 'routers/a.yaml:1:1: two'];
  const reload = () => Promise.resolve({ ok: false, faults } as const);
  const { status, headers, text } = await ask('/-/reload', { ...ENABLED, content: { reload } }, { method: 'POST' });
  expect(status).toBe(500);
  expect(text).toBe(`The configuration could not be loaded; nothing was changed.\n${faults.join('\n')}\n`);
  expect(headers.get('content-type')).toMatch(/^text\/plain/i);
});

test('POST /-/quit answers first, and then ends the agent', async () => {
  const order: string[] = [];
  const ended = Promise.withResolvers<void>();
  await using bench = await openBench(
    {
      quit() {
        order.push('quit');
        ended.resolve();
      },
    },
    { isLifecycleEnabled: true },
  );
  const { status, body } = await bench.get('/-/quit', { method: 'POST' });
  order.push('answer');
  expect([status, body.toString()]).toEqual([200, 'Shutting down.\n']);
  await ended.promise;
  expect(order.toSorted()).toEqual(['answer', 'quit']);
});

test('POST /-/quit lets its client have the answer though the server closes at once', async () => {
  const closed = Promise.withResolvers<void>();
  const bench = await openBench(
    { quit: () => void bench.server.close().then(closed.resolve) },
    { isLifecycleEnabled: true },
  );
  const { status, body } = await bench.get('/-/quit', { method: 'POST' });
  expect([status, body.toString()]).toEqual([200, 'Shutting down.\n']);
  await closed.promise;
});

const HOST = { host: 'exporter:9847' };

test.for([
  ['a program', HOST, 200],
  ['a page of ours', { ...HOST, 'sec-fetch-site': 'same-origin', origin: 'http://exporter:9847' }, 200],
  ['a person who typed the address', { ...HOST, 'sec-fetch-site': 'none' }, 200],
  ['a page of another site', { ...HOST, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
  ['a page of a neighbour', { ...HOST, 'sec-fetch-site': 'same-site', origin: 'http://other.example' }, 403],
  [
    'a page of another site that forges the rest',
    { ...HOST, 'sec-fetch-site': 'cross-site', origin: 'http://exporter:9847' },
    403,
  ],
  ['an old browser on a page of ours', { ...HOST, origin: 'http://exporter:9847' }, 200],
  ['an old browser on a page of ours behind a proxy', { ...HOST, origin: 'https://example.com' }, 200],
  ['an old browser on another page', { ...HOST, origin: 'http://exporter:9848' }, 403],
  ['an old browser on a page without origin', { ...HOST, origin: 'null' }, 403],
  ['an old browser on a page without origin, to no host', { origin: 'null' }, 403],
] as const)('POST /-/reload by %s is answered as it deserves', async ([, headers, status]) => {
  const reload = vi.fn<WebContent['reload']>(() => Promise.resolve({ ok: true }));
  const settings: Settings = { ...ENABLED, content: { reload }, externalUrl: 'https://example.com/', routePrefix: '/' };
  expect((await ask('/-/reload', settings, { method: 'POST', headers })).status).toBe(status);
  expect(reload).toHaveBeenCalledTimes(status === 200 ? 1 : 0);
});

const A_STATE = '/api/v1/routers/plant-7/state';

function putState(body: string, settings: Settings = ENABLED, headers: Readonly<Record<string, string>> = {}) {
  return ask(A_STATE, settings, { method: 'PUT', body, headers });
}

test('PUT of a state is refused unless it is allowed, and to pages of other sites', async () => {
  const setRouterState = vi.fn<WebContent['setRouterState']>();
  const content = { setRouterState };
  expect((await putState('{"state":"paused"}', { content })).status).toBe(403);
  const foreign = { ...HOST, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  expect((await putState('{"state":"paused"}', { ...ENABLED, content }, foreign)).status).toBe(403);
  expect(setRouterState).not.toHaveBeenCalled();
});

test.for([
  '',
  '[]',
  '{}',
  '{"state":"off"}',
  '{"state":"paused","until":5}',
  '{"state":"paused","until":"tomorrow"}',
  '{"state":"paused","until":"1969-01-01T00:00:00Z"}',
  '{"state":"paused","for":"1h"}',
  `{"state":"paused"${' '.repeat(2000)}}`,
])('PUT of the state %j changes nothing and says what is expected', async (body) => {
  const setRouterState = vi.fn<WebContent['setRouterState']>();
  const { status, text } = await putState(body, { ...ENABLED, content: { setRouterState } });
  expect([status, text]).toEqual([400, expect.stringContaining('active, maintenance, paused, retired')]);
  expect(setRouterState).not.toHaveBeenCalled();
});

test.for([
  ['unknown', 404],
  ['configured', 409],
  ['store', 503],
] as const)('PUT of a state that is not set (%s) answers %d', async ([reason, status]) => {
  const setRouterState = () => Promise.resolve({ ok: false, reason } as const);
  expect((await putState('{"state":"paused"}', { ...ENABLED, content: { setRouterState } })).status).toBe(status);
});

test('PUT of a state hands over its name and end, and answers with what holds now', async () => {
  const lifecycle = { state: 'paused', until: '2027-03-01T05:00:00.000Z', setBy: 'request' } as const;
  const setRouterState = vi.fn<WebContent['setRouterState']>(() => Promise.resolve({ ok: true, lifecycle }));
  const body = '{"state":"paused","until":"2027-03-01T06:00:00+01:00"}';
  const { status, text } = await putState(body, { ...ENABLED, content: { setRouterState } });
  expect([status, JSON.parse(text)]).toEqual([200, lifecycle]);
  expect(setRouterState.mock.calls).toEqual([['plant-7', { state: 'paused', untilMs: Date.UTC(2027, 2, 1, 5) }]]);
});
