/**
 * How fast do archives become JSON records, against programs that only decompress? And does memory stay flat?
 *
 *   npx node bench/pipeline.ts
 *
 * Takes about a minute on a quiet machine. Prints Markdown for RESULTS.md. Programs that are absent are left out. All
 * contenders run in turn, in every round, and the medians are of rounds: the machine is rarely quiet.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../src/base/index.ts';
import { type ArchivePool, type LogSource, openArchivePool, tailOnce, Zone } from '../src/logs/index.ts';
import { createLogText } from './log-text.ts';

const TEXT_BYTES = 25_000_000;
const ROUNDS = 5;
const DELAY_BYTES = 200_000_000;
const CHUNK_BYTES = 64 * 1024;
const LARGE_BYTES = 2 ** 30;
/** Like `bzcat | gawk`: takes the stamp and the word in brackets off each line and prints JSON. */
const AWK = `{ gsub(/\\\\/, "\\\\\\\\"); gsub(/"/, "\\\\\\""); t = $3; gsub(/[][]/, "", t); m = substr($0, index($0, "] ") + 2); printf "{\\"timestamp\\":\\"%sT%sZ\\",\\"tag\\":\\"%s\\",\\"message\\":\\"%s\\"}\\n", $1, $2, t, m }`;

/** Reads files of one router as the agent does, makes JSON lines of a batch and throws them away; resolves with their number. */
async function readAll(
  files: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>,
  archives: ArchivePool,
): Promise<number> {
  let records = 0;
  const source: LogSource = {
    listLogs: () => Promise.resolve([...files.keys()]),
    readLog: (name, _signal, consume) => consume(files.get(name)?.() ?? emptyBody()),
  };
  await tailOnce(
    {
      router: { name: 'plant-7', labels: { site: 'munich' } },
      source,
      records: {
        readPositions: () => new Map(),
        commit: ({ lines }) => {
          records += lines.length;
          // Strings in pieces are none yet: as bytes they count.
          jsonBytes += Buffer.from(lines.join('\n')).length;
        },
      },
      archives,
      clock: createSystemClock(),
      zone: new Zone('Europe/Berlin'),
      isWanted: () => true,
      report: () => {},
    },
    new AbortController().signal,
  );
  return records;
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

async function* repeat(bytes: Uint8Array, times: number): AsyncGenerator<Uint8Array> {
  for (let time = 0; time < times; time++) {
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
  }
}

/** JSON of all readings so far. */
let jsonBytes = 0;

const NAME = 'network/log-2026-11-21-12:00:00.bz2';

interface Contender {
  readonly name: string;
  readonly times: number;
  /** Resolves with seconds of the processor, of all threads. */
  readonly run: () => Promise<number> | number;
}

/** Programs with their arguments, which `bash` runs so that it can tell what of the processor they took. */
const TIMES = /^(\d+\.\d+) (\d+\.\d+)$/m;

function findPrograms(archive: Buffer): Contender[] {
  const pipe = (name: string, ...command: string[]): Contender[] => {
    const [program = ''] = command;
    if (spawnSync(program, ['--version'], { stdio: 'ignore', input: '' }).error) return [];
    const timed = ['-c', `TIMEFORMAT='%3U %3S'; time "$@"`, 'bash', ...command];
    const run = () => {
      const { stderr } = spawnSync('bash', timed, {
        input: archive,
        stdio: ['pipe', 'ignore', 'pipe'],
        encoding: 'utf8',
      });
      const [, user, system] = TIMES.exec(stderr) ?? [];
      return Number(user) + Number(system);
    };
    return [{ name, times: 1, run }];
  };
  const hasAwk = spawnSync('bash', ['-c', 'command -v gawk'], { stdio: 'ignore' }).status === 0;
  const awk = hasAwk ? pipe('`bzcat | gawk` to JSON', 'bash', '-c', `bzcat | gawk '${AWK}'`) : [];
  return [...pipe('`bzip2 -dc`', 'bzip2', '-dc'), ...pipe('`lbzip2 -dc -n2`', 'lbzip2', '-dc', '-n2'), ...awk];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function compareSpeed(archive: Buffer): Promise<void> {
  const file = () => repeat(archive, 1);
  // As in the agent, the threads run already when a file comes.
  await using one = openArchivePool({ workers: 1 });
  await using two = openArchivePool({ workers: 2 });
  const own = (pool: ArchivePool, workers: number, logs: number): Contender => ({
    name: `decode, parse and JSON: ${workers} worker${workers > 1 ? 's' : ''}, ${logs} router${logs > 1 ? 's' : ''}`,
    times: logs,
    run: async () => {
      const before = process.cpuUsage();
      await Promise.all(Array.from({ length: logs }, () => readAll(new Map([[NAME, file]]), pool)));
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1e6;
    },
  });
  const contenders = [...findPrograms(archive), own(one, 1, 1), own(two, 2, 2)];
  const speeds = contenders.map((): number[] => []);
  const costs = contenders.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { run, times }] of contenders.entries()) {
      const start = performance.now();
      const seconds = await run();
      const elapsed = performance.now() - start;
      // The first round warms up.
      if (round === 0) continue;
      speeds[index]?.push((TEXT_BYTES * times) / elapsed / 1000);
      costs[index]?.push(seconds / times);
    }
  }
  print(
    '| From archive to | MB/s of text, median | times the first, median of rounds | processor seconds, median |',
    '|---|---|---|---|',
  );
  for (const [index, { name }] of contenders.entries()) {
    const measured = speeds[index] ?? [];
    const ratio = median(measured.map((speed, round) => speed / (speeds[0]?.[round] ?? Number.NaN)));
    print(
      `| ${name} | ${median(measured).toFixed(1)} | ${ratio.toFixed(2)} | ${median(costs[index] ?? []).toFixed(2)} |`,
    );
  }
}

/** Runs in a process of its own, so that the memory is that of one reading. */
async function measureMemory(archive: Buffer): Promise<void> {
  const times = Math.ceil(LARGE_BYTES / TEXT_BYTES);
  const samples: number[] = [];
  const describeDelay = () => {
    const [half, most, max] = [delay.percentile(50), delay.percentile(99), delay.max].map((ns) =>
      (ns / 1e6).toFixed(1),
    );
    return `p50 ${half} ms, p99 ${most} ms, max ${max} ms`;
  };
  let early = '';
  const watched = async function* () {
    for (let copy = 0; copy < times; copy++) {
      if (copy === DELAY_BYTES / TEXT_BYTES) early = describeDelay();
      yield* repeat(archive, 1);
      samples.push(process.memoryUsage.rss() / 1e6);
    }
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  await using pool = openArchivePool({ workers: 1 });
  const records = await readAll(new Map([[NAME, watched]]), pool);
  const seconds = (performance.now() - start) / 1000;
  delay.disable();
  const at = (share: number) => samples[Math.floor((samples.length - 1) * share)]?.toFixed(0);
  const quarters = [0, 0.25, 0.5, 0.75, 1].map(at).join(', ');
  print(
    `${((times * TEXT_BYTES) / 2 ** 30).toFixed(2)} GiB in one archive: ${records} records in ${seconds.toFixed(1)} s.`,
    `Resident memory at the start, the quarters and the end, MB: ${quarters}.`,
    `Event loop delay: ${early} in the first ${DELAY_BYTES / 1e6} MB, ${describeDelay()} in all.`,
    `${(jsonBytes / 1e9).toFixed(1)} GB of JSON lines.`,
  );
}

if (process.argv[2] === '--memory') await measureMemory(readFileSync(0));
else {
  const archive = execFileSync('bzip2', ['-c'], { input: createLogText(TEXT_BYTES), maxBuffer: TEXT_BYTES });
  print(
    `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node.js ${process.version}; ${TEXT_BYTES / 1e6} MB of log text; ${ROUNDS} rounds.`,
    '',
  );
  await compareSpeed(archive);
  const self = fileURLToPath(import.meta.url);
  print('', execFileSync(process.execPath, [self, '--memory'], { input: archive, encoding: 'utf8' }).trim());
}
