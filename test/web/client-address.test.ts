import { expect, test } from 'vitest';
import { AddressSet, findClient, parseNetwork } from '../../src/web/server/client-address.ts';

const PROXIES = new AddressSet(['10.0.0.0/8'].flatMap((text) => parseNetwork(text) ?? []));

test.for([
  ['192.0.2.7', undefined, '192.0.2.7'],
  // The header of a client that is no proxy is not trusted.
  ['192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['::ffff:10.0.0.1', '203.0.113.9, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
  ['10.0.0.1', '2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
  ['10.0.0.1', undefined, '10.0.0.1'],
  ['10.0.0.1', 'unknown', '10.0.0.1'],
  ['10.0.0.1', '10.0.0.2', '10.0.0.1'],
] as const)('findClient() of a connection from %s with %j is %s', ([peer, forwardedFor, client]) => {
  expect(findClient(peer, forwardedFor, PROXIES)).toBe(client);
});
