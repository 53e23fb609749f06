import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Mutex } from '../base/index.ts';
import { SimulatorError } from './simulator-error.ts';
import type { ServerCertificate } from './tls.ts';

interface HttpListenerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Absent: HTTP without TLS. */
  readonly certificate: ServerCertificate | undefined;
  /** Time without traffic after which a connection is closed, in milliseconds; 0 = never. Default: 90 s after an answer. */
  readonly idleMs?: number | undefined;
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

/** A client that polls once a minute needs no new handshake. */
const KEEP_ALIVE_MS = 90_000;
/** For the whole request of a client. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Connections that wait to be accepted: a fleet connects at once. */
const BACKLOG = 4096;

/** Starts a server. Throws {@link SimulatorError} `listen-failed` if the address is not available. */
export async function openHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const { host, port, certificate, idleMs, handle } = options;
  const keepAliveTimeout = idleMs === undefined ? KEEP_ALIVE_MS : 0;
  const bounds: ServerOptions = { keepAliveTimeout, requestTimeout: REQUEST_TIMEOUT_MS };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void handle(incoming, outgoing, listener);
  const server = certificate
    ? createHttpsServer({ ...bounds, ...certificate }, answer)
    : createHttpServer(bounds, answer);
  server.timeout = idleMs ?? 0;
  // A TLS socket cannot be reset, and the server does not close one in its handshake, so the sockets below are kept, by the client's
  // address.
  const sockets = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = renderPeer(socket);
    sockets.set(key, socket);
    socket.once('close', () => sockets.delete(key));
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen({ port, host, backlog: BACKLOG }, listening.resolve);
  try {
    await listening.promise;
  } catch (cause) {
    throw new SimulatorError('listen-failed', `The simulator cannot listen on ${host}, port ${port}`, { cause });
  }
  server.off('error', listening.reject);
  const endConnections = () => {
    for (const socket of sockets.values()) socket.destroy();
  };
  const listener: HttpListener = {
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      endConnections();
      return closed.promise;
    },
    setCertificate(next) {
      if (server instanceof HttpsServer) server.setSecureContext(next);
      endConnections();
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

type IsPortOpen = (port: number) => boolean;

/** An absent scheme is disabled. */
interface FrontPorts {
  readonly http: number | undefined;
  readonly https: number | undefined;
}

interface RouterServerOptions extends Pick<HttpListenerOptions, 'host' | 'idleMs' | 'handle'> {
  /** Issues the router's certificate; called when HTTPS is first opened. */
  readonly issueCertificate: () => Promise<ServerCertificate>;
}

const SCHEMES = ['https', 'http'] as const;
type Scheme = (typeof SCHEMES)[number];

/** The listening sockets of one router: one for each scheme enabled in its configuration. */
export class RouterServer {
  readonly #options: RouterServerOptions;
  readonly #mutex = new Mutex();
  #listeners: Partial<Record<Scheme, HttpListener>> = {};
  /** Kept while the router is down. */
  #ports: FrontPorts = { http: undefined, https: undefined };
  #isDown = false;
  #isPortOpen: IsPortOpen = () => true;

  constructor(options: RouterServerOptions) {
    this.#options = options;
  }

  /** The current ports, also while the router is down. */
  get ports(): FrontPorts {
    return this.#ports;
  }

  /**
   * Opens missing listeners (port 0: any free port) and resolves with a function that closes the others. A port blocked by the firewall
   * counts as in use and refuses connections. If a port is not available, nothing changes. Throws {@link SimulatorError} `listen-failed`.
   */
  change(ports: FrontPorts, isPortOpen = this.#isPortOpen): Promise<() => void> {
    return this.#mutex.run(async () => {
      const former = this.#listeners;
      const next: Partial<Record<Scheme, HttpListener>> = {};
      const opened: HttpListener[] = [];
      try {
        for (const scheme of SCHEMES) {
          const port = ports[scheme];
          if (port === undefined || this.#isDown || !isPortOpen(port)) continue;
          const kept = former[scheme]?.port === port ? former[scheme] : undefined;
          const listener = kept ?? (await this.#openListener(scheme, port));
          if (!kept) opened.push(listener);
          next[scheme] = listener;
        }
      } catch (cause) {
        await Promise.all(opened.map((listener) => listener.close()));
        throw cause;
      }
      this.#listeners = next;
      this.#isPortOpen = isPortOpen;
      this.#ports = {
        http: ports.http === 0 ? next.http?.port : ports.http,
        https: ports.https === 0 ? next.https?.port : ports.https,
      };
      const unwanted = SCHEMES.flatMap((scheme) => (former[scheme] === next[scheme] ? [] : (former[scheme] ?? [])));
      return () => {
        for (const listener of unwanted) void listener.close();
      };
    });
  }

  /** Refuses new connections and ends existing ones. */
  async goDown(): Promise<void> {
    this.#isDown = true;
    await this.close();
  }

  /** Listens again. Throws {@link SimulatorError} `listen-failed` if a port has been taken in the meantime. */
  async comeUp(): Promise<void> {
    this.#isDown = false;
    await this.change(this.#ports);
  }

  /** Replaces the certificate. */
  setCertificate(certificate: ServerCertificate): void {
    this.#listeners.https?.setCertificate(certificate);
  }

  async close(): Promise<void> {
    await this.#mutex.run(() => this.#closeListeners());
  }

  async #openListener(scheme: Scheme, port: number): Promise<HttpListener> {
    const { issueCertificate, ...options } = this.#options;
    const certificate = scheme === 'https' ? await issueCertificate() : undefined;
    return openHttpListener({ ...options, port, certificate });
  }

  async #closeListeners(): Promise<void> {
    const listeners = Object.values(this.#listeners);
    this.#listeners = {};
    await Promise.all(listeners.map((listener) => listener.close()));
  }
}
