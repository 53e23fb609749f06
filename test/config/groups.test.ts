import { describe, expect, it } from 'vitest';
import { toLifecycleWish } from '../../src/config/index.ts';
import { CERTIFICATE, load, showRouter } from './configuration-folder.ts';

const A_URL = 'url: "https://a"';
const ACCOUNTS =
  'credentials: { one: { username: u1, password: p1, auth: basic }, two: { username: u2, password: p2 } }\n';

describe('loadConfig() on groups', () => {
  it('merges defaults, then groups in their order, then the router, key by key', async () => {
    const { config, lines } = await load(`
defaults: { auth: none, labels: { level: defaults, a: d, gone: x }, poll: { interval: 1m, timeout: 1s }, modules: [] }
groups:
  first: { labels: { level: first, b: f }, poll: { interval: 2m, deadline: 50s }, timezone: Europe/Berlin }
  second: { labels: { level: second, gone: "" }, poll: { interval: 3m }, byte_budget: 5MiB }
routers:
  - { name: r1, ${A_URL}, groups: [first, second], labels: { level: own } }
  - { name: r2, ${A_URL}, groups: [second, first] }
  - { name: r3, ${A_URL} }
`);
    expect(lines).toEqual([]);
    const [r1, r2, r3] = config?.routers ?? [];
    expect(r1).toMatchObject({
      groups: ['first', 'second'],
      labels: { level: 'own', a: 'd', b: 'f' },
      poll: { interval: 180_000, timeout: 1000, deadline: 50_000 },
      timezone: 'Europe/Berlin',
      byte_budget: { perDay: 5 * 1024 ** 2, statusShare: 0.2 },
    });
    expect(r1?.labels).not.toHaveProperty('gone');
    expect(r2).toMatchObject({ labels: { level: 'first' }, poll: { interval: 120_000 } });
    expect(r3).toMatchObject({
      groups: [],
      labels: { level: 'defaults', gone: 'x' },
      byte_budget: { perDay: 0, statusShare: 0.2 },
    });
  });

  it('may be named by routers of watched files', async () => {
    const text =
      'groups: { g: { auth: none, labels: { site: x } } }\ntls_sets: { t: { server_name: s } }\nrouter_files: [r.yaml]\n';
    const files = { 'r.yaml': `[{ name: r, ${A_URL}, groups: [g], tls_set: t }, { name: s, ${A_URL}, groups: [h] }]` };
    const { lines } = await load(text, { files });
    expect(lines).toEqual([
      expect.stringMatching(/^r\.yaml:1:58: \[1\]\.username: Missing key/),
      expect.stringMatching(/^r\.yaml:1:58: \[1\]\.password: Missing key/),
      'r.yaml:1:96: [1].groups[0]: There is no group "h"; did you mean "g"?',
    ]);
  });

  it('reports unknown names, unused groups included, with the nearest name or a list', async () => {
    const { lines } = await load(`
groups: { munich: { credentials: oen }, berlin: { tls_set: none } }
${ACCOUNTS}
routers:
  - { name: a, ${A_URL}, credentials: one, groups: [munch, nowhere-at-all] }
`);
    expect(lines).toEqual([
      'router-exporter.yaml:2:34: groups.munich.credentials: There is no set of credentials "oen"; did you mean "one"?',
      'router-exporter.yaml:2:60: groups.berlin.tls_set: There is no TLS set "none"; there is none at all',
      'router-exporter.yaml:6:61: routers[0].groups[0]: There is no group "munch"; did you mean "munich"?',
      'router-exporter.yaml:6:68: routers[0].groups[1]: There is no group "nowhere-at-all"; there are: munich, berlin',
    ]);
  });

  it('points at a contradiction in the layer that set it', async () => {
    const { lines } = await load(
      `
defaults: { auth: none }
groups: { g: { poll: { interval: 10s, deadline: 20s } } }
tls_sets: { t: { cert_file: c.pem } }
routers: [{ name: a, ${A_URL}, groups: [g], tls_set: t }]
`,
      { files: { 'c.pem': CERTIFICATE } },
    );
    expect(lines).toEqual([
      expect.stringMatching(/^router-exporter\.yaml:3:49: groups\.g\.poll\.deadline: poll\.deadline \(20s\) is longer/),
      'router-exporter.yaml:4:29: tls_sets.t.cert_file: "cert_file" requires "key_file"',
    ]);
  });
});

describe('loadConfig() on credentials', () => {
  it('replaces the whole account of the layers below, and lets those above set single keys', async () => {
    const { config, lines } = await load(`
${ACCOUNTS}
defaults: { credentials: one }
groups: { g: { credentials: two }, h: { username: other } }
routers: [{ name: a, ${A_URL} }, { name: b, ${A_URL}, groups: [g] }, { name: c, ${A_URL}, groups: [g, h], password: own }]
`);
    expect(lines).toEqual([]);
    expect(config?.routers.map(({ username, password, auth }) => [username, password.reveal(), auth])).toEqual([
      ['u1', 'p1', 'basic'],
      ['u2', 'p2', 'token'],
      ['other', 'own', 'token'],
    ]);
  });

  it('rejects an account together with them, an incomplete set, and two forms of a password', async () => {
    const { lines } = await load(`
credentials: { half: { username: u }, none: { auth: none }, twice: { username: u, password: p, password_file: f } }
routers: [{ name: a, ${A_URL}, credentials: none, username: x }]
`);
    expect(lines).toEqual([
      'router-exporter.yaml:2:22: credentials.half.password: Missing key; expected either "password" or "password_file"',
      'router-exporter.yaml:2:96: credentials.twice.password_file: Both "password" and "password_file" are set; keep one of them',
      'router-exporter.yaml:2:111: credentials.twice.password_file: The file named here does not exist; relative paths start at FOLDER. Its name is not shown, because it may be the secret itself',
      'router-exporter.yaml:3:59: routers[0].username: Both "credentials" and "username" are set; keep one of them',
    ]);
  });
});

describe('loadConfig() on a login with credentials that have none', () => {
  it('does not take the account of a layer below that they replace', async () => {
    const { config, lines } = await load(`
defaults: { username: u, password: p }
credentials: { open: { auth: none } }
groups: { g: { credentials: open } }
routers: [{ name: r, ${A_URL}, groups: [g], auth: token }, { name: s, ${A_URL}, groups: [g] }]
`);
    expect(config).toBeUndefined();
    expect(lines).toEqual([
      expect.stringMatching(/routers\[0\]\.username: Missing key/),
      expect.stringMatching(/routers\[0\]\.password: Missing key/),
    ]);
  });
});

describe('loadConfig() on TLS sets', () => {
  it('replaces the section of the layers below; keys of the same layer take precedence', async () => {
    const { config, lines } = await load(
      `
defaults: { auth: none, tls: { ca_file: ca.pem, insecure_skip_verify: true } }
tls_sets: { t: { server_name: set, fingerprint_sha256: ${'ab'.repeat(32)} } }
routers: [{ name: a, ${A_URL}, tls_set: t }, { name: b, ${A_URL}, tls_set: t, tls: { server_name: own } }]
`,
      { files: { 'ca.pem': CERTIFICATE } },
    );
    expect(lines).toEqual([]);
    const tls = { fingerprint_sha256: 'ab'.repeat(32) };
    expect(config?.routers.map((router) => router.tls)).toMatchObject([
      { ...tls, server_name: 'set' },
      { ...tls, server_name: 'own' },
    ]);
  });

  it('has no effect on a router without TLS, which is a fault', async () => {
    const { lines } = await load(
      'defaults: { auth: none }\ntls_sets: { t: {} }\nrouters: [{ name: a, url: "http://a", tls_set: t }]',
    );
    expect(lines).toEqual([expect.stringMatching(/routers\[0\]\.tls_set: "tls_set" has no effect here/)]);
  });
});

it('loadConfig() renders the settings of one router with the origin of each, and no secret', async () => {
  const outcome = await load(
    `defaults: { byte_budget: 5MiB, auth: basic, tls: { server_name: hidden } }
groups:
  g: { labels: { site: munich },
       poll: { interval: 2m }, credentials: c }
credentials:
  c: { username: u, password: correct-horse }
tls_sets: { t: { insecure_skip_verify: true } }
router_files: [r.yaml]
`,
    {
      files: { 'r.yaml': `- name: a\n  ${A_URL}\n  groups: [g]\n  tls_set: t\n  labels: { line: "3" }\n` },
    },
  );
  expect(outcome.lines).toEqual([]);
  expect(showRouter(outcome, 'a')).toBe(`name: a # r.yaml:1
url: https://a # r.yaml:2
groups: [g] # r.yaml:3
auth: token # default
username: u # router-exporter.yaml:6
password: "[secret]" # router-exporter.yaml:6
tls:
  insecure_skip_verify: true # router-exporter.yaml:7
labels:
  site: munich # router-exporter.yaml:3
  line: "3" # r.yaml:5
poll:
  interval: 2m # router-exporter.yaml:4
  timeout: 10s # default
  connect_timeout: 5s # default
  deadline: 45s # default
  stale_after: 6m # default
logs:
  enabled: true # default
  interval: 30s # default
  start: all # default
  components: ["*"] # default
modules: [] # default
byte_budget: 5MiB # router-exporter.yaml:1
`);
});

it('applies the end of a state only with the state of the same layer', async () => {
  const { config, lines } = await load(`
groups:
  resting: { state: paused, state_until: "2027-03-01T06:00:00+01:00" }
defaults: { auth: none }
routers:
  - { name: a, url: "https://192.0.2.1", groups: [resting] }
  - { name: b, url: "https://192.0.2.2", groups: [resting], state: active }
  - { name: c, url: "https://192.0.2.3" }
`);
  expect(lines).toEqual([]);
  expect(config?.routers.map((router) => toLifecycleWish(router))).toEqual([
    { state: 'paused', untilMs: Date.UTC(2027, 2, 1, 5) },
    { state: 'active', untilMs: undefined },
    undefined,
  ]);
  const alone = 'routers: [{ name: a, url: "https://192.0.2.1", auth: none, state_until: "2027-03-01T06:00Z" }]';
  expect((await load(alone)).lines.join()).toContain('"state_until" requires "state"');
  const bare = alone.replace('2027-03-01T06:00Z', '2027-03-01');
  expect((await load(bare)).lines.join()).toContain('a time with its UTC offset');
});
