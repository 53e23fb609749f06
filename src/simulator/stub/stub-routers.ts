import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Clock, Random } from '../../base/index.ts';
import { SimulatorError } from '../simulator-error.ts';
import { createCertificateAuthority } from '../tls/certificate-authority.ts';
import { type StubLogOptions, StubLogs } from './stub-logs.ts';

/** How stub routers answer. */
export interface StubManners {
  /** Time from a request to its answer. Milliseconds, default 0. */
  readonly latencyMs?: number | undefined;
  /** Share of the answers that come a second late, as after the loss of a packet. Default 0. */
  readonly lossRatio?: number | undefined;
  /**
   * Share of the routers that take connections and give no answer: they hang, reset the connection, drip, or send without an
   * end, in turn. Those whose name begins with `bare-` hang. Default 0.
   */
  readonly deadRatio?: number | undefined;
}

/** Answers and behaviour of stub routers. */
export interface StubRoutersOptions extends StubManners {
  /** Bodies of the answers by path, such as `/status/device_info`. Of several bodies each request gets the next one. */
  readonly bodies: Readonly<Record<string, readonly string[]>>;
  /** Their logs. Default: none. */
  readonly logs?: StubLogOptions | undefined;
  /** Time without a request after which a router closes its connection. Milliseconds, default never. */
  readonly idleMs?: number | undefined;
  /** Clock of delays and of new log lines. */
  readonly clock: Clock;
  /** Decides which packets are lost. */
  readonly random: Random;
}

/** Requests that stub routers were sent. */
export interface StubCounts {
  /** Requests to the routers by path, without query, since the last call. */
  readonly requests: Readonly<Record<string, number>>;
  /** Requests to routers whose name begins with `bare-`, in all. */
  readonly bareRequests: number;
}

/** Running stub routers. */
export interface StubRouters extends AsyncDisposable {
  /** Router `i` has the URL `https://127.0.0.1:<port>/r<i>`. */
  readonly port: number;
  /** Certificate that clients must trust. */
  readonly caPem: string;
  /** Returns what was asked since the last call. */
  count(): StubCounts;
  /** Changes how they answer from now on. */
  change(manners: StubManners): void;
  /** All routers are gone: connections end, and new ones are refused. */
  leave(): Promise<void>;
  /** All routers are back at the same port, each log with so many rotated files more than when they left. */
  comeBack(rotations: number): Promise<void>;
}

/** The first wait of TCP for the acknowledgement of a lost packet. Milliseconds. */
const RETRANSMISSION_MS = 1000;
const ROOT = '/api/v2_0';
const BARE = '/bare-';
const JSON_TYPE = { 'content-type': 'application/json' };
const TOKENS = Buffer.from('{"access":"an-access-token-of-a-router","refresh":"a-refresh-token"}');
const MISSING = Buffer.from('{"error":[{"path":"unknown"}]}');

/**
 * Starts any number of routers that answer from memory, for measurements of clients: all are paths of one HTTPS server, and
 * cost little beyond the wire. They log everybody in, remember nothing and misbehave only as the options say. Throws
 * {@link SimulatorError} `listen-failed`.
 */
export async function startStubRouters(options: StubRoutersOptions): Promise<StubRouters> {
  const authority = await createCertificateAuthority('Stub routers', options.random);
  const stub = new StubServer(options);
  const server = createServer(authority.issue(['127.0.0.1']), (request, response) => stub.answer(request, response));
  server.keepAliveTimeout = 0;
  // Connections without a request for this long are closed.
  if (options.idleMs !== undefined) server.timeout = options.idleMs;
  // A client that gives up is no fault of the server.
  server.on('tlsClientError', () => {});
  const listen = async (port: number) => {
    server.listen({ port, host: '127.0.0.1', backlog: BACKLOG });
    try {
      await once(server, 'listening');
    } catch (cause) {
      throw new SimulatorError('listen-failed', 'No stub router can listen on 127.0.0.1', { cause });
    }
  };
  const leave = async () => {
    if (!server.listening) return;
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    server.closeAllConnections();
    await closed.promise;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    caPem: authority.caPem,
    count: () => stub.takeCounts(),
    change: (manners) => stub.change(manners),
    leave,
    async comeBack(rotations) {
      stub.rotateLogs(rotations);
      await listen(port);
    },
    [Symbol.asyncDispose]: leave,
  };
}

/** Connections that wait to be accepted: a fleet connects at once. */
const BACKLOG = 4096;

class StubServer {
  readonly #options: StubRoutersOptions;
  #manners: StubManners;
  readonly #bodies: ReadonlyMap<string, readonly Buffer[]>;
  readonly #logs: StubLogs | undefined;
  /** Number of answers of each resource that changes, by router and path. */
  readonly #answered = new Map<string, number>();
  #requests = new Map<string, number>();
  #bareRequests = 0;

  constructor(options: StubRoutersOptions) {
    this.#options = options;
    this.#manners = options;
    this.#bodies = new Map(
      Object.entries(options.bodies).map(([path, bodies]) => [path, bodies.map((body) => Buffer.from(body))]),
    );
    this.#logs = options.logs && new StubLogs(options.logs, options.clock);
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const { url = '' } = request;
    const [path = '', query = ''] = url.slice(url.indexOf(ROOT) + ROOT.length).split('?');
    if (url.startsWith(BARE)) this.#bareRequests++;
    else this.#requests.set(path, (this.#requests.get(path) ?? 0) + 1);
    const death = this.#findDeath(url);
    if (death) {
      death(response, this.#options.clock);
      return;
    }
    const { random, clock } = this.#options;
    const { latencyMs = 0, lossRatio = 0 } = this.#manners;
    const isLate = lossRatio > 0 && random() < lossRatio;
    const waitMs = latencyMs + (isLate ? RETRANSMISSION_MS : 0);
    if (waitMs === 0) this.#send(url, path, query, response);
    else clock.setTimer(waitMs, () => this.#send(url, path, query, response));
  }

  change(manners: StubManners): void {
    this.#manners = manners;
  }

  rotateLogs(times: number): void {
    this.#logs?.rotate(times);
  }

  takeCounts(): StubCounts {
    const requests = Object.fromEntries(this.#requests);
    this.#requests = new Map();
    return { requests, bareRequests: this.#bareRequests };
  }

  #send(url: string, path: string, query: string, response: ServerResponse): void {
    const body = this.#findBody(url, path, query);
    response
      .writeHead(body ? 200 : 404, { ...JSON_TYPE, 'content-length': (body ?? MISSING).length })
      .end(body ?? MISSING);
  }

  #findBody(url: string, path: string, query: string): Buffer | undefined {
    if (path === '/auth/login') return TOKENS;
    if (path === '/download/log') return this.#logs?.read(query);
    const bodies = this.#bodies.get(path);
    if (!bodies || bodies.length < 2) return bodies?.[0];
    const count = this.#answered.get(url) ?? 0;
    this.#answered.set(url, count + 1);
    return bodies[count % bodies.length];
  }

  /** Returns how the router of this URL is dead; `undefined` for one that answers. */
  #findDeath(url: string): Death | undefined {
    const { deadRatio = 0 } = this.#manners;
    if (deadRatio === 0) return undefined;
    const index = Number(/^\/(?:bare-|r)(\d+)/.exec(url)?.[1] ?? 0);
    if (!isDeadStub(index, deadRatio)) return undefined;
    return url.startsWith(BARE) ? hang : DEATHS[countDeadBefore(index, deadRatio) % DEATHS.length];
  }
}

/** True if the router of this number is dead, where so large a share of them is: they are spread evenly. */
export function isDeadStub(index: number, deadRatio: number): boolean {
  return countDeadBefore(index + 1, deadRatio) > countDeadBefore(index, deadRatio);
}

function countDeadBefore(index: number, deadRatio: number): number {
  return Math.floor(index * deadRatio);
}

/** What a dead router does with a request. */
type Death = (response: ServerResponse, clock: Clock) => void;

const DRIP_MS = 1000;
const ENDLESS = Buffer.alloc(16 * 1024, ' ');

const hang: Death = () => {};

const reset: Death = (response) => void response.destroy();

/** Sends one byte a second. */
const drip: Death = (response, clock) => {
  response.writeHead(200, JSON_TYPE);
  const send = () => {
    if (response.destroyed) return;
    response.write(' ');
    clock.setTimer(DRIP_MS, send);
  };
  send();
};

/** Sends as much as the client takes. */
const sendEndlessly: Death = (response) => {
  response.writeHead(200, JSON_TYPE);
  const send = () => {
    while (!response.destroyed && response.write(ENDLESS));
  };
  response.on('drain', send);
  send();
};

const DEATHS: readonly Death[] = [hang, reset, drip, sendEndlessly];
