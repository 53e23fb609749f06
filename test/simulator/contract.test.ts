import { describe, expect, test } from 'vitest';
import { openAdmin, withQuery } from './client.ts';

const USERS = '/configuration/administration/users';
const WANS = '/configuration/wan/wans';
const HOSTNAMES = '/configuration/administration/hostnames';
const EMAIL = '/configuration/events/email_account';
const NO_USER = { p: 'username', o: 'eq', v: 'nobody' };
const operation = (type: string, options: object) => ({ method: 'manual_action', params: { type, options } });
const user = { username: 'new', password: 'secret', group: 'read' };

/**
 * Every endpoint with its success and every way to be refused, once: who asks, what, and the status of the answer. The
 * key is that of the error body.
 */
const rows: readonly [who: string | null, method: string, path: string, body: unknown, status: number, key?: string][] =
  [
    // Sessions
    [null, 'POST', '/auth/login', { username: 'monitor', password: 'simulated' }, 200],
    [null, 'POST', '/auth/login', undefined, 400, 'content'],
    [null, 'POST', '/auth/login', { username: 'monitor' }, 400, 'password'],
    [null, 'POST', '/auth/login', { username: 'monitor', password: 'wrong' }, 401, 'login'],
    [null, 'POST', '/auth/refresh', undefined, 401, 'authentication'],
    [null, 'POST', '/auth/logout', undefined, 401, 'authentication'],
    ['admin', 'POST', '/auth/refresh', undefined, 401, 'authentication'],
    ['admin', 'POST', '/auth/logout', undefined, 200],
    ['admin', 'GET', '/auth/login', undefined, 405, 'method'],
    // Reading the configuration
    [null, 'GET', USERS, undefined, 401, 'authentication'],
    ['status', 'GET', USERS, undefined, 403, 'authorization'],
    ['monitor', 'GET', USERS, undefined, 200],
    ['monitor', 'GET', '/configuration/administration/webinterface', undefined, 200],
    ['monitor', 'GET', '/configuration/netfilter/nat/dnat', undefined, 200],
    ['monitor', 'GET', '/configuration/administration/nothing', undefined, 404, 'resource'],
    ['monitor', 'GET', '/configuration/', undefined, 404, 'resource'],
    ['monitor', 'GET', '/configuration/interfaces/lte2', undefined, 200],
    ['monitor', 'GET', withQuery(USERS, { profile: 'Profile' }), undefined, 200],
    ['monitor', 'GET', withQuery(USERS, { profile: 'none' }), undefined, 404, 'profile'],
    ['monitor', 'GET', `${USERS}?profile=Profile&profile=Profile`, undefined, 400, 'profile'],
    ['monitor', 'GET', withQuery(USERS, { filter: NO_USER }), undefined, 404, 'filter'],
    ['monitor', 'GET', withQuery(USERS, { filter: NO_USER, return_size: '' }), undefined, 200],
    ['monitor', 'GET', withQuery(USERS, { filter: '{' }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(USERS, { filter: [] }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(USERS, { filter: { ...NO_USER, o: 'gt' } }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(USERS, { filter: { ...NO_USER, p: 'color' } }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(USERS, { filter: { ...NO_USER, p: 'password' } }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(USERS, { filter: { ...NO_USER, v: 1 } }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(EMAIL, { filter: NO_USER }), undefined, 400, 'filter'],
    ['monitor', 'GET', withQuery(EMAIL, { return_size: '1' }), undefined, 400, 'return_size'],
    ['monitor', 'GET', withQuery(EMAIL, { append_scheme: '1' }), undefined, 200],
    // Adding
    ['monitor', 'POST', USERS, { config: { list: [user] } }, 403, 'authorization'],
    ['admin', 'POST', USERS, { config: { list: [user] } }, 201],
    ['admin', 'POST', USERS, undefined, 400, 'content'],
    ['admin', 'POST', USERS, [], 400, 'json'],
    ['admin', 'POST', USERS, {}, 400, 'config'],
    ['admin', 'POST', USERS, { config: {} }, 400, 'list'],
    ['admin', 'POST', USERS, { config: { list: [] } }, 400, 'list'],
    ['admin', 'POST', USERS, { config: { list: {} } }, 400, 'list'],
    ['admin', 'POST', USERS, { config: { list: [user] }, extra: 1 }, 400, 'extra'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, index: 'user9' }] } }, 400, 'index'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, list_uid: '0123456789' }] } }, 400, 'error'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, active: 1 }] } }, 400, 'active'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, group: 'root' }] } }, 400, 'group'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, colour: 'red' }] } }, 400, 'colour'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, username: 'admin' }] } }, 400, 'username'],
    ['admin', 'POST', USERS, { config: { list: [{ username: 'x' }] } }, 400, 'password'],
    ['admin', 'POST', USERS, { config: { list: [{ ...user, sublist: [{}] }] } }, 400, 'sublist'],
    [
      'admin',
      'POST',
      WANS,
      { config: { list: [{ sublist: [{ interface: '---', check_interval: '0', check_type: 'link' }] }] } },
      201,
    ],
    [
      'admin',
      'POST',
      WANS,
      { config: { list: [{ sublist: [{ interface: 'net2', check_interval: '3601' }] }] } },
      400,
      'check_interval',
    ],
    [
      'admin',
      'POST',
      WANS,
      { config: { list: [{ sublist: [{ sublist_uid: 'x', interface: 'net2' }] }] } },
      400,
      'sublist_uid',
    ],
    ['admin', 'POST', USERS, { config: { list: [user] }, profile: { name: 'none' } }, 404, 'profile'],
    ['admin', 'POST', USERS, { config: { list: [user] }, profile: { activate: 'yes' } }, 400, 'activate'],
    [
      'admin',
      'POST',
      `${USERS}?profile=Profile`,
      { config: { list: [user] }, profile: { name: 'quick_start_profile' } },
      400,
      'profile',
    ],
    ['admin', 'POST', EMAIL, { config: { unique: { port: '25' } } }, 405, 'method'],
    // Changing
    ['monitor', 'PUT', EMAIL, { config: { unique: { port: '587' } } }, 403, 'authorization'],
    ['admin', 'PUT', EMAIL, { config: { unique: { port: '587' } } }, 200],
    ['admin', 'PUT', EMAIL, { config: { unique: { port: 587 } } }, 400, 'port'],
    ['admin', 'PUT', EMAIL, { config: { unique: { port: '65536' } } }, 400, 'port'],
    ['admin', 'PUT', EMAIL, { config: { unique: { colour: 'red' } } }, 400, 'colour'],
    ['admin', 'PUT', EMAIL, { config: {} }, 400, 'config'],
    ['admin', 'PUT', EMAIL, { config: { list: [{ list_uid: 'x' }] } }, 400, 'list'],
    ['admin', 'PUT', USERS, { config: { list: [{ username: 'x' }] } }, 400, 'list'],
    ['admin', 'PUT', USERS, { config: { list: [{ list_uid: '0000000000', username: 'x' }] } }, 400, 'list_uid'],
    ['admin', 'PUT', USERS, { config: { list: [{ index: 'user2', active: '0' }] } }, 400, 'list'],
    ['admin', 'PUT', WANS, { config: { list: [{ sublist: [{ check_interval: '5' }] }] } }, 400, 'list'],
    ['admin', 'PUT', WANS, { config: { list: [{ index: 'wan1', sublist: [{ check_interval: '5' }] }] } }, 400, 'list'],
    ['admin', 'PUT', WANS, { config: { list: [{ sublist_uid: '0000000000', check_interval: '5' }] } }, 400, 'list'],
    // Deleting
    ['monitor', 'DELETE', HOSTNAMES, undefined, 403, 'authorization'],
    ['admin', 'DELETE', HOSTNAMES, undefined, 200],
    ['admin', 'DELETE', withQuery(USERS, { filter: { p: 'group', o: 'eq', v: 'status' } }), undefined, 200],
    ['admin', 'DELETE', withQuery(USERS, { filter: NO_USER }), undefined, 404, 'filter'],
    ['admin', 'DELETE', withQuery(USERS, { filter: '' }), undefined, 400, 'filter'],
    ['admin', 'DELETE', withQuery(USERS, { profile: 'none' }), undefined, 404, 'profile'],
    ['admin', 'DELETE', withQuery(WANS, { delete: 'interface' }), undefined, 200],
    ['admin', 'DELETE', withQuery(WANS, { delete: 'colour' }), undefined, 400, 'delete'],
    ['admin', 'DELETE', withQuery(USERS, { delete: 'sublist' }), undefined, 400, 'delete'],
    [
      'admin',
      'DELETE',
      withQuery(WANS, { delete: 'interface', filter: { p: 'interface', o: 'eq', v: 'x' } }),
      undefined,
      404,
      'filter',
    ],
    ['admin', 'DELETE', EMAIL, undefined, 405, 'method'],
    ['admin', 'PATCH', EMAIL, {}, 405, 'method'],
    // Status, downloads, profiles
    [null, 'GET', '/status/device_info', undefined, 401, 'authentication'],
    ['status', 'GET', '/status/device_info', undefined, 200],
    ['status', 'GET', '/status/lte2', undefined, 200],
    ['status', 'GET', '/status/lte5', undefined, 404, 'resource'],
    ['status', 'GET', '/status/', undefined, 404, 'resource'],
    ['status', 'POST', '/status/device_info', {}, 405, 'method'],
    ['monitor', 'GET', '/download/log?list_files=1', undefined, 200],
    ['monitor', 'GET', '/download/log', undefined, 400, 'log_file'],
    ['monitor', 'GET', '/download/log?log_file=httpd/current', undefined, 404, 'log_file'],
    ['status', 'GET', '/download/log?list_files=1', undefined, 403, 'authorization'],
    ['monitor', 'GET', '/profiles', undefined, 200],
    ['status', 'GET', '/profiles', undefined, 403, 'authorization'],
    ['monitor', 'GET', '/download/profiles?profile=Profile', undefined, 200],
    ['monitor', 'GET', '/download/profiles?profile=Profile&format=ascii', undefined, 200],
    ['monitor', 'GET', '/download/profiles?profile=Profile&format=zip', undefined, 400, 'format'],
    ['monitor', 'GET', '/download/profiles', undefined, 400, 'profile'],
    ['monitor', 'GET', '/download/profiles?profile=none', undefined, 404, 'profile'],
    ['monitor', 'POST', '/profiles', { profiles: [{ name: 'copy' }] }, 403, 'authorization'],
    ['admin', 'POST', '/profiles', { profiles: [{ name: 'copy', template: 'running_profile' }] }, 201],
    [
      'admin',
      'POST',
      '/profiles',
      { profiles: [{ name: 'copy', template: 'stored_profile', stored_profile_name: 'none' }] },
      400,
      'none',
    ],
    ['admin', 'POST', '/profiles', { profiles: [{ name: 'copy', template: 'x' }] }, 400, 'template'],
    ['admin', 'POST', '/profiles', { profiles: [{ name: 'Profile' }] }, 400, 'Profile'],
    ['admin', 'POST', '/profiles', { profiles: [{ name: '../x' }] }, 400, '../x'],
    ['admin', 'POST', '/profiles', { profiles: [{ name: 'a' }, { name: 'a' }] }, 400, 'a'],
    ['admin', 'POST', '/profiles', { profiles: [] }, 400, 'profiles'],
    ['admin', 'POST', '/profiles', { profile: 'copy' }, 400, 'profile'],
    ['admin', 'PUT', '/profiles/activate', { profile: 'quick_start_profile' }, 200],
    ['admin', 'PUT', '/profiles/activate', { profile: 'none' }, 400, 'profile'],
    ['admin', 'PUT', '/profiles/rename', { profiles: [{ old_name: 'Profile', new_name: 'Plant' }] }, 200],
    ['admin', 'PUT', '/profiles/rename', { profiles: [{ old_name: 'Profile' }] }, 400, 'new_name'],
    ['admin', 'PUT', '/profiles/rename', { profiles: [{ old_name: 'none', new_name: 'Plant' }] }, 400, 'none'],
    ['admin', 'DELETE', '/profiles?profile_list=quick_start_profile', undefined, 200],
    ['admin', 'DELETE', '/profiles?profile_list=Profile', undefined, 400, 'Profile'],
    ['admin', 'DELETE', '/profiles', undefined, 400, 'profile_list'],
    ['monitor', 'GET', '/profiles/compare?profile_left=Profile&profile_right=quick_start_profile', undefined, 200],
    ['monitor', 'GET', '/profiles/compare?profile_left=Profile&profile_right=none', undefined, 400, 'profile_params'],
    [
      'monitor',
      'GET',
      '/profiles/compare?profile_left=Profile&profile_right=Profile',
      undefined,
      400,
      'profile_params',
    ],
    ['monitor', 'GET', '/profiles/compare?profile_left=Profile', undefined, 400, 'profile_right'],
    // Operations
    ['admin', 'POST', '/operation', operation('sleep', { hours: '23' }), 201],
    ['admin', 'POST', '/operation', operation('sleep', { hours: '24' }), 400, 'hours'],
    ['admin', 'POST', '/operation', operation('network_tool', { network_tool: 'ping1' }), 201],
    ['admin', 'POST', '/operation', operation('network_tool', {}), 400, 'network_tool'],
    ['admin', 'POST', '/operation', operation('cert_reenrollment', { cert_reenrollment: 'enrollment1' }), 201],
    ['admin', 'POST', '/operation', operation('cert_reenrollment', {}), 400, 'cert_reenrollment'],
    ['admin', 'POST', '/operation', operation('provider_scan', { modem: '---' }), 201],
    ['admin', 'POST', '/operation', operation('sms', { modem: '---', recipient: '1', text: 'x' }), 201],
    ['admin', 'POST', '/operation', operation('wan_chain', { wan_chain: '---' }), 201],
    ['monitor', 'POST', '/operation', operation('info_led', { info_led: 'on' }), 403, 'authorization'],
    ['status', 'POST', '/operation', operation('info_led', { info_led: 'on' }), 403, 'authorization'],
    ['admin', 'POST', '/operation', operation('info_led', { info_led: 'on' }), 201],
    ['admin', 'POST', '/operation', operation('info_led', { info_led: 'blink' }), 400, 'info_led'],
    ['admin', 'POST', '/operation', operation('info_led', {}), 400, 'info_led'],
    ['admin', 'POST', '/operation', operation('ntp_sync', { now: '1' }), 400, 'now'],
    ['admin', 'POST', '/operation', operation('explode', {}), 400, 'type'],
    ['admin', 'POST', '/operation', { method: 'explode' }, 400, 'method'],
    ['admin', 'POST', '/operation', { method: 'manual_action' }, 400, 'params'],
    ['admin', 'POST', '/operation', { method: 'create_support_package' }, 201],
    ['admin', 'POST', '/operation', operation('profile', { profile: 'none' }), 404, 'profile'],
    ['admin', 'POST', '/operation', operation('message', { message: 'none' }), 400, 'message'],
    ['admin', 'POST', '/operation', operation('message', { message: 'link lost' }), 201],
    ['admin', 'GET', '/operation', undefined, 405, 'method'],
    ['admin', 'POST', '/reboot', undefined, 201],
    ['admin', 'POST', '/reset', { logs: true }, 201],
    ['admin', 'POST', '/reset', {}, 400, 'logs'],
    ['monitor', 'POST', '/reset', { logs: true }, 403, 'authorization'],
    ['admin', 'GET', '/nothing', undefined, 404, 'resource'],
  ];

describe('the interface', () => {
  test.each(rows)('%s: %s %s %j answers %i %s', async (who, method, path, body, status, key) => {
    await using bench = await openAdmin();
    const token = who === null ? undefined : (await bench.client.login(who)).access;
    const answer = await bench.client.send(method, path, {
      token,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(status);
    if (key !== undefined) expect(answer.json).toEqual({ error: [{ [key]: expect.any(String) }] });
    if (status === 405) expect(answer.headers['allow']).toMatch(/[A-Z]/);
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
  });

  test('a body with several faults names each of them', async () => {
    await using bench = await openAdmin();
    const { json } = await bench.call('PUT', EMAIL, {
      config: { unique: { port: '0', address: 'nobody', server: '-' } },
    });
    expect(json.error.map((one: object) => Object.keys(one)[0])).toEqual(['port', 'address', 'server']);
  });
});
