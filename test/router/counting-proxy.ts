import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A wire that counts: what it says is what went over it, whatever the two ends believe. */
export interface CountingProxy extends AsyncDisposable {
  readonly port: number;
  /** Towards the server and back, of all connections. */
  readonly bytes: { readonly up: number; readonly down: number };
  /** The first bytes of each connection, in their order. */
  readonly greetings: readonly Buffer[];
  /** Connections that the client has open. */
  readonly open: number;
}

/** Connections whose first bytes are `unwanted` are reset instead of being passed on. */
export async function openCountingProxy(
  serverPort: number,
  unwanted: (greeting: Buffer) => boolean = () => false,
): Promise<CountingProxy> {
  const bytes = { up: 0, down: 0 };
  const greetings: Buffer[] = [];
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    const upstream = connect({ port: serverPort, host: '127.0.0.1' });
    client.once('data', (greeting: Buffer) => {
      greetings.push(greeting);
      if (unwanted(greeting)) client.resetAndDestroy();
    });
    client.on('data', (chunk: Buffer) => {
      bytes.up += chunk.length;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      bytes.down += chunk.length;
      client.write(chunk);
    });
    client.on('end', () => upstream.end()).on('close', () => upstream.destroy());
    upstream.on('end', () => client.end()).on('close', () => client.destroySoon());
    client.on('error', () => {}).on('close', () => clients.delete(client));
    upstream.on('error', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    bytes,
    greetings,
    get open() {
      return clients.size;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const PRE_SHARED_KEY = 41;
const SESSION_TICKET = 35;

/** Whether a greeting of TLS offers a session: by the extension of TLS 1.3, or by a ticket of 1.2. */
export function isOfferingSession(greeting: Buffer): boolean {
  // Behind the heads of record and message: version, random.
  let at = 5 + 4 + 2 + 32;
  at += 1 + greeting.readUInt8(at);
  at += 2 + greeting.readUInt16BE(at);
  at += 1 + greeting.readUInt8(at);
  const end = at + 2 + greeting.readUInt16BE(at);
  for (at += 2; at + 4 <= end; ) {
    const [type, length] = [greeting.readUInt16BE(at), greeting.readUInt16BE(at + 2)];
    if (type === PRE_SHARED_KEY || (type === SESSION_TICKET && length > 0)) return true;
    at += 4 + length;
  }
  return false;
}
