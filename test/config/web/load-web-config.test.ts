import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderFault } from '../../../src/settings/index.ts';
import { loadWebConfig } from '../../../src/web/index.ts';
import { withPrograms } from '../../support/tools.ts';
import { load, withRouter } from '../configuration-folder.ts';
import { HASH, loadWeb, OTHER, SERVER } from './web-config-folder.ts';

const TLS = 'cert_file: server.crt, key_file: server.key';

/** Files that other programs take, too. */
const VALID = {
  'only users': `basic_auth_users:\n  alice: ${HASH}\n  "bob b": ${HASH.replace('$2y', '$2b')}\n  carol: ${HASH.replace('$2y', '$2a').replace('$10$', '$04$')}\n`,
  'only certificates': `tls_server_config: { ${TLS} }\n`,
  'verified clients': `tls_server_config: { ${TLS}, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem }\n`,
  'clients that need any certificate': `tls_server_config: { ${TLS}, client_auth_type: RequireAnyClientCert }\n`,
  'clients that may show one': `tls_server_config: { ${TLS}, client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.pem }\n`,
  'clients that are asked': `tls_server_config: { ${TLS}, client_auth_type: RequestClientCert }\n`,
  'versions and suites': `tls_server_config:
  cert_file: server.crt
  key_file: server.key
  min_version: TLS12
  max_version: TLS13
  prefer_server_cipher_suites: true
  cipher_suites:
  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
  - TLS_AES_128_GCM_SHA256
`,
  headers: `http_server_config:
  http2: false
  headers:
    Strict-Transport-Security: max-age=31536000; includeSubDomains
    X-Content-Type-Options: nosniff
    X-Frame-Options: deny
    X-XSS-Protection: ""
    Content-Security-Policy: default-src 'self'
`,
  'nothing under its keys': 'tls_server_config:\nhttp_server_config:\nbasic_auth_users:\n',
  nothing: '{}\n',
};

describe('loadWebConfig()', () => {
  it('reads certificate, key, client authority and what else TLS needs', async () => {
    const { loaded, lines } = await loadWeb(
      VALID['versions and suites'] +
        '  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: [a.example]\n',
    );
    expect(lines).toEqual([]);
    const tls = loaded.ok ? loaded.security.tls : undefined;
    expect(tls).toMatchObject({
      certPem: SERVER.certificate,
      clientCaPem: OTHER.certificate,
      clientAuth: 'require-and-verify',
      minVersion: 'TLS12',
      maxVersion: 'TLS13',
      cipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'],
      clientAllowedSans: ['a.example'],
    });
    expect(tls?.keyPem.reveal()).toBe(SERVER.key);
    expect(inspect(loaded, { depth: 9 })).not.toContain('PRIVATE KEY');
  });

  it.each([
    ['NoClientCert', 'none'],
    ['RequestClientCert', 'request'],
    ['RequireAnyClientCert', 'require-any'],
    ['RequireClientCert', 'require-any'],
  ])('takes the client authentication %s as %s', async (type, clientAuth) => {
    const { loaded } = await loadWeb(`tls_server_config: { ${TLS}, client_auth_type: ${type} }`);
    expect(loaded.ok && loaded.security.tls).toMatchObject({ clientAuth, clientCaPem: undefined });
  });

  it('takes users and headers without TLS', async () => {
    const { loaded } = await loadWeb(VALID['only users'] + VALID.headers);
    expect(loaded.ok && loaded.security).toEqual({
      tls: undefined,
      headers: {
        'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
        'X-Content-Type-Options': 'nosniff',
        'X-Frame-Options': 'deny',
        'Content-Security-Policy': "default-src 'self'",
      },
      users: new Map([
        ['alice', HASH],
        ['bob b', HASH.replace('$2y', '$2b')],
        ['carol', HASH.replace('$2y$10', '$2a$04')],
      ]),
    });
  });

  it('takes the limit of requests', async () => {
    const { loaded } = await loadWeb('rate_limit: { interval: 100ms, burst: 20 }\n');
    expect(loaded.ok && loaded.security.rateLimit).toEqual({ intervalMs: 100, burst: 20 });
    const { loaded: none } = await loadWeb('rate_limit: { interval: 0, burst: 0 }\n');
    expect(none.ok && none.security.rateLimit).toBeUndefined();
  });

  it('lists the files to watch, also of an invalid file', async () => {
    const names = ['web.yaml', 'server.crt', 'server.key', 'ca.pem'];
    const text = `tls_server_config: { ${TLS}, client_ca_file: ca.pem, client_auth_type: VerifyClientCertIfGiven }`;
    for (const [more, ok] of [
      ['', true],
      ['\nrate_limit: { interval: 1s }', false],
    ] as const) {
      const { loaded } = await loadWeb(text + more);
      expect([loaded.ok, loaded.watched.map((path) => basename(path))]).toEqual([ok, names]);
    }
    expect((await loadWeb('a: [')).loaded.watched).toHaveLength(1);
  });

  it('protects nothing when the file says so', async () => {
    for (const text of [VALID.nothing, VALID['nothing under its keys'], 'tls_server_config: {}']) {
      const { loaded } = await loadWeb(text);
      expect(loaded.ok && loaded.security).toEqual({ tls: undefined, headers: {}, users: new Map() });
    }
  });

  it('reports all faults at once, at their positions', async () => {
    const { lines } = await loadWeb(`tls_server_confg: {}
tls_server_config:
  cert_file: none.crt
  client_auth_typ: x
  client_auth_type: RequireAndVerify
  min_version: TLS11
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA25, TLS_RSA_WITH_RC4_128_SHA]
http_server_config:
  http2: maybe
  headers: { X-Frame-Options: allow, Server: x, Content-Security-Policy: "a\\nb" }
basic_auth_users: { alice: secret }
`);
    expect(lines).toEqual([
      'web.yaml:1:1: tls_server_confg: Unknown key; did you mean "tls_server_config"?',
      'web.yaml:3:3: tls_server_config.key_file: Missing key; a server with TLS needs it',
      'web.yaml:3:14: tls_server_config.cert_file: The file named here, "none.crt", does not exist; relative paths start at FOLDER',
      'web.yaml:4:3: tls_server_config.client_auth_typ: Unknown key; did you mean "client_auth_type"?',
      expect.stringMatching(
        /^web\.yaml:5:21: tls_server_config\.client_auth_type: Expected "NoClientCert", .*; found "RequireAndVerify"/,
      ),
      'web.yaml:6:16: tls_server_config.min_version: Expected "TLS12" or "TLS13"; older versions are broken and not supported; found "TLS11"; did you mean "TLS12"?',
      expect.stringMatching(
        /^web\.yaml:7:19: tls_server_config\.cipher_suites\[0\]: Expected a cipher suite .*; did you mean "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"\?$/,
      ),
      expect.stringMatching(
        /^web\.yaml:7:57: tls_server_config\.cipher_suites\[1\]: Expected a cipher suite with forward secrecy/,
      ),
      'web.yaml:9:10: http_server_config.http2: Expected true or false; found "maybe"',
      'web.yaml:10:31: http_server_config.headers.X-Frame-Options: Expected "deny" or "sameorigin"; found "allow"',
      expect.stringMatching(
        /^web\.yaml:10:38: http_server_config\.headers\.Server: Unknown key; valid here: Content-Security-Policy, /,
      ),
      expect.stringMatching(
        /^web\.yaml:10:74: http_server_config\.headers\.Content-Security-Policy: Expected the value of a header: /,
      ),
      expect.stringMatching(
        /^web\.yaml:11:28: basic_auth_users\.alice: Expected the bcrypt hash of a password: .*; found text$/,
      ),
    ]);
  });

  it.each([
    [
      'tls_server_config: { cert: x, key_file: server.key, cert_file: server.crt }',
      'tls_server_config.cert: This key is not supported: name a file with "cert_file"',
    ],
    [
      'tls_server_config: { key: x, key_file: server.key, cert_file: server.crt }',
      'tls_server_config.key: This key is not supported: name a file with "key_file"',
    ],
    [
      `tls_server_config: { client_ca: x, ${TLS} }`,
      'tls_server_config.client_ca: This key is not supported: name a file with "client_ca_file"',
    ],
    [
      `tls_server_config: { curve_preferences: [X25519], ${TLS} }`,
      'tls_server_config.curve_preferences: This key is not supported: the curves are those of Node.js',
    ],
    [
      'rate_limit: { interval: 1s }',
      'rate_limit.burst: Missing key; without it, no request at all would be answered; write at least 1',
    ],
    [
      'rate_limit: { interval: 1s, burst: 0 }',
      'rate_limit.burst: With 0, no request at all would be answered; write at least 1',
    ],
    [
      'rate_limit: { interval: 1, burst: 5 }',
      'rate_limit.interval: Expected a duration with its unit from 1ms to 1d, such as 30s or 1h30m, or 0; found the number 1',
    ],
    [
      'tls_server_config: { min_version: TLS13 }',
      'tls_server_config.cert_file: Missing key; a server with TLS needs it',
    ],
    [
      'tls_server_config: { cert_file: server.crt, key_file: other.key }',
      'tls_server_config.key_file: The key does not belong to the first certificate of "cert_file"',
    ],
    [
      'tls_server_config: { cert_file: text.pem, key_file: server.key }',
      'tls_server_config.cert_file: Expected a file of PEM blocks "BEGIN CERTIFICATE", at least one and all of them whole; found other content',
    ],
    [
      'tls_server_config: { cert_file: server.crt, key_file: text.pem }',
      'tls_server_config.key_file: Expected a PEM file with a private key that has no passphrase; found other content',
    ],
    [
      `tls_server_config: { ${TLS}, client_ca_file: ca.pem }`,
      'tls_server_config.client_ca_file: "client_ca_file" has no use without a "client_auth_type", such as RequireAndVerifyClientCert',
    ],
    [
      `tls_server_config: { ${TLS}, client_auth_type: VerifyClientCertIfGiven }`,
      'tls_server_config.client_ca_file: Missing key; expected the authorities that sign client certificates, because "client_auth_type" is VerifyClientCertIfGiven',
    ],
    [
      `tls_server_config: { ${TLS}, client_auth_type: RequestClientCert, client_allowed_sans: [a] }`,
      'tls_server_config.client_allowed_sans: "client_allowed_sans" needs "client_auth_type: RequireAndVerifyClientCert", or clients without a certificate would be accepted',
    ],
    [
      `tls_server_config: { ${TLS}, min_version: TLS13, max_version: TLS12 }`,
      'tls_server_config.max_version: "max_version" is older than "min_version", so no client could connect',
    ],
    [
      `basic_auth_users: { "a:b": "${HASH}" }`,
      'basic_auth_users.a…: Expected a name of a user without ":" and control characters; found "a…"',
    ],
    [`basic_auth_users: [alice]`, 'basic_auth_users: Expected a map of users and bcrypt hashes; found a list of 1'],
  ])('refuses "%s"', async (text, message) => {
    const { lines } = await loadWeb(text);
    const keyIsMissing = text.includes('TLS13 }') ? [expect.stringContaining('key_file: Missing key')] : [];
    expect(lines).toEqual([expect.stringMatching(/^web\.yaml:1:\d+: /), ...keyIsMissing]);
    expect(lines[0]).toContain(`: ${message}`);
  });

  it('says nothing more of a key that is faulty, not that it is missing', async () => {
    const { lines } = await loadWeb('tls_server_config: { cert_file: 7, key_file: server.key }');
    expect(lines).toEqual([
      'web.yaml:1:33: tls_server_config.cert_file: Expected text of 1 to 4096 characters (a number needs quotes); found the number 7',
    ]);
  });

  it('does not offer a key that it would refuse', async () => {
    const { lines } = await loadWeb('x: {}');
    expect(lines).toEqual([
      'web.yaml:1:1: x: Unknown key; valid here: tls_server_config, http_server_config, basic_auth_users, rate_limit',
    ]);
  });

  it.each([
    ['another kind of hash', '$6$rounds=5000$abc$def'],
    ['a cost that takes minutes', HASH.replace('$10$', '$19$')],
    ['a cost below the least', HASH.replace('$10$', '$03$')],
    ['a hash that is cut', HASH.slice(0, -1)],
    ['a hash that is too long', `${HASH}x`],
    ['a version of broken hashes', HASH.replace('$2y', '$2x')],
  ])('refuses %s without repeating it', async (_, hash) => {
    const { lines } = await loadWeb(`basic_auth_users: { alice: "${hash}" }`);
    expect(lines).toEqual([expect.stringMatching(/^web\.yaml:1:28: basic_auth_users\.alice: .*; found text$/)]);
    expect(lines[0]).not.toContain(hash.slice(6, 20));
  });

  it.each([
    ['under the wrong key', `basic_auth_users: { ${HASH}: alice }`],
    ['behind a missing space', `basic_auth_users: { alice:${HASH} }`],
    ['behind a comma', `basic_auth_users: { alice, ${HASH} }`],
    ['in a list', `basic_auth_users: [alice, ${HASH}]`],
    ['instead of the map', `basic_auth_users: ${HASH}`],
    ['in a map', `basic_auth_users: { alice: { hash: ${HASH} } }`],
    ['in an open quote', `basic_auth_users: { alice: "${HASH} }`],
    ['instead of the file', HASH],
    ['as an unknown key', `{ ${HASH}: 1 }`],
    ['as a key that is not supported', `tls_server_config: { key: ${HASH}, ${TLS} }`],
    ['as the name of the key', `tls_server_config: { key_file: ${HASH}, cert_file: server.crt }`],
  ])('does not repeat a hash %s', async (_, text) => {
    const { loaded, lines } = await loadWeb(text);
    expect(lines).not.toEqual([]);
    // A path that may be a hash is watched, and never shown.
    expect(inspect({ ...loaded, watched: undefined }, { depth: 9 }) + lines.join('\n')).not.toContain(
      'X0h1gDsPszWURQaxFh',
    );
  });

  it('does not fill in the environment, because other programs would not', async () => {
    const { loaded } = await loadWeb('http_server_config: { headers: { Content-Security-Policy: "${A:-b}" } }');
    expect(loaded.ok && loaded.security.headers).toEqual({ 'Content-Security-Policy': '${A:-b}' });
  });

  it('refuses an empty file, a list, and one that is not there', async () => {
    expect((await loadWeb('# nothing\n')).lines).toEqual([
      'web.yaml:1:1: The file is empty; write "{}" for a server without protection',
    ]);
    expect((await loadWeb('- a')).lines).toEqual([
      'web.yaml:1:1: Expected a map of keys such as "tls_server_config:"; found a list of 1',
    ]);
    const missing = await loadWebConfig('/nonexistent/web.yaml');
    expect(missing.ok ? [] : missing.faults.map(renderFault)).toEqual([
      '/nonexistent/web.yaml:1:1: The web configuration file does not exist',
    ]);
  });

  withPrograms(['promtool'], it.each(Object.entries(VALID)))(
    'takes a file of %s, as promtool does',
    async (_, text) => {
      let verdict: number | null | undefined;
      const { lines } = await loadWeb(text, (path) => {
        verdict = spawnSync('promtool', ['check', 'web-config', path]).status;
      });
      expect({ verdict, lines }).toEqual({ verdict: 0, lines: [] });
    },
  );

  withPrograms(
    ['promtool'],
    it.each([
      'tls_server_config: { cert_file: server.crt }',
      'tls_server_config: { cert_file: server.crt, key_file: other.key }',
      `tls_server_config: { ${TLS}, client_ca_file: ca.pem }`,
      `tls_server_config: { ${TLS}, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA] }`,
      'http_server_config: { headers: { Server: x } }',
      'http_server_config: { headers: { X-Frame-Options: allow } }',
      'basic_auth_users: { alice: secret }',
      'basic_auth_user: {}',
    ]),
  )('refuses "%s", as promtool does', async (text) => {
    let verdict: number | null | undefined;
    const { lines } = await loadWeb(text, (path) => {
      verdict = spawnSync('promtool', ['check', 'web-config', path]).status;
    });
    expect(verdict).toBe(1);
    expect(lines).not.toEqual([]);
  });
});

describe('loadConfig() on web.config_file', () => {
  it('reads the file in its own folder, where paths in it start', async () => {
    const { config, lines, folder } = await load(`web: { config_file: web/web.yaml }\n${withRouter()}`, {
      files: {
        'web/web.yaml': `tls_server_config: { ${TLS} }\nbasic_auth_users: { alice: "${HASH}" }`,
        'web/server.crt': SERVER.certificate,
        'web/server.key': SERVER.key,
      },
    });
    expect(lines).toEqual([]);
    expect(config?.web.security?.tls).toMatchObject({ certPem: SERVER.certificate, clientAuth: 'none' });
    expect(config?.web.security?.users).toEqual(new Map([['alice', HASH]]));
    expect(config?.web.config_file).toBe(`${folder}/web/web.yaml`);
    expect(JSON.stringify(config)).not.toContain(HASH);
  });

  it('reports faults of the file in that file, and its absence where it is named', async () => {
    const faulty = await load(`web: { config_file: web.yaml }\n${withRouter('timezone: x')}`, {
      files: { 'web.yaml': 'basic_auth_users: { a: b }' },
    });
    expect(faulty.lines.map((line) => line.split(': ')[0])).toEqual(['router-exporter.yaml:7:15', 'web.yaml:1:24']);
    expect((await load(`web: { config_file: web.yaml }\n${withRouter()}`)).lines).toEqual([
      'router-exporter.yaml:1:21: web.config_file: The file named here, "web.yaml", does not exist; relative paths start at FOLDER',
    ]);
  });
});
