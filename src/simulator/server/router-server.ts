import type { IncomingMessage, ServerResponse } from 'node:http';
import { Mutex } from '../../base/index.ts';
import type { ServerCertificate } from '../tls/certificate-authority.ts';
import { type HttpListener, openHttpListener } from './http-listener.ts';

/** Returns true if clients can reach a port. */
export type IsPortOpen = (port: number) => boolean;

/** Ports to listen on; an absent scheme is disabled. */
export interface FrontPorts {
  readonly http: number | undefined;
  readonly https: number | undefined;
}

/** The simulated router behind one listener. */
export interface RouterFrontOptions {
  /** Address to listen on. */
  readonly host: string;
  /** Issues the router's certificate; called when HTTPS is first opened. */
  readonly issueCertificate: () => Promise<ServerCertificate>;
  /** Answers one request. */
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse, listener: HttpListener) => Promise<void>;
}

const SCHEMES = ['https', 'http'] as const;
type Scheme = (typeof SCHEMES)[number];

/** The listening sockets of one router: one for each scheme enabled in its configuration. */
export class RouterServer {
  readonly #options: RouterFrontOptions;
  readonly #mutex = new Mutex();
  #listeners: Partial<Record<Scheme, HttpListener>> = {};
  /** The ports, kept while the router is down. */
  #ports: FrontPorts = { http: undefined, https: undefined };
  #isDown = false;
  #isPortOpen: IsPortOpen = () => true;

  constructor(options: RouterFrontOptions) {
    this.#options = options;
  }

  /** The current ports, also while the router is down. */
  get ports(): FrontPorts {
    return this.#ports;
  }

  /** Opens the first listeners; port 0 means any free one. Throws {@link SimulatorError} `listen-failed`. */
  async open(ports: FrontPorts): Promise<void> {
    await this.change(ports);
  }

  /**
   * Opens missing listeners and resolves with a function that closes the rest. A port blocked by the firewall is in use
   * and refuses connections. If a port is not available, nothing has changed. Throws {@link SimulatorError}
   * `listen-failed`.
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
    await this.#closeListeners();
  }

  /** Listens again. Throws {@link SimulatorError} `listen-failed` if a port has been taken in the meantime. */
  async comeUp(): Promise<void> {
    this.#isDown = false;
    await this.change(this.#ports);
  }

  /** Shows another certificate. */
  setCertificate(certificate: ServerCertificate): void {
    this.#listeners.https?.setCertificate(certificate);
  }

  async close(): Promise<void> {
    await this.#mutex.run(() => this.#closeListeners());
  }

  async #openListener(scheme: Scheme, port: number): Promise<HttpListener> {
    const { host, issueCertificate, handle } = this.#options;
    const certificate = scheme === 'https' ? await issueCertificate() : undefined;
    return openHttpListener({ host, port, certificate, handle });
  }

  async #closeListeners(): Promise<void> {
    const listeners = Object.values(this.#listeners);
    this.#listeners = {};
    await Promise.all(listeners.map((listener) => listener.close()));
  }
}
