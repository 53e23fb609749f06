import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** One connection that a proxy was asked for. */
interface AskedConnection {
  /** Host and port as they were asked for. */
  readonly target: string;
  /** Account, as `user:password`; `undefined` if none was given. */
  readonly account: string | undefined;
  /** Address that the client came from. */
  readonly from: string | undefined;
}

/** A proxy on loopback. Every name that it is asked for is 127.0.0.1. */
export interface TestProxy extends AsyncDisposable {
  readonly port: number;
  readonly asked: readonly AskedConnection[];
  /** What reached it beside the connections that it leads on. */
  readonly others: readonly string[];
  /** Ends all connections that it leads on. */
  cut(): void;
}

/** How a proxy differs from an open one. */
export interface TestProxyOptions {
  /** Account that it requires, as `user:password`. */
  readonly account?: string;
  /** Serves HTTPS, with these settings. */
  readonly certificate?: ServerOptions;
  /** Instead of a connection: what it answers. */
  readonly answer?: string | Buffer;
  /** What it answers before a connection. */
  readonly interim?: string;
}

function toPort(target: string): number {
  return Number(target.slice(target.lastIndexOf(':') + 1));
}

function lead(client: Duplex, port: number, sockets: Set<Duplex>, onOpen: () => void, onFailed: () => void): void {
  const router = connect({ host: '127.0.0.1', port }, () => {
    onOpen();
    router.off('error', onFailed).on('error', () => client.destroy());
    client.pipe(router).pipe(client);
  });
  for (const socket of [client, router]) {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  }
  router.on('error', onFailed);
  client.on('error', () => router.destroy()).on('close', () => router.destroy());
}

async function openProxy(
  server: Server,
  asked: readonly AskedConnection[],
  others: readonly string[],
  sockets: ReadonlySet<Duplex>,
): Promise<TestProxy> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    others,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A proxy for the method CONNECT of HTTP. */
export function openConnectProxy(options: TestProxyOptions = {}): Promise<TestProxy> {
  const asked: AskedConnection[] = [];
  const others: string[] = [];
  const sockets = new Set<Duplex>();
  const server = options.certificate ? createHttpsServer(options.certificate) : createHttpServer();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    others.push(`${request.method} ${request.url}`);
    response.writeHead(405).end();
  });
  server.on('connect', ({ url = '', headers, socket }: IncomingMessage, client: Duplex) => {
    const [, basic] = (headers['proxy-authorization'] ?? '').split(' ');
    const account = basic === undefined ? undefined : Buffer.from(basic, 'base64').toString('utf8');
    asked.push({ target: url, account, from: socket.remoteAddress });
    client.on('error', () => {});
    if (options.answer !== undefined) client.write(options.answer);
    else if (options.account !== undefined && account !== options.account) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n');
    } else {
      lead(
        client,
        toPort(url),
        sockets,
        () => client.write(`${options.interim ?? ''}HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n`),
        () => client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'),
      );
    }
  });
  return openProxy(server, asked, others, sockets);
}

/** A proxy that speaks SOCKS version 5. `answer`: to the request for a connection. */
export function openSocksProxy(options: TestProxyOptions = {}): Promise<TestProxy> {
  const asked: AskedConnection[] = [];
  const sockets = new Set<Duplex>();
  const serve = async (client: Socket) => {
    const read = async (length: number): Promise<Buffer> => {
      for (;;) {
        const bytes = client.read(length) as Buffer | null;
        if (bytes !== null) return bytes;
        await once(client, 'readable');
      }
    };
    const [, count = 0] = await read(2);
    const methods = await read(count);
    const method = options.account === undefined ? 0 : 2;
    if (!methods.includes(method)) {
      client.end(Buffer.from([5, 0xff]));
      return;
    }
    client.write(Buffer.from([5, method]));
    let account: string | undefined;
    if (method === 2) {
      const [, nameLength = 0] = await read(2);
      const user = (await read(nameLength)).toString('utf8');
      const [passwordLength = 0] = await read(1);
      account = `${user}:${(await read(passwordLength)).toString('utf8')}`;
      const isRight = account === options.account;
      client.write(Buffer.from([1, isRight ? 0 : 1]));
      if (!isRight) return;
    }
    const [, , , type] = await read(4);
    const length = type === 3 ? ((await read(1))[0] ?? 0) : type === 1 ? 4 : 16;
    const address = await read(length);
    const host =
      type === 3 ? address.toString('utf8') : type === 1 ? address.join('.') : `[${address.toString('hex')}]`;
    const port = (await read(2)).readUInt16BE(0);
    asked.push({ target: `${host}:${port}`, account, from: client.remoteAddress });
    if (options.answer !== undefined) client.write(options.answer);
    else {
      const reply = (code: number) => Buffer.from([5, code, 0, 1, 127, 0, 0, 1, 0, 0]);
      lead(
        client,
        port,
        sockets,
        () => client.write(reply(0)),
        () => client.end(reply(5)),
      );
    }
  };
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => {}).on('close', () => sockets.delete(client));
    void serve(client);
  });
  return openProxy(server, asked, [], sockets);
}
