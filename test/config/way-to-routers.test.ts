import { describe, expect, it } from 'vitest';
import { listChangedKeys, listRequestSecrets, type RouterSettings } from '../../src/config/index.ts';
import { CERTIFICATE, load, showRouter } from './configuration-folder.ts';

const URL_A = 'url: "https://a"';

async function loadRouters(text: string, around = {}): Promise<readonly RouterSettings[]> {
  const { config, lines } = await load(text, around);
  expect(lines).toEqual([]);
  return config?.routers ?? [];
}

const revealed = (router: RouterSettings | undefined) =>
  Object.fromEntries(Object.entries(router?.headers ?? {}).map(([name, value]) => [name, value.reveal()]));

describe('loadConfig() on tokens and headers of routers', () => {
  it('takes a token in every form, at every layer, and none of the account', async () => {
    const [r1, r2, r3, r4] = await loadRouters(
      `
defaults: { auth: bearer, bearer_token: of-defaults }
groups: { g: { bearer_token_file: token } }
credentials: { c: { auth: bearer, bearer_token: of-the-set }, d: { username: u, password: p } }
routers:
  - { name: r1, ${URL_A} }
  - { name: r2, ${URL_A}, groups: [g] }
  - { name: r3, ${URL_A}, groups: [g], credentials: c }
  - { name: r4, ${URL_A}, groups: [g], credentials: d }
`,
      { files: { token: 'of-the-file\n' } },
    );
    expect([r1, r2, r3, r4].map((one) => one?.bearer_token?.reveal())).toEqual([
      'of-defaults',
      'of-the-file',
      'of-the-set',
      undefined,
    ]);
    expect(r1).toMatchObject({ auth: 'bearer', username: '' });
    expect(r4).toMatchObject({ auth: 'token', username: 'u' });
  });

  it('takes headers of the nearest layer, and of a set of credentials all of them', async () => {
    const [r1, r2, r3, r4] = await loadRouters(
      `
defaults: { auth: none, headers: { X-Site: all, X-Key: one } }
groups: { g: { headers: { X-Key: two }, header_files: { X-More: more } } }
credentials: { c: { auth: none, headers: { Authorization: Token abc } }, d: { auth: none } }
routers:
  - { name: r1, ${URL_A} }
  - { name: r2, ${URL_A}, groups: [g] }
  - { name: r3, ${URL_A}, groups: [g], credentials: c }
  - { name: r4, ${URL_A}, groups: [g], credentials: d }
`,
      { files: { more: 'of the file\n' } },
    );
    expect([r1, r2, r3, r4].map(revealed)).toEqual([
      { 'X-Site': 'all', 'X-Key': 'one' },
      { 'X-Key': 'two', 'X-More': 'of the file' },
      { Authorization: 'Token abc' },
      {},
    ]);
  });

  it('reports what is missing, stands twice, or is not for this file', async () => {
    const { lines } = await load(
      `
credentials: { c: { auth: bearer } }
groups: { g: { headers: { Authorization: x } }, h: { credentials: c, headers: { X-A: secret-value } } }
routers:
  - { name: r1, ${URL_A}, auth: bearer }
  - { name: r2, ${URL_A}, auth: bearer, bearer_token: "with blank" }
  - { name: r3, ${URL_A}, auth: none, bearer_token: a, bearer_token_file: b }
  - { name: r4, ${URL_A}, auth: basic, username: u, password: p, groups: [g] }
  - { name: r5, ${URL_A}, auth: none, headers: { Range: "bytes=0-", X-A: "a\\nb", X-B: 1, x-c: ok }, header_files: { X-C: f } }
router_files: [r.yaml]
`,
      { files: { f: 'f', b: 'b', 'r.yaml': `[{ name: r6, ${URL_A}, auth: none, headers: { X-A: secret-value } }]` } },
    );
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "router-exporter.yaml:2:19: credentials.c.bearer_token: Missing key; expected either "bearer_token" or "bearer_token_file"
      router-exporter.yaml:3:27: groups.g.headers.Authorization: The header "Authorization" is already set by "auth: basic"; set "auth: none"
      router-exporter.yaml:3:70: groups.h.headers: Both "credentials" and "headers" are set; keep one of them
      router-exporter.yaml:5:5: routers[0].bearer_token: Missing key; expected either "bearer_token" or "bearer_token_file", here or in "defaults"
      router-exporter.yaml:6:63: routers[1].bearer_token: Expected a token of printable ASCII characters without blanks; found text
      router-exporter.yaml:7:64: routers[2].bearer_token_file: Both "bearer_token" and "bearer_token_file" are set; keep one of them
      router-exporter.yaml:9:58: routers[4].headers.Range: Expected the name of a header that the agent does not set itself; found "Range"
      router-exporter.yaml:9:82: routers[4].headers.X-A: Expected the value of a header: 1 to 4096 printable ASCII characters, without a blank at either end; found text
      router-exporter.yaml:9:95: routers[4].headers.X-B: Expected the value of a header: 1 to 4096 printable ASCII characters, without a blank at either end; found a number
      router-exporter.yaml:9:125: routers[4].header_files.X-C: The header "X-C" is already set by "headers.x-c"
      r.yaml:1:44: [0].headers: "headers" is legal in the main file only; write a group there, and name it in "groups" of this router"
    `);
    expect(lines.join('\n')).not.toContain('secret-value');
  });
});

describe('loadConfig() on the way to routers', () => {
  it('takes a proxy and an own address at every layer; a proxy as a whole', async () => {
    const [r1, r2, r3, r4] = await loadRouters(
      `
defaults:
  auth: none
  source_address: 192.0.2.5
  proxy: { url: "http://proxy.example.com:3128", username: agent, password_file: pw }
groups: { g: { proxy: { url: "https://Other.example.com", ca_file: ca.pem }, source_address: "2001:db8::5" } }
routers:
  - { name: r1, ${URL_A} }
  - { name: r2, ${URL_A}, groups: [g] }
  - { name: r3, ${URL_A}, groups: [g], proxy: none }
  - { name: r4, ${URL_A}, groups: [g], proxy: { url: "socks5://[::1]" } }
`,
      { files: { pw: 'pw-of-proxy\n', 'ca.pem': CERTIFICATE } },
    );
    expect(r1).toMatchObject({
      source_address: '192.0.2.5',
      proxy: { url: 'http://proxy.example.com:3128', username: 'agent' },
    });
    expect(r1?.proxy?.password?.reveal()).toBe('pw-of-proxy');
    expect(r2?.proxy).toEqual({ url: 'https://other.example.com:443', ca_file: expect.stringContaining('BEGIN') });
    expect(r2?.source_address).toBe('2001:db8::5');
    expect(r3).not.toHaveProperty('proxy');
    expect(r4?.proxy).toEqual({ url: 'socks5://[::1]:1080' });
  });

  it('reports what is no proxy and no own address', async () => {
    const { lines } = await load(
      `
defaults: { auth: none }
routers:
  - { name: r1, ${URL_A}, proxy: "http://agent:pw-of-proxy@proxy:3128", source_address: eth0 }
  - { name: r2, ${URL_A}, proxy: { url: "http://agent:pw-of-proxy@proxy:3128" } }
  - { name: r3, ${URL_A}, proxy: { url: "ftp://proxy", username: "a:b", password: x } }
  - { name: r4, ${URL_A}, proxy: { username: a } }
  - { name: r5, ${URL_A}, proxy: { url: "http://proxy:0", password: x } }
  - { name: r6, ${URL_A}, proxy: { url: "http://10.1.2", ca_file: ca.pem } }
  - { name: r7, ${URL_A}, proxy: { url: "http://proxy", ca_file: ca.pem } }
  - { name: r8, url: "https://192.0.2.1", source_address: "2001:db8::5" }
  - { name: r9, ${URL_A}, source_address: 192.0.2.5, proxy: { url: "socks5://[2001:db8::1]:1080" } }
  - { name: r10, ${URL_A}, proxy: nona }
`,
      { files: { 'ca.pem': CERTIFICATE } },
    );
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "router-exporter.yaml:4:42: routers[0].proxy: Expected "none", or a map with the "url" of a proxy; found text
      router-exporter.yaml:4:97: routers[0].source_address: Expected an IP address of this machine, such as 192.0.2.5; found "eth0"
      router-exporter.yaml:5:49: routers[1].proxy.url: Expected the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128; found text
      router-exporter.yaml:6:49: routers[2].proxy.url: Expected the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128; found text
      router-exporter.yaml:6:74: routers[2].proxy.username: Expected a user name of 1 to 255 characters without ":" and control characters; found text
      router-exporter.yaml:7:42: routers[3].proxy.url: Missing key; expected the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128
      router-exporter.yaml:7:44: routers[3].proxy.username: "username" requires "password" or "password_file"
      router-exporter.yaml:8:49: routers[4].proxy.url: Expected the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128; found text
      router-exporter.yaml:8:67: routers[4].proxy.password: "password" requires "username"
      router-exporter.yaml:9:49: routers[5].proxy.url: Expected the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128; found a host in another form of an IPv4 address; write it as four decimals without leading zeros, for the URL standard reads it as 10.1.0.2
      router-exporter.yaml:10:65: routers[6].proxy.ca_file: "ca_file" has no effect here, because "url" does not begin with https://
      router-exporter.yaml:11:59: routers[7].source_address: No connection can come from the IPv6 address 2001:db8::5 to the IPv4 address 192.0.2.1
      router-exporter.yaml:12:51: routers[8].source_address: No connection can come from the IPv4 address 192.0.2.5 to the IPv6 address 2001:db8::1
      router-exporter.yaml:13:43: routers[9].proxy: Expected "none", or a map with the "url" of a proxy; found text"
    `);
    expect(lines.join('\n')).not.toContain('pw-of-proxy');
  });

  it('shows no secret of them, where each stands, and what a change of them is called', async () => {
    const text = (changes: string) => `
defaults:
  auth: bearer
  bearer_token: secret-token
  source_address: 192.0.2.5
groups:
  g:
    headers: { X-Key: secret-header }
    proxy: { url: "https://proxy.example.com", username: agent, password: secret-of-proxy, ca_file: ca.pem }
routers:
  - { name: r1, ${URL_A}, groups: [g]${changes} }
`;
    const around = { files: { 'ca.pem': CERTIFICATE } };
    const outcome = await load(text(''), around);
    const [router] = outcome.config?.routers ?? [];
    const shown = showRouter(outcome, 'r1');
    if (!router) throw new RangeError('There is no router');
    expect(shown).not.toMatch(/secret-/);
    expect(
      shown.replace(/^(?!auth|bearer|headers|proxy|source| {2}(X|url|user|pass|ca)).*\n/gm, ''),
    ).toMatchInlineSnapshot(`
      "auth: bearer # router-exporter.yaml:3
      bearer_token: "[secret]" # router-exporter.yaml:4
      headers:
        X-Key: "[secret]" # router-exporter.yaml:8
      proxy:
        url: https://proxy.example.com:443 # router-exporter.yaml:9
        username: agent # router-exporter.yaml:9
        password: "[secret]" # router-exporter.yaml:9
        ca_file: "[1 certificate]" # router-exporter.yaml:9
      source_address: 192.0.2.5 # router-exporter.yaml:5
      "
    `);
    expect(
      listRequestSecrets(router)
        .map((secret) => secret.reveal())
        .toSorted(),
    ).toEqual(['', 'secret-header', 'secret-of-proxy', 'secret-token']);
    const changed = async (changes: string) => {
      const after = (await load(text(changes), around)).config?.routers[0];
      return after && listChangedKeys(router, after);
    };
    expect(await changed(', bearer_token: other')).toEqual(['bearer_token']);
    expect(await changed(', headers: { X-Key: other }')).toEqual(['headers.X-Key']);
    expect(await changed(', source_address: 192.0.2.6')).toEqual(['source_address']);
    expect(await changed(', proxy: none')).toContain('proxy.url');
  });
});
