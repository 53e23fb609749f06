import { join } from 'node:path';
import { createSeededRandom, createSystemClock, systemRandom } from '../../src/base/index.ts';
import { StepLoop } from '../../src/schedule/index.ts';
import { DeliveryWorker, type Sink } from '../../src/sinks/index.ts';
import { DeadLetterStore, EmbeddedStore } from '../../src/store/index.ts';
import { createTestSink } from './sinks/create-sink.ts';

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
const deadLetters = new DeadLetterStore({ path: plan.folder, now: () => clock.now() });
const common = (name: string) => ({
  name,
  batch: { recordsMax: 40, bytesMax: 1024 * 1024, waitMs: 0 },
  timeout: 10_000,
  clock,
});
const sinks: Sink[] = [
  // Small enough to rotate now and then.
  createTestSink(
    'file',
    { path: join(plan.folder, 'records.jsonl'), keep: 1000, fsync: 'never' },
    { ...common('file'), max_size: 100_000 },
  ),
  createTestSink('http', { url: plan.httpUrl }, common('http')),
  createTestSink('elasticsearch', { url: plan.elasticsearchUrl, compress: 'none' }, common('elasticsearch')),
  ...(plan.natsUrl === undefined ? [] : [createTestSink('nats', { servers: [plan.natsUrl] }, common('nats'))]),
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
      add: (name, refused, taken) => between(() => deadLetters.add(name, refused, taken)),
      readReplayed: (name, bounds) => deadLetters.readReplayed(name, bounds),
    },
    clock,
    isWanted: () => true,
    report: () => {},
  });
  return new StepLoop({
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
deadLetters.close();
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
