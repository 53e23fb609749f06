import type { IncomingMessage, ServerResponse } from 'node:http';
import { Mutex } from '../base/index.ts';
import type { ServerCertificate } from './certificate-authority.ts';
import { type HttpListener, openHttpListener } from './http-listener.ts';

/** Says whether clients can reach a port. */
export type IsPortOpen = (port: number) => boolean;

/** Ports to listen on; absent = that scheme is off. */
export interface FrontPorts {
  readonly http: number | undefined;
  readonly https: number | undefined;
}

export interface RouterFrontOptions {
  /** Address to listen on. */
  readonly host: string;
  /** Issues the router's certificate; asked when HTTPS is opened first. */
  readonly issueCertificate: () => Promise<ServerCertificate>;
  /** Answers one request. */
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse, listener: HttpListener) => Promise<void>;
}

const SCHEMES = ['https', 'http'] as const;
type Scheme = (typeof SCHEMES)[number];

/** The listening sockets of one router: one for each scheme that its configuration switches on. */
export class RouterFront {
  readonly #options: RouterFrontOptions;
  readonly #turn = new Mutex();
  #listeners: Partial<Record<Scheme, HttpListener>> = {};
  /** Where it would listen if it were not down; kept while it is. */
  #ports: FrontPorts = { http: undefined, https: undefined };
  #isDown = false;
  #isPortOpen: IsPortOpen = () => true;

  constructor(options: RouterFrontOptions) {
    this.#options = options;
  }

  /** The ports in use, or that would be. */
  get ports(): FrontPorts {
    return this.#ports;
  }

  /** Opens the first listeners; port 0 is any free one. Throws {@link SimulatorError} `listen-failed`. */
  async open(ports: FrontPorts): Promise<void> {
    await this.change(ports);
  }

  /**
   * Opens what is missing and resolves with what closes the rest. A port that the firewall closes is in use, and refuses
   * connections. When a port cannot be had, nothing has changed. Throws {@link SimulatorError} `listen-failed`.
   */
  change(ports: FrontPorts, isPortOpen = this.#isPortOpen): Promise<() => void> {
    return this.#turn.run(async () => {
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

  /** Refuses connections, and ends those that there are. */
  async goDown(): Promise<void> {
    this.#isDown = true;
    await this.#closeListeners();
  }

  /** Listens again. Throws {@link SimulatorError} `listen-failed` when somebody has taken the port meanwhile. */
  async comeUp(): Promise<void> {
    this.#isDown = false;
    await this.change(this.#ports);
  }

  /** Shows another certificate. */
  setCertificate(certificate: ServerCertificate): void {
    this.#listeners.https?.setCertificate(certificate);
  }

  async close(): Promise<void> {
    await this.#turn.run(() => this.#closeListeners());
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
