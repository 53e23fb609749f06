/**
 * Measures the bytes of a status poll, by the lifetime of connections.
 *
 *   npx node bench/poll-bytes.ts
 *
 * Takes a few seconds. Prints Markdown for RESULTS.md. A simulated router answers over HTTPS; the bytes are those that
 * the client's sockets count below TLS, without the headers of TCP and IP. Routers support different versions of TLS, so
 * three kinds of server are measured.
 */

import tls from 'node:tls';
import { createSystemClock } from '../src/base/index.ts';
import { Connector, type WireBytes } from '../src/client/connection/connector.ts';
import { RouterClient } from '../src/client/index.ts';
import type { JsonAnswer, RouterRequest } from '../src/client/requests/messages.ts';
import { Transport } from '../src/client/requests/transport.ts';
import { type CompleteOptions, completeOptions } from '../src/client/settings.ts';
import { startSimulator } from '../src/simulator/index.ts';
import { expandPath, loadShippedModules, SHIPPED_MODULES_FOLDER } from '../src/status/index.ts';

const CYCLES = 20;
const POLLS_PER_DAY = 24 * 60;
const REQUEST_TIMEOUT_MS = 10_000;

const clock = createSystemClock();
const { signal } = new AbortController();

/** Lists the resources that the default modules read from the simulated router at every poll. */
async function listPolled(): Promise<readonly string[]> {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  if (!shipped.ok) throw new RangeError('The shipped modules have faults');
  await using simulator = await startSimulator({ routers: 1, clock, seed: 1 });
  await using router = new RouterClient({
    url: simulator.routers[0]?.url ?? '',
    username: 'monitor',
    password: 'simulated',
    tls: { caPem: simulator.caPem },
  });
  const polled = shipped.modules.filter(({ isDefault, definition: { minIntervalMs, intervalMs, reader } }) => {
    return isDefault && (minIntervalMs ?? intervalMs ?? reader) === undefined;
  });
  const paths = polled.flatMap(({ definition }) => definition.resources.flatMap(({ path }) => expandPath(path)));
  const answered = await Promise.all(
    [...new Set(paths)].map((path) =>
      router.readStatus(path).then(
        () => [path],
        () => [],
      ),
    ),
  );
  return answered.flat();
}

const RESOURCES = await listPolled();

/** Servers, each with the defaults of the TLS library in force while it starts. */
const SERVERS = [
  { name: 'TLS 1.2, as of an old router', version: 'TLSv1.2', groups: 'X25519:P-256' },
  { name: 'TLS 1.3, as of a router', version: 'TLSv1.3', groups: 'X25519:P-256' },
] as const;
type Server = (typeof SERVERS)[number];

interface Mode {
  readonly name: string;
  /** Number of requests per connection; absent = all of them. */
  readonly requests?: number;
  /** True if the next connection resumes the TLS session of the last. */
  readonly isRemembering: boolean;
}

const MODES: readonly Mode[] = [
  { name: 'kept', isRemembering: true },
  { name: 'new for each cycle', requests: RESOURCES.length, isRemembering: false },
  { name: 'new for each cycle, resumed', requests: RESOURCES.length, isRemembering: true },
  { name: 'new for each request', requests: 1, isRemembering: false },
  { name: 'new for each request, resumed', requests: 1, isRemembering: true },
];

interface Target {
  readonly url: string;
  readonly caPem: string;
}

type Request = Omit<RouterRequest, 'signal'>;

/** The client's transport; closes its connection after a number of requests, as routers do. */
class Asker implements AsyncDisposable {
  readonly #options: CompleteOptions;
  readonly #mode: Mode;
  #connector: Connector;
  #transport: Transport;
  #requests = 0;
  #ended: WireBytes = { sent: 0, received: 0 };

  constructor(target: Target, mode: Mode) {
    const { url, caPem } = target;
    const account = { username: 'monitor', password: 'simulated' };
    this.#options = completeOptions({ url, ...account, tls: { caPem }, requestTimeoutMs: REQUEST_TIMEOUT_MS, clock });
    this.#mode = mode;
    this.#connector = this.#createConnector();
    this.#transport = this.#createTransport();
  }

  get resumed(): number {
    return this.#connector.connections.resumed;
  }

  get bytes(): WireBytes {
    return addBytes(this.#ended, this.#connector.wireBytes);
  }

  async ask(request: Request): Promise<JsonAnswer> {
    if (this.#requests > 0 && this.#requests % (this.#mode.requests ?? Number.POSITIVE_INFINITY) === 0) {
      await this.#reconnect();
    }
    this.#requests++;
    const answer = await this.#transport.askJson({ ...request, signal });
    if (answer.status !== 200) throw new RangeError(`${request.path} was answered with ${answer.status}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport.close();
  }

  async #reconnect(): Promise<void> {
    await this.#transport.close();
    if (!this.#mode.isRemembering) {
      this.#ended = this.bytes;
      this.#connector = this.#createConnector();
    }
    this.#transport = this.#createTransport();
  }

  #createConnector(): Connector {
    return new Connector(this.#options);
  }

  #createTransport(): Transport {
    return new Transport(this.#options, this.#connector);
  }
}

function addBytes(one: WireBytes, other: WireBytes): WireBytes {
  return { sent: one.sent + other.sent, received: one.received + other.received };
}

/** Measures the bytes of `work`. */
async function measure(asker: Asker, work: () => Promise<unknown>): Promise<WireBytes> {
  const before = asker.bytes;
  await work();
  const { sent, received } = asker.bytes;
  return { sent: sent - before.sent, received: received - before.received };
}

function readToken(answer: JsonAnswer, name: 'access' | 'refresh'): string {
  return `Bearer ${String(Reflect.get(Object(answer.body), name))}`;
}

const LOGIN: Request = {
  method: 'POST',
  path: '/auth/login',
  json: { username: 'monitor', password: 'simulated' },
};

async function openSession(target: Target): Promise<string> {
  await using asker = new Asker(target, { name: 'login', isRemembering: false });
  return readToken(await asker.ask(LOGIN), 'access');
}

/** Measures the mean of all cycles except the first connection, which is opened once. */
async function measureCycle(target: Target, mode: Mode, authorization: string): Promise<WireBytes> {
  await using asker = new Asker(target, mode);
  const cycle = async () => {
    for (const resource of RESOURCES) {
      await asker.ask({ method: 'GET', path: `/status/${resource}`, authorization });
    }
  };
  await cycle();
  const { sent, received } = await measure(asker, async () => {
    for (let count = 0; count < CYCLES; count++) await cycle();
  });
  if (mode.isRemembering && mode.requests && asker.resumed < CYCLES) {
    throw new RangeError(`Only ${asker.resumed} connections resumed a session`);
  }
  return { sent: sent / CYCLES, received: received / CYCLES };
}

interface SessionCosts {
  readonly connection: WireBytes;
  readonly login: WireBytes;
  readonly refresh: WireBytes;
}

/** Measures a first connection with its login, a login alone, and a refresh alone. */
async function measureSession(target: Target): Promise<SessionCosts> {
  await using asker = new Asker(target, { name: 'session', isRemembering: false });
  const first = await measure(asker, () => asker.ask(LOGIN));
  let refresh = '';
  const login = await measure(asker, async () => {
    refresh = readToken(await asker.ask(LOGIN), 'refresh');
  });
  const connection = { sent: first.sent - login.sent, received: first.received - login.received };
  const renewal = await measure(asker, () =>
    asker.ask({ method: 'POST', path: '/auth/refresh', authorization: refresh }),
  );
  return { connection, login, refresh: renewal };
}

/** Starts the simulated router with its own TLS defaults, which are global to the process, and then restores the client's. */
async function startServer({ version, groups }: Server) {
  const defaults = { groups: tls.DEFAULT_ECDH_CURVE, version: tls.DEFAULT_MAX_VERSION };
  tls.DEFAULT_ECDH_CURVE = groups;
  tls.DEFAULT_MAX_VERSION = version;
  try {
    return await startSimulator({ routers: 1, clock, seed: 1 });
  } finally {
    tls.DEFAULT_ECDH_CURVE = defaults.groups;
    tls.DEFAULT_MAX_VERSION = defaults.version;
  }
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function toCells({ sent, received }: WireBytes): string[] {
  return [sent, received, sent + received].map((bytes) => bytes.toFixed(0));
}

print(
  `Node.js ${process.version}, OpenSSL ${process.versions.openssl}; ${CYCLES} cycles of ${RESOURCES.length} resources.`,
  '',
  '| Server | Connection | Sent, bytes per cycle | Received | Both | Of the kept | MB per day, a cycle a minute |',
  '|---|---|---|---|---|---|---|',
);
const sessionRows: string[] = [];
for (const server of SERVERS) {
  await using simulator = await startServer(server);
  const target = { url: simulator.routers[0]?.url ?? '', caPem: simulator.caPem };
  const authorization = await openSession(target);
  let kept = Number.NaN;
  for (const mode of MODES) {
    const cost = await measureCycle(target, mode, authorization);
    const total = cost.sent + cost.received;
    kept = Number.isNaN(kept) ? total : kept;
    const cells = [...toCells(cost), (total / kept).toFixed(2), ((total * POLLS_PER_DAY) / 1e6).toFixed(1)];
    print(`| ${[server.name, mode.name, ...cells].join(' | ')} |`);
  }
  for (const [what, cost] of Object.entries(await measureSession(target))) {
    sessionRows.push(`| ${[server.name, what, ...toCells(cost)].join(' | ')} |`);
  }
}
print('', '| Server | What | Sent, bytes | Received | Both |', '|---|---|---|---|---|', ...sessionRows);
