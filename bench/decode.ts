/**
 * How fast are archives decoded, and does the event loop feel it?
 *
 *   npx node bench/decode.ts [folder with node_modules of seek-bzip and unbzip2-stream]
 *
 * Takes about a minute. Prints Markdown for RESULTS.md. Programs and packages that are absent are left out. All decoders
 * of one table run in turn, in every round, and the medians are of rounds: the machine is rarely quiet.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Bzip2Workspace } from '../src/logs/archive/bzip2/workspace.ts';
import { Bzip2Decoder, openArchivePool } from '../src/logs/archive/index.ts';
import { createLogText } from './log-text.ts';

const TEXT_BYTES = 25_000_000;
const ROUNDS = 5;
const LOG_FILE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const LIMITS = { outputBytesMax: 2 ** 31 };

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}

async function* sourceOf(bytes: Uint8Array, times = 1): AsyncGenerator<Uint8Array> {
  for (let time = 0; time < times; time++) yield* chunksOf(bytes);
}

async function countBytes(items: AsyncIterable<unknown>): Promise<number> {
  let bytes = 0;
  for await (const item of items) if (item instanceof Uint8Array) bytes += item.length;
  return bytes;
}

/** For streams older than asynchronous iteration. */
function countStream(stream: NodeJS.ReadableStream): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    stream.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
    });
    stream.on('end', () => resolve(bytes));
    stream.on('error', reject);
  });
}

const workspace = new Bzip2Workspace();

function decodeHere(archive: Uint8Array): number {
  const decoder = new Bzip2Decoder(LIMITS, workspace);
  let bytes = 0;
  const drain = () => {
    for (let item = decoder.read(); item !== undefined; item = decoder.read()) {
      if (item instanceof Uint8Array) bytes += item.length;
    }
  };
  for (const chunk of chunksOf(archive)) {
    decoder.push(chunk);
    drain();
  }
  decoder.end();
  drain();
  return bytes;
}

interface Contender {
  readonly name: string;
  /** Decodes and returns how many bytes came out, if it knows. */
  readonly run: () => number | undefined | Promise<number>;
}

function findProgram(name: string, args: readonly string[], archive: Buffer): Contender[] {
  if (spawnSync(name, ['--help'], { stdio: 'ignore' }).error) return [];
  const options = { input: archive, stdio: ['pipe', 'ignore', 'inherit'] } as const;
  const run = () => {
    execFileSync(name, args, { ...options, stdio: [...options.stdio] });
    return undefined;
  };
  return [{ name: `\`${[name, ...args].join(' ')}\``, run }];
}

function findPackages(folder: string | undefined, archive: Buffer): Contender[] {
  if (folder === undefined) return [];
  const require = createRequire(`${folder}/`);
  // Names in variables: they are no dependencies of this project.
  const [seekName, unbzip2Name] = ['seek-bzip', 'unbzip2-stream'] as const;
  const seek = require(seekName) as { decode(input: Buffer): Buffer };
  const unbzip2 = require(unbzip2Name) as () => NodeJS.ReadWriteStream;
  return [
    { name: 'npm `seek-bzip`', run: () => seek.decode(archive).length },
    { name: 'npm `unbzip2-stream`', run: () => countStream(Readable.from(chunksOf(archive)).pipe(unbzip2())) },
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function measureMs(run: Contender['run'], expected: number): Promise<number> {
  const start = performance.now();
  const bytes = await run();
  const elapsed = performance.now() - start;
  if (bytes !== undefined && bytes !== expected) throw new RangeError(`${bytes} bytes came out, not ${expected}`);
  return elapsed;
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function compareSpeed(archive: Buffer, peers: string | undefined): Promise<void> {
  await using one = openArchivePool({ workers: 1 });
  await using two = openArchivePool({ workers: 2 });
  const reference = findProgram('bzip2', ['-dc'], archive);
  const contenders: (Contender & { readonly times?: number })[] = [
    ...reference,
    ...findProgram('lbzip2', ['-dc', '-n1'], archive),
    ...findProgram('lbzip2', ['-dc', '-n2'], archive),
    ...findPackages(peers, archive),
    { name: '`Bzip2Decoder`, this thread', run: () => decodeHere(archive) },
    { name: 'pool, 1 worker, 1 file', run: () => countBytes(one.decode(sourceOf(archive), LIMITS)) },
    {
      name: 'pool, 2 workers, 2 files',
      times: 2,
      run: async () => {
        const both = await Promise.all([1, 2].map(() => countBytes(two.decode(sourceOf(archive), LIMITS))));
        return both.reduce((sum, bytes) => sum + bytes, 0);
      },
    },
  ];
  const speeds = contenders.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { run, times = 1 }] of contenders.entries()) {
      const elapsed = await measureMs(run, TEXT_BYTES * times);
      // The first round warms up.
      if (round > 0) speeds[index]?.push((TEXT_BYTES * times) / elapsed / 1000);
    }
  }
  const bases = reference.length > 0 ? speeds[0] : undefined;
  print('| Decoder | MB/s out, median | times `bzip2 -dc`, median of rounds |', '|---|---|---|');
  for (const [index, { name }] of contenders.entries()) {
    const own = speeds[index] ?? [];
    const ratio = median(own.map((speed, round) => speed / (bases?.[round] ?? Number.NaN)));
    print(`| ${name} | ${median(own).toFixed(1)} | ${ratio.toFixed(2)} |`);
  }
}

async function measureSmallFiles(text: Buffer): Promise<void> {
  const archive = execFileSync('bzip2', ['-c'], { input: text.subarray(0, LOG_FILE_BYTES) });
  await using pool = openArchivePool({ workers: 1 });
  const times: number[] = [];
  for (let file = 0; file < 60; file++) {
    times.push(await measureMs(() => countBytes(pool.decode(sourceOf(archive), LIMITS)), LOG_FILE_BYTES));
  }
  print('', `A log file of 1 MiB (${archive.length} bytes compressed), one after the other through the pool:`);
  print(`first ${times[0]?.toFixed(1)} ms (the thread starts), then median ${median(times.slice(10)).toFixed(1)} ms.`);
}

/** The most memory that this process has held. Not from `resourceUsage`, which counts that of the parent too. */
function readPeakMegabytes(): string {
  try {
    const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return ((Number(kibibytes) * 1024) / 1e6).toFixed(0);
  } catch {
    return 'unknown';
  }
}

function toMs(nanoseconds: number): string {
  return (nanoseconds / 1e6).toFixed(1);
}

/** Runs in a process of its own, so that the peak memory is that of the pool. */
async function measurePool(workers: number, archive: Buffer): Promise<void> {
  const files = workers;
  const times = 200_000_000 / TEXT_BYTES / files;
  const idleMegabytes = readPeakMegabytes();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await using pool = openArchivePool({ workers });
  delay.enable();
  const start = performance.now();
  await Promise.all(Array.from({ length: files }, () => countBytes(pool.decode(sourceOf(archive, times), LIMITS))));
  const elapsed = performance.now() - start;
  delay.disable();
  const cells = [workers, (200_000 / elapsed).toFixed(1), toMs(delay.percentile(50)), toMs(delay.percentile(99))];
  print(`| ${[...cells, toMs(delay.max), idleMegabytes, readPeakMegabytes()].join(' | ')} |`);
}

const self = fileURLToPath(import.meta.url);
const [mode, argument] = process.argv.slice(2);
if (mode === '--pool') {
  await measurePool(Number(argument), readFileSync(0));
} else {
  const text = createLogText(TEXT_BYTES);
  const archive = execFileSync('bzip2', ['-c'], { input: text, maxBuffer: TEXT_BYTES });
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node.js ${process.version}`;
  print(
    `${machine}; ${TEXT_BYTES / 1e6} MB of log text, ${(archive.length / 1e6).toFixed(1)} MB compressed; ${ROUNDS} rounds.`,
    '',
  );
  await compareSpeed(archive, mode);
  await measureSmallFiles(text);
  print('', '200 MB through the pool, as many files at a time as workers:', '');
  print('| Workers | MB/s out | Event loop delay p50 ms | p99 ms | max ms | Peak RSS before, MB | Peak RSS, MB |');
  print('|---|---|---|---|---|---|---|');
  for (const workers of [1, 2]) {
    print(execFileSync(process.execPath, [self, '--pool', `${workers}`], { input: archive, encoding: 'utf8' }).trim());
  }
}
