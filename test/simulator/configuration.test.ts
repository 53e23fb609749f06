import { describe, expect, test } from 'vitest';
import { openAdmin, withQuery } from './client.ts';

const USERS = '/configuration/administration/users';
const WANS = '/configuration/wan/wans';
const EMAIL = '/configuration/events/email_account';
const UID = /^[0-9a-f]{10}$/;

describe('lists', () => {
  test('an answer carries the profile, single values and entries with their identifiers', async () => {
    await using bench = await openAdmin({}, 'monitor');
    const { json } = await bench.call('GET', USERS);
    expect(json.profile).toEqual({ name: 'Profile', last_activated: true, modified: false });
    expect(json.config.unique).toEqual({ password_hashes: '0' });
    expect(json.config.list).toHaveLength(3);
    expect(json.config.list[0]).toEqual({
      list_uid: expect.stringMatching(UID),
      index: 'user1',
      active: '1',
      username: 'admin',
      group: 'readwrite',
    });
    expect(json.scheme).toBeUndefined();
  });

  test('POST adds at the end with identifiers of its own, and answers with the whole resource', async () => {
    await using bench = await openAdmin();
    const list = ['a', 'b'].map((username) => ({ username, password: 'x' }));
    const { json } = await bench.call('POST', USERS, { config: { list } });
    expect(json.config.list.slice(3)).toEqual([
      { list_uid: expect.stringMatching(UID), index: 'user4', active: '1', username: 'a', group: 'read' },
      { list_uid: expect.stringMatching(UID), index: 'user5', active: '1', username: 'b', group: 'read' },
    ]);
    expect(new Set(json.config.list.map((entry: { list_uid: string }) => entry.list_uid)).size).toBe(5);
    expect((await bench.call('GET', USERS)).json.config).toEqual(json.config);
  });

  test('a request with one fault changes nothing at all', async () => {
    await using bench = await openAdmin();
    const before = (await bench.call('GET', USERS)).json;
    const list = [{ username: 'good', password: 'x' }, { username: '' }];
    expect((await bench.call('POST', USERS, { config: { list } })).status).toBe(400);
    expect((await bench.call('GET', USERS)).json).toEqual(before);
  });

  test('PUT changes the named fields of the named entries and leaves the rest', async () => {
    await using bench = await openAdmin();
    const [, monitor, status] = (await bench.call('GET', USERS)).json.config.list;
    const list = [
      { list_uid: monitor.list_uid, group: 'status' },
      { list_uid: status.list_uid, index: status.index, active: '0' },
    ];
    const { json } = await bench.call('PUT', USERS, { config: { list } });
    expect(json.config.list.slice(1)).toEqual([
      { ...monitor, group: 'status' },
      { ...status, active: '0' },
    ]);
  });

  test('an answer can be changed and sent back', async () => {
    await using bench = await openAdmin();
    const { profile, config } = (await bench.call('GET', WANS)).json;
    config.list[0].description = 'mobile';
    config.list[0].sublist[1].check_interval = '3';
    const { status, json } = await bench.call('PUT', WANS, { profile, config });
    expect(status).toBe(200);
    expect(json.config).toEqual(config);
  });

  test('PUT finds an inner entry by its identifier inside the entry that list_uid names, and in no other way', async () => {
    await using bench = await openAdmin();
    const { list } = (await bench.call('GET', WANS)).json.config;
    const [first, second] = list[0].sublist;
    const entries = [
      {
        list_uid: list[0].list_uid,
        sublist: [
          { sublist_uid: first.sublist_uid, check_interval: '1' },
          { sublist_uid: second.sublist_uid, check_interval: '2' },
        ],
      },
      { list_uid: list[1].list_uid, sublist: [{ sublist_uid: list[1].sublist[0].sublist_uid, check_type: 'dns' }] },
    ];
    const { json } = await bench.call('PUT', WANS, { config: { list: entries } });
    expect(json.config.list[0].sublist).toEqual([
      { ...first, check_interval: '1' },
      { ...second, check_interval: '2' },
    ]);
    expect(json.config.list[1].sublist[0].check_type).toBe('dns');
    const inner = { sublist_uid: first.sublist_uid, check_interval: '9' };
    for (const one of [inner, { sublist: [inner] }, { index: 'wan1', sublist: [inner] }]) {
      const refused = await bench.call('PUT', WANS, { config: { list: [entries[0], one] } });
      expect([refused.status, Object.keys(refused.json.error[0])]).toEqual([400, ['list']]);
    }
    const elsewhere = { list_uid: list[1].list_uid, sublist: [inner] };
    expect((await bench.call('PUT', WANS, { config: { list: [elsewhere] } })).json.error[0]).toHaveProperty(
      'sublist_uid',
    );
  });

  test('POST takes lists in lists', async () => {
    await using bench = await openAdmin();
    const list = [
      { description: 'third', sublist: [{ interface: 'net2' }, { interface: 'lte2', check_type: 'none' }] },
    ];
    const { json } = await bench.call('POST', WANS, { config: { list } });
    expect(json.config.list[2]).toMatchObject({
      name: 'wan3',
      sublist: [{ interface: 'net2' }, { interface: 'lte2' }],
    });
    expect(json.config.list[2].sublist[0].sublist_uid).toMatch(UID);
  });

  test('POST with a list_uid adds to the sublist of that entry', async () => {
    await using bench = await openAdmin();
    const [first, second] = (await bench.call('GET', WANS)).json.config.list;
    const { list_uid, name } = second;
    const added = { interface: 'net3', check_interval: '0', check_fail_wan: '---', check_type: 'link' };
    const { status, json } = await bench.call('POST', WANS, {
      config: { list: [{ list_uid, name, sublist: [added] }] },
    });
    expect(status).toBe(201);
    expect(json.config.list).toEqual([
      first,
      { ...second, sublist: [...second.sublist, { ...added, sublist_uid: expect.stringMatching(UID) }] },
    ]);
    for (const [entry, key] of [
      [{ list_uid, sublist: [added], active: '0' }, 'error'],
      [{ list_uid, active: '0' }, 'error'],
      [{ list_uid, name: 'wan1', sublist: [added] }, 'error'],
      [{ list_uid, sublist: [{ ...added, sublist_uid: '0123456789' }] }, 'sublist_uid'],
      [{ list_uid: '0000000000', sublist: [added] }, 'list_uid'],
    ] as const) {
      const refused = await bench.call('POST', WANS, { config: { list: [entry] } });
      expect([refused.status, Object.keys(refused.json.error[0])]).toEqual([400, [key]]);
    }
  });

  test('entries carry the name that the router gave them, which can be sent back and not be changed', async () => {
    await using bench = await openAdmin();
    const { list } = (await bench.call('GET', WANS)).json.config;
    expect(list.map((entry: object) => ({ ...entry, sublist: [] }))).toMatchObject([
      { name: 'wan1' },
      { name: 'wan2' },
    ]);
    expect(list[0]).not.toHaveProperty('index');
    const [{ list_uid, name }] = list;
    const put = (entry: object) => bench.call('PUT', WANS, { config: { list: [entry] } });
    expect((await put({ list_uid, name, description: 'x' })).status).toBe(200);
    expect((await put({ list_uid, name: 'wan7' })).json.error[0]).toHaveProperty('name');
    expect((await put({ name, description: 'x' })).json.error[0]).toHaveProperty('list');
    const filter = { p: 'name', o: 'eq', v: 'wan2' };
    expect((await bench.call('GET', withQuery(WANS, { filter }))).json.config.list).toMatchObject([{ name: 'wan2' }]);
  });

  test('a message without a name of its own is called message and a number', async () => {
    await using bench = await openAdmin();
    const path = '/configuration/events/messages';
    const list = [{ subject: 'a' }, { name: 'pump', subject: 'b' }, { name: '', subject: 'c' }];
    const { json } = await bench.call('POST', path, { config: { list } });
    const names = json.config.list.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['link lost', 'message2', 'pump', 'message4']);
    await bench.call('PUT', path, { config: { list: [{ list_uid: json.config.list[2].list_uid, name: '' }] } });
    const send = (message: string) =>
      bench.call('POST', '/operation', { method: 'manual_action', params: { type: 'message', options: { message } } });
    await bench.call('PUT', '/profiles/activate', { profile: 'Profile' });
    expect([(await send('message3')).status, (await send('pump')).status]).toEqual([201, 400]);
  });

  test('DELETE without a filter empties the list and answers with nothing', async () => {
    await using bench = await openAdmin();
    const path = '/configuration/administration/hostnames';
    expect((await bench.call('DELETE', path)).text).toBe('');
    expect((await bench.call('GET', path)).json.config.list).toEqual([]);
  });

  test('DELETE with delete=interface takes interfaces out of the chains: the matching ones, or all', async () => {
    await using bench = await openAdmin();
    const read = async () =>
      (await bench.call('GET', WANS)).json.config.list.map((entry: { sublist: { interface: string }[] }) =>
        entry.sublist.map((one) => one.interface),
      );
    const filter = { p: 'interface', o: 'eq', v: ['ipsec1', 'net2'] };
    await bench.call('DELETE', withQuery(WANS, { delete: 'interface', filter }));
    expect(await read()).toEqual([['lte2'], []]);
    await bench.call('DELETE', withQuery(WANS, { delete: 'interface' }));
    expect(await read()).toEqual([[], []]);
  });

  test('return_size counts instead of listing, whatever its value', async () => {
    await using bench = await openAdmin();
    expect((await bench.call('GET', `${USERS}?return_size`)).json.config).toEqual({ list_size: 3 });
    const filter = { p: 'username', o: 'like', v: 'ADM' };
    expect((await bench.call('GET', withQuery(USERS, { return_size: 'x', filter }))).json.config).toEqual({
      list_size: 1,
    });
  });

  test('passwords of users are never shown, or only as hashes if configured', async () => {
    await using bench = await openAdmin();
    expect((await bench.call('GET', USERS)).text).not.toContain('simulated');
    const { json } = await bench.call('PUT', USERS, { config: { unique: { password_hashes: '1' } } });
    const { password } = json.config.list[1];
    expect(password).toMatch(/^\$6\$[0-9a-f]{10}\$/);
    expect(password.length).toBeLessThanOrEqual(106);
    // What was exported works when it is imported under another name.
    const list = [{ username: 'twin', password, group: 'read' }];
    await bench.call('POST', USERS, { config: { list }, profile: { activate: '1' } });
    expect((await bench.client.login('twin')).access).toBeTypeOf('string');
  });
});

describe('schemes', () => {
  test('the scheme of the email account describes every parameter', async () => {
    await using bench = await openAdmin();
    const { json } = await bench.call('GET', `${EMAIL}?append_scheme=1`);
    const item = (value: string) => ({ value, translate: true, label: value });
    expect(json.scheme.parameters.unique).toEqual([
      { name: 'address', type: 'email_addr' },
      { name: 'real_name', type: 'string', max_len: 100 },
      { name: 'server', type: 'peer', max_len: 100 },
      { name: 'encryption', type: 'radio', items: ['none', 'ssl', 'starttls'].map(item) },
      { name: 'verify_peer', type: 'checkbox' },
      { name: 'verify_host', type: 'checkbox' },
      { name: 'port', type: 'int', min: 1, max: 65_535, steps: 1 },
      { name: 'username', type: 'string', max_len: 100 },
      { name: 'password', type: 'passwd', max_len: 100 },
    ]);
    expect(json.config.unique).toEqual({
      ...{ address: '', real_name: '', server: '', encryption: 'starttls', verify_peer: '', verify_host: '' },
      ...{ port: '25', username: '', password: '' },
    });
  });

  test.each(['1', 'true', 'YES', 'on'])('append_scheme=%s means yes', async (value) => {
    await using bench = await openAdmin();
    expect(
      (await bench.call('GET', withQuery(WANS, { append_scheme: value }))).json.scheme.parameters.sublist,
    ).toBeDefined();
  });

  test.each(['0', 'false', ''])('append_scheme=%s means no', async (value) => {
    await using bench = await openAdmin();
    expect((await bench.call('GET', withQuery(WANS, { append_scheme: value }))).json.scheme).toBeUndefined();
  });
});

describe('profiles', () => {
  const flags = async (bench: Awaited<ReturnType<typeof openAdmin>>) =>
    (await bench.call('GET', '/profiles')).json.profiles.map(
      (one: { name: string; last_activated: boolean; modified: boolean }) => [
        one.name,
        one.last_activated,
        one.modified,
      ],
    );
  const change = { config: { unique: { real_name: 'x' } } };

  test('a change without activate marks the running profile as modified and keeps it running', async () => {
    await using bench = await openAdmin();
    const { json } = await bench.call('PUT', EMAIL, change);
    expect(json.profile).toEqual({ name: 'Profile', last_activated: true, modified: true });
    expect(await flags(bench)).toEqual([
      ['Profile', true, true],
      ['quick_start_profile', false, false],
    ]);
  });

  test('a change of another profile leaves the running one alone', async () => {
    await using bench = await openAdmin();
    await bench.call('PUT', `${EMAIL}?profile=quick_start_profile`, change);
    expect((await bench.call('GET', EMAIL)).json.config.unique.real_name).toBe('');
    const other = (await bench.call('GET', `${EMAIL}?profile=quick_start_profile`)).json;
    expect(other.config.unique.real_name).toBe('x');
    expect(other.profile).toEqual({ name: 'quick_start_profile', last_activated: false, modified: true });
  });

  test('activate switches to the changed profile, whose name may stand in the body', async () => {
    await using bench = await openAdmin();
    await bench.call('PUT', EMAIL, change);
    await bench.call('PUT', EMAIL, { ...change, profile: { name: 'quick_start_profile', activate: '1' } });
    expect(await flags(bench)).toEqual([
      ['Profile', false, true],
      ['quick_start_profile', true, false],
    ]);
    expect((await bench.call('GET', EMAIL)).json.profile.name).toBe('quick_start_profile');
  });

  test('activate of the running profile clears its mark', async () => {
    await using bench = await openAdmin();
    await bench.call('PUT', EMAIL, { ...change, profile: { activate: '0' } });
    expect((await flags(bench))[0]).toEqual(['Profile', true, true]);
    await bench.call('PUT', '/profiles/activate', { profile: 'Profile' });
    expect((await flags(bench))[0]).toEqual(['Profile', true, false]);
  });

  test('the hash in sysdetail/system follows activations, not changes', async () => {
    await using bench = await openAdmin();
    const hash = async () => (await bench.call('GET', '/status/sysdetail/system')).json.status.unique.hash;
    const before = await hash();
    await bench.call('PUT', EMAIL, change);
    expect(await hash()).toBe(before);
    await bench.call('PUT', '/profiles/activate', { profile: 'Profile' });
    expect(await hash()).not.toBe(before);
  });

  test('profiles can be made, compared, renamed and deleted', async () => {
    await using bench = await openAdmin();
    const wanted = [
      { name: 'copy', template: 'stored_profile', stored_profile_name: 'Profile' },
      { name: 'fresh', template: 'default_profile' },
      { name: 'running', template: 'running_profile' },
    ];
    expect((await bench.call('POST', '/profiles', { profiles: wanted })).status).toBe(201);
    expect((await flags(bench)).map(([name]: unknown[]) => name)).toEqual([
      ...['Profile', 'quick_start_profile', 'copy', 'fresh', 'running'],
    ]);
    await bench.call('PUT', `${EMAIL}?profile=copy`, change);
    const { json } = await bench.call('GET', '/profiles/compare?profile_left=Profile&profile_right=copy');
    expect(json).toEqual({
      removed: ['events.email_account.real_name=""'],
      added: ['events.email_account.real_name="x"'],
    });
    const renamings = [{ old_name: 'copy', new_name: 'Plant 7' }];
    expect((await bench.call('PUT', '/profiles/rename', { profiles: renamings })).status).toBe(200);
    const refused = await bench.call('DELETE', '/profiles?profile_list=fresh,Profile,none');
    expect([refused.status, refused.json.error.flatMap(Object.keys)]).toEqual([400, ['Profile', 'none']]);
    expect((await bench.call('DELETE', '/profiles?profile_list=Plant+7,fresh,running')).text).toBe('');
    expect(await flags(bench)).toHaveLength(2);
  });
});
