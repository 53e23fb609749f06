import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LogRecord } from '../../src/model/index.ts';

/** A request that a router got. */
interface AskedRouter {
  /** `performance.now()` of the test. */
  readonly atMs: number;
  readonly router: string;
  /** Replica that asked. */
  readonly replica: string;
  readonly path: string;
}

/** Records that the receiver got with one request. */
export interface ReceivedBatch {
  /** When all of it had come, by `performance.now()` of the test. */
  readonly atMs: number;
  /** Replica that sent it. */
  readonly replica: string;
  readonly records: readonly LogRecord[];
}

/** Routers and a receiver of records, in the process of the test. */
export interface ClusterWorld extends AsyncDisposable {
  readonly names: readonly string[];
  readonly url: string;
  readonly asked: readonly AskedRouter[];
  /** Lines of each router's log, without their ends. */
  readonly written: ReadonlyMap<string, readonly string[]>;
  /** Records that the receiver has, in their order. */
  readonly received: readonly LogRecord[];
  /** The same by request. */
  readonly batches: readonly ReceivedBatch[];
  /** Every router writes a line, with so many bytes of noise. */
  write(noiseBytes?: number): void;
  /** Every router writes a line from time to time, until the function that it returns is called. */
  keepWriting(everyMs: number): () => void;
  /** Replicas that asked a router since a time. */
  askedBy(router: string, sinceMs: number): readonly string[];
  /** True: the router ends each connection without an answer. */
  setRouterDown(router: string, isDown: boolean): void;
  /** True: the receiver takes nothing for now. */
  setDown(isDown: boolean): void;
  /** The next batch of records, whoever sends it, is kept and not answered. Resolves when it has come. */
  holdNext(): Promise<HeldBatch>;
}

/** A request of a sink that was not answered yet. */
interface HeldBatch {
  readonly batch: ReceivedBatch;
  /** Answers that all is well. */
  readonly answer: () => void;
}

/** How long the receiver takes for a batch. */
export interface ClusterWorldOptions {
  /** Default 0. Milliseconds. */
  readonly sinkMs?: number;
}

/** Starts plain routers with one log each: everybody may ask, and the name of the user is that of the replica. */
export async function openClusterWorld(count: number, options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const names = Array.from({ length: count }, (_, index) => `plant-${index}`);
  const written = new Map(names.map((name): [string, string[]] => [name, []]));
  const asked: AskedRouter[] = [];
  const away = new Set<string>();
  const routers = createServer((request, response) => {
    request.resume();
    const url = new URL(request.url ?? '', 'http://world');
    const [, router = ''] = url.pathname.split('/');
    const path = url.pathname.slice(url.pathname.indexOf('/v2_0') + 5);
    asked.push({ atMs: performance.now(), router, replica: readUser(request), path });
    const answerJson = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const lines = written.get(router);
    if (away.has(router)) request.socket.destroy();
    else if (path === '/status/number') answerJson({ status: { unique: { n: 7 } } });
    else if (path !== '/download/log' || !lines) response.writeHead(404).end();
    else if (url.searchParams.has('list_files')) answerJson({ log_files: ['network/current'] });
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(lines.map((line) => `${line}\n`).join(''));
  });
  const receiver = new Receiver(options.sinkMs ?? 0);
  const server = createServer((request, response) => {
    const [, kind] = (request.url ?? '').split('/');
    if (kind === 'sink') void receiver.take(request, response);
    else if (kind === 'refusing') void refuseFirst(request, response);
    else if (kind === 'never') {
      request.resume();
      response.writeHead(503).end();
    } else routers.emit('request', request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const timers = new DisposableStack();
  let lines = 0;
  const write = (noiseBytes = 0) => {
    const stamp = new Date().toISOString().slice(0, 19).replace('T', ' ');
    const noise = noiseBytes === 0 ? '' : ` ${randomBytes(noiseBytes).toString('base64url')}`;
    for (const log of written.values()) log.push(`${stamp} [app] line ${++lines}${noise}`);
  };
  return {
    names,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    written,
    received: receiver.received,
    batches: receiver.batches,
    write,
    keepWriting(everyMs) {
      const timer = setInterval(() => write(), everyMs);
      timers.defer(() => clearInterval(timer));
      return () => clearInterval(timer);
    },
    askedBy: (router, sinceMs) => [
      ...new Set(asked.filter((one) => one.router === router && one.atMs >= sinceMs).map(({ replica }) => replica)),
    ],
    setRouterDown: (router, isDown) => void (isDown ? away.add(router) : away.delete(router)),
    setDown(isDown) {
      receiver.isDown = isDown;
    },
    holdNext: () => receiver.holdNext(),
    async [Symbol.asyncDispose]() {
      timers.dispose();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function readUser({ headers }: IncomingMessage): string {
  const [, account = ''] = (headers.authorization ?? '').split(' ');
  const [user = ''] = Buffer.from(account, 'base64').toString().split(':');
  return user;
}

/** Refuses for good what has records of the first router, and takes the rest. */
async function refuseFirst(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  response.writeHead(body.includes('"router":"plant-0"') ? 400 : 204).end();
}

/** Takes records at `/sink/<replica>`. */
class Receiver {
  readonly received: LogRecord[] = [];
  readonly batches: ReceivedBatch[] = [];
  isDown = false;
  readonly #waitMs: number;
  #held: PromiseWithResolvers<HeldBatch> | undefined;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  holdNext(): Promise<HeldBatch> {
    this.#held ??= Promise.withResolvers();
    return this.#held.promise;
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    // Who sends it may be killed in the middle.
    try {
      for await (const chunk of request) body += String(chunk);
    } catch {
      return;
    }
    response.on('error', () => {});
    if (this.isDown) {
      response.writeHead(503).end();
      return;
    }
    const [, , replica = ''] = (request.url ?? '').split('/');
    const lines = body.split('\n').filter((line) => line !== '');
    const records = lines.map((line) => JSON.parse(line) as LogRecord);
    const batch = { atMs: performance.now(), replica, records };
    this.batches.push(batch);
    this.received.push(...records);
    const answer = () => void response.writeHead(204).end();
    const held = this.#held;
    this.#held = undefined;
    if (held) held.resolve({ batch, answer });
    else if (this.#waitMs > 0) setTimeout(answer, this.#waitMs);
    else answer();
  }
}
