import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { renderFault } from '../../src/settings/index.ts';
import { createStdoutSettings } from '../support/sink-settings.ts';
import { CERTIFICATE, load, SHIPPED_MODULES, withRouter } from './configuration-folder.ts';

const EVERY_KEY = new URL('every-key.yaml', import.meta.url);
const EXAMPLE = new URL('../../docs/router-exporter.example.yaml', import.meta.url);
/** Files that its globs match. */
const LISTED_FILES = { 'routers/none.yaml': '[]', 'modules/none.yaml': '{}', 'firmware/none.yaml': 'versions: []' };

const KEY = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

describe('loadConfig()', () => {
  it('applies every default when a router has only what is required', async () => {
    const { config, folder } = await load(withRouter());
    expect({ ...config, origins: undefined }).toEqual({
      web: { listen: [{ host: undefined, port: 9847 }] },
      storage: { path: join(folder, 'data'), spool_max: 1_073_741_824, recent: 268_435_456 },
      schedule: {},
      connections: {},
      routers: [
        {
          name: 'plant-7',
          url: 'https://192.0.2.10',
          groups: [],
          username: 'monitor',
          password: expect.anything(),
          auth: 'token',
          tls: { insecure_skip_verify: false },
          timezone: undefined,
          labels: {},
          poll: {
            interval: 60_000,
            timeout: 10_000,
            connect_timeout: 5000,
            deadline: 45_000,
            stale_after: 180_000,
          },
          logs: { enabled: true, interval: 30_000, start: 'all', components: ['*'] },
          modules: [],
          metrics: {},
          expect: [],
          byte_budget: { perDay: 0, statusShare: 0.2 },
          data_plans: [],
        },
      ],
      modules: [],
      firmware_versions: [],
      router_sources: [],
      backup: undefined,
      sinks: [],
      dead_letters: { max: 67_108_864, keep: 2_592_000_000 },
      log_rules: [],
      redact: [],
    });
    expect(config?.routers[0]?.password.reveal()).toBe('pw');
  });

  it('loads a file with every key in it', async () => {
    const { config, lines, folder } = await load(await readFile(EVERY_KEY), {
      env: { ROUTER_PASSWORD: 'from environment' },
      files: { 'plant-7.pw': 'from file\n', 'ca.pem': CERTIFICATE, ...LISTED_FILES },
      options: { shippedModules: SHIPPED_MODULES },
    });
    expect(lines).toEqual([]);
    const [plant6 = [], plant7 = []] = config?.routers.map(({ modules }) => modules.map(({ name }) => name)) ?? [];
    expect(plant6).toEqual(expect.arrayContaining(['modem', 'system']));
    expect(plant7).toEqual([...plant6.filter((name) => name !== 'modem'), 'fuel_level']);
    expect(config?.routers.map((router) => router.byte_budget.perDay)).toEqual([0, 20 * 1024 ** 2]);
    expect(config?.backup).toEqual({ schedule: '0 3 * * *', path: join(folder, 'backups'), keep: 10, format: 'ascii' });
    expect(config?.routers.map((router) => router.password.reveal())).toEqual(['from environment', 'from file']);
    expect(config?.routers[1]).toMatchObject({
      url: 'https://192.0.2.10:8443/plant-7',
      username: 'reader',
      tls: { ca_file: CERTIFICATE, server_name: 'plant-7.example.net' },
      timezone: 'Europe/Berlin',
      labels: { site: 'munich', line: '3' },
      poll: {
        interval: 120_000,
        timeout: 10_000,
        connect_timeout: 5000,
        deadline: 45_000,
        stale_after: 180_000,
      },
      logs: { components: ['*', '!kernel'] },
    });
    expect(config?.sinks.map(({ name, type, format }) => [name, type, format])).toEqual([
      ['console', 'stdout', 'native'],
      ['loki', 'loki', 'native'],
      ['search', 'elasticsearch', 'ecs'],
    ]);
    expect(config?.sinks[0]).toEqual(createStdoutSettings('console'));
    expect(config?.log_rules.map(({ name }) => name)).toEqual([
      'router_dhcp_acks_total',
      'router_ntp_adjustment_seconds',
    ]);
    expect(config?.redact.map(({ replacement }) => replacement)).toEqual(['[redacted]', '[redacted]']);
  });

  it('loads that file with the sinks that stand in comments there', async () => {
    const text = await readFile(EVERY_KEY, 'utf8');
    const all = text
      .replace(/^ {2}# (?= |- name)/gm, '  ')
      .replaceAll(/^ {4}# (?=pipeline|header_files|username|password_file: loki|tls)/gm, '    ');
    const { config, lines } = await load(all.replace('fingerprint_sha256: "5f:70:…", ', ''), {
      env: { ROUTER_PASSWORD: 'x' },
      files: {
        ...{ 'plant-7.pw': 'x', 'ca.pem': CERTIFICATE, 'agent.pem': CERTIFICATE, 'agent.key': KEY },
        ...{
          'loki.pw': 'x',
          'token.txt': 'x',
          'gateway.key': 'x',
          'agent.creds': '-BEGIN NATS USER JWT-\n-BEGIN USER NKEY SEED-',
        },
        ...LISTED_FILES,
      },
      options: { shippedModules: SHIPPED_MODULES },
    });
    expect(lines).toEqual([]);
    expect(config?.sinks.map(({ type }) => type)).toEqual(
      'stdout loki elasticsearch file http otlp syslog nats'.split(' '),
    );
    expect(config?.sinks[1]).toMatchObject({ username: 'agent', tls: { server_name: 'loki' } });
  });

  it('loads the documented example, also with what stands in comments there', async () => {
    const text = await readFile(EXAMPLE, 'utf8');
    const env = { ROUTER_PASSWORD: 'from environment' };
    const { config, lines } = await load(text, { env });
    expect(lines).toEqual([]);
    expect(config?.routers.map(({ name, state }) => [name, state])).toEqual([
      ['plant-7', undefined],
      ['plant-8', 'maintenance'],
    ]);
    const all = text
      .replaceAll(/^( *)# (?=(- )?[\w]+:| {2}(url|type|severities):)/gm, '$1')
      .replace('password: ${ROUTER_PASSWORD}\n', '\n');
    const files = {
      'web.yaml': '{}',
      'router.pw': 'from file',
      'device-ca.pem': CERTIFICATE,
      'routers/none.yaml': '[]',
    };
    const whole = await load(all, { env, files });
    expect(whole.lines).toEqual([]);
    expect(whole.config).toMatchObject({ backup: { schedule: '0 3 * * *' }, sinks: [{}, { type: 'loki' }] });
    expect(whole.config?.routers[0]).toMatchObject({
      tls: { ca_file: CERTIFICATE },
      byte_budget: { perDay: 20 * 1024 ** 2 },
    });
  });

  it('takes client certificate, key and fingerprint of a router', async () => {
    const fingerprint = `${'AB:'.repeat(31)}CD`;
    const tls = `{ cert_file: c.pem, key_file: k.pem, fingerprint_sha256: "${fingerprint}" }`;
    const { config, lines } = await load(withRouter(`tls: ${tls}`), { files: { 'c.pem': CERTIFICATE, 'k.pem': KEY } });
    expect(lines).toEqual([]);
    expect(config?.routers[0]?.tls).toMatchObject({
      cert_file: CERTIFICATE,
      fingerprint_sha256: `${'ab'.repeat(31)}cd`,
    });
    expect(config?.routers[0]?.tls.key_file?.reveal()).toBe(KEY);
    expect(JSON.stringify(config)).not.toContain('PRIVATE KEY');
  });

  it('refuses a client certificate without its key, a key that is none, and a short fingerprint', async () => {
    const alone = await load(withRouter('tls: { cert_file: c.pem }'), { files: { 'c.pem': CERTIFICATE } });
    expect(alone.lines).toEqual([
      'router-exporter.yaml:6:23: routers[0].tls.cert_file: "cert_file" requires "key_file"',
    ]);
    const wrong = await load(withRouter('tls: { cert_file: c.pem, key_file: c.pem, fingerprint_sha256: "ab" }'), {
      files: { 'c.pem': CERTIFICATE },
    });
    expect(wrong.lines).toEqual([
      expect.stringContaining('tls.key_file: Expected a PEM file with a private key that has no passphrase'),
      expect.stringContaining('tls.fingerprint_sha256: Expected a SHA-256 fingerprint of 64 hexadecimal digits'),
    ]);
  });

  it('wants no account of a router with auth none', async () => {
    const { config, lines } = await load('routers: [{ name: a, url: "https://192.0.2.1", auth: none }]');
    expect(lines).toEqual([]);
    expect(config?.routers[0]).toMatchObject({ auth: 'none', username: '' });
  });

  it('merges a router over the defaults key by key', async () => {
    const { config } = await load(`
defaults:
  username: shared
  password: shared
  tls: { server_name: shared, insecure_skip_verify: true }
  labels: { site: munich, floor: "1", owner: ops }
  poll: { interval: 2m, timeout: 5s }
  logs: { interval: 1m, components: ["*", "!kernel"] }
routers:
  - { name: a, url: "http://a" }
  - name: b
    url: https://b
    password: own
    tls: { server_name: own }
    labels: { floor: "2", owner: "" }
    poll: { timeout: 6s }
    logs: { components: [network] }
`);
    const [a, b] = config?.routers ?? [];
    expect(a).toMatchObject({ username: 'shared', labels: { site: 'munich', floor: '1', owner: 'ops' } });
    expect(b).toMatchObject({ username: 'shared', tls: { server_name: 'own', insecure_skip_verify: true } });
    expect(b?.labels).toEqual({ site: 'munich', floor: '2' });
    expect(b?.poll).toMatchObject({ interval: 120_000, timeout: 6000 });
    expect(b?.logs).toMatchObject({ interval: 60_000, components: ['network'] });
    expect([a, b].map((router) => router?.password.reveal())).toEqual(['shared', 'own']);
  });

  it('prefers the password of a router over the password file of the defaults', async () => {
    const { config } = await load(
      `defaults: { username: u, password_file: pw }\nrouters: [{ name: a, url: "http://a", password: own }]`,
      { files: { pw: 'shared' } },
    );
    expect(config?.routers[0]?.password.reveal()).toBe('own');
  });

  it.each([
    ['10s', { interval: 10_000, timeout: 7500, connect_timeout: 5000, deadline: 7500, stale_after: 180_000 }],
    ['20s', { interval: 20_000, timeout: 10_000, connect_timeout: 5000, deadline: 15_000, stale_after: 180_000 }],
    ['10m', { interval: 600_000, timeout: 10_000, connect_timeout: 5000, deadline: 45_000, stale_after: 1_800_000 }],
  ])('fits the other times to an interval of %s when they are not set', async (interval, poll) => {
    const { config } = await load(withRouter(`poll: { interval: ${interval} }`));
    expect(config?.routers[0]?.poll).toEqual(poll);
  });

  it.each([
    ['https://Example.NET:443/', 'https://example.net'],
    ['http://192.0.2.10:8080/a/b//', 'http://192.0.2.10:8080/a/b'],
    ['https://[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ])('takes the URL %s and normalises it', async (url, normal) => {
    const { config } = await load(withRouter('', JSON.stringify(url)));
    expect(config?.routers[0]?.url).toBe(normal);
  });

  it('takes every form of listen address', async () => {
    const text = `web: { listen: [":9847", "127.0.0.1:80", "[::1]:0", "host.example:65535", ":0", ":0"] }\n${withRouter()}`;
    const { config } = await load(text);
    expect(config?.web.listen).toEqual([
      { host: undefined, port: 9847 },
      { host: '127.0.0.1', port: 80 },
      { host: '::1', port: 0 },
      { host: 'host.example', port: 65_535 },
      { host: undefined, port: 0 },
      { host: undefined, port: 0 },
    ]);
  });

  it('starts a relative path at the folder of the file, and leaves an absolute one alone', async () => {
    const relative = await load(`storage: { path: state/here }\n${withRouter()}`);
    expect(relative.config?.storage.path).toBe(join(relative.folder, 'state/here'));
    const absolute = await load(`storage: { path: /var/lib/x, spool_max: 64MiB, recent: 0 }\n${withRouter()}`);
    expect(absolute.config?.storage).toEqual({ path: '/var/lib/x', spool_max: 67_108_864, recent: 0 });
  });

  it('inherits data plans as a whole list, with the defaults of their keys', async () => {
    const { config } = await load(`
defaults: { username: u, password: p, data_plans: [{ limit: 5GiB }, { sim: "1", limit: 2000000, billing_day: 31 }] }
groups: { g: { data_plans: [{ sim: SIM 2, limit: 1TiB, billing_day: "15" }] } }
routers: [{ name: a, url: "http://a" }, { name: b, url: "http://b", groups: [g] }, { name: c, url: "http://c", groups: [g], data_plans: [] }]
`);
    expect(config?.routers.map((router) => router.data_plans)).toEqual([
      [
        { sim: 'unknown', limit: 5 * 1024 ** 3, billing_day: 1 },
        { sim: '1', limit: 2_000_000, billing_day: 31 },
      ],
      [{ sim: 'SIM 2', limit: 1024 ** 4, billing_day: 15 }],
      [],
    ]);
  });

  it('inherits the byte budget, which a router may set to another or to none', async () => {
    const { config } = await load(`
defaults: { username: u, password: p, byte_budget: 5MiB }
routers: [{ name: a, url: "http://a" }, { name: b, url: "http://b", byte_budget: { per_day: 64KiB, status_share: 35% } }, { name: c, url: "http://c", byte_budget: 0 }]
`);
    expect(config?.routers.map((router) => router.byte_budget.perDay)).toEqual([5 * 1024 ** 2, 64 * 1024, 0]);
    expect(config?.routers.map((router) => router.byte_budget.statusShare)).toEqual([0.2, 0.35, 0.2]);
  });

  it('takes the schedule of backups and where they go', async () => {
    const backup = '{ schedule: " */10 0 3 1 * mon ", path: /var/backups, keep: "3", format: binary }';
    const { config, lines } = await load(`backup: ${backup}\n${withRouter()}`);
    expect(lines).toEqual([]);
    expect(config?.backup).toEqual({
      schedule: '*/10 0 3 1 * mon',
      path: '/var/backups',
      keep: 3,
      format: 'binary',
    });
  });

  it('backs nothing up when the map is empty', async () => {
    const { config, lines } = await load(`backup: {}\n${withRouter()}`);
    expect([config?.backup, lines]).toEqual([undefined, []]);
  });

  it.each([
    ['now', 'now'],
    ['1s', { backMs: 1000 }],
    ['30d', { backMs: 30 * 86_400_000 }],
    ['10y', { backMs: 3650 * 86_400_000 }],
  ])('starts a log at %s, which a router inherits', async (start, expected) => {
    const text = `defaults: { auth: none, logs: { start: ${start} } }\nrouters: [{ name: a, url: "http://a" }]`;
    expect((await load(text)).config?.routers[0]?.logs.start).toEqual(expected);
  });

  it('loads 1,000 routers that share files', async () => {
    const routers = Array.from(
      { length: 1000 },
      (_, index) => `  - { name: r${index}, url: "https://192.0.2.1:${index + 1}" }`,
    );
    const { config } = await load(
      `defaults: { username: u, password_file: pw, tls: { ca_file: ca.pem } }\nrouters:\n${routers.join('\n')}\n`,
      { files: { pw: 'secret', 'ca.pem': CERTIFICATE } },
    );
    expect(config?.routers).toHaveLength(1000);
    expect(config?.routers[999]).toMatchObject({ name: 'r999', tls: { ca_file: CERTIFICATE } });
  });

  it.each([
    ['does not exist', '/nonexistent/router-exporter.yaml'],
    ['is a folder', '/'],
    ['is not a regular file', '/dev/null'],
    ['cannot be read (ERR_INVALID_ARG_VALUE)', 'a\0b'],
  ])('says that the file %s', async (reason, path) => {
    const loaded = await loadConfig(path, {});
    expect(loaded.ok ? [] : loaded.faults.map(renderFault)).toEqual([
      `${path}:1:1: The configuration file ${reason}. Use --config.file to name another`,
    ]);
  });

  it('finds a folder of the state that cannot be used, at its key, where that is wanted', async () => {
    const text = `storage:\n  path: state/deep\n${withRouter()}`;
    const fault = 'router-exporter.yaml:2:9: storage.path: state/deep cannot be used: a part of the path is a file';
    const files = { state: '', data: '' };
    const options = { checkedState: 'written' } as const;
    expect((await load(text, { files, options })).lines).toEqual([fault]);
    expect((await load(text, { files })).lines).toEqual([]);
    expect((await load(withRouter(), { files, options })).lines).toEqual([]);
    expect((await load(withRouter(), { files, options: { checkedState: 'any' } })).lines).toEqual([
      'router-exporter.yaml:1:1: storage.path: data is a file; a folder is needed',
    ]);
    expect((await load(text, { options })).lines).toEqual([]);
  });
});
