/**
 * Measures memory while a log of a gigabyte is read.
 *
 *   npx node bench/memory.ts [MiB of log text, default 1024]
 *
 * Takes three to five minutes, most of them to create the archive, which needs an eighth of the size of the text in the
 * folder for temporary files. Prints Markdown for RESULTS.md. Requires lbzip2 (apt-get install lbzip2) or bzip2.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { openArchivePool } from '../src/logs/index.ts';
import { EmbeddedStore } from '../src/store/index.ts';
import { describeMachine, print } from './contest.ts';
import { createLogBlocks } from './log-text.ts';
import { readLog } from './reading.ts';

const MEBIBYTE = 2 ** 20;
const SAMPLE_BYTES = 64 * MEBIBYTE;
const SINK = 'loki';

async function compress(textBytes: number, file: string): Promise<string> {
  const hasLbzip2 = spawnSync('lbzip2', ['--version'], { stdio: 'ignore' }).error === undefined;
  const program = hasLbzip2 ? 'lbzip2' : 'bzip2';
  const child = spawn(program, ['-c'], { stdio: ['pipe', 'pipe', 'inherit'] });
  await Promise.all([
    pipeline(Readable.from(createLogBlocks(textBytes), { objectMode: false }), child.stdin),
    pipeline(child.stdout, createWriteStream(file)),
  ]);
  return program;
}

/** Bounds of one slice of a sink. */
const BOUNDS = { recordsMax: 5000, bytesMax: MEBIBYTE, isWanted: () => true };

/** Runs in its own process, so that the memory does not include creating the archive. */
async function measure(file: string): Promise<void> {
  await using pool = openArchivePool({ workers: 1 });
  using store = new EmbeddedStore({
    path: `${file}-store`,
    sinks: [{ name: SINK, start: 'oldest' }],
    spoolBytesMax: 2 ** 32,
    now: Date.now,
  });
  const samples: number[] = [];
  let [records, jsonBytes, textBytes] = [0, 0, 0];
  const start = performance.now();
  const cpu = process.cpuUsage();
  await readLog('plant-7', () => createReadStream(file), pool, {
    commit: (commit) => {
      store.commit(commit);
      if ('facts' in commit) return;
      records += commit.lines.length;
      jsonBytes += commit.lines.bytes?.length ?? 0;
      // Every record contains its offset in the log.
      const last = commit.lines.bytes?.subarray(-300);
      textBytes = Number(/"offset":(\d+)/.exec(Buffer.from(last ?? []).toString())?.[1] ?? textBytes);
      // A sink that keeps up; otherwise the spool on disk would grow.
      for (let slice = store.readSlice(SINK, BOUNDS); slice; slice = store.readSlice(SINK, BOUNDS))
        store.acknowledge(SINK, slice.next);
      while (textBytes >= samples.length * SAMPLE_BYTES) samples.push(process.memoryUsage.rss() / 1e6);
    },
  });
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  print(
    `${records} records, ${(jsonBytes / 1e9).toFixed(2)} GB of JSON, in ${seconds.toFixed(0)} s (${((user + system) / 1e6).toFixed(0)} s of the processor); each was packed, committed and read again.`,
    `Resident memory at the start and after each ${SAMPLE_BYTES / MEBIBYTE} MiB of text, MB: ${samples.map((rss) => rss.toFixed(0)).join(', ')}.`,
    `First ${samples[1]?.toFixed(0)} (after ${SAMPLE_BYTES / MEBIBYTE} MiB), last ${samples.at(-1)?.toFixed(0)}, highest ${Math.max(...samples).toFixed(0)}.`,
  );
}

const [first = '1024', file = ''] = process.argv.slice(2);
if (first === '--measure') await measure(file);
else {
  const folder = mkdtempSync(join(tmpdir(), 'memory-'));
  try {
    const archive = join(folder, 'log.bz2');
    const program = await compress(Number(first) * MEBIBYTE, archive);
    const size = (statSync(archive).size / 1e6).toFixed(0);
    print(`${describeMachine()}; ${first} MiB of log text, ${size} MB by ${program}.`, '');
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), '--measure', archive], { stdio: 'inherit' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
