import { describe, expect, it, test } from 'vitest';
import { type Config, renderEffectiveConfig } from '../../src/config/index.ts';
import { CERTIFICATE, load } from './configuration-folder.ts';

const ROUTERS = 'routers: [{ name: a, url: "https://plant.example", username: u, password: p }]';
const PROXY = 'http://proxy.example.com:3128';

type Env = Readonly<Record<string, string>>;

async function loadSink(url: string, env: Env, keys = '') {
  const outcome = await load(`${ROUTERS}\nsinks: [{ name: s, type: http, url: "${url}"${keys} }]`, {
    env,
    files: { 'ca.pem': CERTIFICATE },
  });
  const [sink] = outcome.config?.sinks ?? [];
  return { ...outcome, proxy: sink?.type === 'http' ? sink.proxy : undefined };
}

describe('the proxy of the environment', () => {
  const https = { HTTPS_PROXY: PROXY };
  const exempt = (list: string): Env => ({ ...https, NO_PROXY: list });

  test.for<readonly [what: string, url: string, env: Env, expected: string | undefined]>([
    ['is that of the scheme', 'https://logs.example/in', https, PROXY],
    ['is that of the scheme: http', 'http://logs.example/in', https, undefined],
    ['is that of the scheme: http', 'http://logs.example/in', { HTTP_PROXY: PROXY }, PROXY],
    ['may be in small letters', 'http://logs.example/in', { http_proxy: PROXY }, PROXY],
    ['is the one in small letters first', 'http://l.example', { http_proxy: PROXY, HTTP_PROXY: 'http://b' }, PROXY],
    ['is none if the variable is empty', 'https://logs.example/in', { HTTPS_PROXY: ' ', https_proxy: '' }, undefined],
    ['needs no scheme', 'https://logs.example/in', { HTTPS_PROXY: 'proxy.example.com:3128' }, PROXY],
    ['has a default port', 'https://logs.example', { HTTPS_PROXY: 'http://proxy/' }, 'http://proxy:80'],
    ['may be SOCKS', 'https://logs.example', { HTTPS_PROXY: 'socks5h://proxy' }, 'socks5://proxy:1080'],
    ['is not for this machine', 'https://localhost/in', https, undefined],
    ['is not for this machine', 'https://127.9.9.9/in', https, undefined],
    ['is not for this machine', 'https://[::1]/in', https, undefined],
    ['is not for a listed host', 'https://logs.example/in', exempt('other.example, LOGS.example'), undefined],
    ['is not for a listed domain', 'https://logs.example/in', exempt('example'), undefined],
    ['is not for a listed domain', 'https://logs.example/in', exempt('.example'), undefined],
    ['is not for a listed domain', 'https://logs.example/in', exempt('a.b *.example'), undefined],
    ['is for a host whose name ends alike', 'https://mylogs.example/in', exempt('logs.example,le,'), PROXY],
    ['is not for a listed port', 'https://logs.example:8443/in', exempt('logs.example:8443'), undefined],
    ['is for another port', 'https://logs.example/in', exempt('logs.example:8443'), PROXY],
    ['is not for a listed address', 'https://192.0.2.7/in', exempt('192.0.2.7'), undefined],
    ['is not for a listed network', 'https://192.0.2.7/in', exempt('192.0.2.0/24'), undefined],
    ['is for another network', 'https://192.0.3.7/in', exempt('192.0.2.0/24'), PROXY],
    ['is for what a faulty network does not name', 'https://192.0.3.7/in', exempt('192.0.2.0/x,192.0.2.0/99'), PROXY],
    ['is not for a listed address', 'https://[2001:db8::7]/in', exempt('2001:0db8::7'), undefined],
    ['is not for a listed network', 'https://[2001:db8::7]:99/in', exempt('[2001:db8::/32]:99'), undefined],
    ['is for none', 'https://logs.example/in', exempt('*'), undefined],
    ['heeds the list in small letters', 'https://logs.example', { ...https, no_proxy: 'logs.example' }, undefined],
  ])('%s: %s', async ([, url, env, expected]) => {
    const { lines, proxy } = await loadSink(url, env);
    expect(lines).toEqual([]);
    expect(proxy === undefined || proxy === 'none' ? undefined : proxy.url).toBe(expected);
  });

  it('gives sinks and sources its account, which is shown nowhere, and routers and other sinks nothing', async () => {
    const env = { HTTPS_PROXY: 'http://agent:pw%2Dof-proxy@proxy.example.com:3128' };
    const text = `${ROUTERS}
router_sources:
  - { name: files, type: file_sd, files: ["*.json"], allowed_addresses: ["*.plants.example"] }
  - { name: list, type: http, url: "https://inventory.example", allowed_addresses: ["*.plants.example"] }
sinks:
  - { name: out, type: stdout }
  - { name: loki, type: loki, url: "https://loki.example" }
  - { name: search, type: elasticsearch, url: "https://search.example", proxy: none }
  - { name: otel, type: otlp, url: "https://otel.example", proxy: { url: "socks5://other.example" } }
  - { name: nats, type: nats, servers: ["tls://nats.example"] }
  - { name: syslog, type: syslog, address: "syslog.example:514" }`;
    const { lines, config } = await load(text, { env });
    expect(lines).toEqual([]);
    const { sinks, routers, router_sources: sources } = config as Config;
    const shown = renderEffectiveConfig(config as Config);
    const listProxies = (all: readonly object[]) => all.map((one) => ('proxy' in one ? one.proxy : undefined));
    expect(listProxies(routers)).toEqual([undefined]);
    const found = { url: PROXY, username: 'agent', password: expect.anything(), variable: 'HTTPS_PROXY' };
    expect(listProxies(sources)).toEqual([undefined, found]);
    const other = { url: 'socks5://other.example:1080' };
    expect(listProxies(sinks)).toEqual([undefined, found, 'none', other, undefined, undefined]);
    const [, loki] = sinks;
    const proxy = loki?.type === 'loki' ? loki.proxy : undefined;
    expect(typeof proxy === 'object' && proxy.password?.reveal()).toBe('pw-of-proxy');
    expect(shown).toContain(`      url: ${PROXY} # HTTPS_PROXY\n      username: agent # HTTPS_PROXY\n`);
    expect(shown).toContain('password: "[secret]" # HTTPS_PROXY');
    expect(shown + JSON.stringify(config)).not.toContain('of-proxy');
  });

  it('is a fault at each key that needs it, and not shown, if it is none', async () => {
    const env = { HTTPS_PROXY: 'http://agent:pw-of-proxy@proxy:99999', https_proxy: '' };
    const { lines } = await loadSink('https://logs.example', env);
    expect(lines).toEqual([
      'router-exporter.yaml:2:9: sinks[0].proxy: Expected the URL of a proxy in the environment variable HTTPS_PROXY, such as http://proxy.example.com:3128; found other text. Correct it, or set "proxy" here; "none" is a direct connection',
    ]);
    expect((await loadSink('http://logs.example', env)).lines).toEqual([]);
    expect((await loadSink('https://logs.example', env, ', proxy: none')).lines).toEqual([]);
    expect((await loadSink('https://logs.example', { HTTPS_PROXY: 'ftp://x' })).lines).toHaveLength(1);
    expect((await loadSink('https://logs.example', { HTTPS_PROXY: 'http://%:b@x' })).lines).toHaveLength(1);
  });
});

describe('the key proxy of sinks and sources', () => {
  it('is checked as that of routers', async () => {
    const keys = ', proxy: { url: "http://proxy", username: a, ca_file: ca.pem }';
    expect((await loadSink('https://logs.example', {}, keys)).lines).toEqual([
      'router-exporter.yaml:2:91: sinks[0].proxy.username: "username" requires "password" or "password_file"',
      'router-exporter.yaml:2:104: sinks[0].proxy.ca_file: "ca_file" has no effect here, because "url" does not begin with https://',
    ]);
    const source = '{ name: n, type: netbox, url: "https://netbox", token: x, proxy: { password: y } }';
    const { lines } = await load(`router_sources: [${source}]`);
    expect(lines.map((line) => line.replace(/^.*?\]\./, ''))).toEqual([
      expect.stringContaining('proxy.url: Missing key; expected the URL of a proxy'),
      'proxy.password: "password" requires "username"',
    ]);
  });

  it('is refused where there is no HTTP, with the types that have it', async () => {
    const refuse = async (keys: string) => (await load(`${ROUTERS}\nsinks: [{ name: s, ${keys}, proxy: none }]`)).lines;
    for (const keys of ['type: syslog, address: "a:514"', 'type: nats, servers: [a]', 'type: stdout']) {
      expect(await refuse(keys)).toEqual([
        expect.stringMatching(/has no such key; it belongs to "http", "loki", "elasticsearch" and "otlp"$/),
      ]);
    }
  });
});
