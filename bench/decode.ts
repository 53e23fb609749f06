/**
 * How fast are archives decoded, and does the event loop feel it?
 *
 *   npx node bench/decode.ts [folder with node_modules of seek-bzip and unbzip2-stream]
 *
 * Takes one to three minutes. Prints Markdown for RESULTS.md. Wants bash and bzip2; what else is absent is skipped:
 * lbzip2 (apt-get install lbzip2), the npm decoders (npm i --prefix <folder> seek-bzip@2.0.0 unbzip2-stream@1.4.3).
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Bzip2Workspace } from '../src/logs/archive/bzip2/workspace.ts';
import { type ArchivePool, Bzip2Decoder, openArchivePool } from '../src/logs/archive/index.ts';
import {
  type Contender,
  contest,
  describeMachine,
  findCommand,
  measureHere,
  median,
  print,
  printResults,
} from './contest.ts';
import { createLogText } from './log-text.ts';
import { cut, findNpmDecoders } from './npm-decoders.ts';

const TEXT_BYTES = 25_000_000;
const ROUNDS = 7;
const LOG_FILE_BYTES = 1024 * 1024;
const LIMITS = { outputBytesMax: 2 ** 31 };

async function* sourceOf(bytes: Uint8Array, times = 1): AsyncGenerator<Uint8Array> {
  for (let time = 0; time < times; time++) yield* cut(bytes);
}

/** Throws unless as many bytes come out as there should. */
async function expectBytes(items: AsyncIterable<unknown>, expected: number): Promise<void> {
  let bytes = 0;
  for await (const item of items) if (item instanceof Uint8Array) bytes += item.length;
  if (bytes !== expected) throw new RangeError(`${bytes} bytes came out, not ${expected}`);
}

const workspace = new Bzip2Workspace();

async function* decodeHere(archive: Uint8Array): AsyncGenerator {
  const decoder = new Bzip2Decoder(LIMITS, workspace);
  for (const chunk of cut(archive)) {
    decoder.push(chunk);
    for (let item = decoder.read(); item !== undefined; item = decoder.read()) yield item;
  }
  decoder.end();
  for (let item = decoder.read(); item !== undefined; item = decoder.read()) yield item;
}

function decodeInPool(pool: ArchivePool, archive: Uint8Array): Promise<void> {
  return expectBytes(pool.decode(sourceOf(archive), LIMITS), TEXT_BYTES);
}

async function compareSpeed(archive: Buffer, folder: string, peers: string | undefined): Promise<void> {
  const env = { ARCHIVE: join(folder, 'log.bz2') };
  writeFileSync(env.ARCHIVE, archive);
  await using one = openArchivePool({ workers: 1 });
  await using two = openArchivePool({ workers: 2 });
  const contenders: Contender[] = [
    ...(await findCommand('`bzip2 -dc`', ['bzip2'], 'bzip2 -dc "$ARCHIVE"', env)),
    ...(await findCommand('`lbzip2 -dc -n1`', ['lbzip2'], 'lbzip2 -dc -n1 < "$ARCHIVE"', env)),
    ...(await findCommand('`lbzip2 -dc -n2`', ['lbzip2'], 'lbzip2 -dc -n2 < "$ARCHIVE"', env)),
    ...findNpmDecoders(peers).map(({ name, decode }) => ({
      name,
      run: () => measureHere(() => expectBytes(decode(archive), TEXT_BYTES)),
    })),
    {
      name: '`Bzip2Decoder`, this thread',
      run: () => measureHere(() => expectBytes(decodeHere(archive), TEXT_BYTES)),
    },
    { name: 'pool, 1 worker, 1 file', run: () => measureHere(() => decodeInPool(one, archive)) },
    {
      name: 'pool, 2 workers, 2 files',
      times: 2,
      run: () => measureHere(() => Promise.all([decodeInPool(two, archive), decodeInPool(two, archive)])),
    },
  ];
  printResults('Decoder', await contest(contenders, ROUNDS), TEXT_BYTES);
}

async function measureSmallFiles(text: Buffer): Promise<void> {
  const archive = execFileSync('bzip2', ['-c'], { input: text.subarray(0, LOG_FILE_BYTES) });
  await using pool = openArchivePool({ workers: 1 });
  const times: number[] = [];
  for (let file = 0; file < 60; file++) {
    const start = performance.now();
    await expectBytes(pool.decode(sourceOf(archive), LIMITS), LOG_FILE_BYTES);
    times.push(performance.now() - start);
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
  const times = 200_000_000 / TEXT_BYTES / workers;
  const idleMegabytes = readPeakMegabytes();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await using pool = openArchivePool({ workers });
  delay.enable();
  const start = performance.now();
  const decodeOne = () => expectBytes(pool.decode(sourceOf(archive, times), LIMITS), TEXT_BYTES * times);
  await Promise.all(Array.from({ length: workers }, decodeOne));
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
  const folder = mkdtempSync(join(tmpdir(), 'decode-'));
  try {
    const text = createLogText(TEXT_BYTES);
    const archive = execFileSync('bzip2', ['-c'], { input: text, maxBuffer: TEXT_BYTES });
    const sizes = `${TEXT_BYTES / 1e6} MB of log text, ${(archive.length / 1e6).toFixed(1)} MB compressed; ${ROUNDS} rounds`;
    print(`${describeMachine()}; ${sizes}.`, '');
    await compareSpeed(archive, folder, mode);
    await measureSmallFiles(text);
    print('', `${describeMachine()}. 200 MB through the pool, as many files at a time as workers:`, '');
    print('| Workers | MB/s out | Event loop delay p50 ms | p99 ms | max ms | Peak RSS before, MB | Peak RSS, MB |');
    print('|---|---|---|---|---|---|---|');
    for (const workers of [1, 2]) {
      print(
        execFileSync(process.execPath, [self, '--pool', `${workers}`], { input: archive, encoding: 'utf8' }).trim(),
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
