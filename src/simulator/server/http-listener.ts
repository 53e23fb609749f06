import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { SimulatorError } from '../simulator-error.ts';
import type { ServerCertificate } from '../tls/certificate-authority.ts';

/** Address, certificate and limits of one listener. */
export interface HttpListenerOptions {
  /** Address to listen on. */
  readonly host: string;
  /** Port to listen on; 0 for any free one. */
  readonly port: number;
  /** Certificate for HTTPS; absent for HTTP without TLS. */
  readonly certificate: ServerCertificate | undefined;
  /** Answers one request. */
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse, listener: HttpListener) => Promise<void>;
}

/** A running server. */
export interface HttpListener {
  readonly port: number;
  /** Ends all connections, including busy ones. */
  close(): Promise<void>;
  /** Replaces the certificate and ends all connections, so that every client sees it. Does nothing without TLS. */
  setCertificate(certificate: ServerCertificate): void;
  /** Resets the connection of a request below TLS, without a TLS close. */
  reset(incoming: IncomingMessage): void;
}

/** Idle connections are kept this long, so that a client that polls once a minute needs no new handshake. */
const KEEP_ALIVE_MS = 90_000;
/** A client that has not sent its whole request after this long is cut off. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Starts a server. Throws {@link SimulatorError} `listen-failed` if the address is not available. */
export async function openHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const { host, port, certificate, handle } = options;
  const bounds: ServerOptions = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void handle(incoming, outgoing, listener);
  const server = certificate
    ? createHttpsServer({ ...bounds, ...certificate }, answer)
    : createHttpServer(bounds, answer);
  // A TLS socket cannot be reset, so the sockets below are kept, by the client's address.
  const sockets = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = renderPeer(socket);
    sockets.set(key, socket);
    socket.once('close', () => sockets.delete(key));
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(port, host, listening.resolve);
  try {
    await listening.promise;
  } catch (cause) {
    throw new SimulatorError('listen-failed', `The simulator cannot listen on ${host}, port ${port}`, { cause });
  }
  server.off('error', listening.reject);
  const listener: HttpListener = {
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      return closed.promise;
    },
    setCertificate(next) {
      if (server instanceof HttpsServer) server.setSecureContext(next);
      server.closeAllConnections();
    },
    reset(incoming) {
      const socket = sockets.get(renderPeer(incoming.socket));
      if (socket) socket.resetAndDestroy();
      else incoming.socket.destroy();
    },
  };
  return listener;
}

function renderPeer({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
