import { describe, expect, it } from 'vitest';
import { load, withRouter } from './configuration-folder.ts';

const DURATION = 'a duration with its unit from 100ms to 1w, such as 30s or 1h30m';
const URL_EXPECTED =
  'an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10';
const NO_SCHEME = 'text that begins with neither "https://" nor "http://"';
const DECIMALS = 'it as four decimals without leading zeros';
const NO_ADDRESS = 'a host that ends in a number and is no IPv4 address of four decimals';
const ZONE = 'an IPv6 address with a zone ("%"), which is not supported; write it without the zone';
const NAME = 'a name of letters, digits, ".", "_" and "-", at most 128 (a number needs quotes)';
const ROUTERS = 'a list of at least one router, such as "- name: plant-7" with "url: https://192.0.2.10" below';
const START = '"all", "now", or a duration with its unit from 1s to 10y, such as 12h or 30d';
const GLOBS = 'a list of globs such as "*" and "!kernel", at least one of them without "!"';

/** The faults without the name of the file, from a sound router with `more` keys from line 6, column 5. */
async function faultsOf(more: string): Promise<string[]> {
  return linesOf(withRouter(more));
}

async function linesOf(text: string): Promise<string[]> {
  const { lines } = await load(text);
  return lines.map((line) => line.replace('router-exporter.yaml:', ''));
}

describe('loadConfig() on keys', () => {
  it('points at the misspelt key and names the nearest one', async () => {
    const { faults, lines } = await load(withRouter('poll:\n  intervall: 60s'));
    expect(lines).toEqual([
      'router-exporter.yaml:7:7: routers[0].poll.intervall: Unknown key; did you mean "interval"?',
    ]);
    expect(faults[0]).toMatchObject({ line: 7, column: 7, keyPath: 'routers[0].poll.intervall', nearest: 'interval' });
  });

  it('lists the valid keys when none is near', async () => {
    expect(await faultsOf('tls: { certificate: x }')).toEqual([
      '6:12: routers[0].tls.certificate: Unknown key; valid here: ca_file, server_name, cert_file, key_file, fingerprint_sha256, insecure_skip_verify',
    ]);
  });

  it.each(['clusters: {}', '<<: {}', '__proto__: {}'])(
    'refuses "%s", which this version does not honour',
    async (line) => {
      const lines = await linesOf(`${line}\n${withRouter()}`);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/^1:1: \S+: (Unknown key|No key has this name)/);
    },
  );

  it('refuses the name of a router among the defaults', async () => {
    expect((await linesOf(`defaults: { name: a }\n${withRouter()}`))[0]).toMatch(/^1:13: defaults\.name: Unknown key/);
  });

  it('points at the map in which a key is missing', async () => {
    expect(await linesOf('routers:\n  - username: u\n    password: p\n')).toEqual([
      `2:5: routers[0].name: Missing key; expected ${NAME}`,
      `2:5: routers[0].url: Missing key; expected ${URL_EXPECTED}`,
    ]);
  });

  it('points at the key that has no value', async () => {
    expect(await linesOf('routers:\n\n')).toEqual([`1:1: routers: Expected ${ROUTERS}; found nothing`]);
  });

  it('says what to write when there is no router', async () => {
    const empty = `Expected ${ROUTERS}, "router_files" or "router_sources"; found an empty list`;
    expect(await linesOf('routers: []')).toEqual([`1:10: routers: ${empty}`]);
    expect(await linesOf('router_files: []')).toEqual([`1:15: router_files: ${empty}`]);
    expect(await linesOf('sinks: []')).toEqual([
      `1:1: routers: Missing key; expected ${ROUTERS}, "router_files" or "router_sources"`,
    ]);
  });

  it('asks for username and password where neither router nor defaults have them', async () => {
    expect(await linesOf('routers:\n  - name: a\n    url: http://a\n')).toEqual([
      '2:5: routers[0].username: Missing key; expected the account to log in with, here or in "defaults"',
      '2:5: routers[0].password: Missing key; expected either "password" or "password_file", here or in "defaults"',
    ]);
  });

  it('refuses password and password_file together, in a router and in the defaults', async () => {
    const message = 'Both "password" and "password_file" are set; keep one of them';
    const { lines } = await load(`defaults: { password: p, password_file: pw }\n${withRouter('password_file: pw')}`, {
      files: { pw: 'x' },
    });
    expect(lines).toEqual([
      `router-exporter.yaml:1:26: defaults.password_file: ${message}`,
      `router-exporter.yaml:7:5: routers[0].password_file: ${message}`,
    ]);
  });
});

describe('loadConfig() on values', () => {
  it.each([
    ['poll: { interval: 60 }', '6:23', 'poll.interval', DURATION, 'the number 60'],
    ['poll: { interval: fast }', '6:23', 'poll.interval', DURATION, '"fast"'],
    ['poll: { timeout: 10ms }', '6:22', 'poll.timeout', DURATION, '"10ms"'],
    ['poll: { stale_after: 8d }', '6:26', 'poll.stale_after', DURATION, '"8d"'],
    ['poll: soon', '6:11', 'poll', 'a map of keys', '"soon"'],
    ['poll: [1, 2]', '6:11', 'poll', 'a map of keys', 'a list of 2'],
    ['logs: { enabled: yes }', '6:22', 'logs.enabled', 'true or false', '"yes"'],
    ['logs: { start: yesterday }', '6:20', 'logs.start', START, '"yesterday"'],
    ['logs: { start: 500ms }', '6:20', 'logs.start', START, '"500ms"'],
    ['logs: { start: 11y }', '6:20', 'logs.start', START, '"11y"'],
    ['logs: { start: 0 }', '6:20', 'logs.start', START, 'the number 0'],
    ['logs: { components: [] }', '6:25', 'logs.components', GLOBS, 'an empty list'],
    ['logs: { components: ["!a"] }', '6:25', 'logs.components', GLOBS, 'a list of 1'],
    ['logs: { components: [a, "!"] }', '6:29', 'logs.components[1]', 'a glob such as "network" or "!kernel"', '"!"'],
    [
      'tls: { server_name: "" }',
      '6:25',
      'tls.server_name',
      'text of 1 to 4096 characters (a number needs quotes)',
      '""',
    ],
    [
      'timezone: "+01:00"',
      '6:15',
      'timezone',
      'a time zone of the IANA list, such as Europe/Berlin or UTC',
      '"+01:00"',
    ],
    ['labels: { a: 7 }', '6:18', 'labels.a', 'text of at most 256 characters (a number needs quotes)', 'the number 7'],
    ['labels: text', '6:13', 'labels', 'a map of label names and values', '"text"'],
  ])('refuses "%s"', async (line, position, key, expected, found) => {
    expect(await faultsOf(line)).toEqual([`${position}: routers[0].${key}: Expected ${expected}; found ${found}`]);
  });

  it.each(['router', 'component', 'le', '__name', '9a', 'a-b', '"a b"'])('refuses the label name %s', async (label) => {
    const lines = await faultsOf(`labels:\n  ${label}: x`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^7:7: routers\[0\]\.labels\.\S+: Expected a label name .*; found "/);
  });

  it('refuses more labels than a router may have', async () => {
    const labels = Array.from({ length: 33 }, (_, index) => `l${index}: x`).join(', ');
    expect(await faultsOf(`labels: { ${labels} }`)).toEqual([
      '6:13: routers[0].labels: Expected at most 32 labels; found a map',
    ]);
  });

  it('suggests the word that was probably meant', async () => {
    expect(await faultsOf('auth: tokn')).toEqual([
      '6:11: routers[0].auth: Expected "token", "basic", "bearer" or "none"; found "tokn"; did you mean "token"?',
    ]);
  });

  it.each(['"1 potato"', '10', '10KiB', '-1', '1.5', 'none'])('refuses a byte budget of %s', async (size) => {
    expect((await faultsOf(`byte_budget: ${size}`))[0]).toMatch(
      /^6:18: routers\[0\]\.byte_budget: Expected a size of at least 64KiB, such as 20MiB, or 0 for no budget; found /,
    );
  });

  it.each([
    '{}',
    '{ per_day: 1 }',
    '{ per_day: 20MiB, status_share: 0% }',
    '{ per_day: 20MiB, status_share: 100% }',
    '{ per_day: 20MiB, share: 20% }',
  ])('refuses a byte budget of %s', async (map) => {
    expect((await faultsOf(`byte_budget: ${map}`))[0]).toMatch(
      /routers\[0\]\.byte_budget.*: (Expected|Missing key|Unknown key)/,
    );
  });

  it.each([
    ['1GiB', '6:17: routers[0].data_plans: Expected a list of at most 8 data plans, each with another "sim"; found'],
    ['[{ sim: "1" }]', 'routers[0].data_plans[0].limit: Missing key'],
    [
      '[{ limit: 5 }]',
      'routers[0].data_plans[0].limit: Expected a size from 1MiB to 1TiB, such as 5GiB; found the number 5',
    ],
    [
      '[{ limit: 1GiB, billing_day: 32 }]',
      'routers[0].data_plans[0].billing_day: Expected a whole number from 1 to 31',
    ],
    [
      '[{ limit: 1GiB, sim: 1 }]',
      'routers[0].data_plans[0].sim: Expected the name of a SIM card (a number needs quotes)',
    ],
    ['[{ limit: 1GiB, day: 1 }]', 'routers[0].data_plans[0].day: Unknown key; valid here: sim, limit, billing_day'],
    ['[{ limit: 1GiB }, { limit: 2GiB }]', 'routers[0].data_plans: Expected a list of at most 8 data plans, each with'],
  ])('refuses data plans of %s', async (written, message) => {
    expect((await faultsOf(`data_plans: ${written}`))[0]).toContain(message);
  });

  it('refuses a label "sim" of a router with data plans, and of no other', async () => {
    expect(await faultsOf('labels: { sim: a }\ndata_plans: [{ limit: 1GiB }]')).toEqual([
      '6:15: routers[0].labels.sim: The label "sim" is also a label of "data_plans"; choose another name',
    ]);
    expect(await faultsOf('labels: { sim: a }')).toEqual([]);
  });

  it('names the keys of a byte budget for one that is not known', async () => {
    expect(await faultsOf('byte_budget: { per_day: 20MiB, share: 20% }')).toEqual([
      '6:36: routers[0].byte_budget.share: Unknown key; valid here: per_day, status_share',
    ]);
  });

  it('lists a misspelt key before the key that is missing because of it', async () => {
    const { lines } = await load('defaults: { auth: none }\nrouters:\n  - nmae: a\n    url: https://a\n');
    expect(lines).toEqual([
      'router-exporter.yaml:3:5: routers[0].nmae: Unknown key; did you mean "name"?',
      expect.stringMatching(/^router-exporter\.yaml:3:5: routers\[0\]\.name: Missing key; expected a name/),
    ]);
  });

  it('suggests the key that a written key begins, and where labels of the operator belong', async () => {
    expect(await faultsOf('user: u\nsite: munich')).toEqual([
      '6:5: routers[0].user: Unknown key; did you mean "username"?',
      expect.stringMatching(
        /^7:5: routers\[0\]\.site: Unknown key; valid here: name, .*, tls_set; labels of your own belong into "labels"$/,
      ),
    ]);
  });

  it('suggests the time zone that was probably meant', async () => {
    const { faults } = await load(withRouter('timezone: europe/berlni'));
    expect(faults[0]?.nearest).toBe('Europe/Berlin');
  });

  it.each([
    ['ftp://192.0.2.10', 'the scheme "ftp"'],
    ['192.0.2.10', NO_SCHEME],
    ['user:pass@h', NO_SCHEME],
    ['https:192.0.2.10', NO_SCHEME],
    ['https://', 'no host'],
    ['https://a b', 'a blank or backslash'],
    ['https://a\\b', 'a blank or backslash'],
    ['https://h:99999', 'a port above 65535'],
    ['https://192.0.2.256', NO_ADDRESS],
    ['https://plant.0x7', NO_ADDRESS],
    ['https://plant.7.', NO_ADDRESS],
    ['https://[fe80::1%25eth0]', ZONE],
    ['https://https://h', 'two schemes; what stands for a host, as in a target, has none'],
    ['https://[::1', 'text'],
    ['https://user:pass@h', 'credentials, which belong into keys such as "username" and "password"'],
    ['https://h/?token=x', 'a query ("?")'],
    ['https://h/#x', 'a fragment ("#")'],
  ])('refuses the URL %s with the rule that it breaks, and without repeating it', async (url, found) => {
    const { lines } = await load(withRouter('', JSON.stringify(url)));
    expect(lines).toEqual([`router-exporter.yaml:3:10: routers[0].url: Expected ${URL_EXPECTED}; found ${found}`]);
  });

  it.each([
    ['127.000.000.010', '127.0.0.8', '127.0.0.10'],
    ['192.168.001.010', '192.168.1.8', '192.168.1.10'],
    ['10.20.30', '10.20.0.30', DECIMALS],
    ['2130706433', '127.0.0.1', DECIMALS],
    ['0x7f000001', '127.0.0.1', DECIMALS],
    ['0X7F.1', '127.0.0.1', DECIMALS],
    ['127.0.0.1.', '127.0.0.1', DECIMALS],
    ['127.0.0.%31', '127.0.0.1', DECIMALS],
    ['１２７。0。0。1', '127.0.0.1', DECIMALS],
  ])('refuses the host %s, which would mean %s, and says first what to write: %s', async (host, meant, write) => {
    const found = `found a host in another form of an IPv4 address; write ${write}, for the URL standard reads it as ${meant}`;
    for (const url of [`http://${host}`, `https://${host}:8443/prefix`]) {
      const { lines } = await load(withRouter('', JSON.stringify(url)));
      expect(lines).toEqual([`router-exporter.yaml:3:10: routers[0].url: Expected ${URL_EXPECTED}; ${found}`]);
    }
  });

  it.each(['0x7f.example', '10.20.30.example', '1e1', '0xg', 'plant.7-b', '127.0.0.1', '[::127.0.0.1]', '[10::1]'])(
    'takes the host %s, which is what it shows',
    async (host) => expect(await linesOf(withRouter('', JSON.stringify(`https://${host}`)))).toEqual([]),
  );

  // Wherever an address is written, on a line of its own below a sound router.
  it.each<[string, string, string]>([
    ['routers[0].proxy.url', '    proxy: { url: "socks5://HOST" }', 'router'],
    ['routers[0].source_address', '    source_address: "HOST"', 'router'],
    ['routers[0].tls.server_name', '    tls: { server_name: "HOST" }', 'router'],
    ['sinks[0].url', 'sinks: [{ name: s, type: http, url: "https://HOST/in?a=b" }]', 'main'],
    ['sinks[0].url', 'sinks: [{ name: s, type: loki, url: "https://HOST" }]', 'main'],
    ['sinks[0].url', 'sinks: [{ name: s, type: elasticsearch, url: "https://HOST" }]', 'main'],
    ['sinks[0].url', 'sinks: [{ name: s, type: otlp, url: "https://HOST" }]', 'main'],
    ['sinks[0].address', 'sinks: [{ name: s, type: syslog, address: "HOST:514" }]', 'main'],
    ['sinks[0].servers[0]', 'sinks: [{ name: s, type: nats, servers: ["HOST"], subject: x }]', 'main'],
    ['cluster.nats.servers[0]', 'cluster: { nats: { servers: ["nats://HOST:4222"] } }', 'main'],
    ['cluster.nats.advertise', 'cluster: { nats: { servers: [a], advertise: "http://HOST:9847" } }', 'main'],
    ['router_sources[0].url', 'router_sources: [{ name: s, type: http, url: "https://HOST/a?b=c" }]', 'main'],
    ['router_sources[0].url', 'router_sources: [{ name: s, type: netbox, url: "https://HOST" }]', 'main'],
    [
      'router_sources[0].allowed_addresses[0]',
      'router_sources: [{ name: s, type: file_sd, files: [a], allowed_addresses: ["HOST"] }]',
      'main',
    ],
    ['web.listen[0]', 'web: { listen: ["HOST:9847"] }', 'main'],
    ['web.peers[0]', 'web: { peers: ["http://HOST:9847"] }', 'main'],
    ['web.trusted_proxies[0]', 'web: { trusted_proxies: ["HOST/8"] }', 'main'],
    ['web.allowed_hosts[0]', 'web: { allowed_hosts: ["HOST"] }', 'main'],
    ['web.grafana_url', 'web: { grafana_url: "https://HOST" }', 'main'],
  ])('refuses at %s an address that means another one, and one with a zone: %s', async (key, line, where) => {
    const at = async (host: string) => {
      const text = line.replace('HOST', host);
      return await linesOf(where === 'main' ? `${withRouter()}${text}\n` : withRouter(text.trim()));
    };
    expect((await at('10.20.30')).find((one) => one.includes(`${key}: `))).toContain(
      `found a host in another form of an IPv4 address; write ${DECIMALS}, for the URL standard reads it as 10.20.0.30`,
    );
    const isBare = /source_address|trusted_proxies|allowed_addresses/.test(key);
    const zone = (await at(isBare ? 'fe80::1%eth0' : '[fe80::1%25eth0]')).find((one) => one.includes(`${key}: `));
    expect(zone).toContain(`found ${ZONE}`);
    const isHere = (one: string) => one.includes(`${key}: Expected`) && one.includes('found a host');
    expect((await at('10.20.30.40')).filter(isHere)).toEqual([]);
  });

  it.each(['a b', '..', '', 'ä', 'a/b', 'x'.repeat(129)])('refuses the router name "%s"', async (name) => {
    const { faults } = await load(`routers: [{ name: "${name}", url: "http://a", username: u, password: p }]`);
    expect(faults).toMatchObject([{ line: 1, column: 19, keyPath: 'routers[0].name' }]);
  });

  it.each(['9847', 'host', 'host:', '::1:80', '[::1]', ':65536', '999.0.0.1:80', '[1.2.3.4]:80', '-a:80'])(
    'refuses the listen address %s',
    async (address) => {
      expect(await linesOf(`web:\n  listen:\n    - "${address}"\n${withRouter()}`)).toEqual([
        `3:7: web.listen[0]: Expected host:port, :port or [IPv6 address]:port with a port from 0 to 65535; found ${address === '999.0.0.1:80' ? NO_ADDRESS : JSON.stringify(address)}`,
      ]);
    },
  );

  it('refuses a listen address that stands in the list twice, at the second', async () => {
    expect(await linesOf(`web: { listen: [":80", ":81", ":80"] }\n${withRouter()}`)).toEqual([
      '1:31: web.listen[2]: Expected an address that is not in the list yet; found ":80"',
    ]);
  });

  it.each(['"1 potato"', '10', '1.5', '100KiB', '-1'])('refuses a spool of %s', async (size) => {
    expect((await linesOf(`storage: { spool_max: ${size} }\n${withRouter()}`))[0]).toMatch(
      /^1:23: storage\.spool_max: Expected a size of at least 1MiB, such as 512MiB or 1GiB; found /,
    );
  });

  it.each(['@daily', '0 3 * *', '0 61 * * *', '* * * * * * *', '0 3 31 2 *', 'daily', ''])(
    'refuses the schedule "%s"',
    async (schedule) => {
      expect(await linesOf(`backup: { schedule: "${schedule}" }\n${withRouter()}`)).toEqual([
        `1:21: backup.schedule: Expected a cron expression of 5 or 6 fields that comes true some day, such as "0 3 * * *" for three at night; found "${schedule}"`,
      ]);
    },
  );

  it.each(['0', '1001', '1.5', '-1', '"1e2"', 'many'])('refuses to keep %s versions', async (keep) => {
    expect((await linesOf(`backup: { schedule: "0 3 * * *", keep: ${keep} }\n${withRouter()}`))[0]).toMatch(
      /^1:40: backup\.keep: Expected a whole number from 1 to 1000; found /,
    );
  });

  it('asks for the schedule of a backup that says anything else', async () => {
    expect(await linesOf(`backup: { keep: 3 }\n${withRouter()}`)).toEqual([
      '1:9: backup.schedule: Missing key; expected a cron expression such as "0 3 * * *", or no key at all',
    ]);
    expect(await linesOf(`backup: { schedule: [] }\n${withRouter()}`)).toHaveLength(1);
  });

  it('cuts long text and hides what a terminal would obey', async () => {
    const [long] = await faultsOf(`timezone: ${'z'.repeat(500)}`);
    expect(long).toContain(`found "${'z'.repeat(60)}…"`);
    const [tricky] = await faultsOf('timezone: "\\e[31m\\u202e\\x9b"');
    expect(tricky).toMatch(/found "\\u001b\[31m\?\?"$/);
  });
});

describe('loadConfig() on values that do not go together', () => {
  it('refuses a timeout longer than the deadline', async () => {
    expect(await faultsOf('poll: { timeout: 20s, deadline: 10s }')).toEqual([
      '6:22: routers[0].poll.timeout: poll.timeout (20s), the limit of one request, is longer than poll.deadline (10s), the limit of a whole cycle; shorten the timeout or set a longer deadline',
    ]);
  });

  it('refuses a connect_timeout longer than the timeout', async () => {
    expect(await faultsOf('poll: { connect_timeout: 11s }')).toEqual([
      '6:30: routers[0].poll.connect_timeout: poll.connect_timeout (11s), the limit of opening a connection, is longer than poll.timeout (10s by default), the limit of one request; shorten the connect_timeout or set a longer timeout',
    ]);
  });

  it('refuses a deadline longer than the interval', async () => {
    expect(await faultsOf('poll: { interval: 30s, deadline: 40s }')).toEqual([
      '6:38: routers[0].poll.deadline: poll.deadline (40s) is longer than poll.interval (30s), so a cycle could still run when the next is due; shorten the deadline or set a longer interval',
    ]);
  });

  it('refuses to let series vanish between two cycles', async () => {
    expect(await faultsOf('poll: { stale_after: 60s }')).toEqual([
      '6:26: routers[0].poll.stale_after: poll.stale_after (1m) is not longer than poll.interval (1m by default), so series would vanish between two cycles; set stale_after to several intervals',
    ]);
  });

  it('reports a contradiction among the defaults once, at the defaults', async () => {
    const lines = await linesOf(`defaults: { username: u, password: p, poll: { timeout: 50s } }
routers: [{ name: a, url: "http://a" }, { name: b, url: "http://b" }, { name: c, url: "http://c", poll: { deadline: 51s } }]`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^1:56: defaults\.poll\.timeout: poll\.timeout \(50s\).* \(45s by default\)/);
  });

  it('points at the router when it contradicts the defaults', async () => {
    const lines = await linesOf(`defaults: { username: u, password: p, poll: { timeout: 9s } }
routers:
  - name: a
    url: http://a
    poll: { deadline: 5s }`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^5:23: routers\[0\]\.poll\.deadline: poll\.timeout \(9s\)/);
  });

  it('does not judge a time by one that is faulty itself', async () => {
    const lines = await faultsOf('poll: { interval: 10 minutes, deadline: 5m }');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('found "10 minutes"');
  });

  it('points at the second of two routers or sinks with the same name', async () => {
    const lines = await linesOf(`${withRouter()}  - name: plant-7
    url: http://b
    username: u
    password: p
sinks:
  - { name: out, type: stdout }
  - { name: out, type: stdout }
`);
    expect(lines).toEqual([
      '7:11: routers[1].name: The name "plant-7" is already taken on line 2; each of the routers needs a name of its own',
      '13:13: sinks[1].name: The name "out" is already taken on line 12; each of the sinks needs a name of its own',
    ]);
  });

  it('reports all faults of a file at once, in the order of its lines', async () => {
    const lines = await linesOf(`web:
  listen: []
storag: {}
defaults:
  poll: { timeout: 5 }
routers:
  - nothing
  - name: a
    url: nowhere
    username: \${UNSET}
    password_file: missing
    pol: {}
    poll: { interval: 10s, deadline: 20s }
  - name: a
    url: http://a
    username: u
sinks:
  - name: s
`);
    expect(lines.map((line) => line.split(': ').slice(0, 2).join(' '))).toEqual([
      '2:11 web.listen',
      '3:1 storag',
      '5:20 defaults.poll.timeout',
      '7:5 routers[0]',
      '9:10 routers[1].url',
      '10:15 routers[1].username',
      '11:20 routers[1].password_file',
      '12:5 routers[1].pol',
      '13:38 routers[1].poll.deadline',
      '14:5 routers[2].password',
      '14:11 routers[2].name',
      '18:5 sinks[0].type',
    ]);
  });
});
