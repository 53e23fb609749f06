import { join } from 'node:path';
import { createSeededRandom, createSystemClock, systemRandom } from '../../src/base/index.ts';
import { DeliveryWorker, type Sink } from '../../src/delivery/index.ts';
import { createElasticsearchSink } from '../../src/delivery/sinks/elasticsearch/sink.ts';
import { createFileSink } from '../../src/delivery/sinks/file/sink.ts';
import { createHttpSink } from '../../src/delivery/sinks/http/sink.ts';
import { createNatsSink } from '../../src/delivery/sinks/nats/sink.ts';
import { RetryLoop } from '../../src/schedule/index.ts';
import { DeadLetterStore, EmbeddedStore } from '../../src/store/index.ts';

/** What the parent says: where things are, and when to die. */
export interface KilledCouriersPlan {
  readonly folder: string;
  readonly httpUrl: string;
  readonly elasticsearchUrl: string;
  /** Absent: three sinks. */
  readonly natsUrl: string | undefined;
  readonly seed: number;
  /** The process kills itself when it has come to so many points; never, if it is 0. */
  readonly killAt: number;
  /** Records are committed until there are so many. */
  readonly recordsMax: number;
}

/**
 * Store, workers and sinks in a process that kills itself: before or after a commit, an acknowledgement, a dead letter, or
 * a delivery, or while one is on its way. What it did not finish, the next one does.
 */
const plan = JSON.parse(process.argv[2] ?? '{}') as KilledCouriersPlan;
const random = createSeededRandom(plan.seed);
const clock = createSystemClock();
let points = 0;
function point(): void {
  if (++points === plan.killAt) process.kill(process.pid, 'SIGKILL');
}

const names = ['file', 'http', 'elasticsearch', ...(plan.natsUrl === undefined ? [] : ['nats'])];
const store = new EmbeddedStore({
  path: plan.folder,
  sinks: names.map((name) => ({ name, start: 'oldest' as const })),
  spoolBytesMax: 64 * 1024 * 1024,
  now: () => clock.now(),
});
const letters = new DeadLetterStore({ path: plan.folder, now: () => clock.now() });
const common = (name: string) => ({
  name,
  batch: { recordsMax: 40, bytesMax: 1024 * 1024, waitMs: 0 },
  timeoutMs: 10_000,
  format: 'native' as const,
  clock,
});
const web = { headers: {}, compress: 'none' as const };
const sinks: Sink[] = [
  createFileSink({
    ...common('file'),
    path: join(plan.folder, 'records.jsonl'),
    // Small enough to rotate now and then.
    bytesMax: 100_000,
    ageMs: 86_400_000,
    keep: 1000,
    compress: 'gzip',
    fsync: 'never',
  }),
  createHttpSink({ ...common('http'), ...web, url: plan.httpUrl }),
  createElasticsearchSink({
    ...common('elasticsearch'),
    ...web,
    format: 'ecs',
    url: plan.elasticsearchUrl,
    index: 'logs-router-default',
  }),
  ...(plan.natsUrl === undefined
    ? []
    : [createNatsSink({ ...common('nats'), servers: [plan.natsUrl], subject: 'logs' })]),
];

const pumps = sinks.map((sink) => {
  const worker = new DeliveryWorker({
    sink: { ...sink, deliver: (records, signal) => deliver(sink, records, signal) },
    spool: {
      readSlice: (name, bounds) => store.readSlice(name, bounds),
      acknowledge: (name, cursor) => between(() => store.acknowledge(name, cursor)),
      repeat: (name, endedMs) => between(() => store.repeat(name, endedMs)),
    },
    deadLetters: {
      add: (name, refused, taken) => between(() => letters.add(name, refused, taken)),
      readReplayed: (name, bounds) => letters.readReplayed(name, bounds),
    },
    clock,
    isWanted: () => true,
    report: () => {},
  });
  return new RetryLoop({
    clock,
    random: systemRandom,
    backoff: { firstMs: 5, ceilingMs: 20 },
    step: (signal, turn) => worker.step(signal, turn),
    onFailure: () => undefined,
  });
});

function between(work: () => void): void {
  point();
  work();
  point();
}

async function deliver(sink: Sink, ...args: Parameters<Sink['deliver']>): ReturnType<Sink['deliver']> {
  point();
  const delivered = sink.deliver(...args);
  setImmediate(point);
  const report = await delivered;
  point();
  return report;
}

/** What is in the position is how many records there are. */
for (let count = readCount(); count < plan.recordsMax; ) {
  const next = Math.min(plan.recordsMax, count + 1 + Math.floor(random() * 15));
  const lines = Array.from({ length: next - count }, (_, index) => renderRecord(count + index));
  between(() => store.commit({ router: 'plant-7', component: 'network', position: String(next), lines }));
  count = next;
  for (const pump of pumps) pump.wake();
  if (random() < 0.5) await clock.sleep(Math.floor(random() * 4));
}
await Promise.all(pumps.map((pump) => pump.drain(new AbortController().signal)));
await Promise.all(sinks.map((sink) => sink.close()));
const waiting = names.map((name) => store.countWaiting(name));
store.close();
letters.close();
process.stdout.write(JSON.stringify({ waiting }));

function readCount(): number {
  return Number(store.readPositions('plant-7').get('network') ?? 0);
}

function renderRecord(index: number): string {
  return JSON.stringify({
    timestamp: new Date(Date.UTC(2026, 10, 21) + index * 1000).toISOString(),
    observed_timestamp: '2026-11-21T12:00:00.000Z',
    router: 'plant-7',
    component: 'network',
    message: `line ${index}`,
    uid: `uid-${String(index).padStart(6, '0')}`,
    file: 'network/current',
    offset: index,
  });
}
