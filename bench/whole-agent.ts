/** The agent as `run` starts it: archives of local routers become records in a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSeededRandom } from '../src/base/index.ts';
import { createCertificateAuthority } from '../src/simulator/tls/certificate-authority.ts';
import type { StepFigures } from './watch-steps.ts';

/** One measured run. */
export interface AgentRun extends StepFigures {
  /** From the first byte of an archive to the last record in the file. Seconds. */
  readonly seconds: number;
  /** Processor time of the agent meanwhile, all threads. Seconds. */
  readonly processorSeconds: number;
}

/** What is measured. */
export interface AgentRunOptions {
  /** Compressed text, the same for every router. */
  readonly archive: Buffer;
  /** Bytes of the text before the last line begins. */
  readonly lastOffset: number;
  readonly routers: number;
  /** More lines of the configuration, such as `log_rules: []`. */
  readonly config?: string;
}

const TAIL_BYTES = 4096;
const POLL_MS = 2;
const LIMIT_MS = 120_000;
const CLOCK_TICKS_PER_SECOND = 100;

/** Starts the agent in a process of its own, and waits until every line of every router has reached the file. */
export async function runAgent(options: AgentRunOptions): Promise<AgentRun> {
  const { archive, lastOffset, config = '' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'whole-agent-'));
  const authority = await createCertificateAuthority('bench', createSeededRandom(1));
  const begun = Promise.withResolvers<void>();
  const routers = await Promise.all(
    Array.from({ length: options.routers }, () => openRouter(authority.issue(['127.0.0.1']), archive, begun.resolve)),
  );
  const out = join(folder, 'records.ndjson');
  writeFileSync(join(folder, 'ca.pem'), authority.caPem);
  writeFileSync(
    join(folder, 'router-exporter.yaml'),
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data, spool_max: 4GiB }
defaults: { username: u, password: p, timezone: Europe/Berlin, labels: { site: munich }, modules: [], tls: { ca_file: ca.pem } }
routers:
${routers.map(({ port }, index) => `  - { name: plant-${index}, url: "https://127.0.0.1:${port}" }`).join('\n')}
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
      // Built by `npm run build`.
      fileURLToPath(new URL('../dist/main.js', import.meta.url)),
      'run',
      '--config.file',
      join(folder, 'router-exporter.yaml'),
      '--log.level',
      'error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env: { ...process.env, WATCH_STEPS: '1' } },
  );
  try {
    await Promise.race([
      begun.promise,
      once(agent, 'exit').then(() => Promise.reject(new RangeError('The agent ended'))),
    ]);
    agent.send('begin');
    const start = performance.now();
    const processorBefore = processorSecondsOf(agent);
    await untilWritten(out, lastOffset, options.routers);
    const seconds = (performance.now() - start) / 1000;
    const processorSeconds = processorSecondsOf(agent) - processorBefore;
    agent.send('end');
    const [figures] = (await once(agent, 'message')) as [StepFigures];
    return { seconds, processorSeconds, ...figures };
  } finally {
    agent.kill('SIGTERM');
    await once(agent, 'exit');
    for (const { server } of routers) server.close().closeAllConnections();
    rmSync(folder, { recursive: true });
  }
}

/** A router with one archive and nothing else. */
async function openRouter(
  tls: { readonly key: string; readonly cert: string },
  archive: Buffer,
  onDownload: () => void,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(tls, (request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://router');
    const json = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname.endsWith('/auth/login')) json({ access: 'an-access-token', refresh: 'a-refresh-token' });
    else if (!pathname.endsWith('/download/log')) json({ error: 'not here' }, 404);
    else if (searchParams.has('list_files')) json({ log_files: ['network/log-2024-01-02-12:00:00.bz2'] });
    else {
      onDownload();
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': archive.length });
      response.end(archive);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** Waits until the last line of every router is in the file. */
async function untilWritten(path: string, lastOffset: number, routers: number): Promise<void> {
  const seen = new Set<string>();
  const end = performance.now() + LIMIT_MS;
  let size = 0;
  while (seen.size < routers) {
    if (performance.now() > end) throw new RangeError(`Not all lines were in ${path} after ${LIMIT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const now = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (now === size) continue;
    // A record of the last line may stand before those of another router.
    const from = Math.max(0, size - TAIL_BYTES);
    size = now;
    const text = readFrom(path, from, now);
    for (const [, router = ''] of text.matchAll(
      new RegExp(`"router":"([^"]+)"[^\\n]*"offset":${lastOffset}[,}]`, 'g'),
    )) {
      seen.add(router);
    }
  }
}

function readFrom(path: string, from: number, to: number): string {
  const file = openSync(path, 'r');
  const bytes = Buffer.alloc(to - from);
  readSync(file, bytes, 0, bytes.length, from);
  closeSync(file);
  return bytes.toString('latin1');
}

/** Processor time of a process since its start, all threads. Seconds. */
export function processorSecondsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}
