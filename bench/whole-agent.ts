/** The agent as `run` starts it: archives of local routers become records in a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSeededRandom } from '../src/base/index.ts';
import { createCertificateAuthority } from '../src/simulator/tls.ts';
import type { StepFigures } from './watch-steps.ts';

/** How one archive of each router was taken. */
export interface AgentRun extends StepFigures {
  /** From the first byte of an archive to the last record in the file. Seconds. */
  readonly seconds: number;
  /** Processor time of the agent meanwhile, all threads. Seconds. */
  readonly processorSeconds: number;
  /** Times from one status poll to the next one of the same other router, which came meanwhile. Milliseconds. */
  readonly pollGapsMs: readonly number[];
  /** Those of the time before, without an archive. */
  readonly quietGapsMs: readonly number[];
}

/** A file of a router. */
export interface AgentArchive {
  /** Compressed text, or plain text. */
  readonly bytes: Buffer;
  /** Bytes of the text before the last line begins. */
  readonly lastOffset: number;
}

/** What is measured. */
export interface AgentRunOptions {
  /** The same for every router, one after the other: the agent is fresh only for the first one. */
  readonly archives: readonly AgentArchive[];
  readonly routers: number;
  /** More lines of the configuration, such as `log_rules: []`. */
  readonly config?: string;
  /** The built program. Default: `dist/main.js` of this checkout. */
  readonly program?: string;
  /** Other routers, which have no logs: their status is polled every {@link STATUS_MS}. Default: none. */
  readonly others?: number;
}

/** How often the status of other routers is polled. Milliseconds. */
export const STATUS_MS = 1000;

/** How often logs are looked at: the agent waits for the second archive no longer than this. */
const LOOK = '2s';
const POLL_MS = 2;
/** By `npm run build`. */
const BUILT = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LIMIT_MS = 120_000;
const CLOCK_TICKS_PER_SECOND = 100;

/**
 * Starts the agent in a process of its own, and waits until every line of every router has reached the file: of one archive,
 * then of the next one. Returns the figures of each.
 */
export async function runAgent(options: AgentRunOptions): Promise<AgentRun[]> {
  const { archives, config = '', others = 0, program = BUILT } = options;
  const folder = mkdtempSync(join(tmpdir(), 'whole-agent-'));
  const authority = await createCertificateAuthority('bench', createSeededRandom(1));
  /** What routers list by now, and what to do when one of them is asked for the last of it. */
  const listed = { archives: [] as readonly AgentArchive[], onDownload: () => {} };
  const routers = await Promise.all(
    Array.from({ length: options.routers }, () => openRouter(authority.issue(['127.0.0.1']), listed)),
  );
  const gaps: number[] = [];
  const polled = await Promise.all(
    Array.from({ length: others }, () => openPolledRouter(authority.issue(['127.0.0.1']), (ms) => gaps.push(ms))),
  );
  const out = join(folder, 'records.ndjson');
  writeFileSync(join(folder, 'ca.pem'), authority.caPem);
  writeFileSync(
    join(folder, 'router-exporter.yaml'),
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data, spool_max: 4GiB }
defaults: { username: u, password: p, timezone: Europe/Berlin, logs: { interval: ${LOOK} }, labels: { site: munich }, modules: [], tls: { ca_file: ca.pem } }
routers:
${routers.map(({ port }, index) => `  - { name: plant-${index}, url: "https://127.0.0.1:${port}" }`).join('\n')}
${polled.map(({ port }, index) => `  - { name: other-${index}, url: "https://127.0.0.1:${port}", modules: [system], poll: { interval: ${STATUS_MS}ms }, logs: { enabled: false } }`).join('\n')}
sinks:
  - { name: out, type: file, path: ${out}, max_size: 4GiB }
${config}
`,
  );
  const agent = spawn(
    process.execPath,
    [
      '--import',
      join(fileURLToPath(new URL('.', import.meta.url)), 'watch-steps.ts'),
      program,
      'run',
      '--config.file',
      join(folder, 'router-exporter.yaml'),
      '--log.level',
      'error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env: { ...process.env, WATCH_STEPS: '1' } },
  );
  try {
    const runs: AgentRun[] = [];
    for (const [index, archive] of archives.entries()) {
      const begun = Promise.withResolvers<void>();
      listed.onDownload = begun.resolve;
      listed.archives = archives.slice(0, index + 1);
      await Promise.race([
        begun.promise,
        once(agent, 'exit').then(() => Promise.reject(new RangeError('The agent ended'))),
      ]);
      const quietGapsMs = gaps.splice(0);
      const work = () => untilWritten(out, nameOf(index), archive.lastOffset, options.routers);
      const figures = await measure(agent, work);
      runs.push({ ...figures, quietGapsMs, pollGapsMs: gaps.splice(0) });
    }
    return runs;
  } finally {
    agent.kill('SIGTERM');
    await once(agent, 'exit');
    for (const { server } of [...routers, ...polled]) server.close().closeAllConnections();
    rmSync(folder, { recursive: true });
  }
}

async function measure(
  agent: ChildProcess,
  work: () => Promise<void>,
): Promise<Omit<AgentRun, 'pollGapsMs' | 'quietGapsMs'>> {
  agent.send('begin');
  const start = performance.now();
  const processorBefore = processorSecondsOf(agent);
  await work();
  const seconds = (performance.now() - start) / 1000;
  const processorSeconds = processorSecondsOf(agent) - processorBefore;
  agent.send('end');
  const [figures] = (await once(agent, 'message')) as [StepFigures];
  return { seconds, processorSeconds, ...figures };
}

function nameOf(index: number): string {
  return `network/log-2024-${String(index + 1).padStart(2, '0')}-02-12:00:00.bz2`;
}

/** A router with archives and nothing else. */
async function openRouter(
  tls: { readonly key: string; readonly cert: string },
  listed: { readonly archives: readonly AgentArchive[]; readonly onDownload: () => void },
): Promise<{ readonly server: Server; readonly port: number }> {
  return openServer(tls, ({ pathname, searchParams }, response, json) => {
    const names = listed.archives.map((_, index) => nameOf(index));
    const asked = names.indexOf(searchParams.get('log_file') ?? '');
    if (!pathname.endsWith('/download/log')) json({ error: 'not here' }, 404);
    else if (searchParams.has('list_files')) json({ log_files: names });
    else {
      const bytes = listed.archives[asked]?.bytes ?? Buffer.alloc(0);
      if (asked === names.length - 1) listed.onDownload();
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length });
      response.end(bytes);
    }
  });
}

/** A router with a status and nothing else. `onPoll`: gets the time since the poll before. */
async function openPolledRouter(
  tls: { readonly key: string; readonly cert: string },
  onPoll: (gapMs: number) => void,
): Promise<{ readonly server: Server; readonly port: number }> {
  let lastMs: number | undefined;
  return openServer(tls, (_url, _response, json) => {
    const nowMs = performance.now();
    if (lastMs !== undefined) onPoll(nowMs - lastMs);
    lastMs = nowMs;
    json({ status: { unique: { uptime: '1 day' } } });
  });
}

/** A server that lets everybody log in, and has `answer` answer all else. */
async function openServer(
  tls: { readonly key: string; readonly cert: string },
  answer: (url: URL, response: ServerResponse, json: (body: object, status?: number) => void) => void,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(tls, (request, response) => {
    request.resume();
    const url = new URL(request.url ?? '/', 'https://router');
    const json = (body: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (url.pathname.endsWith('/auth/login')) json({ access: 'an-access-token', refresh: 'a-refresh-token' });
    else answer(url, response, json);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** Waits until the last line of a file of every router has been written. */
async function untilWritten(path: string, file: string, lastOffset: number, routers: number): Promise<void> {
  const wanted = Buffer.from(`"file":"${file}","offset":${lastOffset}`);
  const end = performance.now() + LIMIT_MS;
  const sizeOf = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let [seen, size] = [0, sizeOf()];
  while (seen < routers) {
    if (performance.now() > end) throw new RangeError(`Not all lines were in ${path} after ${LIMIT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const now = sizeOf();
    if (now < size + wanted.length) continue;
    const bytes = readFrom(path, size, now);
    for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) seen++;
    // What has come by halves is looked at once more.
    size = now - wanted.length + 1;
  }
}

function readFrom(path: string, from: number, to: number): Buffer {
  const file = openSync(path, 'r');
  const bytes = Buffer.allocUnsafe(to - from);
  readSync(file, bytes, 0, bytes.length, from);
  closeSync(file);
  return bytes;
}

/** Processor time of a process since its start, all threads. Seconds. */
export function processorSecondsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}
