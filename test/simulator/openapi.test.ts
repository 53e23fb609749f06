import { validate } from '@readme/openapi-parser';
import { describe, expect, test } from 'vitest';
import { createSeededRandom, createSteppedClock } from '../../src/base/index.ts';
import { parseApiDescription } from '../../src/client/index.ts';
import { resourceTable } from '../../src/simulator/configuration/resources.ts';
import { createHardware } from '../../src/simulator/device/hardware.ts';
import { describeInterface, startSimulator } from '../../src/simulator/index.ts';
import { createRestApp } from '../../src/simulator/rest/app.ts';
import { operations } from '../../src/simulator/rest/operation.ts';
import { openOpenApiValidator, type SeenAnswer } from '../support/openapi-validator.ts';
import { openAdmin, openBench, openClient, START_MS } from './client.ts';

// biome-ignore lint/suspicious/noExplicitAny: the tests reach into the middle of it.
const described: any = describeInterface();
/** For what a test changes: a copy takes longer than most calls of a router. */
const copyDescription = () => structuredClone(described);
const paths = Object.keys(described.paths);
const validator = await openOpenApiValidator(described);
/** As many routers as show every model with every firmware. */
const ROUTERS = 24;

describe('describeInterface()', () => {
  test('gives a valid OpenAPI description of the firmware asked for', async () => {
    const description = describeInterface({ firmware: '6.1' });
    expect(description).toMatchObject({ openapi: '3.0.3', info: { version: '6.1' } });
    expect(await validate(structuredClone(description) as never)).toEqual({
      valid: true,
      warnings: [],
      specification: 'OpenAPI',
    });
  });

  test.each([
    ['a call without responses', (one) => delete one.paths['/profiles'].get.responses],
    ['a parameter in no place', (one) => (one.paths['/download/log'].get.parameters[0].in = 'nowhere')],
    ['an identifier used twice', (one) => (one.paths['/profiles'].get.operationId = 'put_profiles_rename')],
    ['a value of no type', (one) => (one.components.schemas.Refusal.properties.error.type = 'nothing')],
    ['a security scheme without a type', (one) => delete one.components.securitySchemes.bearer.type],
    ['a path that does not begin with a slash', (one) => (one.paths['profiles'] = one.paths['/profiles'])],
    // biome-ignore lint/suspicious/noExplicitAny: what is broken is not typed any more.
  ] as [string, (description: any) => unknown][])('is not valid any more with %s', async (_what, spoil) => {
    const description = copyDescription();
    spoil(description);
    expect((await validate(description)).valid).toBe(false);
  });

  test('lists every route of the interface, every resource, every card in its slot and every action', () => {
    for (const { method, path } of createRestApp().routes) {
      if (method === 'ALL' || path.endsWith('*') || !path.startsWith('/api/v2_0/')) continue;
      expect(described.paths[path.slice('/api/v2_0'.length)]).toHaveProperty(method.toLowerCase());
    }
    for (const path of resourceTable.keys()) expect(paths).toContain(`/configuration/${path}`);
    for (let index = 0; index < ROUTERS; index++) {
      for (const card of createHardware(index, createSeededRandom(1)).cards) {
        expect(paths.filter((path) => `${path}/`.startsWith(`/status/${card}/`)).length).toBeGreaterThan(0);
      }
    }
    const { schemas } = described.components;
    for (const type of operations.keys()) expect(schemas).toHaveProperty([`Action.${type}`]);
  });

  test('is read by parseApiDescription(), which lists all its calls', () => {
    const { title, version, calls } = parseApiDescription(JSON.stringify(describeInterface()));
    expect([title, version]).toEqual([described.info.title, '9.5']);
    expect([...new Set(calls.map(({ path }) => path))]).toEqual(paths);
    expect(calls.map(({ path, method }) => `${method.toLowerCase()} ${path}`)).toEqual(
      paths.flatMap((path) => Object.keys(described.paths[path]).map((method) => `${method} ${path}`)),
    );
  });
});

describe('GET /openapi.json', () => {
  test('gives the description of the router’s own firmware without a token, and counts as no call', async () => {
    const clock = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ routers: 3, clock, seed: 1, plainHttp: true });
    for (const [index, firmware] of (['9.5', '6.1', '5.5'] as const).entries()) {
      const router = simulator.routers[index];
      const response = await fetch(`${router?.url}/openapi.json`);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(response.headers.get('date')).toBe('Sat, 21 Nov 2026 08:00:00 GMT');
      expect(await response.json()).toEqual(describeInterface({ firmware }));
      expect(router?.counters.requests).toEqual({});
    }
  });

  test('is not part of the interface', async () => {
    await using bench = await openAdmin();
    expect((await bench.call('GET', '/openapi.json')).status).toBe(404);
    expect((await fetch(`${bench.router.url}/openapi.json`, { method: 'POST' })).status).toBe(404);
  });
});

describe('simulated routers', () => {
  // The client holds every answer against the description.
  test('know every call that is described', async () => {
    await using bench = await openBench();
    for (const path of paths.filter((one) => !one.startsWith('/status/'))) {
      for (const method of Object.keys(described.paths[path])) {
        await bench.router.factoryReset();
        const { access } = await bench.client.login();
        const answer = await bench.client.send(method.toUpperCase(), path, { token: access });
        expect(answer.status).not.toBe(405);
        if (answer.status === 404) expect(answer.json.error).not.toEqual([{ resource: expect.anything() }]);
      }
    }
  });

  test('of all models and firmwares have every kind of status that is described', async () => {
    const clock = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ routers: ROUTERS, clock, seed: 1, plainHttp: true });
    const resources = paths.filter((path) => path.startsWith('/status/'));
    const kind = (path: string) => path.replace(/\d/, 'N');
    const found = new Set<string>();
    for (const router of simulator.routers) {
      await using client = openClient(router, '');
      const { access } = await client.login('status');
      for (const path of resources) if ((await client.get(path, access)).status === 200) found.add(kind(path));
    }
    expect([...found].toSorted()).toEqual([...new Set(resources.map(kind))].toSorted());
  });

  test('take back every configuration that they gave', async () => {
    await using bench = await openAdmin();
    for (const path of paths.filter((one) => one.startsWith('/configuration/'))) {
      const { json } = await bench.call('GET', `${path}?append_scheme=1`);
      const { status } = await bench.call('PUT', path, { profile: json.profile, config: json.config });
      expect([path, status]).toEqual([path, 200]);
    }
  });

  test('take new entries of every list with nothing but what is required', async () => {
    await using bench = await openAdmin();
    for (const { path, list } of resourceTable.values()) {
      if (!list) continue;
      const entry = Object.fromEntries(list.fields.flatMap((one) => (one.required ? [[one.name, 'x']] : [])));
      const { status } = await bench.call('POST', `/configuration/${path}`, { config: { list: [entry] } });
      expect([path, status]).toEqual([path, 201]);
    }
  });

  test('refuse a call without a token, and to a status account, when it is described so', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login('status');
    for (const path of paths) {
      for (const [method, { responses }] of Object.entries<Record<string, object>>(described.paths[path])) {
        const send = async (token?: string) => (await bench.client.send(method.toUpperCase(), path, { token })).status;
        expect([path, method, await send()]).toEqual([path, method, path === '/auth/login' ? 400 : 401]);
        if ('403' in (responses ?? {})) expect([path, method, await send(access)]).toEqual([path, method, 403]);
      }
    }
  });

  test.each([...operations.keys()])('take the options of %s that the description requires', async (type) => {
    for (const options of [{ unknown: 'x' }, {}]) {
      await using bench = await openAdmin();
      const value = { method: 'manual_action', params: { type, options } };
      const { status } = await bench.call('POST', '/operation', value);
      const reason = validator.explainRequest('POST', '/operation', JSON.stringify(value));
      expect([201, 400]).toContain(status);
      expect(reason === undefined).toBe(status === 201);
    }
  });
});

describe('the check of answers', () => {
  const flags = { name: 'Profile', last_activated: true, modified: false };
  const list = { profiles: [flags], profile_mode: 'permanent' };
  const refusal = { error: [{ filter: 'entry not found' }] };
  const seen = (path: string, status: number, body: unknown, rest: Partial<SeenAnswer> = {}): SeenAnswer => ({
    ...{ method: 'GET', path, status, contentType: 'application/json' },
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    ...rest,
  });
  const nothing = { method: 'DELETE', contentType: undefined };
  const users = '/configuration/administration/users';

  test.each([
    ['a described answer', seen('/profiles', 200, list)],
    ['a query', seen('/profiles?x=1', 200, list)],
    [
      'parameters of the content type',
      seen('/profiles', 200, list, { contentType: 'application/json; charset=utf-8' }),
    ],
    ['a refusal', seen(users, 404, refusal)],
    ['nothing where nothing is described', seen(users, 200, '', nothing)],
    ['any text of a log', seen('/download/log', 200, 'one line', { contentType: 'text/plain' })],
    ['the refusal of what is not described', seen('/nothing', 404, refusal)],
    ['a number of entries', seen(users, 200, { profile: flags, config: { list_size: 3 } })],
  ])('lets %s pass', (_what, answer) => {
    expect(validator.explainAnswer(answer)).toBeUndefined();
  });

  test.each([
    ['a status', seen('/profiles', 201, list), 'the status is none of 200, 401, 403'],
    ['a content type', seen('/profiles', 200, list, { contentType: 'text/html' }), 'the content type text/html'],
    ['an answer that is no JSON', seen('/profiles', 200, '{"profiles'), 'is no JSON'],
    ['a missing property', seen('/profiles', 200, { profiles: [flags] }), "required property 'profile_mode'"],
    ['a property too many', seen('/profiles', 200, { ...list, more: 1 }), 'additional properties'],
    ['a value', seen('/profiles', 200, { ...list, profile_mode: 'x' }), 'allowed values'],
    ['a type', seen('/profiles', 200, { ...list, profiles: [{ ...flags, modified: '0' }] }), 'must be boolean'],
    ['a refusal in another shape', seen(users, 404, { error: 'not found' }), 'must be array'],
    ['a reason of two keys', seen(users, 404, { error: [{ a: '', b: '' }] }), 'more than 1 properties'],
    ['a body where nothing is described', seen(users, 200, '{}', nothing), 'a body (2 bytes'],
    ['a call that is not described', seen('/nothing', 200, list), 'does not list this call'],
    ['a refusal without JSON', seen('/nothing', 404, '', nothing), 'content type undefined'],
    ['an entry without its identifier', seen(users, 200, { profile: flags, config: { list: [{}] } }), 'list_uid'],
  ])('stops %s', (_what, answer, reason) => {
    expect(validator.explainAnswer(answer)).toContain(reason);
  });

  test.each([
    ['a body that is described', users, { config: { list: [{ username: 'x', password: 'y' }] } }, undefined],
    [
      'an identifier in POST',
      users,
      { config: { list: [{ username: 'x', password: 'y', list_uid: '' }] } },
      'additional',
    ],
    ['an entry without a password', users, { config: { list: [{ username: 'x' }] } }, "required property 'password'"],
    ['a body that nobody asked for', '/reboot', {}, 'lists no body'],
  ])('judges %s', (_what, path, body, reason) => {
    const explanation = validator.explainRequest('POST', path, JSON.stringify(body));
    if (reason === undefined) expect(explanation).toBeUndefined();
    else expect(explanation).toContain(reason);
  });

  test('is made by the client, unless a fault is in force', async () => {
    await using bench = await openAdmin();
    bench.router.setStatus('lte2', { unique: { odd: 'x' } });
    await expect(bench.call('GET', '/status/lte2')).rejects.toThrow('GET /status/lte2 answered 200');
    await bench.router.fault('html_200', { times: 1 });
    expect((await bench.call('GET', '/profiles')).headers['content-type']).toBe('text/html');
    await expect(bench.call('GET', '/status/lte2')).rejects.toThrow('additional properties');
    bench.client.allowUndescribed();
    expect((await bench.call('GET', '/status/lte2')).status).toBe(200);
  });
});
