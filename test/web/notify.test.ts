import { expect, test, vi } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import type { FleetShards, WebContent } from '../../src/web/index.ts';
import { ask, openBench, toBasic } from './bench.ts';

const TOKEN = 'of-plant-7';
const OTHER = {
  name: 'plant-9',
  url: 'https://192.0.2.99',
  labels: {},
  notifyToken: new Secret('of-plant-9'),
  shard: 1,
};
const OF_A_BROWSER = { 'sec-fetch-site': 'cross-site', origin: 'http://evil.example' };

function createContent(shards?: FleetShards) {
  const notify = vi.fn<WebContent['notify']>();
  const findNotifyToken = (name: string) => (name === 'plant-7' ? new Secret(TOKEN) : undefined);
  return { notify, findNotifyToken, hasRouter: (name: string) => name === 'plant-7', describeShards: () => shards };
}

function post(name: string, authorization: string | undefined, content: Partial<WebContent>) {
  const headers = { ...(authorization !== undefined && { authorization }) };
  return ask(`/api/v1/routers/${name}/notify`, { content }, { method: 'POST', headers });
}

test.for([`Bearer ${TOKEN}`, `bearer  ${TOKEN} `, toBasic('anything', TOKEN).authorization])(
  'POST /api/v1/routers/NAME/notify with the token of the router notifies: %s',
  async (authorization) => {
    const content = createContent();
    const { status, text } = await post('plant-7', authorization, content);
    expect([status, text]).toEqual([202, 'Accepted.\n']);
    expect(content.notify.mock.calls).toEqual([['plant-7']]);
  },
);

test('POST /api/v1/routers/NAME/notify answers a wrong token alike, whether or not the router exists, has a token, or is elsewhere', async () => {
  const others = new Map([OTHER, { ...OTHER, name: 'plant-10', notifyToken: undefined }].map((one) => [one.name, one]));
  const content = createContent({ index: 0, total: 2, peers: [], others });
  const answers = await Promise.all(
    ['plant-7', 'plant-9', 'plant-10', 'nobody', '..%2f', 'constructor'].flatMap((name) =>
      [
        undefined,
        'Bearer x',
        'Bearer undefined',
        'Basic eDp5',
        'Bearer of-plant-9 x',
        toBasic('x', '').authorization,
      ].map(async (one) => {
        const { status, text, headers } = await post(name, one, content);
        return JSON.stringify([status, text, headers.get('www-authenticate'), headers.get('content-length')]);
      }),
    ),
  );
  expect(new Set(answers).size).toBe(1);
  expect(answers[0]).toContain('401');
  expect(content.notify).not.toHaveBeenCalled();
  for (const authorization of ['Bearer of-plant-9', 'Bearer ']) {
    expect((await post('plant-7', authorization, content)).status).toBe(401);
  }
});

test('POST /api/v1/routers/NAME/notify of a router of another process leads to it, or names it, once the token is right', async () => {
  const right = 'Bearer of-plant-9';
  const others = new Map([[OTHER.name, OTHER]]);
  const content = createContent({ index: 0, total: 2, peers: ['http://a', 'http://b/rx'], others });
  const { status, headers } = await post('plant-9', right, content);
  expect([status, headers.get('location')]).toEqual([307, 'http://b/rx/api/v1/routers/plant-9/notify']);
  const unknown = await post('plant-9', right, createContent({ index: 0, total: 2, peers: [], others }));
  expect([unknown.status, unknown.text]).toEqual([421, expect.stringContaining('Process 1 of 2 has this router')]);
  const names = ['a', 'b'];
  const moving = createContent({ index: 1, total: 2, peers: [], names, others });
  expect((await post('plant-9', right, moving)).status).toBe(503);
});

test('POST /api/v1/routers/NAME/notify needs no user, and a user has no right to it', async () => {
  const content = createContent();
  const rules = {
    isHealthOpen: false,
    users: new Map(),
    tokens: [{ name: 'operator', role: 'admin', token: 'of-the-operator' }],
  } as const;
  await using bench = await openBench(content, { access: rules });
  const path = '/api/v1/routers/plant-7/notify';
  const statusOf = async (authorization: string, more: RequestInit = {}) => {
    const options = { method: 'POST', headers: { authorization, ...OF_A_BROWSER }, ...more };
    return (await fetch(`${bench.url}${path}`, options)).status;
  };
  expect(await statusOf(`Bearer ${TOKEN}`)).toBe(202);
  expect(await statusOf('Bearer of-the-operator')).toBe(401);
  expect((await fetch(`${bench.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(405);
  expect((await fetch(`${bench.url}/api/v1/routers`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(
    401,
  );
  expect(content.notify).toHaveBeenCalledTimes(1);
});

test('POST /api/v1/routers/NAME/notify does not wait for a body, and works with any name of the host', async () => {
  const content = createContent();
  await using bench = await openBench(content, {});
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const options = { method: 'POST', headers, body: endless, duplex: 'half' } as const;
  const answer = await fetch(`${bench.url}/api/v1/routers/plant-7/notify`, options).catch(() => undefined);
  expect([202, undefined]).toContain(answer?.status);
  expect(content.notify).toHaveBeenCalledTimes(1);
  const other = { authorization: `Bearer ${TOKEN}`, host: 'exporter.example.com' };
  expect((await ask('/api/v1/routers/plant-7/notify', { content }, { method: 'POST', headers: other })).status).toBe(
    202,
  );
});

test('POST /api/v1/routers/NAME/notify of a router that has just left, and is nowhere yet, is answered with 503', async () => {
  const content = { ...createContent({ index: 0, total: 2, peers: [], others: new Map() }), hasRouter: () => false };
  const { status, text } = await post('plant-7', `Bearer ${TOKEN}`, content);
  expect([status, text]).toEqual([503, 'The router is moving to another process; try again.\n']);
  expect(content.notify).not.toHaveBeenCalled();
});
