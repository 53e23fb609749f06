/** Runs contenders in turn, so that background load of the machine affects all of them equally. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus, loadavg } from 'node:os';

export interface Contender {
  readonly name: string;
  /** Number of passes over the text in one run. Default: 1. */
  readonly times?: number;
  /** Resolves with the CPU seconds of all threads and processes. */
  readonly run: () => Promise<number>;
}

/** CPU and wall time of a contender in each run. Seconds for one text. */
export interface Result {
  readonly name: string;
  readonly wall: number[];
  readonly processor: number[];
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function print(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Describes the machine and its current load. */
export function describeMachine(): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node.js ${process.version}, load average ${load.join(' ')}`;
}

/** Measures work of this process. */
export async function measureHere(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const TIMES = /^(\d+\.\d+) (\d+\.\d+)$/m;

/** A shell command whose output is discarded; `undefined`, with a message, if a program is missing. */
export async function findCommand(
  name: string,
  programs: readonly string[],
  command: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Contender[]> {
  for (const program of programs) {
    const [code] = (await once(spawn('bash', ['-c', `command -v ${program}`], { stdio: 'ignore' }), 'exit')) as [
      number,
    ];
    if (code === 0) continue;
    print(`Skipped: ${name}, because ${program} is not installed.`);
    return [];
  }
  const run = async () => {
    const script = `TIMEFORMAT='%3U %3S'; time { ${command}; } > /dev/null`;
    const child = spawn('bash', ['-c', script], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    const [, user, system] = TIMES.exec(said) ?? [];
    if (code !== 0 || user === undefined) throw new Error(`${name} ended with ${code}: ${said}`);
    return Number(user) + Number(system);
  };
  return [{ name, run }];
}

/** Runs every contender once per round, after a warm-up round. */
export async function contest(contenders: readonly Contender[], rounds: number): Promise<Result[]> {
  const results = contenders.map(({ name }): Result => ({ name, wall: [], processor: [] }));
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { run, times = 1 }] of contenders.entries()) {
      const start = performance.now();
      const processor = await run();
      const elapsed = (performance.now() - start) / 1000;
      if (round === 0) continue;
      results[index]?.wall.push(elapsed / times);
      results[index]?.processor.push(processor / times);
    }
  }
  return results;
}

/** Prints a table of medians. A ratio is the median of the ratios to the first contender within each round. */
export function printResults(title: string, results: readonly Result[], textBytes: number): void {
  const [first] = results;
  const ratio = (base: readonly number[] = [], own: readonly number[] = []) =>
    median(own.map((seconds, round) => (base[round] ?? Number.NaN) / seconds)).toFixed(2);
  const head = [title, 'MB/s', `times ${first?.name}`, 'processor s', 'processor, times less'];
  print(`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`);
  for (const { name, wall, processor } of results) {
    const cells = [
      name,
      (textBytes / 1e6 / median(wall)).toFixed(1),
      ratio(first?.wall, wall),
      median(processor).toFixed(2),
      ratio(first?.processor, processor),
    ];
    print(`| ${cells.join(' | ')} |`);
  }
}
