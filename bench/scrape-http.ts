/**
 * Measures a scrape of a large fleet as an HTTP client in another process sees it, compared with prom-client and, if it is
 * given, client_golang.
 *
 *   (cd bench/peers/client-golang && go build -o /tmp/client-golang .)
 *   npx node bench/scrape-http.ts 5000 /tmp/client-golang
 *
 * Takes about two minutes. Prints Markdown for RESULTS.md: medians over the rounds, in which the contenders take turns.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describeMachine, median, print } from './contest.ts';
import { FAMILIES, SAMPLES_PER_FAMILY } from './scrape-series.ts';

const ROUTERS = Number(process.argv[2] ?? 5000);
const ROUNDS = 5;

interface Scrape {
  readonly ms: number;
  readonly bytes: number;
}

async function scrape(url: string, isGzip: boolean): Promise<Scrape> {
  const startedMs = performance.now();
  const request = get(url, { headers: { 'accept-encoding': isGzip ? 'gzip' : 'identity' }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return { ms: performance.now() - startedMs, bytes };
}

const KINDS = [
  ['FleetExposition', 'ours'],
  ['the same bytes, ready', 'ready'],
  ['prom-client', 'prom-client'],
] as const;

const contenders = new Map<string, string>();
const children: ChildProcess[] = [];
for (const [name, kind] of KINDS) {
  // Each in a process of its own, so that none collects the garbage of another.
  const child = fork(fileURLToPath(new URL('scrape-server.ts', import.meta.url)), [String(ROUTERS), kind]);
  children.push(child);
  const [port] = (await once(child, 'message')) as [number];
  contenders.set(name, `http://127.0.0.1:${port}/metrics`);
}
const program = process.argv[3];
const peer =
  program === undefined
    ? undefined
    : spawn(program, [ROUTERS, FAMILIES, SAMPLES_PER_FAMILY].map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
if (peer) {
  const [line] = (await once(createInterface({ input: peer.stdout }), 'line')) as [string];
  contenders.set('client_golang', `http://127.0.0.1:${line}/metrics`);
}
print(
  `${describeMachine()}; ${(ROUTERS * FAMILIES * SAMPLES_PER_FAMILY).toLocaleString('en')} series, ${ROUNDS} rounds.`,
  '',
  '| | plain, ms | times ours | MB | gzip, ms | times ours | MB |',
  '|---|---:|---:|---:|---:|---:|---:|',
);
const results = new Map<string, Scrape[]>();
for (let round = 0; round <= ROUNDS; round++) {
  for (const isGzip of [false, true]) {
    for (const [name, url] of contenders) {
      const one = await scrape(url, isGzip);
      // The first round warms up.
      if (round > 0) results.set(`${name} ${isGzip}`, [...(results.get(`${name} ${isGzip}`) ?? []), one]);
    }
  }
}
const msOf = (key: string) => median((results.get(key) ?? []).map(({ ms }) => ms));
for (const name of contenders.keys()) {
  const cells = [false, true].flatMap((isGzip) => {
    const key = `${name} ${isGzip}`;
    const times = msOf(key) / msOf(`FleetExposition ${isGzip}`);
    return [msOf(key).toFixed(0), times.toFixed(1), ((results.get(key)?.[0]?.bytes ?? 0) / 1e6).toFixed(1)];
  });
  print(`| ${[name, ...cells].join(' | ')} |`);
}
for (const child of children) child.disconnect();
peer?.kill();
