/**
 * Measures the timeline of a large fleet that writes all the time: what a page of `/logs` costs that shows the newest lines, that
 * goes back in time, and that searches for what hardly any line has.
 *
 *   npx node bench/log-search.ts [routers]
 *
 * Fills the last lines of 10,000 routers first, which takes a minute. Prints Markdown for RESULTS.md. Processor time is that of the
 * main thread; the second of its columns is the longest without a turn for others.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { spanOf } from '../src/agent/views/record-times.ts';
import { Timeline } from '../src/agent/views/timeline.ts';
import { packBytes } from '../src/base/index.ts';
import { EmbeddedStore } from '../src/store/index.ts';
import type { RecordPage, RecordQuery } from '../src/web/index.ts';

const ROUTERS = Number(process.argv[2] ?? 10_000);
const ROUNDS = 3;
const LINES = 120;
/** Each router writes a line a second. */
const END_MS = Date.UTC(2026, 10, 25);
const MESSAGES = [
  'wan1: connection check of lte2 succeeded after 46 ms',
  'dropped TCP 192.168.1.78:52064 -> 10.0.0.6:445',
  'DHCPACK on 192.168.1.129 to 00:05:b6:76:b2:a5 via net1',
  'signal 17, cell c88ce62, registered in home network',
  'GET status/device_info answered in 129 ms',
];
const COMPONENTS = ['network', 'modem', 'restd'];
/** One line in so many is an error. */
const ERROR_EVERY = 50_000;

const folder = await mkdtemp(join(tmpdir(), 'router-exporter-bench-'));
const store = new EmbeddedStore({
  path: folder,
  sinks: [],
  spoolBytesMax: 1024 ** 3,
  now: Date.now,
  recent: { bytesMax: 256 * 1024 * 1024, spanOf },
});

function toName(index: number): string {
  return `plant-${String(index).padStart(5, '0')}`;
}

let written = 0;
function renderLine(router: number, second: number): string {
  const isError = ++written % ERROR_EVERY === 0;
  // Routers do not write in the same millisecond.
  const atMs = END_MS - second * 1000 + (router % 1000);
  const component = COMPONENTS[written % COMPONENTS.length];
  return JSON.stringify({
    timestamp: new Date(atMs).toISOString().replace('Z', '000001Z'),
    observed_timestamp: new Date(atMs + 900).toISOString(),
    router: toName(router),
    component,
    ...(isError && { severity: 'error' }),
    tag: 'agent',
    message: isError ? `kernel: Oops number ${written}` : `${MESSAGES[written % MESSAGES.length]} #${written}`,
    uid: `${component}-${written.toString(36).padStart(20, 'a')}`,
    file: `${component}/current`,
    offset: written,
    labels: { site: `site-${router % 200}` },
  });
}

await store.keepRouters(
  Array.from({ length: ROUTERS }, (_, index) => toName(index)),
  0,
);
let bytesAll = 0;
for (let round = ROUNDS - 1; round >= 0; round--) {
  for (let router = 0; router < ROUTERS; router++) {
    const lines = Array.from({ length: LINES }, (_, index) => renderLine(router, (round + 1) * LINES - index));
    const bytes = Buffer.from(lines.join('\n'));
    bytesAll += bytes.length;
    store.addRecent(new Map([[toName(router), { records: LINES, bytes, body: packBytes(bytes) }]]));
  }
}

let readBytes = 0;
const timeline = new Timeline(
  {
    listRecent: (place, router) => store.listRecent(place, router),
    readRecent: (batch) => {
      const memory = store.readRecent(batch);
      readBytes += memory?.length ?? 0;
      return memory;
    },
  },
  () => true,
);

interface Cost {
  readonly cpuMs: number;
  readonly heldMs: number;
  readonly readMiB: number;
  readonly page: RecordPage;
}

async function read(query: Partial<RecordQuery>): Promise<Cost> {
  const done = new AbortController();
  let heldMs = 0;
  const toMs = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1000;
  const watch = (async () => {
    while (!done.signal.aborted) {
      const before = process.threadCpuUsage();
      await setImmediate();
      heldMs = Math.max(heldMs, toMs(process.threadCpuUsage(before)));
    }
  })();
  readBytes = 0;
  const before = process.threadCpuUsage();
  const page = await timeline.read({ components: [], severities: [], search: '', limit: 100, ...query });
  const cpuMs = toMs(process.threadCpuUsage(before));
  done.abort();
  await watch;
  return { cpuMs, heldMs, readMiB: readBytes / 1024 ** 2, page };
}

process.stdout.write(
  `${ROUTERS} routers, ${Math.round(bytesAll / 1024 ** 2)} MiB of lines, ${cpus()[0]?.model}, Node.js ${process.version}\n\n`,
);
process.stdout.write('| Page | processor time | longest step | lines read | found |\n|---|---:|---:|---:|---:|\n');
function print(title: string, { cpuMs, heldMs, readMiB, page }: Cost): void {
  const cells = [`${cpuMs.toFixed(0)} ms`, `${heldMs.toFixed(1)} ms`, `${readMiB.toFixed(0)} MiB`, page.records.length];
  process.stdout.write(`| ${title} | ${cells.join(' | ')} |\n`);
}

/** Reads page by page, and prints the first, the dearest, and how many there are until the end. */
async function readAll(title: string, query: Partial<RecordQuery>, pagesMax: number): Promise<void> {
  const first = await read(query);
  print(`${title}, first page`, first);
  let [count, found, cpuMs] = [1, first.page.records.length, first.cpuMs];
  let dearest: Cost | undefined;
  for (let { next } = first.page; next !== null && count < pagesMax; count++) {
    const cost = await read({ ...query, before: next });
    if (!dearest || cost.cpuMs > dearest.cpuMs) dearest = cost;
    found += cost.page.records.length;
    cpuMs += cost.cpuMs;
    ({ next } = cost.page);
  }
  if (dearest) print(`${title}, the dearest of ${count - 1} older ones`, dearest);
  process.stdout.write(`| ${title}, all ${count} | ${cpuMs.toFixed(0)} ms | | | ${found} |\n`);
}

const middle = `${new Date(END_MS - (ROUNDS * LINES * 1000) / 2).toISOString().replace('Z', '000000Z')}_0_`;
await read({});
print('newest lines', await read({}));
print('lines of the middle', await read({ before: middle }));
await readAll('search for a text of one line in 50,000', { search: 'oops' }, 60);
await readAll('errors, one line in 50,000', { severities: ['error'] }, 60);
await readAll('search for what no line has', { search: 'nothing of the kind' }, 60);
store.close();
await rm(folder, { recursive: true });
