import { createServer as createHttpServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isClientAllowed } from './client-certificate.ts';
import { WebError } from './errors.ts';
import { toSecureContextOptions, type WebTls } from './security.ts';

export interface WebAddress {
  /** `undefined` listens on every address. */
  readonly host: string | undefined;
  /** 0 lets the system choose. */
  readonly port: number;
}

/**
 * Bounds of slow and of many clients. The request line and the headers of a request are bounded by Node: 16 KiB
 * together.
 */
const BOUNDS: ServerOptions = {
  // A request is a few hundred bytes.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  // Longer than the usual interval of scrapes, so that a scrape needs no new handshake.
  keepAliveTimeout: 75_000,
};
const HANDSHAKE_MS_MAX = 10_000;
/** A connection on which nothing moves. Longer than a scrape may wait for a poll. */
const IDLE_MS_MAX = 150_000;
const CONNECTIONS_MAX = 2000;

/** One listening socket. */
export interface Listener {
  /** Base address for people, as in `http://127.0.0.1:9847`. */
  readonly url: string;
  /** Serves with other certificates from now on. Who connected under the earlier settings has to connect again. */
  setTls(tls: WebTls): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** Listens on one address. Throws {@link WebError} `listen`. */
export async function openListener(
  address: WebAddress,
  tls: WebTls | undefined,
  answer: RequestListener,
): Promise<Listener> {
  let currentTls = tls;
  /** The settings under which each connection was let in. */
  const admitted = new WeakMap<Socket, WebTls>();
  const guarded: RequestListener = (request, response) => {
    if (currentTls === admitted.get(request.socket)) answer(request, response);
    else request.socket.destroy();
  };
  const server = tls ? createTlsServer(tls, guarded) : createHttpServer(BOUNDS, guarded);
  server.timeout = IDLE_MS_MAX;
  server.maxConnections = CONNECTIONS_MAX;
  // Before the listener of the HTTP server, which would read a request from the connection.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    if (currentTls && isClientAllowed(socket, currentTls)) admitted.set(socket, currentTls);
    else socket.destroy();
  });
  // The HTTP server does not know those that never got through their handshake.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await listen(server, address);
  return {
    url: renderUrl(server),
    setTls(next) {
      if (!(server instanceof HttpsServer)) return;
      server.setSecureContext(toSecureContextOptions(next));
      currentTls = next;
      server.closeIdleConnections();
    },
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      return closed.promise;
    },
  };
}

function createTlsServer(tls: WebTls, answer: RequestListener): HttpsServer {
  return createHttpsServer(
    {
      ...BOUNDS,
      ...toSecureContextOptions(tls),
      handshakeTimeout: HANDSHAKE_MS_MAX,
      requestCert: tls.clientAuth !== 'none',
      // Decided after the handshake, by rules that a reload can change.
      rejectUnauthorized: false,
    },
    answer,
  );
}

function listen(server: Server, { host, port }: WebAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', (cause) => {
      reject(
        new WebError('listen', `Could not listen on ${host ?? ''}:${port}`, {
          disposition: 'operator',
          hint: 'Choose another address with web.listen or --web.listen-address',
          cause,
        }),
      );
    });
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
}

function renderUrl(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  // A wildcard address is nowhere to go to with a browser.
  const isWildcard = address.address === '::' || address.address === '0.0.0.0';
  const host = isWildcard ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${server instanceof HttpsServer ? 'https' : 'http'}://${host}:${address.port}`;
}
