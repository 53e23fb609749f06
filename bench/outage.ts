/**
 * Measures memory during long failures: a sink that is down for a day, and an archive that expands without end.
 *
 *   npx node --expose-gc bench/outage.ts
 *
 * Takes a minute. Prints Markdown for RESULTS.md. Requires bzip2 (apt-get install bzip2).
 */
import { execFileSync } from 'node:child_process';
import { openArchivePool } from '../src/logs/index.ts';
import { startFleet } from '../test/support/fleet.ts';
import { findFreePort } from '../test/support/free-port.ts';
import { createHttpSettings } from '../test/support/sink-settings.ts';
import { describeMachine, print } from './contest.ts';
import { readLog } from './reading.ts';

const HOUR_MS = 3_600_000;
const LINES_PER_HOUR = 800;
const HOURS = 25;
/** Hours between two measurements of the heap. */
const LOOK_HOURS = 6;
const MEBIBYTE = 2 ** 20;
const ZEROS = 400_000_000;

function measureHeap(): string {
  if (!globalThis.gc) throw new RangeError('Run it with --expose-gc');
  globalThis.gc();
  return (process.memoryUsage().heapUsed / MEBIBYTE).toFixed(1);
}

/** Runs the agent and a simulated router on a stepped clock, with no listener at the port of the sink. */
async function measureOutage(): Promise<void> {
  const url = `http://127.0.0.1:${await findFreePort()}/ingest`;
  await using fleet = await startFleet({
    simulator: { logs: { maxFiles: 100 } },
    router: {
      modules: [],
      logs: { enabled: true, interval: 20 * 60_000, start: 'all', components: ['network'] },
    },
    config: (config) => ({ ...config, sinks: [createHttpSettings('collector', url)] }),
  });
  const heaps: string[] = [];
  for (let hour = 0; hour < HOURS; hour++) {
    for (let line = 0; line < LINES_PER_HOUR; line++) {
      const written = hour * LINES_PER_HOUR + line;
      const noise = String(written * 7919).repeat(60);
      fleet.router().appendLog('network', `line ${written} ${noise.slice(0, 400)}`);
    }
    await fleet.advance(HOUR_MS);
    if (hour % LOOK_HOURS === 0) heaps.push(measureHeap());
  }
  print(
    `Heap after one hour of the outage and after each ${LOOK_HOURS} more, ${LINES_PER_HOUR} lines an hour, the simulated router included, MiB: ${heaps.join(', ')}.`,
  );
}

async function measureExpansion(): Promise<void> {
  const archive = execFileSync('bash', ['-c', `head -c ${ZEROS} /dev/zero | bzip2 -c`]);
  const before = process.memoryUsage.rss();
  await using pool = openArchivePool({ workers: 1 });
  const failure = await readLog(
    'plant-7',
    async function* () {
      yield await Promise.resolve(archive);
    },
    pool,
    { commit: () => {} },
  ).catch((cause: unknown) => cause);
  const grown = ((process.memoryUsage.rss() - before) / MEBIBYTE).toFixed(0);
  print(
    `An archive of ${archive.length} bytes that holds ${ZEROS / 1e6} MB: resident memory grows by ${grown} MiB (${String(failure)}).`,
  );
}

print(`${describeMachine()}.`, '');
await measureExpansion();
await measureOutage();
