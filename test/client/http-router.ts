import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createSteppedClock, Secret, type SteppedClock } from '../../src/base/index.ts';
import { RouterClient, type RouterClientOptions, type SessionEvent } from '../../src/client/index.ts';

/** One request as it arrived. */
interface Arrived {
  readonly line: string;
  readonly token: string | undefined;
  readonly body: string;
  /** Counts the connections of the server, from 1. */
  readonly connection: number;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, arrived: Arrived) => unknown;

export interface RouterBench extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly client: RouterClient;
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  readonly arrived: readonly Arrived[];
  readonly events: readonly SessionEvent[];
  /** Resolves when the first request that is no login has arrived whole. */
  readonly called: Promise<void>;
  /** The lines of the requests, as in `GET /profiles`. */
  lines(): string[];
}

export const REQUEST_TIMEOUT_MS = 10_000;

export interface BenchOptions extends Partial<RouterClientOptions> {
  /** Serves HTTPS, with these settings. */
  readonly certificate?: ServerOptions;
}

/**
 * A small router on loopback and a client of it. It accepts every login, with the tokens `access-1`, `access-2` and so
 * on; everything else is for `handle`.
 */
export async function openRouter(handle: Handler, options: BenchOptions = {}): Promise<RouterBench> {
  const { certificate, ...clientOptions } = options;
  const arrived: Arrived[] = [];
  const connections = new Map<Socket, number>();
  const called = Promise.withResolvers<void>();
  let logins = 0;
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { socket, method, url = '', headers } = request;
    connections.set(socket, connections.get(socket) ?? connections.size + 1);
    const now: Arrived = {
      line: `${method} ${url.replace('/api/v2_0', '')}`,
      token: headers.authorization?.replace('Bearer ', ''),
      body: Buffer.concat(chunks).toString('utf8'),
      connection: connections.get(socket) ?? 0,
    };
    arrived.push(now);
    if (now.line === 'POST /auth/login') {
      logins++;
      answerJson(response, { access: `access-${logins}`, refresh: `refresh-${logins}` });
      return;
    }
    called.resolve();
    handle(request, response, now);
  };
  const listen = (request: IncomingMessage, response: ServerResponse) => void listener(request, response);
  const server = certificate ? createTlsServer(certificate, listen) : createServer(listen);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `${certificate ? 'https' : 'http'}://127.0.0.1:${port}`;
  const clock = createSteppedClock(0);
  const events: SessionEvent[] = [];
  const client = new RouterClient({
    url,
    username: 'monitor',
    password: new Secret('simulated'),
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    clock,
    report: (event) => void events.push(event),
    ...clientOptions,
  });
  return {
    clock,
    client,
    url,
    port,
    server,
    arrived,
    events,
    called: called.promise,
    lines: () => arrived.map(({ line }) => line),
    async [Symbol.asyncDispose]() {
      await client.close(AbortSignal.abort()).catch(() => {});
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function answerJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers with these handlers in sequence, one per request; the last one repeats. */
export function inSequence(...handlers: Handler[]): Handler {
  let count = 0;
  return (...args) => handlers[Math.min(count++, handlers.length - 1)]?.(...args);
}
