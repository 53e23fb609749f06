import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { type Config, renderEffectiveConfig, renderEffectiveRouter } from '../../src/config/index.ts';
import { CERTIFICATE, load, SHIPPED_MODULES } from './configuration-folder.ts';

const SECRET = 'hunter2hunter2';
const SINKS = `
  - { name: console, type: stdout, format: ecs, severities: ["error"] }
  - { name: file, type: file, path: /tmp/x.ndjson, max_size: 1MiB, max_age: 1h, keep: 3, fsync: never, compress: none }
  - { name: http, type: http, url: "http://a/b", bearer_token: ${SECRET}, headers: { X-Key: ${SECRET} }, timeout: 5s, batch: { records: 7, bytes: 64KiB, wait: 3s } }
  - { name: query, type: http, url: "http://a/b?_stream_fields=router,component&token=${SECRET}&${SECRET}" }
  - { name: loki, type: loki, url: "http://a", tenant: t, layout: shard, stream_limit: 9, shards: 3, max_age: 2h, username: u, password: ${SECRET} }
  - { name: search, type: elasticsearch, url: "http://a", index: i, pipeline: p, api_key: ${SECRET}, compress: none, start: newest }
  - { name: otel, type: otlp, url: "http://a", compress: none, components: ["net*"], events: ["log.*"], routers: ["a*"] }
  - { name: syslog, type: syslog, address: "[::1]:514", protocol: udp, facility: user, app_name: x, message_max: 1KiB, replay: 0 }
  - { name: nats, type: nats, servers: [a, "b:99"], subject: s, stream: t, bearer_token: ${SECRET} }`;

const TEXT = `
web: { listen: [":9847", "[::1]:0", "127.0.0.1:80"], grafana_url: "https://grafana.example.com/monitoring/" }
storage: { path: /tmp/state, spool_max: 2MiB }
backup: { schedule: "0 3 * * *", path: /tmp/backups, keep: 3, format: binary }
dead_letters: { max: 3MiB, keep: 2h }
redact: ["pw=\\\\S+", { pattern: "x", replacement: "y" }]
log_rules:
  - { name: a_total, help: A., type: counter, pattern: "a (?P<b>.)", labels: [b], fixed_labels: { c: d }, components: ["!x", "*"] }
  - { name: g, help: G., type: gauge, pattern: "(?P<v>[0-9]+)", value: v }
sinks:${SINKS}
routers:
  - { name: a, url: "http://a:8080/x", username: u, password: ${SECRET}, auth: basic, labels: { site: "1" }, timezone: Europe/Berlin, byte_budget: 20MiB }
  - { name: b, url: "http://b", auth: none, byte_budget: { per_day: 1MiB, status_share: 35% }, modules: [], logs: { enabled: false, interval: 5m, start: 30d, components: ["!x", "*"] } }
  - { name: c, url: "https://c", username: u, password: ${SECRET}, tls: { server_name: s, insecure_skip_verify: true }, poll: { interval: 10m, timeout: 3s, connect_timeout: 2s, deadline: 40s, stale_after: 1h } }`;

async function loadWhole(text: string): Promise<Config> {
  const { config, lines } = await load(text, { options: { shippedModules: SHIPPED_MODULES } });
  expect(lines).toEqual([]);
  if (!config) throw new RangeError('There is no configuration');
  return config;
}

/** Everything but the lines on which it is written. */
function inspectSettings({ origins: _origins, ...settings }: Config): string {
  return inspect(settings, { depth: 12 });
}

/** What a person would write down of what runs. */
function renderWhole(config: Config): string {
  const routers = config.routers.map((router) =>
    renderEffectiveRouter(router, config.origins).replace(/^/gm, '    ').replace('   ', '  -').trimEnd(),
  );
  return `${renderEffectiveConfig(config)}routers:\n${routers.join('\n')}\n`;
}

test('what is rendered of a configuration is one, and loads to the same but for its secrets', async () => {
  const config = await loadWhole(TEXT);
  const text = renderWhole(config);
  // A secret is hidden in both.
  expect(inspectSettings(await loadWhole(text))).toBe(inspectSettings(config));
  expect(text).not.toContain(SECRET);
  expect(text.match(/\[secret\]/g)).toHaveLength(9);
  expect(text).toContain('url: http://a/b?_stream_fields=router,component&token=[secret]&[secret] #');
});

test('a configuration with nothing but a router renders with all defaults', async () => {
  const config = await loadWhole(`routers: [{ name: a, url: "https://a", username: u, password: ${SECRET} }]`);
  expect(inspectSettings(await loadWhole(renderWhole(config)))).toBe(inspectSettings(config));
});

test('every key is shown with what has set it, and none with what has not', async () => {
  const { config, lines, folder } = await load(
    `web:
  access:
    tokens: [{ name: t, role: read, token_file: token }]
storage: { path: elsewhere, spool_max: 2MiB }
sinks:
  - { name: console, type: stdout }
  - name: loki
    type: loki
    url: http://a
    headers: { X-A: literal }
    header_files:
      X-B: token
    batch:
      bytes: 64KiB
redact:
  - secret-word
defaults:
  auth: none
  tls: { insecure_skip_verify: true, server_name: below }
tls_sets: { pinned: { fingerprint_sha256: ${'ab'.repeat(32)} } }
routers:
  - { name: a, url: "https://a", tls_set: pinned, byte_budget: { per_day: 1MiB } }
`,
    { files: { token: SECRET }, options: { storagePath: '/var/lib/x' } },
  );
  expect(lines).toEqual([]);
  if (!config) throw new RangeError('There is no configuration');
  const text = renderEffectiveConfig(config).replaceAll(`${folder}/`, '');
  expect(text.slice(0, text.indexOf('dead_letters:'))).toMatchInlineSnapshot(`
    "web:
      listen: [:9847] # default
      access:
        tokens: [{name: t, role: read, token: "[secret]"}] # router-exporter.yaml:3
    storage:
      path: /var/lib/x # --storage.path
      spool_max: 2MiB # router-exporter.yaml:4
      recent: 256MiB # default
    sinks:
      - name: console # router-exporter.yaml:6
        type: stdout # router-exporter.yaml:6
        start: oldest # default
        routers: ["*"] # default
        components: ["*"] # default
        severities: ["*"] # default
        events: [line, log.*] # default
        format: native # default
        batch:
          records: 5000 # default
          bytes: 1MiB # default
          wait: 0s # default
      - name: loki # router-exporter.yaml:7
        type: loki # router-exporter.yaml:8
        start: oldest # default
        routers: ["*"] # default
        components: ["*"] # default
        severities: ["*"] # default
        events: [line, log.*] # default
        url: http://a # router-exporter.yaml:9
        layout: auto # default
        stream_limit: 5000 # default
        shards: 32 # default
        max_age: 1w # default
        headers:
          X-A: "[secret]" # router-exporter.yaml:10
          X-B: "[secret]" # router-exporter.yaml:12
        timeout: 30s # default
        replay: 0s # default
        format: native # default
        batch:
          records: 1000 # default
          bytes: 64KiB # router-exporter.yaml:14
          wait: 1s # default
    "
  `);
  expect(text).toContain('redact:\n  # router-exporter.yaml:15\n  - pattern: secret-word\n');
  const [router] = config.routers;
  const shown = router ? renderEffectiveRouter(router, config.origins).replaceAll(`${folder}/`, '') : '';
  expect(shown).toContain('  insecure_skip_verify: false # default\n');
  expect(shown).toContain(`  fingerprint_sha256: ${'ab'.repeat(32)} # router-exporter.yaml:20\n`);
  expect(shown).not.toContain('below');
  expect(shown).toContain('byte_budget: 1MiB # router-exporter.yaml:22\n');
});

test('what came from files is said in brackets, and none of it is shown', async () => {
  const { routers, origins } = await loadWhole(TEXT);
  const [router] = routers.slice(2);
  if (!router) throw new RangeError('There is no router');
  const key = new Secret(SECRET);
  const tls = {
    ...router.tls,
    ca_file: CERTIFICATE + CERTIFICATE,
    cert_file: CERTIFICATE,
    key_file: key,
    fingerprint_sha256: 'ab',
  };
  const text = renderEffectiveRouter({ ...router, tls }, origins);
  expect(text).toContain('ca_file: "[2 certificates]"');
  expect(text).toContain('cert_file: "[1 certificate]"');
  expect(text).toContain('key_file: "[secret]"');
  expect(text).toContain('fingerprint_sha256: ab');
  expect(text).not.toMatch(/BEGIN|hunter/);
});

test('the server is shown with the name of its file, and without what that holds', async () => {
  const config = await loadWhole(TEXT);
  const users = new Map([['alice', '$2b$10$hunter2hunter2']]);
  const tls = { certPem: CERTIFICATE, keyPem: new Secret(SECRET), clientAuth: 'none' as const };
  const web = { ...config.web, config_file: 'web.yaml', security: { tls, users, headers: { A: 'b' } } };
  const text = renderEffectiveConfig({ ...config, web });
  expect(text).toContain('config_file: web.yaml');
  expect(text).not.toMatch(/BEGIN|hunter|\$2b|alice/);
});

test('no secret of any setting can get into the text', async () => {
  const config = await loadWhole(TEXT);
  const spread = (value: unknown): unknown => {
    if (value instanceof Secret) return new Secret(SECRET);
    if (Array.isArray(value)) return value.map(spread);
    if (typeof value !== 'object' || value === null || value instanceof Map) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spread(item)]));
  };
  expect(renderWhole(spread(config) as Config)).not.toContain(SECRET);
});
