/**
 * Many routers in a process of their own, which answer from memory: what the simulator answers, captured twice, so that a
 * third of a turn's resources change from one turn to the next. Each router is a path of one server. Tells its parent
 * process the address, and on request what was asked.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSeededRandom, createSystemClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/router/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { createCertificateAuthority } from '../../src/simulator/tls/certificate-authority.ts';
import { expandPath, loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';

/** First message of the process. */
export interface StubStarted {
  readonly port: number;
  readonly caPem: string;
  /** Paths of resources whose answer changes at every request. */
  readonly changing: readonly string[];
}

/** Answer to the message `count`. */
export interface StubCounts {
  /** Requests of the agent by path since the last answer. */
  readonly requests: Readonly<Record<string, number>>;
  /** Requests of the bare client meanwhile. */
  readonly bareRequests: number;
}

/** Share of the resources of a turn that change. */
const CHANGING_PART = 1 / 3;
const BETWEEN_CAPTURES_MS = 3000;

/** Returns the answers of a simulated router by their path; those of resources that it lacks are left out. */
async function capture(): Promise<readonly ReadonlyMap<string, Buffer>[]> {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  if (!shipped.ok) throw new RangeError('The shipped modules have faults');
  const definitions = shipped.modules.filter(({ isDefault }) => isDefault).map(({ definition }) => definition);
  const names = definitions.flatMap(({ resources }) => resources.flatMap(({ path }) => expandPath(path)));
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  const url = simulator.routers[0]?.url ?? '';
  await using router = new RouterClient({
    url,
    username: 'monitor',
    password: 'simulated',
    tls: { caPem: simulator.caPem },
  });
  const captures: Map<string, Buffer>[] = [];
  for (const isSecond of [false, true]) {
    if (isSecond) await sleep(BETWEEN_CAPTURES_MS);
    const bodies = new Map<string, Buffer>();
    for (const name of new Set(names)) {
      const path = name.startsWith('/') ? name : `/status/${name}`;
      const { status, bytes } = await router.call({ method: 'GET', path });
      if (status === 200) bodies.set(path, Buffer.from(bytes));
    }
    captures.push(bodies);
  }
  return captures;
}

const [first = new Map<string, Buffer>(), second = new Map<string, Buffer>()] = await capture();
const differing = [...first].filter(([path, body]) => second.get(path)?.equals(body) === false).map(([path]) => path);
const changing = new Set(differing.slice(0, Math.round(first.size * CHANGING_PART)));
const authority = await createCertificateAuthority('bench', createSeededRandom(1));
let requests: Record<string, number> = {};
let bareRequests = 0;
/** Number of answers of each changing resource, by router and path. */
const answered = new Map<string, number>();
const HEADERS = { 'content-type': 'application/json' };

const server = createServer(authority.issue(['127.0.0.1']), (request, response) => {
  request.resume();
  const url = request.url ?? '';
  const [path = ''] = url.slice(url.indexOf('/api/v2_0') + '/api/v2_0'.length).split('?', 1);
  if (url.startsWith('/bare-')) bareRequests++;
  else requests[path] = (requests[path] ?? 0) + 1;
  if (path === '/auth/login')
    return void response
      .writeHead(200, HEADERS)
      .end('{"access":"an-access-token-of-a-router","refresh":"a-refresh-token"}');
  let body = first.get(path);
  if (changing.has(path)) {
    const count = (answered.get(url) ?? 0) + 1;
    answered.set(url, count);
    if (count % 2 === 0) body = second.get(path);
  }
  if (!body) return void response.writeHead(404, HEADERS).end('{"error":[{"path":"unknown"}]}');
  response.writeHead(200, { ...HEADERS, 'content-length': body.length }).end(body);
});
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.on('message', () => {
  process.send?.({ requests, bareRequests } satisfies StubCounts);
  [requests, bareRequests] = [{}, 0];
});
process.on('disconnect', () => process.exit());
process.send?.({ port, caPem: authority.caPem, changing: [...changing] } satisfies StubStarted);
