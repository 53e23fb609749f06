import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { renderEffectiveConfig } from '../../src/config/index.ts';
import { SourceKeeper, SourceReader } from '../../src/inventory/index.ts';
import { load, showRouter } from '../config/configuration-folder.ts';

const MAIN = `
defaults: { username: u, password: correct-horse }
groups:
  munich: { labels: { site: munich } }
  berlin: { labels: { site: berlin } }
  short: { poll: { interval: 10s } }
  long: { poll: { deadline: 20s } }
  resting: { state: paused }
credentials: { plants: { username: p, password: battery-staple }, admin: { username: a, password: staple } }
tls_sets: { pinned: { server_name: s }, open: { insecure_skip_verify: true } }
`;
const SOURCE = `router_sources:
  - name: inv
    type: http
    url: https://inventory.example.net/x
    allowed_addresses: [10.0.0.0/8, "*.routers.example.com"]
    allowed_groups: [munich, short, long, resting]
    allowed_credentials: [plants]
    allowed_tls_sets: [pinned]
`;
const LOCAL = 'routers: [{ name: local, url: "https://192.0.2.1" }]\n';
const GOOD = { name: 'good', url: 'https://10.0.0.1' };

const offer = (keeper: SourceKeeper, text: string, places: readonly string[] = []) =>
  keeper.offer('inv', { text, places });

/** What a configuration makes of an answer that a source gives, after another one. */
async function loadAnswer(
  answer: unknown,
  { main = MAIN, source = SOURCE, keeper = new SourceKeeper(), more = '', places = [] as readonly string[] } = {},
) {
  offer(keeper, typeof answer === 'string' ? answer : JSON.stringify(answer), places);
  const loaded = await load(`${main}${LOCAL}${source}${more}`, { options: { inventory: keeper } });
  expect(loaded.lines).toEqual([]);
  const [outcome] = loaded.sources ?? [];
  if (!loaded.config || !outcome) throw new RangeError('There is no outcome');
  return {
    routers: loaded.config.routers.slice(1),
    names: [...outcome.routers],
    outcome,
    sources: loaded.sources ?? [],
  };
}

describe('routers of a source', () => {
  it('follow those of the configuration, and inherit from defaults and the groups that they may name', async () => {
    const { routers, outcome } = await loadAnswer(
      [
        GOOD,
        {
          name: 'b',
          url: 'https://b.routers.example.com',
          groups: ['munich'],
          credentials: 'plants',
          tls_set: 'pinned',
          labels: { line: '3' },
        },
      ],
      { more: '    groups: [berlin]\n' },
    );
    expect(outcome).toMatchObject({ refused: 0, refusals: [], held: undefined, faulty: undefined });
    expect(
      routers.map(({ name, username, labels, groups, tls }) => [name, username, labels, groups, tls.server_name]),
    ).toEqual([
      ['good', 'u', { site: 'berlin' }, ['berlin'], undefined],
      ['b', 'p', { site: 'munich', line: '3' }, ['berlin', 'munich'], 's'],
    ]);
    expect(routers[1]?.password.reveal()).toBe('battery-staple');
  });

  it.each<[string, object | string | number | null]>([
    ['is no map', 7],
    ['is empty', null],
    ['has no name', { url: 'https://10.0.0.2' }],
    ['has no address', { name: 'x' }],
    ['is elsewhere', { name: 'x', url: 'https://192.0.2.1' }],
    ['is elsewhere, by a name', { name: 'x', url: 'https://evil.example' }],
    ['has no TLS', { name: 'x', url: 'http://10.0.0.2' }],
    ['is a file', { name: 'x', url: 'file:///etc/passwd' }],
    ['has credentials in its URL', { name: 'x', url: 'https://u:p@10.0.0.2' }],
    ['hides its host behind credentials', { name: 'x', url: 'https://10.0.0.2@evil.example' }],
    ['has the name of a router of the configuration', { name: 'local', url: 'https://10.0.0.2' }],
    ['has the name of another one in the list', { name: 'good', url: 'https://10.0.0.2' }],
    ['has a name that is a path', { name: '../../etc', url: 'https://10.0.0.2' }],
    ['has a name with a control character', { name: 'a\u001b[2J', url: 'https://10.0.0.2' }],
    ['has a name with a line end', { name: 'a\nb', url: 'https://10.0.0.2' }],
    ['has an endless name', { name: 'x'.repeat(129), url: 'https://10.0.0.2' }],
    ['has a number as its name', { name: 7, url: 'https://10.0.0.2' }],
    ['has a literal secret', { name: 'x', url: 'https://10.0.0.2', password: 'p' }],
    ['has an account', { name: 'x', url: 'https://10.0.0.2', username: 'root' }],
    ['names a file', { name: 'x', url: 'https://10.0.0.2', password_file: '/etc/shadow' }],
    ['names a file as a secret', { name: 'x', url: 'https://10.0.0.2', password: { file: '/etc/shadow' } }],
    ['names a command', { name: 'x', url: 'https://10.0.0.2', password: { command: ['touch', '/tmp/owned'] } }],
    ['weakens the check of certificates', { name: 'x', url: 'https://10.0.0.2', tls: { insecure_skip_verify: true } }],
    ['names a file of certificates', { name: 'x', url: 'https://10.0.0.2', tls: { ca_file: '/etc/passwd' } }],
    ['sends its password without a login', { name: 'x', url: 'https://10.0.0.2', auth: 'basic' }],
    ['sends a token of its own', { name: 'x', url: 'https://10.0.0.2', auth: 'bearer', bearer_token: 't' }],
    ['names a file as a token', { name: 'x', url: 'https://10.0.0.2', bearer_token_file: '/etc/shadow' }],
    ['adds headers', { name: 'x', url: 'https://10.0.0.2', headers: { Host: 'evil.example' } }],
    ['adds headers of files', { name: 'x', url: 'https://10.0.0.2', header_files: { 'X-A': '/etc/shadow' } }],
    ['has its traffic led elsewhere', { name: 'x', url: 'https://10.0.0.2', proxy: { url: 'http://evil.example' } }],
    ['leads past the proxy', { name: 'x', url: 'https://10.0.0.2', proxy: 'none' }],
    ['chooses where it is asked from', { name: 'x', url: 'https://10.0.0.2', source_address: '10.0.0.9' }],
    ['polls without pause', { name: 'x', url: 'https://10.0.0.2', poll: { interval: '100ms' } }],
    ['names a group that it may not', { name: 'x', url: 'https://10.0.0.2', groups: ['berlin'] }],
    ['names a group that is not there', { name: 'x', url: 'https://10.0.0.2', groups: ['nowhere'] }],
    ['names credentials that it may not', { name: 'x', url: 'https://10.0.0.2', credentials: 'admin' }],
    ['names a TLS set that it may not', { name: 'x', url: 'https://10.0.0.2', tls_set: 'open' }],
    ['combines groups that contradict each other', { name: 'x', url: 'https://10.0.0.2', groups: ['short', 'long'] }],
    ['names a variable of the environment in its URL', { name: 'x', url: 'https://${HOME}' }],
    ['names a variable of the environment in its name', { name: '${HOME}', url: 'https://10.0.0.2' }],
    ['has a reserved label', { name: 'x', url: 'https://10.0.0.2', labels: { __name__: 'up' } }],
    ['has the label of the agent', { name: 'x', url: 'https://10.0.0.2', labels: { router: 'local' } }],
    ['has an endless label', { name: 'x', url: 'https://10.0.0.2', labels: { a: 'x'.repeat(257) } }],
    [
      'has many labels',
      {
        name: 'x',
        url: 'https://10.0.0.2',
        labels: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, 'x'])),
      },
    ],
    ['has many groups', { name: 'x', url: 'https://10.0.0.2', groups: Array.from({ length: 33 }, () => 'munich') }],
    ['has a module that is not there', { name: 'x', url: 'https://10.0.0.2', modules: ['nothing'] }],
    ['has an unknown key', { name: 'x', url: 'https://10.0.0.2', hooks: [] }],
  ])('are left out one by one: one that %s', async (_what, router) => {
    const { names, outcome, routers } = await loadAnswer([GOOD, router]);
    expect(names).toEqual(['good']);
    expect(routers.map(({ name }) => name)).toEqual(['good']);
    expect(outcome).toMatchObject({ refused: 1, refusals: [expect.stringMatching(/^source inv:/)], faulty: undefined });
    const [reason = ''] = outcome.refusals;
    // In the log, it neither breaks a line nor controls a terminal, and shows nothing that may be a secret.
    expect(reason).not.toMatch(/\p{Cc}|shadow|root/u);
    expect(reason.length).toBeLessThan(1000);
  });

  it('with a key of a prototype change nothing', async () => {
    const { names } = await loadAnswer(
      '[{"name":"good","url":"https://10.0.0.1"},{"name":"x","url":"https://10.0.0.2","__proto__":{"groups":["berlin"]}}]',
    );
    expect(names).toEqual(['good']);
    expect(Reflect.get({}, 'groups')).toBeUndefined();
  });

  it('keep the text of a variable in a label, which is not replaced', async () => {
    const { routers } = await loadAnswer([{ ...GOOD, labels: { a: '${HOME}' } }]);
    expect(routers[0]?.labels).toEqual({ a: '${HOME}' });
  });

  it('are refused in hundreds without an end of the others', async () => {
    const bad = Array.from({ length: 300 }, (_, index) => ({ name: `x${index}`, url: 'https://192.0.2.9' }));
    const { names, outcome } = await loadAnswer([...bad, GOOD]);
    expect(names).toEqual(['good']);
    expect(outcome.refused).toBe(300);
    expect(outcome.refusals).toHaveLength(10);
  });

  it('are all checked, however many others have faults', async () => {
    const bad = Array.from({ length: 400 }, (_, index) => ({ name: `x${index}`, a: 1, b: 2, c: 3 }));
    const last = {
      ...GOOD,
      name: 'y',
      tls: { insecure_skip_verify: true },
      auth: 'none',
      password_file: '/etc/passwd',
    };
    const { names, outcome } = await loadAnswer([...bad, last, GOOD]);
    expect(names).toEqual(['good']);
    expect(outcome.refused).toBe(401);
  });

  it.each([
    ['no JSON', '[{'],
    ['no list', '{"name":"a"}'],
    ['nothing', ''],
    ['a list in lists', `${'['.repeat(5000)}${']'.repeat(5000)}`],
    ['an alias bomb', `- &a [x,x,x,x,x,x,x,x,x,x]\n${'- [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n'.repeat(30)}`],
  ])('of an answer that is %s are not used, and those before stay', async (_what, text) => {
    const keeper = new SourceKeeper();
    await keeper.settle((await loadAnswer([GOOD], { keeper })).sources);
    const { names, outcome } = await loadAnswer(text, { keeper });
    expect(names).toEqual(['good']);
    expect(outcome.faulty).not.toBe('');
    expect(outcome.faulty).toBeDefined();
  });
});

it('says of each router that is left out in which file, entry and target it is written, and why', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
  const [one, two] = [join(folder.path, 'a.yaml'), join(folder.path, 'b.json')];
  await writeFile(one, '- targets: ["https://10.0.0.2", 10.0.0.010, 10.0.0.3]\n');
  const others = [
    { name: 'z', url: 'https://10.0.0.4' },
    { url: 'https://u:secret@10.0.0.5' },
    { name: 'b', url: 'https://192.0.2.1' },
    { name: 'c', url: 'https://10.0.0.6', groups: ['short', 'long'] },
    { name: 'a\nb', url: 'https://10.0.0.7', modules: ['nothing'] },
  ];
  await writeFile(two, JSON.stringify(others));
  const source = SOURCE.replace(/type: http\n.*/, `type: file_sd\n    files: [${one}, ${two}]`);
  const { config } = await load(`${MAIN}${LOCAL}${source}`);
  if (!config?.router_sources?.[0]) throw new RangeError('There is no source');
  await using reader = new SourceReader(config.router_sources[0], createSteppedClock(0));
  const { text, places } = (await reader.read(new AbortController().signal)) ?? { text: '', places: [] };
  const { names, outcome } = await loadAnswer(text, { source, places });
  expect(names).toEqual(['10.0.0.3', 'z']);
  const url =
    'Expected an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10; found';
  expect(outcome.refusals.map((reason) => reason.replace(/^source inv: /, ''))).toEqual([
    `target 2 of entry 1 of ${one}, "10.0.0.010": url: ${url} a host in another form of an IPv4 address; write 10.0.0.10, for the URL standard reads it as 10.0.0.8`,
    expect.stringMatching(`^entry 5 of ${two}, "a\\\\nb": name: Expected a name`),
    `entry 3 of ${two}, "b": the URL is not allowed: its host is not in "allowed_addresses" of the source`,
    expect.stringMatching(`^entry 4 of ${two}, "c": .*router-exporter\\.yaml:7:29: groups\\.long\\.poll\\.deadline: `),
    `target 1 of entry 1 of ${one}, "https-10.0.0.2": url: ${url} two schemes; what stands for a host, as in a target, has none`,
    expect.stringMatching(`^entry 2 of ${two}: name: Missing key`),
  ]);
  expect(JSON.stringify(outcome.refusals)).not.toContain('secret');
});

it('uses no list of more routers than routers_max, also one that was stored before, and keeps the one before it', async () => {
  const list = (count: number) =>
    `[\n${Array.from({ length: count }, (_, index) => `{"name":"r${index}","url":"https://10.0.0.${index}"}`).join(',\n')}\n]\n`;
  const more = '    routers_max: 2\n';
  const keeper = new SourceKeeper();
  const before = await loadAnswer(list(2), { keeper, more });
  expect(before.names).toEqual(['r0', 'r1']);
  await keeper.settle(before.sources);
  const after = await loadAnswer(list(3), { keeper, more });
  expect(after.names).toEqual(['r0', 'r1']);
  expect(after.outcome.faulty).toContain('source inv: The list has more than 2 routers');
  const lowered = await loadAnswer(list(2), { keeper, more: '    routers_max: 1\n' });
  expect([lowered.names, lowered.outcome.faulty]).toEqual([[], expect.stringContaining('"routers_max"')]);
});

describe('the guard against removals', () => {
  const list = (count: number, first = 0) =>
    Array.from({ length: count }, (_, index) => ({
      name: `r${first + index}`,
      url: `https://10.0.0.${first + index}`,
    }));
  const start = async (count: number, more = '') => {
    const keeper = new SourceKeeper();
    await keeper.settle((await loadAnswer(list(count), { keeper, more })).sources);
    return keeper;
  };

  it.each([
    [10, list(8), 8],
    [10, list(20), 20],
    [2, list(1), 1],
    // Two go and two come.
    [10, list(10, 2), 10],
  ])('lets an answer pass that removes a fifth or one router (%i before)', async (before, answer, after) => {
    const { names, outcome } = await loadAnswer(answer, { keeper: await start(before) });
    expect([names.length, outcome.held]).toEqual([after, undefined]);
  });

  it.each<[string, number, unknown[], number]>([
    ['more than a fifth', 10, list(7), 3],
    ['all of them', 10, [], 10],
    ['the only one', 1, [], 1],
    ['all, for others', 10, list(10, 100), 10],
    [
      'all, because it moves them to a place that is not allowed',
      10,
      list(10).map((one) => ({ ...one, url: 'https://192.0.2.1' })),
      10,
    ],
    [
      'more than a fifth, because it pauses them',
      10,
      list(10).map((one, at) => (at < 3 ? { ...one, state: 'paused' } : one)),
      3,
    ],
    ['all, because it retires them', 10, list(10).map((one) => ({ ...one, state: 'retired' })), 10],
    [
      'all, because it puts them into a group that is paused',
      10,
      list(10).map((one) => ({ ...one, groups: ['resting'] })),
      10,
    ],
    ['all, because it names them wrongly', 10, list(10).map(({ url }) => ({ url })), 10],
  ])('holds an answer that removes %s', async (_what, before, answer, missing) => {
    const { names, outcome } = await loadAnswer(answer, { keeper: await start(before) });
    expect(names).toHaveLength(before);
    expect(outcome.held).toMatchObject({ missing, of: before });
  });

  it('lets an answer pass that pauses a fifth, or that is for maintenance alone, and counts no pause of the configuration', async () => {
    const paused = list(10).map((one, at) => (at < 2 ? { ...one, state: 'paused' } : { ...one, state: 'maintenance' }));
    const { names, outcome } = await loadAnswer(paused, { keeper: await start(10) });
    expect([names.length, outcome.held, outcome.asked?.size]).toEqual([10, undefined, 8]);
    const main = MAIN.replace('munich: {', 'munich: { state: paused,');
    const more = '    groups: [munich]\n';
    expect((await loadAnswer(list(9), { keeper: await start(10), main, more })).outcome.held).toBeUndefined();
  });

  it('knows the routers that an earlier process accepted', async () => {
    const keeper = new SourceKeeper();
    const files = {
      read: async () => `{"origin":"","counts":[]}\n${JSON.stringify(list(10))}`,
      write: async () => {},
      list: async () => ['inv'],
      remove: async () => {},
    };
    await keeper.open({ name: 'inv', type: 'http' }, files);
    const { names, outcome } = await loadAnswer(list(1), { keeper });
    expect([names.length, outcome.held?.missing]).toEqual([10, 9]);
  });

  it('lets a held answer pass when it is confirmed, and only this one', async () => {
    const keeper = await start(10);
    const text = JSON.stringify(list(2));
    const { sources } = await loadAnswer(text, { keeper });
    await keeper.settle(sources);
    offer(keeper, JSON.stringify([]));
    expect(keeper.confirm('inv', text)).toBe(false);
    offer(keeper, text);
    expect(keeper.confirm('inv', text)).toBe(true);
    const { names, outcome } = await loadAnswer(text, { keeper });
    expect([names.length, outcome.held]).toEqual([2, undefined]);
  });

  it('lets it pass when the configuration allows the share, and not when it allows none', async () => {
    const more = '    removal_max: 100%\n';
    expect((await loadAnswer([], { keeper: await start(10), more })).names).toEqual([]);
    const strict = '    removal_max: 0%\n';
    expect((await loadAnswer(list(8), { keeper: await start(10), more: strict })).outcome.held?.missing).toBe(2);
  });

  it('forgets a held answer when the source gives the one before again', async () => {
    const keeper = await start(10);
    await keeper.settle((await loadAnswer(list(1), { keeper })).sources);
    const { outcome } = await loadAnswer(list(10), { keeper });
    expect(outcome).toMatchObject({ held: undefined, refused: 0 });
  });
});

describe('router_sources', () => {
  it('name what the main file defines, have addresses, and one way to authenticate', async () => {
    const { lines } = await load(`${MAIN}router_sources:
  - { name: inv, type: http, url: "https://u:p@a", allowed_addresses: ["*"], removal_max: 120%, groups: [munch] }
  - { name: inv, type: netbox, allowed_groups: [nowhere-at-all], allowed_tls_sets: [pined], interval: 1s }
  - { name: two, type: http, url: "https://a", username: u, bearer_token: t, allowed_credentials: [x] }
  - { name: three, type: file_sd, files: [a], url: x }
  - { name: four, type: htp }
  - { name: five, type: netbox, url: "https://a", labels: { router: name, "a b": name, site: site.slug } }
`);
    expect(lines.map((line) => line.replace(/^router-exporter\.yaml:\d+:\d+: router_sources/, ''))).toEqual([
      expect.stringMatching(/^\[0\]\.url: Expected an http or https URL without credentials/),
      expect.stringMatching(/^\[0\]\.allowed_addresses\[0\]: Expected a network such as 10\.1\.0\.0\/16/),
      expect.stringMatching(/^\[0\]\.removal_max: Expected a percentage from 0% to 100%/),
      '[0].groups[0]: There is no "munch" in "groups"; did you mean "munich"?',
      expect.stringMatching(/^\[1\]\.url: Missing key/),
      expect.stringMatching(/^\[1\]\.name: The name "inv" is already taken/),
      '[1].allowed_groups[0]: There is no "nowhere-at-all" in "groups"',
      '[1].allowed_tls_sets[0]: There is no "pined" in "tls_sets"; did you mean "pinned"?',
      expect.stringMatching(/^\[1\]\.interval: Expected a duration/),
      '[2].username: "username" requires "password" or "password_file"',
      '[2].bearer_token: Both "username" and "bearer_token" are set; keep one of them',
      '[2].allowed_credentials[0]: There is no "x" in "credentials"',
      expect.stringMatching(/^\[3\]\.url: The type "file_sd" has no such key/),
      expect.stringMatching(/^\[4\]\.type: Expected "http", "file_sd" or "netbox"; found "htp"/),
      expect.stringMatching(/^\[5\]\.labels\.router: Expected a label name that the exporter does not use itself/),
      expect.stringMatching(/^\[5\]\.labels\.a…: Expected a label name of letters/),
    ]);
  });

  it('are the origin of the groups of their routers', async () => {
    const keeper = new SourceKeeper();
    offer(keeper, JSON.stringify([GOOD]));
    const outcome = await load(`${MAIN}${LOCAL}${SOURCE}    groups: [berlin]\n`, {
      options: { inventory: keeper },
    });
    expect(showRouter(outcome, 'good')).toMatch(/groups: \[berlin\] # router-exporter\.yaml:20$/m);
  });

  it('without a stored answer are a warning where no agent runs', async () => {
    const { warnings } = await load(`${MAIN}${LOCAL}${SOURCE}`);
    expect(warnings?.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^The routers of the source "inv" are unknown: no list of it is in .*--storage\.path/),
    ]);
  });

  it('that allow no address are a warning, because none of their routers is used', async () => {
    const { warnings } = await load(`${MAIN}${LOCAL}${SOURCE.replace(/ +allowed_addresses.*\n/, '')}`, {
      options: { inventory: new SourceKeeper() },
    });
    expect(warnings).toMatchObject([
      {
        keyPath: 'router_sources[0]',
        message:
          'No router of this source is used, because "allowed_addresses" allows none; list the networks or host names of its routers',
      },
    ]);
  });

  it('show their server without its query, and no secret', async () => {
    const { config, lines } = await load(`${MAIN}router_sources:
  - { name: inv, type: http, url: "https://a/x?token=battery", bearer_token: battery, allowed_addresses: [10.0.0.0/8] }
`);
    expect(lines).toEqual([]);
    const text = config === undefined ? '' : renderEffectiveConfig(config);
    expect(text).toContain('url: https://a #');
    expect(text).not.toContain('battery');
  });
});
