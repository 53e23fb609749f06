/**
 * Measures the store of a cluster against a real nats-server with one replica of the stream: steps of one line per second, records
 * per second into the stream and out of it, and what a fenced log costs the others of its group.
 *
 *   PATH=$PATH:<folder with nats-server> node bench/cluster-store.ts [seconds]
 *
 * Prints Markdown for RESULTS.md.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '../src/base/index.ts';
import { ClusterStore, initCluster } from '../src/cluster/cluster.ts';
import { StoreError } from '../src/model/index.ts';
import { findFreePort } from '../test/support/free-port.ts';
import { describeMachine, print } from './contest.ts';

const SECONDS = Number(process.argv[2] ?? 10);
const ROUTERS = 300;
/** Routers whose logs another replica moves under this one. */
const FENCED = 5;
const LINES_PER_STEP = 1000;
const STEPS_IN_FLIGHT = 8;
const LINE_BYTES = 300;

const clock = createSystemClock();
const folder = mkdtempSync(join(tmpdir(), 'cluster-store-'));
const port = await findFreePort();
writeFileSync(
  join(folder, 'nats.conf'),
  `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${folder}/store", max_file: 8GB, max_mem: 64MB }\n`,
);
const server = spawn('nats-server', ['-c', join(folder, 'nats.conf')], { stdio: 'ignore' });
const servers = { servers: [`nats://127.0.0.1:${port}`], clock };
const names = Array.from({ length: ROUTERS }, (_, index) => `plant-${index}`);

async function openStore(
  cluster: string,
  replica: string,
): Promise<{ store: ClusterStore; whenWoken: () => Promise<void> }> {
  let woken = Promise.withResolvers<void>();
  const store = new ClusterStore({
    servers,
    cluster,
    replica,
    sinks: [{ name: 'lake', start: 'oldest' }],
    isOwner: () => true,
    onRecords: () => {
      woken.resolve();
      woken = Promise.withResolvers<void>();
    },
  });
  await store.open();
  await Promise.all(names.map((name) => store.openRouter(name)));
  return { store, whenWoken: () => woken.promise };
}

/** A record as logs render them, about 300 bytes, of which little is like the one before. */
function renderRecord(router: string, count: number): string {
  const noise = (count * 2_654_435_761).toString(36).repeat(40);
  const record = { timestamp: clock.now(), uid: `${router}-${count}`, router, component: 'network', message: '' };
  return JSON.stringify({ ...record, message: noise.slice(0, LINE_BYTES - JSON.stringify(record).length) });
}

/** Commits steps of one line for all routers, each waiting for its own; resolves with steps and the slowest hundredth. */
async function measureSteps(store: ClusterStore, seconds: number) {
  const untilMs = clock.monotonic() + seconds * 1000;
  const waits: number[] = [];
  let refused = 0;
  await Promise.all(
    names.map(async (router) => {
      for (let step = 0; clock.monotonic() < untilMs; step++) {
        const lines = [renderRecord(router, step)];
        const beganMs = clock.monotonic();
        try {
          await store.commit({ router, component: 'network', position: `{"version":2,"off":${step}}`, lines });
          waits.push(clock.monotonic() - beganMs);
        } catch (cause) {
          if (!(cause instanceof StoreError) || cause.code !== 'fenced') throw cause;
          refused++;
          await store.openRouter(router);
        }
      }
    }),
  );
  waits.sort((a, b) => a - b);
  const at = (share: number) => (waits[Math.floor(waits.length * share)] ?? 0).toFixed(0);
  return { perSecond: Math.round(waits.length / seconds), median: at(0.5), slow: at(0.99), refused };
}

/** Writes steps of a thousand lines, then reads them as a sink does. */
async function measureRecords(): Promise<readonly [into: number, outOf: number]> {
  await initCluster({ servers, cluster: 'records', replicas: 1, bytesMax: 4e9 });
  const { store, whenWoken } = await openStore('records', 'one');
  let written = 0;
  const untilMs = clock.monotonic() + SECONDS * 1000;
  const beganMs = clock.monotonic();
  await Promise.all(
    names.slice(0, STEPS_IN_FLIGHT).map(async (router) => {
      const lines = Array.from({ length: LINES_PER_STEP }, (_, index) => renderRecord(router, index));
      while (clock.monotonic() < untilMs) {
        await store.commit({ router, component: 'network', position: String(written), lines });
        written += lines.length;
      }
    }),
  );
  const into = written / ((clock.monotonic() - beganMs) / 1000);
  const readMs = clock.monotonic();
  let read = 0;
  while (read < written) {
    const woken = whenWoken();
    const slice = store.readSlice('lake', { recordsMax: 5000, bytesMax: 4 * 1024 * 1024, isWanted: () => true });
    if (!slice) {
      await woken;
      continue;
    }
    read += slice.lines.length;
    await store.acknowledge('lake', slice.next);
  }
  const outOf = read / ((clock.monotonic() - readMs) / 1000);
  await store.close();
  return [Math.round(into), Math.round(outOf)];
}

try {
  // The client waits for the server.
  for (let isReady = false; !isReady; ) {
    try {
      await initCluster({ servers, cluster: 'steps', replicas: 1, bytesMax: 4e9 });
      isReady = true;
    } catch (cause) {
      if (!(cause instanceof StoreError) || cause.code !== 'unwritable') throw cause;
    }
  }
  print(`${describeMachine()}.`, '');
  print('| What | Result |', '|---|---|');
  const { store } = await openStore('steps', 'one');
  const alone = await measureSteps(store, SECONDS);
  print(`| steps of one line a second, ${ROUTERS} routers | ${alone.perSecond} |`);
  print(`| wait of a step, half of them and 99 of 100, ms | ${alone.median}, ${alone.slow} |`);
  const { store: other } = await openStore('steps', 'two');
  const isOver = { yes: false };
  const rival = (async () => {
    for (let step = 0; !isOver.yes; step++) {
      for (const router of names.slice(0, FENCED)) {
        try {
          await other.openRouter(router);
          await other.commit({ router, component: 'network', position: String(step), lines: [] });
        } catch (cause) {
          if (!(cause instanceof StoreError) || cause.code !== 'fenced') throw cause;
        }
      }
      await clock.sleep(20);
    }
  })();
  const contested = await measureSteps(store, SECONDS);
  isOver.yes = true;
  await rival;
  print(
    `| the same while another replica writes to ${FENCED} of the logs | ${contested.perSecond}, ${contested.refused} refused |`,
  );
  print(`| wait of a step then, ms | ${contested.median}, ${contested.slow} |`);
  await Promise.all([store.close(), other.close()]);
  const [into, outOf] = await measureRecords();
  print(`| records of ${LINE_BYTES} bytes a second into the stream, ${LINES_PER_STEP} a step | ${into} |`);
  print(`| records a second out of it, through a sink's cursor | ${outOf} |`);
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
