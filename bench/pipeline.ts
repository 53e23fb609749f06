/**
 * How fast do archives become JSON records, against programs that only decompress? What does the event loop feel of it?
 *
 *   npx node bench/pipeline.ts [folder with node_modules of seek-bzip and unbzip2-stream [rounds, default 5]]
 *
 * Takes five to eight minutes. Prints Markdown for RESULTS.md. Wants bash and bzip2; what else is absent is skipped:
 * lbzip2 and gawk (apt-get install lbzip2 gawk), the npm decoders (npm i --prefix <folder> seek-bzip@2.0.0 unbzip2-stream@1.4.3), and the log
 * shippers of log-shippers.ts, which says where they are to be had.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ArchivePool, openArchivePool, type RecordLog } from '../src/logs/index.ts';
import { EmbeddedStore } from '../src/store/index.ts';
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
import { findVersion, type LogShipper, runShipper, SHIPPERS } from './log-shippers.ts';
import { createLogText } from './log-text.ts';
import { cut, findNpmDecoders, type NpmDecoder } from './npm-decoders.ts';
import { readLog } from './reading.ts';
import { watchSteps } from './watch-steps.ts';
import { type AgentArchive, type AgentRun, runAgent, STATUS_MS } from './whole-agent.ts';

const TEXT_BYTES = 25_000_000;
const ROUNDS = Number(process.argv[3] ?? 5);
const DELAY_BYTES = 200_000_000;
const SPOOL_BYTES_MAX = 2 ** 32;
/** Like `bzcat | gawk`: takes the stamp and the word in brackets off each line and prints JSON. */
const AWK = `{ gsub(/\\\\/, "\\\\\\\\"); gsub(/"/, "\\\\\\""); t = $3; gsub(/[][]/, "", t); m = substr($0, index($0, "] ") + 2); printf "{\\"timestamp\\":\\"%sT%sZ\\",\\"tag\\":\\"%s\\",\\"message\\":\\"%s\\"}\\n", $1, $2, t, m }`;
const LINE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) \[([^\]]*)\] (.*)$/;

async function* bodyOf(archive: Buffer): AsyncGenerator<Uint8Array> {
  yield* cut(archive);
}

/** What is usually written first: a decoder of npm, `readline`, a regular expression, `JSON.stringify`. */
function readNaively({ name, decode }: NpmDecoder, archive: Buffer): Contender {
  const work = async () => {
    let bytes = 0;
    for await (const line of createInterface({ input: decode(archive) })) {
      const [, day, time, tag, message] = LINE.exec(line) ?? [];
      bytes += Buffer.byteLength(JSON.stringify({ timestamp: `${day}T${time}Z`, tag, message }));
    }
    if (bytes < TEXT_BYTES) throw new RangeError(`${name} gave only ${bytes} bytes`);
  };
  return { name: `${name}, readline, JSON`, run: () => measureHere(work) };
}

/** What the main thread took of the processor in each run, by the name of the contender: the wall time on free cores is no less. */
const mainThread = new Map<string, number[]>();

/** `logs` routers with a log each, at the same time. */
function readOwn(name: string, pool: ArchivePool, logs: number, archive: Buffer, folder?: string): Contender {
  let runs = 0;
  const work = async () => {
    let jsonBytes = 0;
    // A new one for each run: a spool that nobody empties grows.
    const path = folder === undefined ? undefined : join(folder, `${logs}-${runs++}`);
    using store = path === undefined ? undefined : openStore(path);
    const commit: RecordLog['commit'] = (one) => {
      if ('lines' in one) jsonBytes += one.lines.bytes?.length ?? 0;
      store?.commit(one);
    };
    const routers = Array.from({ length: logs }, (_, index) => `plant-${index}`);
    const before = process.threadCpuUsage();
    await Promise.all(routers.map((router) => readLog(router, () => bodyOf(archive), pool, { commit })));
    const { user, system } = process.threadCpuUsage(before);
    mainThread.set(name, [...(mainThread.get(name) ?? []), (user + system) / 1e6 / logs]);
    if (jsonBytes < TEXT_BYTES * logs) throw new RangeError(`Only ${jsonBytes} bytes of JSON came out`);
    if (path !== undefined) rmSync(path, { recursive: true });
  };
  return { name, times: logs, run: () => measureHere(work) };
}

function openStore(path: string): EmbeddedStore {
  return new EmbeddedStore({
    path,
    sinks: [{ name: 'loki', start: 'oldest' }],
    spoolBytesMax: SPOOL_BYTES_MAX,
    now: Date.now,
  });
}

async function compareSpeed(archive: Buffer, folder: string, peers: string | undefined): Promise<void> {
  const env = { ARCHIVE: join(folder, 'log.bz2'), SCRIPT: join(folder, 'json.awk') };
  writeFileSync(env.ARCHIVE, archive);
  writeFileSync(env.SCRIPT, AWK);
  await using one = openArchivePool({ workers: 1 });
  await using two = openArchivePool({ workers: 2 });
  const bzip2 = 'bzip2 -dc "$ARCHIVE"';
  const [twoBzip2] = await findCommand('two `bzip2 -dc` at a time', ['bzip2'], `${bzip2} & ${bzip2}; wait $!`, env);
  const contenders: Contender[] = [
    ...(await findCommand('`bzip2 -dc`', ['bzip2'], bzip2, env)),
    ...(twoBzip2 ? [{ ...twoBzip2, times: 2 }] : []),
    ...(await findCommand('`lbzip2 -dc -n2`', ['lbzip2'], 'lbzip2 -dc -n2 < "$ARCHIVE"', env)),
    ...(await findCommand('`bzcat \\| gawk` to JSON', ['bzcat', 'gawk'], 'bzcat "$ARCHIVE" | gawk -f "$SCRIPT"', env)),
    ...findNpmDecoders(peers).map((decoder) => readNaively(decoder, archive)),
    readOwn('records: 1 worker, 1 file', one, 1, archive),
    readOwn('records: 2 workers, 2 files', two, 2, archive),
    readOwn('records in the store: 1 worker, 1 file', one, 1, archive, folder),
    readOwn('records in the store: 2 workers, 2 files', two, 2, archive, folder),
  ];
  printResults('From archive to', await contest(contenders, ROUNDS), TEXT_BYTES);
  print('', 'Of these, seconds of the main thread for one file, median; the rest is the threads that decode:');
  for (const [name, seconds] of mainThread) print(`${name}: ${median(seconds.slice(1)).toFixed(2)}`);
}

/** Configurations of the agent that are compared. */
const CONFIGURATIONS: readonly (readonly [string, string])[] = [
  ['as shipped', ''],
  ['with three `redact` patterns', String.raw`redact: ["password=\\S+", "user \\w+", "10(\\.\\d+){3}"]`],
  ['without log rules', 'log_rules: []'],
];

/** What a fresh agent takes first, and what it takes then, compiled by and by: an agent runs for weeks. */
const TURNS = ['', ', the second archive of the same agent', ', the third one'];

/** The whole agent: first byte from local routers to the last record in a file, against programs that only decompress. */
async function compareAgent(archive: Buffer, text: Buffer, folder: string): Promise<void> {
  const env = { ARCHIVE: join(folder, 'log.bz2') };
  const archives = TURNS.map((_, turn) =>
    turn === 0 ? { bytes: archive, lastOffset: lastLineOf(text) } : createArchive(turn),
  );
  // As it is shipped: compiled.
  execFileSync('npm', ['run', 'build'], { cwd: fileURLToPath(new URL('..', import.meta.url)), stdio: 'ignore' });
  const [bzip2] = await findCommand('bzip2', ['bzip2'], 'bzip2 -dc "$ARCHIVE"', env);
  const both = 'lbzip2 -dc -n2 "$ARCHIVE" && lbzip2 -dc -n2 "$ARCHIVE"';
  const [lbzip2] = await findCommand('lbzip2', ['lbzip2'], both, env);
  const head = [
    'Agent',
    'seconds',
    'times',
    'processor s',
    'main thread between two timers p99 ms',
    'max ms',
    'peak RSS MiB',
  ];
  print('', `| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`);
  for (const [routers, peer, peerName] of [
    [1, bzip2, '`bzip2 -dc`'],
    [2, lbzip2, '`lbzip2 -dc -n2`, two archives'],
  ] as const) {
    for (const [name, config] of CONFIGURATIONS) {
      const rounds: AgentRun[][] = [];
      const peerSeconds: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const start = performance.now();
        await peer?.run();
        peerSeconds.push((performance.now() - start) / 1000);
        rounds.push(await runAgent({ archives, routers, config }));
      }
      for (const [turn, turnName] of TURNS.entries()) {
        const runs = rounds.flatMap((round) => round[turn] ?? []);
        const times = peer ? `${toTimes(runs, peerSeconds)} of ${peerName} (${median(peerSeconds).toFixed(2)} s)` : '';
        const title = `${routers === 1 ? 'one archive' : 'two archives, two routers'}, ${name}${turnName}`;
        print(`| ${[title, ...describeRuns(runs, times)].join(' | ')} |`);
      }
    }
  }
  for (const routers of [1, 2]) await comparePolls(archives, routers);
  const lastLine = text.toString('latin1', lastLineOf(text)).trimEnd();
  for (const shipper of SHIPPERS) await compareShipper(shipper, env.ARCHIVE, lastLine);
}

/** Other routers: enough that some are due at any time. */
const OTHERS = 20;

/** Whether other routers are polled on time while archives are read. */
async function comparePolls(archives: readonly AgentArchive[], routers: number): Promise<void> {
  const rounds: AgentRun[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(...(await runAgent({ archives, routers, others: OTHERS })));
  }
  const describe = (gapsMs: readonly number[]) => {
    const sorted = gapsMs.toSorted((one, other) => one - other);
    const [middle, late, last] = [0.5, 0.99, 1].map((share) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
    return `${sorted.length} polls, ms from one to the next: median ${middle?.toFixed(0)}, p99 ${late?.toFixed(0)}, most ${last?.toFixed(0)}`;
  };
  const [busy, quiet] = [({ pollGapsMs }: AgentRun) => pollGapsMs, ({ quietGapsMs }: AgentRun) => quietGapsMs];
  print('', `${OTHERS} other routers, polled every ${STATUS_MS} ms, beside ${routers} with archives:`);
  print(`while these are read: ${describe(rounds.flatMap(busy))}`);
  print(`before: ${describe(rounds.flatMap(quiet))}`);
}

function createArchive(part: number): AgentArchive {
  const whole = createLogText(TEXT_BYTES, part);
  // What is behind the last line end might be taken for the rest of the line before.
  const text = whole.subarray(0, whole.lastIndexOf('\n') + 1);
  const bytes = execFileSync('bzip2', ['-c'], { input: text, maxBuffer: TEXT_BYTES });
  return { bytes, lastOffset: lastLineOf(text) };
}

function lastLineOf(text: Buffer): number {
  return text.lastIndexOf('\n', text.length - 2) + 1;
}

function toTimes(runs: readonly AgentRun[], peerSeconds: readonly number[]): string {
  return (median(runs.map(({ seconds }) => seconds)) / median(peerSeconds)).toFixed(2);
}

function describeRuns(runs: readonly AgentRun[], times: string): string[] {
  const of = (pick: (run: AgentRun) => number, digits = 2) => median(runs.map(pick)).toFixed(digits);
  return [
    of(({ seconds }) => seconds),
    times,
    of(({ processorSeconds }) => processorSeconds),
    of(({ p99Ms }) => p99Ms, 1),
    of(({ maxMs }) => maxMs, 1),
    of(({ peakMiB }) => peakMiB, 0),
  ];
}

/** A row of the table of agents. */
async function compareShipper(shipper: LogShipper, archive: string, lastLine: string): Promise<void> {
  const version = findVersion(shipper);
  if (version === undefined) {
    print('', `Skipped: ${shipper.name} is not in PATH (${shipper.source}).`);
    return;
  }
  const runs: Awaited<ReturnType<typeof runShipper>>[] = [];
  for (let round = 0; round < ROUNDS; round++) runs.push(await runShipper(shipper, archive, lastLine));
  const [seconds, processor] = [runs.map((run) => run.seconds), runs.map((run) => run.processorSeconds)];
  const name = `one archive, \`bzcat\` to ${shipper.name} ${version}, JSON in a file (no uid, no zone, no labels, no rules)`;
  print(`| ${name} | ${median(seconds).toFixed(2)} | | ${median(processor).toFixed(2)} | | | |`);
}

/** Runs in a process of its own. Without workers it only waits, which shows what the machine does to everybody. */
async function measureDelay(workers: number, file: string): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const end = watchSteps();
  const step = () => {
    const { p99Ms, maxMs } = end();
    return [p99Ms, maxMs].map((ms) => ms.toFixed(1));
  };
  const describe = () =>
    [delay.percentile(50), delay.percentile(99), delay.percentile(99.9), delay.max].map((ns) => (ns / 1e6).toFixed(1));
  if (workers === 0) {
    process.on('message', () => {
      print(`| the same seconds, a process that does nothing | | ${[...describe(), ...step()].join(' | ')} |`);
      process.disconnect();
    });
    delay.enable();
    return;
  }
  const archive = readFileSync(file);
  const times = DELAY_BYTES / TEXT_BYTES / workers;
  await using pool = openArchivePool({ workers });
  using store = openStore(`${file}-${workers}-workers`);
  delay.enable();
  const start = performance.now();
  const readAll = async (router: string) => {
    for (let time = 0; time < times; time++) {
      await readLog(`${router}-${time}`, () => bodyOf(archive), pool, { commit: (one) => store.commit(one) });
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, index) => readAll(`plant-${index}`)));
  const elapsed = (performance.now() - start) / 1000;
  delay.disable();
  print(`| ${workers} | ${(DELAY_BYTES / 1e6 / elapsed).toFixed(1)} | ${[...describe(), ...step()].join(' | ')} |`);
}

const self = fileURLToPath(import.meta.url);
const [mode, argument = '0', file = ''] = process.argv.slice(2);
if (mode === '--delay') await measureDelay(Number(argument), file);
else {
  const folder = mkdtempSync(join(tmpdir(), 'pipeline-'));
  try {
    const text = createLogText(TEXT_BYTES);
    const archive = execFileSync('bzip2', ['-c'], { input: text, maxBuffer: TEXT_BYTES });
    const sizes = `${TEXT_BYTES / 1e6} MB of log text, ${(archive.length / 1e6).toFixed(1)} MB compressed; ${ROUNDS} rounds`;
    print(`${describeMachine()}; ${sizes}.`, '');
    await compareSpeed(archive, folder, mode);
    await compareAgent(archive, text, folder);
    print(
      '',
      `${describeMachine()}.`,
      '',
      `${DELAY_BYTES / 1e6} MB into the store, as many files at a time as workers:`,
      '',
    );
    const delays = ['Event loop delay p50 ms', 'p99 ms', 'p99.9 ms', 'max ms'];
    const head = ['Workers', 'MB/s', ...delays, 'of the processor between two timers p99 ms', 'max ms'];
    print(`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`);
    for (const workers of [1, 2]) {
      const idle = spawn(process.execPath, [self, '--delay', '0'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      await once(idle, 'spawn');
      print(
        execFileSync(process.execPath, [self, '--delay', `${workers}`, join(folder, 'log.bz2')], {
          encoding: 'utf8',
        }).trim(),
      );
      idle.send('done');
      await once(idle, 'exit');
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
