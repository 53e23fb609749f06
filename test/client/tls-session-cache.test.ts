import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { TlsSessionCache } from '../../src/client/connection/tls.ts';

/** A connection of a server that renews its tickets, which that of Node.js does not. */
function createConnection(protocol: string, session?: string): TLSSocket {
  return Object.assign(new EventEmitter(), {
    getProtocol: () => protocol,
    getSession: () => session && Buffer.from(session),
    getEphemeralKeyInfo: () => ({ type: 'ECDH', name: 'prime256v1', size: 256 }),
  }) as unknown as TLSSocket;
}

const offered = (memory: TlsSessionCache) => memory.offer().session?.toString();

test('TlsSessionCache offers the newest ticket of TLS 1.3, also one that came on a resumed connection', () => {
  const memory = new TlsSessionCache(createSteppedClock(0));
  expect(memory.offer()).toEqual({ groups: undefined, session: undefined });
  const first = createConnection('TLSv1.3', 'not finished');
  memory.trusted(first, undefined);
  expect(offered(memory)).toBeUndefined();
  for (const ticket of ['a', 'b']) {
    first.emit('session', Buffer.from(ticket));
    expect(offered(memory)).toBe(ticket);
  }
  const second = createConnection('TLSv1.3');
  memory.resumed(second);
  expect(offered(memory)).toBe('b');
  second.emit('session', Buffer.from('c'));
  expect(offered(memory)).toBe('c');
});

test('TlsSessionCache offers the session of TLS 1.2 as the handshake left it, also a resumed one', () => {
  const memory = new TlsSessionCache(createSteppedClock(0));
  const first = createConnection('TLSv1.2', 'a');
  memory.trusted(first, undefined);
  // A later one would belong to a renegotiation, whose certificate was not checked.
  first.emit('session', Buffer.from('b'));
  expect(offered(memory)).toBe('a');
  memory.resumed(createConnection('TLSv1.2', 'c'));
  expect(offered(memory)).toBe('c');
});

test('TlsSessionCache keeps what the key exchange taught when there is no session to resume', () => {
  const memory = new TlsSessionCache(createSteppedClock(0));
  memory.trusted(createConnection('TLSv1.2'), undefined);
  expect(memory.offer()).toEqual({ session: undefined, groups: expect.stringMatching(/^P-256:/) });
  memory.failed();
  expect(memory.offer()).toEqual({ session: undefined, groups: undefined });
});
