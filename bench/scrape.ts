/**
 * Measures a scrape of a large fleet, compared with prom-client.
 *
 *   npx node bench/scrape.ts
 *
 * Takes about a minute. Prints Markdown for RESULTS.md. Both render the same series in every round; the results are
 * medians over the rounds.
 */
import { once } from 'node:events';
import { cpus } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { FAMILIES, fillExposition, fillRegistry, SAMPLES_PER_FAMILY } from './scrape-series.ts';

const ROUTERS = [100, 1000, 5000] as const;
const ROUNDS = 5;

async function drain(chunks: Iterable<string>, isCompressed: boolean): Promise<number> {
  let bytes = 0;
  const source = Readable.from(chunks);
  const stream = isCompressed ? source.pipe(createGzip({ level: 1 })) : source;
  stream.on('data', (chunk: string | Buffer) => {
    bytes += chunk.length;
  });
  await once(stream, 'end');
  return bytes;
}

async function measure(work: () => Promise<number>): Promise<{ ms: number; stallMs: number; bytes: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  // The histogram notices a stall at its next timer, so one must run before and one after.
  await setTimeout(5);
  const start = performance.now();
  const bytes = await work();
  const ms = performance.now() - start;
  await setTimeout(5);
  delay.disable();
  return { ms, stallMs: delay.max / 1e6, bytes };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

print(`${cpus().length} x ${cpus()[0]?.model}, Node.js ${process.version}; ${ROUNDS} rounds.`, '');
print(
  '| Series | Format | prom-client ms | FleetExposition ms | times as fast | longest stall ms, prom-client / ours | MB |',
  '|---|---|---|---|---|---|---|',
);
for (const routers of ROUTERS) {
  const exposition = fillExposition(routers);
  const registry = fillRegistry(routers);
  for (const isCompressed of [false, true]) {
    const theirs: { ms: number; stallMs: number }[] = [];
    const ours: { ms: number; stallMs: number; bytes: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const their = await measure(async () => drain([await registry.metrics()], isCompressed));
      const our = await measure(() => drain(exposition.render('text', 0), isCompressed));
      // The first round warms up.
      if (round === 0) continue;
      theirs.push(their);
      ours.push(our);
    }
    const pick = (of: readonly { ms: number; stallMs: number }[], key: 'ms' | 'stallMs') =>
      median(of.map((one) => one[key]));
    const ratio = median(theirs.map(({ ms }, round) => ms / (ours[round]?.ms ?? Number.NaN)));
    const cells = [
      (routers * FAMILIES * SAMPLES_PER_FAMILY).toLocaleString('en'),
      isCompressed ? 'gzip' : 'plain',
      pick(theirs, 'ms').toFixed(0),
      pick(ours, 'ms').toFixed(0),
      ratio.toFixed(1),
      `${pick(theirs, 'stallMs').toFixed(0)} / ${pick(ours, 'stallMs').toFixed(0)}`,
      ((ours[0]?.bytes ?? 0) / 1e6).toFixed(1),
    ];
    print(`| ${cells.join(' | ')} |`);
  }
}
