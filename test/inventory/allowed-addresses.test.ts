import { describe, expect, it } from 'vitest';
import { parseAllowedAddress } from '../../src/inventory/allowed-addresses.ts';
import { findAddressFault } from '../../src/inventory/index.ts';
import { parseRouterUrl } from '../../src/settings/index.ts';

/** Whether a source with these addresses may give this URL to a router, as the configuration reads it. */
function isAllowed(written: string, addresses: readonly string[], allowsHttp = false): boolean {
  const parsed = addresses.map((text) => parseAllowedAddress(text)).filter((one) => one !== undefined);
  expect(parsed).toHaveLength(addresses.length);
  const url = parseRouterUrl(written);
  return (
    url !== undefined && findAddressFault(url, { allowed_addresses: parsed, allow_http: allowsHttp }) === undefined
  );
}

const NETWORKS = ['10.1.0.0/16', '192.0.2.7', '2001:db8::/32', 'fe80::/10'];
const HOSTS = ['*.routers.example.com', 'plant-*', 'gw.example.net', 'router-*.x.example.org'];

describe('allowed addresses', () => {
  it.each(['https://10.1.2.3', 'https://10.1.2.3:8443/prefix', 'https://192.0.2.7', 'https://[2001:db8::1]:443'])(
    'a network allows the address %s',
    (url) => expect(isAllowed(url, NETWORKS)).toBe(true),
  );

  it.each([
    'https://a.routers.example.com',
    'https://A.Routers.Example.COM:8443',
    'https://plant-7',
    'https://gw.example.net/p',
    'https://router-12.x.example.org',
  ])('a glob allows the name %s', (url) => expect(isAllowed(url, HOSTS)).toBe(true));

  it.each([
    ['of another network', 'https://10.2.0.1'],
    ['next to the one allowed', 'https://192.0.2.8'],
    ['of another network, in decimal', 'https://2130706433'],
    ['of another network, in hexadecimal', 'https://0x7f000001'],
    ['of another network, short', 'https://127.1'],
    ['that is allowed, written in hexadecimal', 'https://0x0a010203'],
    ['that is allowed, written with a leading zero', 'https://012.1.2.3'],
    ['mapped into IPv6', 'https://[::ffff:10.1.2.3]'],
    ['mapped into IPv6, in hexadecimal', 'https://[::ffff:a01:203]'],
    ['compatible with IPv6', 'https://[::10.1.2.3]'],
    ['translated by NAT64', 'https://[64:ff9b::a01:203]'],
    ['tunnelled by 6to4', 'https://[2002:a01:203::1]'],
    ['of loopback', 'https://[::1]'],
    ['with a zone', 'https://[fe80::1%25eth0]'],
    ['of a name, although a network is all that is allowed', 'https://a.routers.example.com'],
    ['behind credentials', 'https://10.1.2.3@evil.example'],
    ['as credentials', 'https://user:pw@10.1.2.3'],
    ['behind a backslash', 'https://evil.example\\@10.1.2.3'],
    ['behind a fragment', 'https://evil.example#@10.1.2.3'],
    ['in a query', 'https://10.1.2.3?x=y'],
    ['with a blank', 'https://10.1.2.3 .evil.example'],
    ['with a control character', 'https://10.1.2.3\n.evil.example'],
    ['with a NUL', 'https://10.1.2.3\0.evil.example'],
    ['with full-width digits of another network', 'https://１２７.０.０.１'],
    ['without a host', 'https://'],
    ['of a file', 'file:///etc/passwd'],
    ['of another scheme', 'ftp://10.1.2.3'],
    ['without TLS', 'http://10.1.2.3'],
  ])('a network does not allow an address %s', (_what, url) => expect(isAllowed(url, NETWORKS)).toBe(false));

  it.each([
    ['with the allowed one in front', 'https://a.routers.example.com.evil.example'],
    ['that only ends alike', 'https://arouters.example.com'],
    ['of two parts where one has a star', 'https://a.b.routers.example.com'],
    ['of the domain itself', 'https://routers.example.com'],
    ['that only begins alike', 'https://gw.example'],
    ['that is the first part alone', 'https://gw'],
    ['with an empty part', 'https://.routers.example.com'],
    ['with a dot at the end', 'https://a.routers.example.com.'],
    ['of which a single part is a glob', 'https://plant-7.evil.example'],
    ['with the glob behind credentials', 'https://gw.example.net@evil.example'],
    ['with the glob in the path', 'https://evil.example/gw.example.net'],
    ['with the glob in the path, after a star', 'https://router-1.evil.example/.x.example.org'],
    ['with a letter that only looks alike', 'https://gw.exаmple.net'],
    ['with an encoded dot', 'https://gw%2eexample.net.evil.example'],
    ['with an encoded slash', 'https://router-%2f.x.example.org'],
    ['that is an address', 'https://10.1.2.3'],
    ['that is an IPv6 address', 'https://[2001:db8::1]'],
  ])('a glob does not allow a name %s', (_what, url) => expect(isAllowed(url, HOSTS)).toBe(false));

  it('of everything are two networks; they allow no name and no IPv4 address in IPv6', () => {
    expect(isAllowed('https://203.0.113.9', ['0.0.0.0/0', '::/0'])).toBe(true);
    expect(isAllowed('https://[::ffff:203.0.113.9]', ['0.0.0.0/0', '::/0'])).toBe(false);
    expect(isAllowed('https://203.0.113.9', ['::/0'])).toBe(false);
    expect(isAllowed('https://[2001:db8::1]', ['::/0'])).toBe(true);
    expect(isAllowed('https://[64:ff9b:1::a01:203]', ['::/0'])).toBe(false);
    expect(isAllowed('https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]', ['::/0'])).toBe(false);
    expect(isAllowed('https://evil.example', ['0.0.0.0/0', '::/0'])).toBe(false);
    expect(isAllowed('https://10.1.2.3', [])).toBe(false);
    expect(isAllowed('http://10.1.2.3', NETWORKS, true)).toBe(true);
  });

  it.each([
    '*',
    '*.com.*',
    '*.com',
    'a.r*.com',
    'a.*',
    '10.0.0.*',
    '*.*',
    '10.0.0.0/33',
    '10.0.0.0/',
    '::/129',
    '10.0.0.0/8/8',
    'a b',
    '-a',
    '',
    'a..b',
    'https://a',
    '1.2.3',
    '**x.1',
  ])('are not written as %j', (text) => expect(parseAllowedAddress(text)).toBeUndefined());
});
