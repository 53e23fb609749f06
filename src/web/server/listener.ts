import type { X509Certificate } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { WebError } from '../errors.ts';
import type { ConnectionTable, Excess } from './connections.ts';
import { toSecureContextOptions, type WebTls } from './security.ts';

/** An entry of the text form of subject alternative names; values with special characters are JSON strings. */
const ENTRY = /(?:[^",]|"(?:[^"\\]|\\.)*")+/g;
/** IP addresses are compared separately. */
const NAME = /^ ?(?:DNS|email|URI):(.*)$/s;

function isClientAllowed(socket: TLSSocket, { clientAuth, clientAllowedSans }: WebTls): boolean {
  const certificate = clientAuth === 'none' ? undefined : socket.getPeerX509Certificate();
  const isVerified = certificate !== undefined && socket.authorized;
  switch (clientAuth) {
    case 'none':
    case 'request':
      return true;
    case 'verify-if-given':
      return certificate === undefined || isVerified;
    case 'require-any':
      return certificate !== undefined && hasAllowedName(certificate, clientAllowedSans);
    case 'require-and-verify':
      return isVerified && hasAllowedName(certificate, clientAllowedSans);
  }
}

function hasAllowedName(certificate: X509Certificate, allowed: readonly string[] | undefined): boolean {
  if (allowed === undefined) return true;
  const names = parseAlternativeNames(certificate.subjectAltName ?? '');
  // IP addresses have several spellings.
  return allowed.some((name) => (isIP(name) ? certificate.checkIP(name) !== undefined : names.includes(name)));
}

/** Parses DNS names, e-mail addresses and URIs from the text form of subject alternative names. */
export function parseAlternativeNames(text: string): readonly string[] {
  return (text.match(ENTRY) ?? []).flatMap((entry) => {
    const value = NAME.exec(entry)?.[1];
    if (value === undefined) return [];
    return [value.startsWith('"') ? (JSON.parse(value) as string) : value];
  });
}

/** An address that the web server listens on. */
export interface WebAddress {
  /** `undefined`: every address. */
  readonly host: string | undefined;
  /** 0: chosen by the system. */
  readonly port: number;
}

/** Limits against slow and numerous clients. Node.js limits the request line and headers to 16 KiB together. */
const BOUNDS: ServerOptions = {
  // Enough for a request of a few hundred bytes.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  // Longer than the usual scrape interval, so that a scrape needs no new handshake.
  keepAliveTimeout: 75_000,
};
const HANDSHAKE_MS_MAX = 10_000;
/** Longer than a scrape may wait for a poll. */
const IDLE_MS_MAX = 150_000;

/** One listening socket. */
export interface Listener {
  /** URL for users, as in `http://127.0.0.1:9847`. */
  readonly url: string;
  /** Replaces the TLS settings. Clients connected under the earlier settings must reconnect. */
  setTls(tls: WebTls): void;
  close(): Promise<void>;
}

/** Answers a request. `excess`: the limit that the connection exceeds. */
export type Answer = (request: IncomingMessage, response: ServerResponse, excess: Excess | undefined) => void;

/** Listens on one address; `connections` limits those of all listeners together. Throws {@link WebError} `listen`. */
export async function openListener(
  address: WebAddress,
  tls: WebTls | undefined,
  connections: ConnectionTable,
  answer: Answer,
): Promise<Listener> {
  let currentTls = tls;
  /** The TLS settings under which each connection was accepted. */
  const admitted = new WeakMap<Socket, WebTls>();
  const guarded: RequestListener = (request, response) => {
    const connection = connections.find(request.socket);
    if (!connection || currentTls !== admitted.get(request.socket)) {
      request.socket.destroy();
      return;
    }
    connection.begin(response);
    answer(request, response, connection.excess);
  };
  const server = tls ? createTlsServer(tls, guarded) : createHttpServer(BOUNDS, guarded);
  server.timeout = IDLE_MS_MAX;
  // Must run before the HTTP server's own listener, which would read a request from the connection.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    if (currentTls && isClientAllowed(socket, currentTls)) admitted.set(socket, currentTls);
    else socket.destroy();
  });
  // The HTTP server does not track sockets before the end of their handshake.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    connections.add(socket);
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
      // Checked after the handshake, by rules that a reload can change.
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
  // A browser cannot open a wildcard address.
  const isWildcard = address.address === '::' || address.address === '0.0.0.0';
  const host = isWildcard ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${server instanceof HttpsServer ? 'https' : 'http'}://${host}:${address.port}`;
}
