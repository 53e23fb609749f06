import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkValues,
  contains,
  equals,
  type Filter,
  type ListEntry,
  type RouterClient,
} from '../../src/client/index.ts';
import { failureOf, type InterfaceBench, MINUTE_MS, shareFleets } from './bench.ts';

const openInterface = shareFleets();

const USERS = 'administration/users';
const HOSTNAMES = 'administration/hostnames';
const WANS = 'wan/wans';
const EMAIL = 'events/email_account';
const WEB = 'administration/webinterface';
/** The two profiles of a fresh router; the first is running. */
const [RUNNING, SPARE] = ['Profile', 'quick_start_profile'];

const pluck = (list: readonly ListEntry[], name: string) => list.map(({ parameters }) => parameters[name]);
const uidOf = (list: readonly ListEntry[], position: number) => list[position]?.uid ?? 'none';
const host = (hostname: string) => ({ parameters: { hostname, ip_address: '192.168.1.30' } });
/** Interfaces of each WAN chain. */
const chains = async ({ configuration }: RouterClient) =>
  (await configuration.read(WANS)).list.map(({ sublist }) => sublist.map(({ parameters }) => parameters['interface']));
/** Reads what travels. */
const readRaw = async (bench: InterfaceBench, path: string) =>
  bench.stranger.get(`/configuration/${path}`, (await bench.stranger.login()).access);

describe('resources', () => {
  test('an answer is an envelope of profile and config, and every value in it is a text', async () => {
    await using bench = await openInterface();
    const { json } = await readRaw(bench, WANS);
    expect(json).toMatchObject({
      profile: { name: RUNNING, last_activated: true, modified: false },
      config: {
        list: [
          { list_uid: expect.stringMatching(/^[0-9a-f]{10}$/), name: 'wan1', sublist: expect.any(Array) },
          { list_uid: expect.any(String), name: 'wan2' },
        ],
      },
    });
    const values = json.config.list.flatMap(({ sublist, ...entry }: { sublist: object[] }) =>
      [entry, ...sublist].flatMap((one) => Object.values(one)),
    );
    expect(values.filter((value: unknown) => typeof value !== 'string')).toEqual([]);
    expect(await bench.as().configuration.read(WANS)).toMatchObject({
      profile: { name: RUNNING, lastActivated: true, modified: false },
      list: [
        { uid: json.config.list[0].list_uid, parameters: { name: 'wan1' }, sublist: [{}, {}] },
        { parameters: { name: 'wan2' }, sublist: [{}] },
      ],
      scheme: undefined,
    });
  });

  test('a value that is no text is refused', async () => {
    await using bench = await openInterface();
    const json = { config: { unique: { port: 587 } } };
    const answer = await bench.as().call({ method: 'PUT', path: `/configuration/${EMAIL}`, json });
    expect(answer).toMatchObject({ status: 400, body: { error: [{ port: expect.any(String) }] } });
  });

  test.for([
    ['http_active', '1'],
    ['https_active', '0'],
    ['http_port', '8080'],
    ['https_port', '8443'],
    ['https_cert', 'plant_cert'],
    ['https_key', 'plant_key'],
    ['session_timeout', '60'],
    ['default_log_reverse', '0'],
    ['default_language', 'en'],
    ['default_refresh_interval', '30'],
    ['default_log_lines', '100'],
    ['active_https', '0'],
    ['active_clientauth', '1'],
    ['https_clientauth_ca', 'plant_ca'],
    ['https_clientauth_crl', 'plant_crl'],
    ['https_clientauth_group', 'readwrite'],
    ['https_ca', 'plant_ca'],
    ['log_requests', '1'],
  ] as const)('%s of the web interface is read, changed to %s and kept', async ([name, value]) => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const before = (await configuration.read(WEB)).unique;
    expect(before[name]).toEqual(expect.any(String));
    expect(before[name]).not.toBe(value);
    const answered = await configuration.changeParameters(WEB, { [name]: value });
    expect(answered?.unique).toEqual({ ...before, [name]: value });
    expect((await configuration.read(WEB)).unique).toEqual({ ...before, [name]: value });
  });

  test('a user has the fields of the interface, its index and uid come from the router, its password never comes back', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const parameters = { active: '0', username: 'new', password: 'hidden', group: 'readwrite' };
    const { list } = (await configuration.addEntries(USERS, [{ parameters }])) ?? { list: [] };
    const { password: _password, ...shown } = parameters;
    expect(list.at(-1)).toEqual({
      uid: expect.stringMatching(/^[0-9a-f]{10}$/),
      index: 'user4',
      parameters: shown,
      sublist: [],
    });
    expect((await readRaw(bench, USERS)).text).not.toContain('hidden');
    expect((await configuration.read(USERS)).unique).toEqual({ password_hashes: '0' });
    await configuration.changeParameters(USERS, { password_hashes: '1' });
    const hashes = pluck((await configuration.read(USERS)).list, 'password');
    expect(hashes).toHaveLength(4);
    for (const hash of hashes) expect(hash).toMatch(/^\$6\$/);
  });

  test('every parameter of the email account is read, changed and kept', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    expect((await configuration.read(EMAIL)).unique).toEqual({
      ...{ address: '', real_name: '', server: '', username: '', password: '', verify_peer: '', verify_host: '' },
      encryption: 'starttls',
      port: '25',
    });
    const changed = {
      address: 'router@example.com',
      real_name: 'Router',
      server: 'mail.example.com',
      encryption: 'ssl',
      verify_peer: '1',
      verify_host: '0',
      port: '465',
      username: 'router',
      password: 'p',
    };
    await configuration.changeParameters(EMAIL, changed);
    expect((await configuration.read(EMAIL)).unique).toEqual(changed);
  });

  test('a list of host names can be emptied', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    await configuration.addEntries(HOSTNAMES, [host('pump')]);
    await configuration.deleteEntries(HOSTNAMES, { filter: 'all' });
    expect((await configuration.read(HOSTNAMES)).list).toEqual([]);
  });
});

describe('rule 1: profile', () => {
  test('profile chooses the profile that is read, changed and emptied; without it that is the running one', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    const { configuration } = client;
    const read = async (profile?: string) => {
      const { list, profile: state } = await configuration.read(HOSTNAMES, profile === undefined ? {} : { profile });
      return [state?.name, ...pluck(list, 'hostname')];
    };
    await configuration.addEntries(HOSTNAMES, [host('spare')], { profile: SPARE });
    await configuration.addEntries(HOSTNAMES, [host('running')]);
    expect(await read()).toEqual([RUNNING, 'plc', 'running']);
    expect(await read(RUNNING)).toEqual([RUNNING, 'plc', 'running']);
    expect(await read(SPARE)).toEqual([SPARE, 'plc', 'spare']);
    expect(await configuration.countEntries(HOSTNAMES, { profile: SPARE })).toBe(2);
    await configuration.deleteEntries(HOSTNAMES, { filter: 'all', profile: SPARE });
    expect(await read(SPARE)).toEqual([SPARE]);
    expect(await read()).toEqual([RUNNING, 'plc', 'running']);
  });

  test('profile in the query of a POST or PUT chooses it as the body does, and both may not differ', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    const path = `/configuration/${HOSTNAMES}`;
    const query = { profile: SPARE };
    const post = { config: { list: [host('spare').parameters] } };
    expect(await client.call({ method: 'POST', path, query, json: post })).toMatchObject({ status: 201 });
    const put = { config: { unique: { location: 'roof' } } };
    expect(await client.call({ method: 'PUT', path, query, json: put })).toMatchObject({ status: 200 });
    const { list, unique } = await client.configuration.read(HOSTNAMES, { profile: SPARE });
    expect([pluck(list, 'hostname'), unique['location']]).toEqual([['plc', 'spare'], 'roof']);
    const contrary = { ...put, profile: { name: RUNNING } };
    expect(await client.call({ method: 'PUT', path, query, json: contrary })).toMatchObject({ status: 400 });
  });

  test('a profile that does not exist is 404 in every call', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const profile = 'nothing';
    const calls = [
      configuration.read(USERS, { profile }),
      configuration.countEntries(USERS, { profile }),
      configuration.addEntries(HOSTNAMES, [host('a')], { profile }),
      configuration.changeParameters(EMAIL, { port: '26' }, { profile }),
      configuration.deleteEntries(HOSTNAMES, { filter: 'all', profile }),
    ];
    for (const call of calls) {
      expect(await failureOf(call)).toEqual({ code: 'http', status: 404, topics: ['profile'] });
    }
  });
});

describe('rules 2 and 3: filter', () => {
  const names = async (bench: InterfaceBench, filter?: Filter) =>
    pluck((await bench.as('monitor').configuration.read(USERS, filter ? { filter } : {})).list, 'username');

  test('eq takes what is equal, like what contains the value in any case', async () => {
    await using bench = await openInterface();
    expect(await names(bench, [equals('username', 'monitor')])).toEqual(['monitor']);
    expect(await failureOf(names(bench, [equals('username', 'MONITOR')]))).toMatchObject({ status: 404 });
    expect(await failureOf(names(bench, [equals('username', 'mon')]))).toMatchObject({ status: 404 });
    expect(await names(bench, [contains('username', 'MON')])).toEqual(['monitor']);
    expect(await names(bench, [contains('username', 't')])).toEqual(['monitor', 'status']);
  });

  test('several values are alternatives, several conditions must all hold', async () => {
    await using bench = await openInterface();
    expect(await names(bench, [equals('group', ['read', 'readwrite'])])).toEqual(['admin', 'monitor']);
    expect(await names(bench, [contains('username', ['ADM', 'stat'])])).toEqual(['admin', 'status']);
    expect(await names(bench, [equals('group', ['read', 'readwrite']), contains('username', 'mon')])).toEqual([
      'monitor',
    ]);
    expect(await failureOf(names(bench, [equals('group', 'read'), equals('username', 'admin')]))).toMatchObject({
      status: 404,
      topics: ['filter'],
    });
  });

  test('a GET without filter gives all entries, one with an object or an array of one gives those that match', async () => {
    await using bench = await openInterface();
    expect(await names(bench)).toEqual(['admin', 'monitor', 'status']);
    for (const filter of [{ p: 'username', o: 'eq', v: 'admin' }, [{ p: 'username', o: 'eq', v: ['admin'] }]]) {
      const query = new URLSearchParams({ filter: JSON.stringify(filter) }).toString();
      const { status, json } = await readRaw(bench, `${USERS}?${query}`);
      expect([status, json.config.list.length, json.config.list[0].username]).toEqual([200, 1, 'admin']);
    }
  });

  test('a filter on what entries do not have, or with another operator, is refused', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const refused = { code: 'http', status: 400, topics: ['filter'] };
    expect(await failureOf(configuration.read(USERS, { filter: [equals('colour', 'red')] }))).toEqual(refused);
    const filter = [{ ...equals('username', 'admin'), operator: 'gt' as 'eq' }];
    expect(await failureOf(configuration.read(USERS, { filter }))).toEqual(refused);
    expect(await failureOf(configuration.read(EMAIL, { filter: [equals('port', '25')] }))).toEqual(refused);
  });

  test('reading, counting and a plain reference agree on every filter', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const routes = 'routing/static_routes';
    const texts = ['', 'a', 'A', 'ab', 'Äb', 'äB', 'a b', '"', '&=', '%41', '\\'];
    await configuration.addEntries(
      routes,
      texts.flatMap((description) =>
        ['net1', 'lte2'].map((where) => ({ parameters: { description, interface: where, destination: '10.0.0.0/8' } })),
      ),
    );
    const { list } = await configuration.read(routes);
    expect(list).toHaveLength(1 + 2 * texts.length);
    const value = fc.constantFrom(...texts, 'net', 'LTE', 'b');
    const condition = fc.record({
      parameter: fc.constantFrom('description', 'interface'),
      operator: fc.constantFrom('eq' as const, 'like' as const),
      value: fc.oneof(value, fc.array(value, { minLength: 1, maxLength: 3 })),
    });
    const filters = fc.array(condition, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        const wanted = list.filter((entry) => filter.every((one) => meets(entry, one))).map(({ uid }) => uid);
        expect(await configuration.countEntries(routes, { filter })).toBe(wanted.length);
        if (wanted.length === 0) {
          expect(await failureOf(configuration.read(routes, { filter }))).toMatchObject({ status: 404 });
        } else {
          expect((await configuration.read(routes, { filter })).list.map(({ uid }) => uid)).toEqual(wanted);
        }
      }),
      { seed: 7, numRuns: 60 },
    );
  });
});

/** What a condition means, said once more in the plainest way. */
function meets({ parameters }: ListEntry, { parameter, operator, value }: Filter[number]): boolean {
  const found = parameters[parameter] ?? '';
  const values = typeof value === 'string' ? [value] : value;
  if (operator === 'eq') return values.some((one) => one === found);
  return values.some((one) => found.toLowerCase().includes(one.toLowerCase()));
}

describe('rule 4: return_size', () => {
  test('an answer has the number of entries instead of them, and with a filter that of those that match', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as('monitor');
    expect(await configuration.countEntries(USERS)).toBe(3);
    expect(await configuration.countEntries(USERS, { filter: [contains('username', 't')] })).toBe(2);
    expect(await configuration.countEntries(USERS, { filter: [equals('username', 'nobody')] })).toBe(0);
    expect((await readRaw(bench, `${USERS}?return_size=1`)).json.config).toEqual({ list_size: 3 });
  });

  test.for(['0', '', 'no', 'yes'])('the value %j means the same', async (value) => {
    await using bench = await openInterface();
    const path = `/configuration/${USERS}`;
    const answer = await bench.as('monitor').call({ method: 'GET', path, query: { return_size: value } });
    expect(answer).toMatchObject({ status: 200, body: { config: { list_size: 3 } } });
  });
});

describe('rule 5: append_scheme', () => {
  test('the scheme describes every parameter with its type and bounds, and only when it is asked for', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as('monitor');
    const { scheme, unique } = await configuration.read(EMAIL, { appendScheme: true });
    const none = { maxLength: undefined, min: undefined, max: undefined, step: undefined, items: undefined };
    const text = { ...none, maxLength: 100 };
    const items = ['none', 'ssl', 'starttls'].map((value) => ({ value, label: value, isTranslated: true }));
    expect(scheme?.unique).toEqual([
      { ...none, name: 'address', type: 'email_addr' },
      { ...text, name: 'real_name', type: 'string' },
      { ...text, name: 'server', type: 'peer' },
      { ...none, name: 'encryption', type: 'radio', items },
      { ...none, name: 'verify_peer', type: 'checkbox' },
      { ...none, name: 'verify_host', type: 'checkbox' },
      { ...none, name: 'port', type: 'int', min: 1, max: 65_535, step: 1 },
      { ...text, name: 'username', type: 'string' },
      { ...text, name: 'password', type: 'passwd' },
    ]);
    expect(Object.keys(unique).toSorted()).toEqual(scheme?.unique.map(({ name }) => name).toSorted());
    expect([scheme?.list, scheme?.sublist]).toEqual([[], []]);
    expect((await configuration.read(EMAIL)).scheme).toBeUndefined();
    const { json } = await readRaw(bench, `${EMAIL}?append_scheme=1`);
    expect(json.scheme.parameters.unique[6]).toEqual({ name: 'port', type: 'int', min: 1, max: 65_535, steps: 1 });
    expect(json.scheme.parameters.unique[3].items[2]).toEqual({
      value: 'starttls',
      translate: true,
      label: 'starttls',
    });
  });

  test('the scheme of a list describes the parameters of its entries and of their sublists', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const names = (schemes: readonly { name: string }[] | undefined) => schemes?.map(({ name }) => name);
    const users = (await configuration.read(USERS, { appendScheme: true })).scheme;
    expect([names(users?.unique), names(users?.list), names(users?.sublist)]).toEqual([
      ['password_hashes'],
      ['active', 'username', 'password', 'group'],
      [],
    ]);
    const wans = (await configuration.read(WANS, { appendScheme: true })).scheme;
    expect([names(wans?.unique), names(wans?.list), names(wans?.sublist)]).toEqual([
      [],
      ['active', 'description'],
      ['interface', 'check_interval', 'check_fail_wan', 'check_type'],
    ]);
    expect(wans?.sublist[1]).toMatchObject({ type: 'int', min: 0, max: 3600, step: 1 });
    expect(checkValues({ check_interval: '3601', check_type: 'link' }, wans?.sublist ?? [])).toMatchObject([
      { parameter: 'check_interval' },
    ]);
  });

  test('what checkValues() lets pass the router takes, and what it finds wrong the router refuses', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const scheme = (await configuration.read(EMAIL, { appendScheme: true })).scheme?.unique ?? [];
    const candidates: Record<string, readonly string[]> = {
      address: ['', 'a@b', 'a', 'a b@c', 'a@b@c'],
      real_name: ['', 'ü'.repeat(100), 'ü'.repeat(101)],
      server: ['', 'mail.example.com', '192.0.2.1', '2001:db8::1', 'a b', 'http://mail'],
      encryption: ['none', 'ssl', 'starttls', 'tls'],
      verify_peer: ['', '0', '1', '2', 'true'],
      port: ['1', '25', '65535', '0', '65536', '-1', '1.5', 'x', '99999999999999999999'],
      password: ['', 'p'.repeat(100), 'p'.repeat(101)],
      colour: ['red'],
    };
    for (const [name, values] of Object.entries(candidates)) {
      for (const value of values) {
        const isFine = checkValues({ [name]: value }, scheme).length === 0;
        const failure = await failureOf(configuration.changeParameters(EMAIL, { [name]: value }));
        expect({ name, value, failure }).toEqual({
          name,
          value,
          failure: isFine ? 'none' : { code: 'http', status: 400, topics: [name] },
        });
      }
    }
  });
});

describe('rule 6: POST', () => {
  test('entries are added at the end, in their order', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const answered = await configuration.addEntries(HOSTNAMES, [host('b'), host('a')]);
    expect(pluck(answered?.list ?? [], 'hostname')).toEqual(['plc', 'b', 'a']);
    await configuration.addEntries(HOSTNAMES, [host('c')]);
    const { list } = await configuration.read(HOSTNAMES);
    expect(pluck(list, 'hostname')).toEqual(['plc', 'b', 'a', 'c']);
    expect(new Set(list.map(({ uid }) => uid)).size).toBe(4);
  });

  test.for([
    ['index', 'index'],
    ['list_uid', 'error'],
  ] as const)('an entry that carries %s is refused, and nothing is added', async ([name, topic]) => {
    await using bench = await openInterface();
    const client = bench.as();
    const json = { config: { list: [{ ...host('pump').parameters, [name]: 'user1' }] } };
    const answer = await client.call({ method: 'POST', path: `/configuration/${HOSTNAMES}`, json });
    expect(answer).toMatchObject({ status: 400, body: { error: [{ [topic]: expect.any(String) }] } });
    expect(await client.configuration.countEntries(HOSTNAMES)).toBe(1);
  });
});

describe('rule 7: lists in lists', () => {
  test('a POST brings the inner entries with their entry, and each has a uid afterwards', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    const inner = { interface: 'net3', check_interval: '5', check_fail_wan: 'wan1', check_type: 'none' };
    await client.configuration.addEntries(WANS, [
      { parameters: { description: 'third' }, sublist: [inner, { interface: 'openvpn1' }] },
    ]);
    const { list } = await client.configuration.read(WANS);
    expect(list).toHaveLength(3);
    expect(list[2]).toMatchObject({ index: undefined, parameters: { name: 'wan3', description: 'third' } });
    expect(list[2]?.sublist).toEqual([
      { uid: expect.any(String), parameters: inner },
      { uid: expect.any(String), parameters: expect.objectContaining({ interface: 'openvpn1' }) },
    ]);
  });

  test('a POST with list_uid and sublist adds to the sublist of an entry that exists', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    const before = (await client.configuration.read(WANS)).list;
    await client.configuration.addSublistEntries(WANS, uidOf(before, 1), [
      { interface: 'net3', check_interval: '0', check_type: 'link' },
      { interface: 'openvpn1' },
    ]);
    const after = (await client.configuration.read(WANS)).list;
    expect(after[0]).toEqual(before[0]);
    expect(after[1]?.sublist.slice(0, -2)).toEqual(before[1]?.sublist);
    expect(after[1]?.sublist.slice(-2)).toMatchObject([
      { uid: expect.any(String), parameters: { interface: 'net3', check_interval: '0', check_type: 'link' } },
      { uid: expect.any(String), parameters: { interface: 'openvpn1' } },
    ]);
    expect(
      await failureOf(client.configuration.addSublistEntries(WANS, '0000000000', [{ interface: 'net3' }])),
    ).toEqual({ code: 'http', status: 400, topics: ['list_uid'] });
    const json = {
      config: { list: [{ list_uid: uidOf(before, 0), description: 'x', sublist: [{ interface: 'a' }] }] },
    };
    const answer = await client.call({ method: 'POST', path: `/configuration/${WANS}`, json });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: [{ error: expect.stringContaining('list_uid_given') }] },
    });
    expect((await client.configuration.read(WANS)).list).toEqual(after);
  });
});

describe('rule 8: PUT', () => {
  test('list_uid names the entry: the given fields change, all else stays', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const { list } = await configuration.read(WANS);
    await configuration.changeEntries(WANS, [{ list_uid: uidOf(list, 1), parameters: { description: 'second' } }]);
    const changed = (await configuration.read(WANS)).list;
    expect(changed[0]).toEqual(list[0]);
    expect(changed[1]).toEqual({ ...list[1], parameters: { ...list[1]?.parameters, description: 'second' } });
  });

  test('sublist_uid names the inner entry, and several changes go in one request', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const before = (await configuration.read(WANS)).list;
    const [lte, ipsec] = before[0]?.sublist ?? [];
    await configuration.changeEntries(WANS, [
      {
        list_uid: uidOf(before, 0),
        sublist: [{ sublist_uid: ipsec?.uid ?? '', parameters: { check_interval: '30' } }],
      },
      { list_uid: uidOf(before, 1), parameters: { active: '0' } },
    ]);
    const after = (await configuration.read(WANS)).list;
    expect(after[0]?.sublist).toEqual([lte, { ...ipsec, parameters: { ...ipsec?.parameters, check_interval: '30' } }]);
    expect(after[1]?.parameters).toMatchObject({ active: '0', description: 'fallback' });
  });

  test('a sublist_uid or an index without the list_uid of its entry is refused by icom OS 9.5, and nothing of the request is carried out', async () => {
    await using bench = await openInterface({}, 0);
    const client = bench.as();
    const before = (await client.configuration.read(WANS)).list;
    const sublist_uid = before[0]?.sublist[1]?.uid ?? '';
    for (const entry of [
      { sublist_uid, check_interval: '30' },
      { sublist: [{ sublist_uid, check_interval: '30' }] },
      { index: 'wan1', sublist: [{ sublist_uid, check_interval: '30' }] },
      { index: 'wan1', description: 'x' },
    ]) {
      const json = { config: { list: [{ list_uid: uidOf(before, 1), active: '0' }, entry] } };
      expect(await client.call({ method: 'PUT', path: `/configuration/${WANS}`, json })).toMatchObject({
        status: 400,
        body: { error: [{ list: expect.stringContaining('no_list_uid_given: entry 2') }] },
      });
    }
    expect((await client.configuration.read(WANS)).list).toEqual(before);
  });

  test.for(['9.5', '6.1'])('index names the entry as well, for icom OS %s', async (firmware) => {
    await using bench = await openInterface({ routers: 2 }, firmware === '9.5' ? 0 : 1);
    const client = bench.as();
    await client.configuration.changeEntries(WANS, [
      { index: 'wan2', parameters: { description: 'second' } },
      { list_uid: uidOf((await client.configuration.read(WANS)).list, 0), parameters: { description: 'first' } },
    ]);
    expect(pluck((await client.configuration.read(WANS)).list, 'description')).toEqual(['first', 'second']);
    const unknown = client.configuration.changeEntries(WANS, [{ index: 'wan9', parameters: { description: 'x' } }]);
    await expect(unknown).rejects.toThrow('PUT wan/wans was not sent: it has no entry "wan9"');
  });

  test('a sublist_uid or an index alone names the entry for earlier firmware, alone in the list or inside its entry', async () => {
    await using bench = await openInterface({ routers: 2 }, 1);
    const client = bench.as();
    const before = (await client.configuration.read(WANS)).list;
    const [first, second] = before[0]?.sublist.map(({ uid }) => uid) ?? [];
    const list = [
      { sublist_uid: first, check_interval: '30' },
      { sublist: [{ sublist_uid: second, check_interval: '31' }] },
      { index: 'wan2', description: 'second' },
    ];
    const put = (json: object) => client.call({ method: 'PUT', path: `/configuration/${WANS}`, json });
    expect(await put({ config: { list } })).toMatchObject({ status: 200 });
    const after = (await client.configuration.read(WANS)).list;
    expect(after[0]?.sublist.map(({ parameters }) => parameters['check_interval'])).toEqual(['30', '31']);
    expect(pluck(after, 'description')).toEqual(['cellular', 'second']);
    for (const [entry, topic] of [
      [{ sublist_uid: '0000000000', check_interval: '30' }, 'sublist_uid'],
      [{ index: 'wan9', description: 'x' }, 'index'],
      [{ index: 'wan2', sublist: [{ sublist_uid: first, check_interval: '5' }] }, 'index'],
    ] as const) {
      const refused = { status: 400, body: { error: [{ [topic]: expect.anything() }] } };
      expect(await put({ config: { list: [entry] } })).toMatchObject(refused);
    }
  });

  test('a uid that is unknown, or none, is refused, and nothing of the request is carried out', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    const { list } = await client.configuration.read(WANS);
    const known = { list_uid: uidOf(list, 0), parameters: { description: 'changed' } };
    const gone = { list_uid: '0000000000', parameters: { description: 'x' } };
    expect(await failureOf(client.configuration.changeEntries(WANS, [known, gone]))).toEqual({
      code: 'http',
      status: 400,
      topics: ['list_uid'],
    });
    const inner = { sublist_uid: '0000000000', parameters: { check_interval: '5' } };
    const wrong = { list_uid: uidOf(list, 0), sublist: [inner] };
    expect(await failureOf(client.configuration.changeEntries(WANS, [wrong]))).toMatchObject({
      status: 400,
      topics: ['sublist_uid'],
    });
    const json = { config: { list: [{ description: 'x' }] } };
    expect(await client.call({ method: 'PUT', path: `/configuration/${WANS}`, json })).toMatchObject({ status: 400 });
    expect((await client.configuration.read(WANS)).list).toEqual(list);
  });
});

describe('rule 9: DELETE', () => {
  test('without a filter every entry goes, with one those that match', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const names = async () => pluck((await configuration.read(HOSTNAMES)).list, 'hostname');
    await configuration.addEntries(HOSTNAMES, [host('pump'), host('pump-2'), host('valve')]);
    await configuration.deleteEntries(HOSTNAMES, { filter: [contains('hostname', 'PUMP')] });
    expect(await names()).toEqual(['plc', 'valve']);
    await configuration.deleteEntries(HOSTNAMES, { filter: 'all' });
    expect(await names()).toEqual([]);
  });

  test('a filter without a match deletes nothing and is 404', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const filter = [equals('hostname', 'nothing')];
    expect(await failureOf(configuration.deleteEntries(HOSTNAMES, { filter }))).toMatchObject({ status: 404 });
    expect(await configuration.countEntries(HOSTNAMES)).toBe(1);
  });
});

describe('rule 10: delete', () => {
  test('delete=interface takes the matching interface out of the chains, and the chains stay', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    expect(await chains(client)).toEqual([['lte2', 'ipsec1'], ['net2']]);
    await client.configuration.deleteEntries(WANS, { filter: [equals('interface', 'lte2')], field: 'interface' });
    expect(await chains(client)).toEqual([['ipsec1'], ['net2']]);
  });

  test('delete=interface without a filter takes all interfaces out of the chains', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    await client.configuration.deleteEntries(WANS, { filter: 'all', field: 'interface' });
    expect(await chains(client)).toEqual([[], []]);
  });

  test('a filter on interface without delete takes the chains that hold it', async () => {
    await using bench = await openInterface();
    const client = bench.as();
    await client.configuration.deleteEntries(WANS, { filter: [equals('interface', 'lte2')] });
    expect(await chains(client)).toEqual([['net2']]);
  });
});

describe('profiles', () => {
  /** A change by each method, on the list of users. */
  const changes = {
    POST: ({ configuration }: RouterClient, choice: { profile?: string; activate?: boolean }) =>
      configuration.addEntries(USERS, [{ parameters: { username: 'new', password: 'simulated' } }], choice),
    PUT: async ({ configuration }: RouterClient, choice: { profile?: string; activate?: boolean }) => {
      const { list } = await configuration.read(USERS, choice.profile === undefined ? {} : { profile: choice.profile });
      return configuration.changeEntries(
        USERS,
        [{ list_uid: uidOf(list, 1), parameters: { username: 'new' } }],
        choice,
      );
    },
    DELETE: ({ configuration }: RouterClient, { profile }: { profile?: string }) =>
      configuration.deleteEntries(USERS, {
        filter: [equals('username', 'monitor')],
        ...(profile !== undefined && { profile }),
      }),
  };
  const stored = { POST: 'admin,monitor,status,new', PUT: 'admin,new,status', DELETE: 'admin,status' };
  const FRESH = 'admin,monitor,status';
  const users = async ({ configuration }: RouterClient, profile: string) =>
    pluck((await configuration.read(USERS, { profile })).list, 'username').join();
  /** Which of the names can log in: what the router works with, whatever it has stored. */
  const accounts = async (bench: InterfaceBench) => {
    const names = ['admin', 'monitor', 'status', 'new'];
    const results = await Promise.all(names.map((name) => failureOf(bench.as(name).readStatus('device_info'))));
    return names.filter((_name, position) => results[position] === 'none').join();
  };

  const choices = [
    ['the running profile, not named', {}, RUNNING],
    ['the running profile by its name', { profile: RUNNING }, RUNNING],
    ['another profile by its name', { profile: SPARE }, SPARE],
  ] as const;

  for (const method of ['POST', 'PUT', 'DELETE'] as const) {
    test.for(choices)(`a ${method} without activate changes %s and activates nothing`, async ([, choice, changed]) => {
      await using bench = await openInterface();
      const admin = bench.as();
      await changes[method](admin, choice);
      const other = changed === RUNNING ? SPARE : RUNNING;
      expect(await users(admin, changed)).toBe(stored[method]);
      expect(await users(admin, other)).toBe(FRESH);
      expect(await admin.listProfiles()).toEqual([
        { name: RUNNING, lastActivated: true, modified: changed === RUNNING },
        { name: SPARE, lastActivated: false, modified: changed === SPARE },
      ]);
      expect(await accounts(bench)).toBe(FRESH);
    });
  }

  for (const method of ['POST', 'PUT'] as const) {
    test.for(choices)(`a ${method} with activate makes %s the running one, with its change`, async (row) => {
      const [, choice, changed] = row;
      await using bench = await openInterface();
      const admin = bench.as();
      await changes[method](admin, { ...choice, activate: true });
      const other = changed === RUNNING ? SPARE : RUNNING;
      expect(await users(admin, changed)).toBe(stored[method]);
      expect(await users(admin, other)).toBe(FRESH);
      expect(await admin.listProfiles()).toEqual([
        { name: RUNNING, lastActivated: changed === RUNNING, modified: false },
        { name: SPARE, lastActivated: changed === SPARE, modified: false },
      ]);
      expect((await admin.configuration.read(USERS)).profile?.name).toBe(changed);
      expect((await accounts(bench)).split(',').toSorted()).toEqual(stored[method].split(',').toSorted());
    });
  }

  test('profile.activate travels as the text 1, and is left out when nothing is to be activated', async () => {
    await using bench = await openInterface();
    const { access } = await bench.stranger.login();
    const send = async (profile: object) => {
      const body = { profile, config: { unique: { location: 'roof' } } };
      return (await bench.stranger.send('PUT', `/configuration/${HOSTNAMES}`, { token: access, body })).status;
    };
    const [running] = await bench.as().listProfiles();
    expect(running).toMatchObject({ modified: false });
    expect(await send({ activate: 1 })).toBe(400);
    expect(await send({ activate: true })).toBe(400);
    expect(await send({ name: RUNNING })).toBe(200);
    expect((await bench.as().listProfiles())[0]).toMatchObject({ modified: true });
    expect(await send({ activate: '1' })).toBe(200);
    expect((await bench.as().listProfiles())[0]).toMatchObject({ modified: false });
  });

  test('what is stored and not activated is forgotten by no restart', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    await changes.POST(admin, {});
    bench.router.restart();
    await bench.clock.advance(MINUTE_MS);
    expect(await users(admin, RUNNING)).toBe(stored.POST);
    expect(await accounts(bench)).toBe(FRESH);
  });
});
