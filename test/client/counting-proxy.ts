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
  /** Forgets the connections that are open, as a NAT does: their bytes are dropped silently. */
  forget(): void;
  /** Connections over which something was swallowed. */
  readonly swallowed: number;
  /** True to reset new connections at once. */
  isClosed: boolean;
}

/** What happens to a connection with unwanted first bytes. */
export type GreetingFault = 'reset' | 'end' | 'alert' | 'silence';

/** What a server of TLS says that cannot make sense of the first message: `decode_error`. */
const ALERT = Buffer.of(21, 3, 3, 0, 2, 2, 50);

/** Connections whose first bytes are `unwanted` are not passed on. */
export async function openCountingProxy(
  serverPort: number,
  unwanted: (greeting: Buffer) => boolean = () => false,
  fault: GreetingFault = 'reset',
): Promise<CountingProxy> {
  const bytes = { up: 0, down: 0 };
  const greetings: Buffer[] = [];
  const clients = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();
  const swallowing = new Set<Socket>();
  const server = createServer((client) => {
    if (proxy.isClosed) {
      client.resetAndDestroy();
      return;
    }
    clients.add(client);
    let isUnwanted = false;
    const upstream = connect({ port: serverPort, host: '127.0.0.1' });
    client.once('data', (greeting: Buffer) => {
      greetings.push(greeting);
      isUnwanted = unwanted(greeting);
      if (!isUnwanted || fault === 'silence') return;
      if (fault === 'reset') client.resetAndDestroy();
      else if (fault === 'alert') client.end(ALERT);
      else client.end();
    });
    client.on('data', (chunk: Buffer) => {
      bytes.up += chunk.length;
      if (forgotten.has(client)) swallowing.add(client);
      else if (!isUnwanted) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      bytes.down += chunk.length;
      client.write(chunk);
    });
    client.on('end', () => forgotten.has(client) || upstream.end()).on('close', () => upstream.destroy());
    upstream.on('end', () => client.end()).on('close', () => client.destroySoon());
    client.on('error', () => {}).on('close', () => clients.delete(client));
    upstream.on('error', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CountingProxy = {
    port: (server.address() as AddressInfo).port,
    bytes,
    greetings,
    get open() {
      return clients.size;
    },
    forget() {
      for (const client of clients) forgotten.add(client);
    },
    get swallowed() {
      return swallowing.size;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
    isClosed: false,
  };
  return proxy;
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
