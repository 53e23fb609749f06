import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ServerCertificate } from './certificate-authority.ts';
import { SimulatorError } from './simulator-error.ts';

export interface HttpListenerOptions {
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  /** Absent = HTTP without TLS. */
  readonly certificate: ServerCertificate | undefined;
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
}

/** A server that answers, until it is closed. */
export interface HttpListener {
  readonly port: number;
  /** Ends all connections, busy or not. */
  close(): Promise<void>;
}

/** Idle connections are kept this long, so that a client that polls once a minute needs no new handshake. */
const KEEP_ALIVE_MS = 90_000;
/** A client that has not sent its whole request after this long is cut off. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Starts a server. Throws {@link SimulatorError} `listen-failed` when the address cannot be had. */
export async function openHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const { host, port, certificate, handle } = options;
  const bounds: ServerOptions = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void handle(incoming, outgoing);
  const server = certificate
    ? createHttpsServer({ ...bounds, ...certificate }, answer)
    : createHttpServer(bounds, answer);
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(port, host, listening.resolve);
  try {
    await listening.promise;
  } catch (cause) {
    throw new SimulatorError('listen-failed', `No simulated router can listen on ${host}, port ${port}`, { cause });
  }
  server.off('error', listening.reject);
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      return closed.promise;
    },
  };
}
