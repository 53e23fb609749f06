/**
 * The other side of bench/soak.ts, in a process of its own: simulated routers that live, hostile ones, and a sink that
 * counts. Arguments: routers that live, routers that are hostile, lines per second of each. Sends {@link FleetAddress}
 * when it is ready, and {@link FleetCounts} for each message.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSystemClock } from '../src/base/index.ts';
import { demoLogSettings, startSimulator } from '../src/simulator/index.ts';

/** Where the routers and the sink listen. */
export interface FleetAddress {
  readonly caPem: string;
  readonly routers: readonly { readonly name: string; readonly url: string }[];
  readonly hostile: readonly { readonly name: string; readonly url: string }[];
  readonly sinkUrl: string;
}

/** What came until now. */
export interface FleetCounts {
  /** Requests to hostile routers. */
  readonly hostileRequests: number;
  /** Lines that the sink accepted. */
  readonly records: number;
}

const counts = { hostileRequests: 0, records: 0 };
const CHUNK = Buffer.alloc(64 * 1024, 'a');
/** A pause between two chunks of a body without end, so that it is the agent that works and not this process. */
const ENDLESS_PAUSE_MS = 20;
const DRIP_MS = 1500;
const NAMES = 300;
const ROWS = 200;
const LABEL_LENGTH = 20_000;

const pick = (count: number) => Math.floor(Math.random() * count);
const word = () => randomBytes(6).toString('hex');
const pathOf = (request: IncomingMessage) => new URL(request.url ?? '/', 'http://router');
const isListing = (request: IncomingMessage) => pathOf(request).searchParams.has('list_files');
const isLog = (request: IncomingMessage) => pathOf(request).pathname.endsWith('/download/log');
const isLogin = (request: IncomingMessage) => pathOf(request).pathname.includes('/auth/');

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function list(response: ServerResponse, names: readonly string[]): void {
  json(response, { log_files: names });
}

function stampedLine(text: string): string {
  return `[${new Date().toISOString().slice(0, 19).replace('T', ' ')}] [${word()}] ${text}\n`;
}

/** Sends until the client has enough. */
function sendForever(response: ServerResponse, next: () => Buffer | string, everyMs: number): void {
  const timer = setInterval(() => {
    if (response.writableLength < CHUNK.length) response.write(next());
  }, everyMs);
  response.on('close', () => clearInterval(timer));
}

/** One way to be hostile each; a login gets a token before. */
const HOSTILE: Readonly<Record<string, RequestListener>> = {
  /** Lists other logs each time, and each has lines. */
  names(request, response) {
    if (isListing(request))
      list(
        response,
        Array.from({ length: NAMES }, () => `${word()}/current`),
      );
    else if (isLog(request)) response.end(stampedLine('a log of its own'));
    else json(response, { status: { unique: {}, list: [] } });
  },
  /** Other interfaces, boards and addresses each time. */
  rows(_request, response) {
    const rows = Array.from({ length: ROWS }, () => ({
      name: word(),
      slot: word(),
      state: word(),
      bytes_rx: pick(1e9),
    }));
    json(response, { status: { unique: { serial: word(), date: word() }, list: rows } });
  },
  /** Names and values that are far too long, others each time. */
  labels(_request, response) {
    const text = () => randomBytes(LABEL_LENGTH / 2).toString('hex');
    const rows = Array.from({ length: 20 }, () => ({
      name: text(),
      board_type: text(),
      [text()]: text(),
      bytes_rx: '1',
    }));
    json(response, { status: { unique: { firmware: text(), [text()]: text() }, list: rows } });
  },
  /** Every body is JSON without an end. */
  endless(_request, response) {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"status":{"list":"');
    sendForever(response, () => CHUNK, ENDLESS_PAUSE_MS);
  },
  /** Logs without an end: lines, and lines without an end. */
  floods(request, response) {
    const name = pathOf(request).searchParams.get('log_file') ?? '';
    if (isListing(request)) list(response, ['network/current', 'kernel/current', 'noise/current']);
    else if (!isLog(request)) json(response, { status: { unique: {}, list: [] } });
    else if (name.startsWith('noise')) sendForever(response, () => randomBytes(CHUNK.length), ENDLESS_PAUSE_MS);
    else {
      const next = () => (name.startsWith('kernel') ? CHUNK : stampedLine(word()).repeat(20));
      sendForever(response, next, ENDLESS_PAUSE_MS);
    }
  },
  /** Any status of HTTP, with and without a time to wait. */
  statuses(_request, response) {
    const headers = pick(2) === 0 ? { 'retry-after': String(pick(20)), location: `/${word()}` } : {};
    response.writeHead(200 + pick(400), { 'content-type': 'application/json', etag: `"${word()}"`, ...headers });
    response.end(JSON.stringify({ [word()]: word() }));
  },
  /** One byte every second and a half. */
  drips(_request, response) {
    response.writeHead(200, { 'content-type': 'application/json' });
    sendForever(response, () => ' ', DRIP_MS);
  },
  /** Ends every connection in the middle of its answer. */
  resets(_request, response) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' });
    response.write('{"status":', () => response.socket?.resetAndDestroy());
  },
  /** Other archives each time, all of them damaged, and headers as large as Node.js sends them. */
  archives(request, response) {
    response.setHeader('x-noise', randomBytes(4000).toString('hex'));
    if (isListing(request)) {
      const at = new Date(Date.now() - pick(1e9)).toISOString().slice(0, 19).replace('T', '-');
      list(response, [
        'network/current',
        ...Array.from({ length: 50 }, (_, index) => `${word()}/log-${at.slice(0, 18)}${index % 10}.bz2`),
      ]);
    } else if (isLog(request)) response.end(Buffer.concat([Buffer.from('BZh91AY&SY'), randomBytes(2000)]));
    else json(response, { status: { unique: {}, list: [] } });
  },
  /** Deep JSON, tokens that change with each answer and are refused half of the time. */
  deep(_request, response) {
    if (pick(2) === 0) json(response, { error: { authentication: word() } }, 401);
    else response.writeHead(200).end(`{"status":{"list":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`);
  },
};

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAlive: true }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const [living = 1, hostileCount = 0, linesPerSecond = 1] = process.argv.slice(2).map(Number);
const common = {
  clock: createSystemClock(),
  logActivity: 'live' as const,
  logLinesPerSecond: linesPerSecond,
  logs: { ...demoLogSettings, maxSizeBytes: 64 * 1024, truthBytesMax: 0 },
};
// Half of the fleet supports ranges and entity tags, as newer devices may.
const plain = await startSimulator({ ...common, routers: Math.ceil(living / 2), seed: 1 });
const modern = await startSimulator({
  ...common,
  routers: Math.max(1, Math.floor(living / 2)),
  seed: 1,
  features: { rangeRequests: true },
});
const hostile = Object.entries(HOSTILE).slice(0, hostileCount);
const address: FleetAddress = {
  caPem: plain.caPem,
  routers: [...plain.routers, ...modern.routers].map(({ url }, index) => ({ name: `sim-${index + 1}`, url })),
  hostile: await Promise.all(
    hostile.map(async ([name, listener]) => ({
      name: `hostile-${name}`,
      url: await listen((request, response) => {
        counts.hostileRequests++;
        request.resume();
        response.on('error', () => {});
        const token = createHash('sha256').update(randomBytes(8)).digest('hex');
        if (isLogin(request)) json(response, { access: token, refresh: token });
        else listener(request, response);
      }),
    })),
  ),
  sinkUrl: await listen((request, response) => {
    request.on('data', (chunk: Buffer) => {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) counts.records++;
    });
    request.on('end', () => response.writeHead(204).end());
  }),
};
process.on('message', () => process.send?.(counts));
process.on('disconnect', () => process.exit());
process.send?.(address);
