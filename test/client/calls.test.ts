import { setImmediate } from 'node:timers/promises';
import { describe, expect, expectTypeOf, test, vi } from 'vitest';
import {
  type ChangedEntry,
  contains,
  equals,
  MANUAL_ACTION_TYPES,
  type ManualAction,
  type NewEntry,
} from '../../src/client/index.ts';
import { answerJson, type Handler, openRouter } from './http-router.ts';

const ENVELOPE = {
  profile: { name: 'Profile', modified: true },
  config: {
    unique: { password_hashes: '0' },
    list: [
      {
        active: '1',
        username: 'monitor',
        index: 'user1',
        list_uid: 'a0b1c2d3e4',
        sublist: [{ interface: 'lte2', sublist_uid: 'ffffffffff' }],
      },
    ],
  },
};

/** Answers one kind of call and keeps its body. */
const answerWith =
  (body: unknown, status = 200): Handler =>
  (_request, response) =>
    answerJson(response, body, status);

const query = (line: string | undefined) =>
  Object.fromEntries(new URL(line?.split(' ')[1] ?? '', 'http://x').searchParams);

describe('RouterClient.configuration', () => {
  test('read() decodes profile, parameters, entries and sublists', async () => {
    await using bench = await openRouter(answerWith(ENVELOPE));
    const configuration = await bench.client.configuration.read('administration/users');
    expect(configuration).toEqual({
      profile: { name: 'Profile', modified: true, lastActivated: undefined },
      unique: { password_hashes: '0' },
      list: [
        {
          uid: 'a0b1c2d3e4',
          index: 'user1',
          parameters: { active: '1', username: 'monitor' },
          sublist: [{ uid: 'ffffffffff', parameters: { interface: 'lte2' } }],
        },
      ],
      scheme: undefined,
    });
    expect(bench.lines()[1]).toBe('GET /configuration/administration/users');
  });

  test('read() sends profile, filter and append_scheme as the query parameters that the interface knows', async () => {
    await using bench = await openRouter(answerWith(ENVELOPE));
    const filter = [equals('group', ['read', 'status']), contains('username', 'mon')];
    await bench.client.configuration.read('administration/users', { profile: 'a&b', filter, appendScheme: true });
    await bench.client.configuration.read('administration/users', { filter: [equals('group', 'read')] });
    expect(query(bench.lines()[1])).toEqual({
      profile: 'a&b',
      filter: '[{"p":"group","o":"eq","v":["read","status"]},{"p":"username","o":"like","v":"mon"}]',
      append_scheme: '1',
    });
    expect(query(bench.lines()[2])).toEqual({ filter: '{"p":"group","o":"eq","v":"read"}' });
  });

  test('read() takes parameters that stand in config itself, and ignores what is no text', async () => {
    await using bench = await openRouter(
      answerWith({ config: { https_port: '443', list_size: 1, list: 'none', x: null } }),
    );
    const configuration = await bench.client.configuration.read('administration/webinterface');
    expect(configuration).toMatchObject({ unique: { https_port: '443' }, list: [], profile: undefined });
  });

  test.each([undefined, 7, {}, { config: [] }, []])('read() throws parse when it is answered with %j', async (body) => {
    await using bench = await openRouter(answerWith(body));
    await expect(bench.client.configuration.read('wan/wans')).rejects.toMatchObject({
      code: 'parse',
      isAnswered: true,
    });
  });

  test('countEntries() asks for the size alone', async () => {
    await using bench = await openRouter(answerWith({ config: { list_size: 12 } }));
    expect(await bench.client.configuration.countEntries('wan/wans', { filter: [equals('interface', 'lte2')] })).toBe(
      12,
    );
    expect(query(bench.lines()[1])).toEqual({ filter: '{"p":"interface","o":"eq","v":"lte2"}', return_size: '1' });
  });

  test('addEntries() posts entries with their sublists and the profile to activate', async () => {
    await using bench = await openRouter(answerWith(ENVELOPE, 201));
    const entries: NewEntry[] = [
      { parameters: { name: 'wan1' }, sublist: [{ interface: 'lte2', check_interval: '5' }] },
    ];
    await bench.client.configuration.addEntries('wan/wans', entries, { profile: 'Second', activate: true });
    await bench.client.configuration.addEntries('wan/wans', entries);
    expect(bench.arrived[1]?.line).toBe('POST /configuration/wan/wans');
    expect(JSON.parse(bench.arrived[1]?.body ?? '')).toEqual({
      profile: { name: 'Second', activate: '1' },
      config: { list: [{ name: 'wan1', sublist: [{ interface: 'lte2', check_interval: '5' }] }] },
    });
    expect(JSON.parse(bench.arrived[2]?.body ?? '')).not.toHaveProperty('profile');
  });

  test('changeEntries() names entries by their uid or index, those of sublists inside their entry', async () => {
    await using bench = await openRouter(answerWith(ENVELOPE));
    await bench.client.configuration.changeEntries('wan/wans', [
      { list_uid: 'a0b1c2d3e4', parameters: { name: 'wan2' } },
      {
        list_uid: 'b0b1c2d3e4',
        sublist: [{ sublist_uid: 'ffffffffff', parameters: { check_type: 'none' } }],
      },
      { index: 'user1', parameters: { description: 'third' } },
    ]);
    // The list is read first: by an index alone, the device would refuse it.
    expect(bench.arrived.slice(1).map(({ line }) => line)).toEqual([
      'GET /configuration/wan/wans',
      'PUT /configuration/wan/wans',
    ]);
    expect(JSON.parse(bench.arrived.at(-1)?.body ?? '')).toEqual({
      config: {
        list: [
          { name: 'wan2', list_uid: 'a0b1c2d3e4' },
          { list_uid: 'b0b1c2d3e4', sublist: [{ check_type: 'none', sublist_uid: 'ffffffffff' }] },
          { description: 'third', list_uid: 'a0b1c2d3e4' },
        ],
      },
    });
  });

  test('addSublistEntries() posts the list_uid of the entry and the new entries alone', async () => {
    await using bench = await openRouter(answerWith(ENVELOPE, 201));
    const entries = [{ interface: 'lte2' }, { interface: 'net2', check_type: 'ping' }];
    await bench.client.configuration.addSublistEntries('wan/wans', 'a0b1c2d3e4', entries, { activate: true });
    expect(bench.arrived[1]?.line).toBe('POST /configuration/wan/wans');
    expect(JSON.parse(bench.arrived[1]?.body ?? '')).toEqual({
      profile: { activate: '1' },
      config: { list: [{ list_uid: 'a0b1c2d3e4', sublist: entries }] },
    });
  });

  test('a profile goes into the query of POST and PUT when that is asked for, and then not into the body', async () => {
    await using bench = await openRouter((request, response) =>
      answerJson(response, ENVELOPE, request.method === 'POST' ? 201 : 200),
    );
    const { configuration } = bench.client;
    const choice = { profile: 'a&b', profileIn: 'query' } as const;
    await configuration.addEntries('wan/wans', [{ parameters: {} }], choice);
    await configuration.addSublistEntries('wan/wans', 'a0b1c2d3e4', [], choice);
    await configuration.changeEntries('wan/wans', [{ list_uid: 'a0b1c2d3e4', parameters: {} }], choice);
    await configuration.changeParameters('wan/wans', { active: '1' }, { ...choice, activate: true });
    await configuration.changeParameters('wan/wans', { active: '1' }, { profile: 'a&b', profileIn: 'body' });
    expect(bench.lines().slice(1).map(query)).toEqual([...Array.from({ length: 4 }, () => ({ profile: 'a&b' })), {}]);
    const profiles = bench.arrived.slice(1).map(({ body }) => JSON.parse(body).profile);
    expect(profiles).toEqual([undefined, undefined, undefined, { activate: '1' }, { name: 'a&b' }]);
  });

  test('deleteEntries() sends nothing for an empty filter, and everything goes only when asked for by name', async () => {
    await using bench = await openRouter(answerWith(undefined));
    const { configuration } = bench.client;
    await expect(configuration.deleteEntries('wan/wans', { filter: [] })).rejects.toMatchObject({ isUnsent: true });
    expect(bench.lines()).toEqual([]);
    await configuration.deleteEntries('wan/wans', { filter: 'all', field: 'interface' });
    await configuration.deleteEntries('wan/wans', { filter: [equals('interface', 'lte2')], profile: 'Second' });
    expect(bench.lines().slice(1).map(query)).toEqual([
      { delete: 'interface' },
      { profile: 'Second', filter: '{"p":"interface","o":"eq","v":"lte2"}' },
    ]);
  });

  test('a change whose connection is lost is not sent a second time', async () => {
    await using bench = await openRouter((request) => request.socket.destroy());
    await expect(
      bench.client.configuration.changeParameters('events/email_account', { port: '25' }),
    ).rejects.toMatchObject({
      code: 'connect',
      isUnsent: false,
    });
    expect(bench.lines().filter((line) => line.startsWith('PUT'))).toHaveLength(1);
  });

  test('a refused change carries the words of the router by parameter', async () => {
    await using bench = await openRouter(
      answerWith({ error: [{ port: 'out of range' }, { server: 'too long' }] }, 400),
    );
    await expect(
      bench.client.configuration.changeParameters('events/email_account', { port: '0' }),
    ).rejects.toMatchObject({
      code: 'http',
      status: 400,
      words: [
        { topic: 'port', text: 'out of range' },
        { topic: 'server', text: 'too long' },
      ],
      message: 'PUT /configuration/events/email_account was answered with 400 (port: out of range; server: too long)',
    });
  });

  test('the types keep a list index out of new entries, and demand a uid in changes', () => {
    expectTypeOf<{ parameters: { list_uid: string } }>().not.toExtend<NewEntry>();
    expectTypeOf<{ parameters: { index: string } }>().not.toExtend<NewEntry>();
    expectTypeOf<{ parameters: { name: string } }>().toExtend<NewEntry>();
    expectTypeOf<{ parameters: { name: string } }>().not.toExtend<ChangedEntry>();
    expectTypeOf<{ list_uid: string; parameters: { name: string } }>().toExtend<ChangedEntry>();
    expectTypeOf<{ index: string; parameters: { name: string } }>().toExtend<ChangedEntry>();
    expectTypeOf<{ sublist_uid: string; parameters: { name: string } }>().not.toExtend<ChangedEntry>();
  });
});

describe('RouterClient', () => {
  test('performAction() posts a manual action once and takes 201 as done', async () => {
    await using bench = await openRouter(answerWith(undefined, 201));
    const action: ManualAction = { type: 'info_led', options: { info_led: 'on' } };
    await bench.client.performAction(action);
    expect(bench.arrived[1]?.line).toBe('POST /operation');
    expect(JSON.parse(bench.arrived[1]?.body ?? '')).toEqual({
      method: 'manual_action',
      params: { type: 'info_led', options: { info_led: 'on' } },
    });
    expect(MANUAL_ACTION_TYPES).toHaveLength(26);
  });

  test('listProfiles() decodes names and flags and leaves out what has no name', async () => {
    await using bench = await openRouter(
      answerWith({ profiles: [{ name: 'Profile', last_activated: true, modified: false }, { modified: true }, 'x'] }),
    );
    expect(await bench.client.listProfiles()).toEqual([{ name: 'Profile', lastActivated: true, modified: false }]);
  });

  test('downloadProfile() asks for the format and hands over the bytes', async () => {
    await using bench = await openRouter((_request, response) => response.end(Buffer.from([0, 255, 10])));
    const chunks = await bench.client.downloadProfile('Profile 1', { format: 'ascii' }, Array.fromAsync<Uint8Array>);
    expect(Buffer.concat(chunks)).toEqual(Buffer.from([0, 255, 10]));
    expect(query(bench.lines()[1])).toEqual({ profile: 'Profile 1', format: 'ascii' });
  });

  test('readLog() asks for a range and says where the body begins', async () => {
    await using bench = await openRouter((request, response) => {
      const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1]);
      response.writeHead(206, { 'content-range': `bytes ${start}-9/10` }).end('0123456789'.slice(start));
    });
    const never = new AbortController().signal;
    expect(await bench.client.readLog('httpd/current', never, readWhole, { start: 4 })).toEqual({
      start: 4,
      text: '456789',
    });
  });

  test('readLog() takes a whole answer to a range as what it is, and refuses a range that it did not ask for', async () => {
    await using whole = await openRouter((_request, response) => response.end('0123456789'));
    await using wrong = await openRouter((_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 2-9/10' }).end('23456789');
    });
    const never = new AbortController().signal;
    expect(await whole.client.readLog('httpd/current', never, readWhole, { start: 4 })).toEqual({
      start: 0,
      text: '0123456789',
    });
    await expect(wrong.client.readLog('httpd/current', never, readWhole, { start: 4 })).rejects.toMatchObject({
      status: 206,
    });
  });

  test('a GET that is answered with 503 is asked again when Retry-After has passed', async () => {
    const waits = ['7', '7'];
    await using bench = await openRouter((_request, response) => {
      const wait = waits.shift();
      if (wait !== undefined) response.writeHead(503, { 'retry-after': wait }).end();
      else answerJson(response, { profiles: [] });
    });
    const countCalls = () => bench.lines().filter((line) => line === 'GET /profiles').length;
    const profiles = bench.client.listProfiles();
    for (let expected = 1; expected < 3; expected++) {
      await vi.waitUntil(() => countCalls() === expected, { timeout: 20_000 });
      await settle();
      await bench.clock.advance(6999);
      await settle();
      expect(countCalls()).toBe(expected);
      await bench.clock.advance(1);
    }
    expect(await profiles).toEqual([]);
    expect(bench.lines().filter((line) => line === 'GET /profiles')).toHaveLength(3);
  });

  test('a GET that is answered with 503 and a long Retry-After fails at once, with that time', async () => {
    await using bench = await openRouter((_request, response) =>
      response.writeHead(503, { 'retry-after': '3600' }).end(),
    );
    await expect(bench.client.listProfiles()).rejects.toMatchObject({
      code: 'http',
      status: 503,
      disposition: 'retry',
      isAnswered: true,
      retryAfterMs: 3_600_000,
    });
    expect(bench.lines().filter((line) => line === 'GET /profiles')).toHaveLength(1);
  });

  test.each([404, 403, 500])('Retry-After of an answer with %d is no wish to be left alone', async (status) => {
    await using bench = await openRouter((_request, response) =>
      response.writeHead(status, { 'retry-after': '60' }).end(),
    );
    await expect(bench.client.listProfiles()).rejects.toMatchObject({ status, retryAfterMs: undefined });
    expect(bench.client.retryAfter).toBeUndefined();
  });

  test('auth basic sends the credentials with each call and never logs in', async () => {
    const headers: unknown[] = [];
    await using bench = await openRouter(
      (request, response) => {
        headers.push(request.headers.authorization);
        answerJson(response, { profiles: [] });
      },
      { auth: 'basic' },
    );
    await bench.client.listProfiles();
    expect(headers).toEqual([`Basic ${Buffer.from('monitor:simulated').toString('base64')}`]);
    expect(bench.lines()).toEqual(['GET /profiles']);
  });

  test('auth none sends no credentials, and a refusal is final', async () => {
    await using bench = await openRouter((_request, response) => response.writeHead(401).end(), { auth: 'none' });
    await expect(bench.client.listProfiles()).rejects.toMatchObject({ code: 'auth', status: 401 });
    expect(bench.arrived).toMatchObject([{ line: 'GET /profiles', token: undefined }]);
  });

  test('call() gives every status but 401 as an answer', async () => {
    await using bench = await openRouter(answerWith({ error: [{ resource: 'not found' }] }, 404));
    expect(await bench.client.call({ method: 'GET', path: '/status/nothing' })).toMatchObject({
      status: 404,
      body: { error: [{ resource: 'not found' }] },
    });
  });

  test('call() hands over a body that is no JSON as it came', async () => {
    const sent = Buffer.from('2026-11-21 09:00:00 [events] one\n');
    await using bench = await openRouter((_request, response) => void response.end(sent));
    const { status, body, bytes } = await bench.client.call({ method: 'GET', path: '/download/log' });
    expect({ status, body, text: Buffer.from(bytes).toString() }).toEqual({
      status: 200,
      body: undefined,
      text: sent.toString(),
    });
  });
});

/** Lets an answer that is on its way over loopback arrive. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await setImmediate();
}

async function readWhole(body: AsyncIterable<Uint8Array>, start: number) {
  return { start, text: await toText(body) };
}

async function toText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString('utf8');
}
