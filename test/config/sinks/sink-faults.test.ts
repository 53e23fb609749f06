// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE, load, type Surroundings, withRouter } from '../configuration-folder.ts';

const TYPES = '"stdout", "file", "http", "loki", "elasticsearch", "otlp", "syslog" or "nats"';
const NAME = 'a name of letters, digits, ".", "_" and "-", at most 128 (a number needs quotes)';
const QUERY_URL =
  'an http or https URL of scheme, host, port, path and query alone, without credentials and fragment, such as https://logs.example.net/ingest?source=routers';
const NO_SCHEME = 'text that begins with neither "https://" nor "http://"';
const CREDENTIALS = 'credentials, which belong into keys such as "username" and "password"';
const FRAGMENT = 'a fragment ("#")';
const PLAIN_URL =
  'an http or https URL of scheme, host, port and path alone, without credentials, query and fragment, such as';
const HEADER_VALUE = 'the value of a header: 1 to 4096 printable ASCII characters, without a blank at either end';
const TOKEN = 'a token of printable ASCII characters without blanks';
const SEVERITY = 'a glob that fits one of debug, info, notice, warning, error, critical, alert, emergency, none';

const HTTP = 'type: http, url: "https://a"';
const LOKI = 'type: loki, url: "https://a"';
const SEARCH = 'type: elasticsearch, url: "https://a"';
const SYSLOG = 'type: syslog, address: "a:1"';
const NATS = 'type: nats, servers: [a]';

async function linesOf(text: string, around: Surroundings = {}): Promise<string[]> {
  const { lines } = await load(text, around);
  return lines.map((line) => line.replace('router-exporter.yaml:', ''));
}

/** The faults of one sink, without their places. */
async function faultsOf(keys: string, around: Surroundings = {}): Promise<string[]> {
  const lines = await linesOf(`sinks: [{ name: a, ${keys} }]\n${withRouter()}`, around);
  return lines.map((line) => line.replace(/^\d+:\d+: sinks\[0\]\.?/, ''));
}

describe('loadConfig() on the type of a sink', () => {
  it('says what is missing', async () => {
    expect(await linesOf(`sinks:\n  - {}\n  - type: http\n${withRouter()}`)).toEqual([
      `2:5: sinks[0].name: Missing key; expected ${NAME}`,
      `2:5: sinks[0].type: Missing key; expected ${TYPES}`,
      `3:5: sinks[1].name: Missing key; expected ${NAME}`,
      `3:5: sinks[1].url: Missing key; expected ${QUERY_URL}`,
    ]);
  });

  it('names the nearest type, and checks what all types have', async () => {
    expect(
      await linesOf(
        `sinks:\n  - name: a b\n    type: lokki\n    url: 7\n    rooters: []\n    start: old\n${withRouter()}`,
      ),
    ).toEqual([
      `2:11: sinks[0].name: Expected ${NAME}; found "a b"`,
      `3:11: sinks[0].type: Expected ${TYPES}; found "lokki"; did you mean "loki"?`,
      '5:5: sinks[0].rooters: Unknown key; did you mean "routers"?',
      '6:12: sinks[0].start: Expected "oldest" or "newest"; found "old"',
    ]);
  });

  it('names the nearest key when "type" itself is misspelt', async () => {
    expect(await faultsOf('typ: stdout')).toEqual([
      `type: Missing key; expected ${TYPES}`,
      'typ: Unknown key; did you mean "type"?',
    ]);
  });

  it('reports only that the variable for the type is not set', async () => {
    expect(await faultsOf('type: "${TYPE}", path: a')).toEqual([
      'type: The environment variable TYPE is not set; set it, or write ${TYPE:-default}',
    ]);
  });

  it.each([['text'], ['[1]'], ['~']])('refuses %s for a sink', async (item) => {
    const lines = await linesOf(`sinks: [${item}]\n${withRouter()}`);
    expect(lines).toEqual([expect.stringContaining('1:9: sinks[0]: Expected a map of keys; found ')]);
  });

  it('refuses anything but a list, and more sinks than there may be', async () => {
    expect(await linesOf(`sinks: stdout\n${withRouter()}`)).toEqual([
      '1:8: sinks: Expected a list of at most 100 sinks; found "stdout"',
    ]);
    const sinks = Array.from({ length: 101 }, (_, index) => `{ name: s${index}, type: stdout }`).join(', ');
    expect(await linesOf(`sinks: [${sinks}]\n${withRouter()}`)).toEqual([
      '1:8: sinks: Expected a list of at most 100 sinks; found a list of 101',
    ]);
  });
});

describe('loadConfig() on keys of a sink', () => {
  it.each([
    ['type: stdout, path: a', 'path: The type "stdout" has no such key; it belongs to "file"'],
    [
      'type: stdout, url: "https://a"',
      'url: The type "stdout" has no such key; it belongs to "http", "loki", "elasticsearch" and "otlp"',
    ],
    [
      `${SYSLOG}, username: u`,
      'username: The type "syslog" has no such key; it belongs to "http", "loki", "elasticsearch", "otlp" and "nats"',
    ],
    [
      `${LOKI}, compress: gzip`,
      'compress: The type "loki" has no such key; it belongs to "file", "http", "elasticsearch" and "otlp"',
    ],
    [
      'type: stdout, timeout: 1s',
      'timeout: The type "stdout" has no such key; it belongs to "file", "http", "loki", "elasticsearch", "otlp", "syslog" and "nats"',
    ],
    [`${LOKI}, tennant: a`, 'tennant: Unknown key; did you mean "tenant"?'],
    [
      'type: stdout, colour: red',
      'colour: Unknown key; valid here: name, start, routers, components, severities, events, type, format, batch',
    ],
    [`${HTTP}, batch: { recrods: 1 }`, 'batch.recrods: Unknown key; did you mean "records"?'],
    [`${HTTP}, tls: { cafile: a }`, 'tls.cafile: Unknown key; did you mean "ca_file"?'],
  ])('refuses {%s}', async (keys, fault) => {
    expect(await faultsOf(keys)).toEqual([fault]);
  });

  it.each([
    ['type: stdout, format: json', 'format: Expected "native", "ecs" or "otel"; found "json"'],
    [`${LOKI}, format: ecs`, 'format: Expected "native"; found "ecs"'],
    ['type: otlp, url: "https://a", format: native', 'format: Expected "otel"; found "native"'],
    [`${SYSLOG}, format: otel`, 'format: Expected "native"; found "otel"'],
    [
      `${SYSLOG}, facility: locl0`,
      /^facility: Expected "kern", .* or "local7"; found "locl0"; did you mean "local0"\?$/,
    ],
    [`${SYSLOG}, protocol: tpc`, 'protocol: Expected "tcp", "tls" or "udp"; found "tpc"; did you mean "tcp"?'],
    [`${SYSLOG}, app_name: a b`, `app_name: Expected a name of printable ASCII characters without blanks; found "a b"`],
    [
      `${SYSLOG}, message_max: 479`,
      'message_max: Expected a size from 480B to 1MiB, such as 8KiB; found the number 479',
    ],
    [`${SYSLOG}, message_max: 2MiB`, 'message_max: Expected a size from 480B to 1MiB, such as 8KiB; found "2MiB"'],
    [
      `${SYSLOG}, replay: 6m`,
      'replay: Expected a duration with its unit from 1ms to 5m, such as 30s or 1h30m, or 0; found "6m"',
    ],
    [
      `${SYSLOG}, replay: 5`,
      'replay: Expected a duration with its unit from 1ms to 5m, such as 30s or 1h30m, or 0; found the number 5',
    ],
    [
      'type: syslog, address: a',
      'address: Expected host:port or [IPv6 address]:port with a port from 1 to 65535; found "a"',
    ],
    [
      'type: syslog, address: ":1"',
      'address: Expected host:port or [IPv6 address]:port with a port from 1 to 65535; found ":1"',
    ],
    [
      'type: syslog, address: "a:0"',
      'address: Expected host:port or [IPv6 address]:port with a port from 1 to 65535; found "a:0"',
    ],
    ['type: file, path: a/', 'path: Expected the path of a file, which does not end in "/"; found "a/"'],
    [
      'type: file, path: a, max_size: 1KiB',
      'max_size: Expected a size from 64KiB to 1TiB, such as 100MiB; found "1KiB"',
    ],
    [
      'type: file, path: a, max_age: 30s',
      'max_age: Expected a duration with its unit from 1m to 1y, such as 12h or 30d; found "30s"',
    ],
    ['type: file, path: a, keep: 0', 'keep: Expected a whole number from 1 to 10000; found the number 0'],
    [`${LOKI}, shards: 0`, 'shards: Expected a whole number from 1 to 4096; found the number 0'],
    [`${LOKI}, stream_limit: -1`, 'stream_limit: Expected a whole number from 1 to 10000000; found the number -1'],
    [
      `${LOKI}, max_age: 5s`,
      'max_age: Expected a duration with its unit from 1m to 10y, such as 12h or 30d, or 0; found "5s"',
    ],
    [`${LOKI}, tenant: a|b`, `tenant: Expected the name of a tenant: letters, digits and "!-_.*'()"; found "a|b"`],
    [`${HTTP}, batch: { records: 0 }`, 'batch.records: Expected a whole number from 1 to 100000; found the number 0'],
    [
      `${HTTP}, batch: { bytes: 65MiB }`,
      'batch.bytes: Expected a size from 1KiB to 64MiB, such as 512KiB; found "65MiB"',
    ],
    [
      `${HTTP}, batch: { wait: 50ms }`,
      'batch.wait: Expected a duration with its unit from 100ms to 5m, such as 30s or 1h30m, or 0; found "50ms"',
    ],
    [
      `${HTTP}, timeout: 0`,
      'timeout: Expected a duration with its unit from 100ms to 1h, such as 30s or 1h30m; found the number 0',
    ],
    [
      `${HTTP}, timeout: 2h`,
      'timeout: Expected a duration with its unit from 100ms to 1h, such as 30s or 1h30m; found "2h"',
    ],
    [`${SEARCH}, index: Logs`, /^index: Expected the name of a data stream, .*; found "Logs"$/],
    [`${SEARCH}, index: -logs`, /^index: Expected the name of a data stream, .*; found "-logs"$/],
    [`${SEARCH}, index: ${'ä'.repeat(128)}`, /^index: Expected the name of a data stream, /],
    [`${SEARCH}, pipeline: a/b`, /^pipeline: Expected the name of an ingest pipeline, .*; found "a\/b"$/],
    [
      `${NATS}, subject: "logs.>"`,
      'subject: Expected the first part of a subject: letters, digits, "_" and "-", with dots between; found "logs.>"',
    ],
    [
      `${NATS}, stream: a.b`,
      'stream: Expected the name of a stream: no blanks, dots, slashes, "*" and ">"; found "a.b"',
    ],
    ['type: nats, servers: []', 'servers: Expected a list of 1 to 100 servers; found an empty list'],
    ['type: nats, servers: a', 'servers: Expected a list of 1 to 100 servers; found text'],
  ])('refuses {%s}', async (keys, fault) => {
    expect(await faultsOf(keys)).toEqual([typeof fault === 'string' ? fault : expect.stringMatching(fault)]);
  });

  it.each(['::1', 'http://a', 'ws://a', 'nats://u:p@a', 'a:b', 'a:0', '', 'tls://', 'a/b', 'a b'])(
    'refuses the server %j of NATS without repeating it',
    async (server) => {
      expect(await faultsOf(`type: nats, servers: [ok, ${JSON.stringify(server)}]`)).toEqual([
        expect.stringMatching(
          /^servers\[1\]: Expected a server such as nats\.example\.net:4222 or tls:\/\/nats\.example\.net, without credentials; found (empty )?text$/,
        ),
      ]);
    },
  );

  it.each([
    ['ftp://a', 'the scheme "ftp"'],
    ['a', NO_SCHEME],
    ['https://u:p@a', CREDENTIALS],
    ['https://a?b=c', 'a query ("?")'],
    ['https://a/#b', FRAGMENT],
    ['https:a', NO_SCHEME],
    ['https://', 'no host'],
  ])('refuses the URL %s of each type with the rule that it breaks, and without repeating it', async (url, found) => {
    // A query is what many receivers of JSON lines need.
    if (!url.includes('?'))
      expect(await faultsOf(`type: http, url: "${url}"`)).toEqual([`url: Expected ${QUERY_URL}; found ${found}`]);
    for (const [type, example] of [
      ['loki', 'https://loki.example.net'],
      ['elasticsearch', 'https://search.example.net:9200'],
      ['otlp', 'https://otel.example.net:4318'],
    ])
      expect(await faultsOf(`type: ${type}, url: "${url}"`)).toEqual([
        `url: Expected ${PLAIN_URL} ${example}; found ${found}`,
      ]);
  });

  it.each([
    ['https://a?b=c d', 'a blank or backslash'],
    ['https://a?b=\\\\c', 'a blank or backslash'],
    ['https://a?b=c#d', FRAGMENT],
    ['https://u@a?b=c', CREDENTIALS],
    ['?b=c', NO_SCHEME],
  ])('refuses the URL %s with a query', async (url, found) => {
    expect(await faultsOf(`type: http, url: "${url}"`)).toEqual([`url: Expected ${QUERY_URL}; found ${found}`]);
  });
});

describe('loadConfig() on what a sink selects', () => {
  it.each([
    ['warn', 'warning'],
    ['"!Warning"', 'warning'],
    ['err', 'error'],
    ['crit', 'critical'],
    ['emerg', 'emergency'],
    ['infoo', 'info'],
  ])('suggests a severity for %s', async (glob, nearest) => {
    expect(await faultsOf(`type: stdout, severities: ["*", ${glob}]`)).toEqual([
      `severities[1]: Expected ${SEVERITY}; found ${glob.includes('"') ? glob : `"${glob}"`}; did you mean "${nearest}"?`,
    ]);
  });

  it.each([
    ['severities: [e]', `severities[0]: Expected ${SEVERITY}; found "e"`],
    ['severities: ["fatal*"]', `severities[0]: Expected ${SEVERITY}; found "fatal*"`],
    ['severities: [5]', 'severities[0]: Expected a glob such as "error" or "!debug"; found the number 5'],
    [
      'severities: ["!debug"]',
      'severities: Expected a list of globs such as "*" and "!debug", at least one of them without "!"; found a list of 1',
    ],
    [
      'events: [log.gaps]',
      'events[0]: Expected a glob that fits one of line, log.gap, log.gap_end, log.repeat, log.reset, log.clock_jump, router.down, router.up, router.boot, router.firmware, router.serial, router.config, router.wan, router.sim, router.modem; found "log.gaps"; did you mean "log.gap"?',
    ],
    ['routers: [a b]', 'routers[0]: Expected a glob such as "plant-*" or "!plant-7"; found "a b"'],
    [
      'components: []',
      'components: Expected a list of globs such as "*" and "!kernel", at least one of them without "!"; found an empty list',
    ],
  ])('refuses {%s}', async (keys, fault) => {
    expect(await faultsOf(`type: stdout, ${keys}`)).toEqual([fault]);
  });
});

describe('loadConfig() on keys of a sink that do not go together', () => {
  it.each([
    [`${HTTP}, username: u`, ['username: "username" requires "password" or "password_file"']],
    [`${HTTP}, password: p`, ['password: "password" requires "username"']],
    [`${NATS}, password_file: f`, ['password_file: "password_file" requires "username"']],
    [
      `${HTTP}, username: u, password: p, password_file: f`,
      ['password_file: Both "password" and "password_file" are set; keep one of them'],
    ],
    [
      `${HTTP}, bearer_token: t, bearer_token_file: f`,
      ['bearer_token_file: Both "bearer_token" and "bearer_token_file" are set; keep one of them'],
    ],
    [
      `${SEARCH}, api_key: t, api_key_file: f`,
      ['api_key_file: Both "api_key" and "api_key_file" are set; keep one of them'],
    ],
    [
      `${SEARCH}, username: u, password: p, bearer_token: t, api_key_file: f`,
      [
        'bearer_token: Both "username" and "bearer_token" are set; a sink uses one authentication method',
        'api_key_file: Both "username" and "api_key_file" are set; a sink uses one authentication method',
      ],
    ],
    [
      `${NATS}, bearer_token: t, credentials_file: c`,
      ['credentials_file: Both "bearer_token" and "credentials_file" are set; a sink uses one authentication method'],
    ],
    [
      `${HTTP}, username: "a:b", password: p`,
      ['username: A user name must not contain ":", which separates it from the password in HTTP'],
    ],
    [
      `${HTTP}, bearer_token: t, headers: { authorization: x }`,
      ['headers.authorization: The header "authorization" is already set by "bearer_token"'],
    ],
    [
      `${LOKI}, tenant: t, header_files: { X-Scope-Orgid: f }`,
      ['header_files.X-Scope-Orgid: The header "X-Scope-Orgid" is already set by "tenant"'],
    ],
    [
      `${HTTP}, headers: { X-A: b, x-a: c }, header_files: { X-a: f }`,
      [
        'headers.x-a: The header "x-a" is already set by "headers.X-A"',
        'header_files.X-a: The header "X-a" is already set by "headers.X-A"',
      ],
    ],
    ['type: http, url: "http://a", tls: {}', ['tls: "tls" has no effect here, because "url" begins with http://']],
    [`${SYSLOG}, tls: {}`, ['tls: "tls" has no effect here, because "protocol" is "tcp" by default']],
    [`${SYSLOG}, protocol: udp, tls: {}`, ['tls: "tls" has no effect here, because "protocol" is "udp"']],
    [`${NATS}, tls: {}`, ['tls: "tls" has no effect here, because no server in "servers" begins with tls://']],
    [`${SYSLOG}, protocol: ssl, tls: {}`, ['protocol: Expected "tcp", "tls" or "udp"; found "ssl"']],
    [`${HTTP}, tls: { cert_file: c.pem }`, ['tls.cert_file: "cert_file" requires "key_file"']],
    [
      `type: nats, servers: ["tls://a"], tls: { fingerprint_sha256: ${'ab'.repeat(32)} }`,
      ['tls.fingerprint_sha256: A sink of type "nats" cannot check a fingerprint; name the certificate in "ca_file"'],
    ],
    [
      'type: nats, servers: ["tls://a", b, "nats://c"]',
      ['servers[1]: A server without TLS among servers with TLS; write tls:// before all of them or none'],
    ],
    [
      `${SYSLOG}, protocol: udp, message_max: 65508`,
      ['message_max: A datagram of "protocol: udp" has at most 65507 bytes'],
    ],
  ])('refuses {%s}', async (keys, faults) => {
    const files = { f: 'x', c: '-BEGIN NATS USER JWT-\n-BEGIN USER NKEY SEED-', 'c.pem': CERTIFICATE };
    expect(await faultsOf(keys, { files })).toEqual(faults);
  });

  it('refuses a key without its certificate', async () => {
    const faults = await faultsOf(`${HTTP}, tls: { key_file: missing }`);
    expect(faults).toEqual([
      'tls.key_file: "key_file" requires "cert_file"',
      'tls.key_file: The file named here does not exist; relative paths start at FOLDER. Its name is not shown, because it may be the secret itself',
    ]);
  });

  it('refuses one file for two sinks, and one name', async () => {
    const text = `sinks:\n  - { name: a, type: file, path: x/y }\n  - { name: b, type: file, path: ./x/z/../y }\n  - { name: b, type: nats, servers: [a] }\n${withRouter()}`;
    expect(await linesOf(text)).toEqual([
      '3:34: sinks[1].path: Another sink already writes this file on line 2; each sink needs its own',
      '4:13: sinks[2].name: The name "b" is already taken on line 3; each of the sinks needs a name of its own',
    ]);
  });

  it('refuses one file for two sinks that name its folder differently, and files of folders that do not exist yet', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'router-exporter-links-'));
    try {
      mkdirSync(join(folder, 'real'));
      symlinkSync('real', join(folder, 'link'));
      const paths = ['real/log', 'link/log', 'link/other', 'missing/log'].map((path) => join(folder, path));
      const sinks = paths.map((path, index) => `  - { name: s${index}, type: file, path: ${path} }\n`).join('');
      expect(await linesOf(`sinks:\n${sinks}${withRouter()}`)).toEqual([
        expect.stringMatching(/^3:\d+: sinks\[1\]\.path: Another sink already writes this file on line 2;/),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('reports every fault of every sink at once', async () => {
    const text = `sinks:
  - name: a
    type: file
    max_size: big
  - name: a
    type: http
    url: nowhere
    bearer_token_file: missing
    tls: { ca_file: missing }
  - type: nats
    servers: [a, "b c"]
    headers: {}
    username: u
${withRouter()}`;
    expect((await linesOf(text)).map((line) => line.split(': ').slice(0, 2).join(' '))).toEqual([
      '2:5 sinks[0].path',
      '4:15 sinks[0].max_size',
      '5:11 sinks[1].name',
      '7:10 sinks[1].url',
      '8:24 sinks[1].bearer_token_file',
      '9:21 sinks[1].tls.ca_file',
      '10:5 sinks[2].name',
      '11:18 sinks[2].servers[1]',
      '12:5 sinks[2].headers',
      '13:5 sinks[2].username',
    ]);
  });
});

describe('loadConfig() on files that a sink names', () => {
  it.each([
    [
      `${HTTP}, username: u, password_file: f`,
      '\n',
      'password_file: Expected a file that holds the password; found an empty one',
    ],
    [`${HTTP}, bearer_token_file: f`, '', `bearer_token_file: Expected a file that holds ${TOKEN}; found an empty one`],
    [
      `${HTTP}, bearer_token_file: f`,
      'a\n\n',
      `bearer_token_file: Expected a file that holds ${TOKEN}; found other content`,
    ],
    [`${SEARCH}, api_key_file: f`, 'a b', `api_key_file: Expected a file that holds ${TOKEN}; found other content`],
    [
      `${HTTP}, header_files: { A: f }`,
      'a\nB: c',
      `header_files.A: Expected a file that holds ${HEADER_VALUE}; found other content`,
    ],
    [
      `${NATS}, credentials_file: f`,
      'SUAC',
      'credentials_file: Expected a file that holds the credentials of a user of NATS, a JWT and a seed; found other content',
    ],
    [
      `${HTTP}, tls: { ca_file: f }`,
      'x',
      'tls.ca_file: Expected a file of PEM blocks "BEGIN CERTIFICATE", at least one and all of them whole; found other content',
    ],
    [
      `${HTTP}, header_files: { A: f }`,
      'x'.repeat(4097),
      'header_files.A: The file named here is larger than the limit of 4096 bytes; relative paths start at FOLDER. Its name is not shown, because it may be the secret itself',
    ],
  ])('refuses {%s} that holds %j', async (keys, content, fault) => {
    expect(await faultsOf(keys, { files: { f: content } })).toEqual([fault]);
  });
});

describe('loadConfig() on headers of a sink', () => {
  it.each([
    ['headers: { "a b": c }', 'headers.a…: Expected the name of a header such as X-Api-Key; found "a…"'],
    [
      'headers: { content-Type: c }',
      'headers.content-Type: Expected the name of a header that the agent does not set itself; found "content-Type"',
    ],
    [
      'header_files: { Host: f }',
      'header_files.Host: Expected the name of a header that the agent does not set itself; found "Host"',
    ],
    ['headers: { A: "" }', `headers.A: Expected ${HEADER_VALUE}; found empty text`],
    ['headers: { A: " b" }', `headers.A: Expected ${HEADER_VALUE}; found text`],
    ['headers: { A: "b\\r\\nC: d" }', `headers.A: Expected ${HEADER_VALUE}; found text`],
    [`headers: { A: ${'x'.repeat(4097)} }`, `headers.A: Expected ${HEADER_VALUE}; found text`],
    ['headers: [A]', 'headers: Expected a map of header names to values; found a list of 1'],
    [
      `headers: { ${Array.from({ length: 33 }, (_, index) => `H${index}: x`).join(', ')} }`,
      'headers: Expected at most 32 headers; found a map',
    ],
  ])('refuses {%s}', async (keys, fault) => {
    expect(await faultsOf(`${HTTP}, ${keys}`, { files: { f: 'x' } })).toEqual([fault]);
  });
});

describe('loadConfig() on dead_letters', () => {
  it.each([
    ['{ max: 1KiB }', '1:22: dead_letters.max: Expected a size from 1MiB to 1TiB, such as 64MiB; found "1KiB"'],
    [
      '{ keep: 1s }',
      '1:23: dead_letters.keep: Expected a duration with its unit from 1m to 10y, such as 12h or 30d; found "1s"',
    ],
    ['{ kep: 1h }', '1:17: dead_letters.kep: Unknown key; did you mean "keep"?'],
  ])('refuses %s', async (value, fault) => {
    expect(await linesOf(`dead_letters: ${value}\n${withRouter()}`)).toEqual([fault]);
  });
});
