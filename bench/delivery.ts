/**
 * Measures the throughput from records to the spool and from the spool to sinks, the size on disk, and the CPU time.
 *
 *   npx node bench/delivery.ts [rounds, 5] [--nats]
 *
 * `--nats` measures only NATS.
 * For comparison: `cat` of the same lines to a file, and a simple Node.js program that reads lines with readline, parses
 * and renders each, and writes them to a stream. NATS needs `nats-server` on the path.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createSystemClock } from '../src/base/index.ts';
import { DeliveryWorker, OutgoingRecord, type Sink } from '../src/sinks/index.ts';
import { DeadLetterStore, EmbeddedStore } from '../src/store/index.ts';
import { createTestSink } from '../test/support/sinks/create-sink.ts';
import {
  type Contender,
  contest,
  describeMachine,
  findCommand,
  measureHere,
  median,
  print,
  type Result,
} from './contest.ts';

const RECORDS = 200_000;
/** Fewer for NATS, which in one of its modes acknowledges every record separately. */
const NATS_RECORDS = 50_000;
/** Number of logs, number of records, and the time of a message to the server. Milliseconds. */
const NATS_TRIALS = [
  [9, NATS_RECORDS, 0],
  [20, NATS_RECORDS, 0],
  [9, 5000, 10],
] as const;
/** The defaults of the sink. */
const NATS_BATCH = { recordsMax: 1000, bytesMax: 1024 * 1024, waitMs: 0 };
/** What a stream allows, and how the sink publishes then. */
const NATS_MODES = {
  'one record of each log at a time': {},
  'atomic batches': { allow_atomic: true },
};
const BATCH_RECORDS = 1000;
const LOGS = 20;
const NATS_PORT = 14_222;
const HTTP_PORT = 14_223;
const RECEIVER = `require('node:http').createServer((q, r) => q.resume().on('end', () => r.writeHead(204).end())).listen(${HTTP_PORT}, '127.0.0.1', () => console.log('ready'))`;

const [rounds = '5'] = process.argv.slice(2).filter((word) => word !== '--nats');
const isNatsAlone = process.argv.includes('--nats');
const clock = createSystemClock();
const never = new AbortController().signal;
const batch = { recordsMax: 5000, bytesMax: 1024 * 1024, waitMs: 0 };
const folder = mkdtempSync(join(tmpdir(), 'delivery-'));

function renderRecord(index: number, logs: number): string {
  const second = new Date(1_700_000_000_000 + index * 40).toISOString().slice(0, 19);
  return JSON.stringify({
    timestamp: `${second}.${String(index % 1e9).padStart(9, '0')}Z`,
    observed_timestamp: '2026-11-21T12:00:00.000Z',
    router: `plant-${index % logs}`,
    component: 'network',
    tag: 'wan',
    message: `signal quality rsrp -${70 + (index % 50)} dBm rsrq -${5 + (index % 15)} dB sinr ${(index * 7919) % 30} cell ${(index * 104729) % 99991}`,
    uid: `k7d2m4q2x4t5h7ca-${index.toString(36).padStart(8, '0')}`,
    file: 'network/current',
    offset: index * 90,
    labels: { site: 'munich' },
  });
}

/** Yields commits as `logs` makes them: batches of one log, logs in turn. */
function* createCommits(count: number, logs = LOGS) {
  for (let start = 0; start < count; start += BATCH_RECORDS) {
    const lines = Array.from({ length: Math.min(BATCH_RECORDS, count - start) }, (_, index) =>
      renderRecord(start + index, logs),
    );
    yield { router: `plant-${(start / BATCH_RECORDS) % logs}`, component: 'network', position: String(start), lines };
  }
}

function openStore(path: string, sinks: readonly string[]): EmbeddedStore {
  return new EmbeddedStore({
    path,
    sinks: sinks.map((name) => ({ name, start: 'oldest' })),
    spoolBytesMax: 2 ** 32,
    now: Date.now,
  });
}

/** A sink that gets all records once per round. The store sees a new sink in each round. */
function toContender(
  name: string,
  store: EmbeddedStore,
  letters: DeadLetterStore,
  create: (name: string) => Sink,
  warmUp: (sink: Sink) => Promise<unknown> = async () => {},
): Contender {
  let round = 0;
  const run = () =>
    measureHere(async () => {
      const sink = create(`${name} ${round++}`);
      await warmUp(sink);
      const worker = new DeliveryWorker({
        sink,
        spool: store,
        deadLetters: letters,
        clock,
        isWanted: () => true,
        report: () => {},
      });
      while ((await worker.step(never)) !== 'idle');
      await sink.close();
    });
  return { name, run };
}

function printSinks(results: readonly Result[], records: number, bytes: number): void {
  print('', '| To | records/s | MB/s of JSON | processor s per million records |', '|---|---|---|---|');
  for (const { name, wall, processor } of results) {
    const seconds = median(wall);
    const cells = [
      (records / seconds).toFixed(0),
      (bytes / 1e6 / seconds).toFixed(0),
      ((median(processor) / records) * 1e6).toFixed(2),
    ];
    print(`| ${name} | ${cells.join(' | ')} |`);
  }
}

async function compareCommits(
  commits: readonly Parameters<EmbeddedStore['commit']>[0][],
  bytes: number,
): Promise<void> {
  let round = 0;
  const run = () =>
    measureHere(() => {
      using store = openStore(join(folder, `commit-${round++}`), ['a']);
      for (const commit of commits) store.commit(commit);
    });
  const results = await contest([{ name: `the spool, ${BATCH_RECORDS} records a commit`, run }], Number(rounds));
  printSinks(results, RECORDS, bytes);
  using store = openStore(join(folder, 'commit-0'), ['a']);
  const onDisk = statSync(join(folder, 'commit-0', 'router-exporter.db')).size;
  print(
    '',
    `On disk: ${(store.spooled.bytes / RECORDS).toFixed(1)} bytes a record in the spool (${(bytes / RECORDS).toFixed(0)} as JSON), ${(onDisk / RECORDS).toFixed(1)} in the file of the database.`,
  );
}

async function compareSinks(commits: readonly Parameters<EmbeddedStore['commit']>[0][], text: string): Promise<void> {
  const names = ['`stdout`, to /dev/null', '`file`, fsync batch', '`file`, fsync never', '`http`'];
  const all = names.flatMap((name) => Array.from({ length: Number(rounds) + 1 }, (_, round) => `${name} ${round}`));
  using store = openStore(join(folder, 'sinks'), all);
  using letters = new DeadLetterStore({ path: join(folder, 'sinks'), now: Date.now });
  for (const commit of commits) store.commit(commit);
  const [stdout = '', batchFile = '', file = '', http = ''] = names;
  const common = (name: string) => ({ name, batch, clock });
  const toFile = (fsync: 'batch' | 'never') => (name: string) =>
    createTestSink(
      'file',
      { path: join(folder, `${fsync}.jsonl`), max_size: '1GiB', keep: 1, compress: 'none', fsync },
      common(name),
    );
  const lines = join(folder, 'lines.jsonl');
  writeFileSync(lines, text);
  const naive = () =>
    measureHere(async () => {
      const output = createWriteStream(join(folder, 'naive.jsonl'));
      for await (const line of createInterface({ input: createReadStream(lines) })) {
        if (!output.write(`${JSON.stringify(JSON.parse(line))}\n`)) await once(output, 'drain');
      }
      await finished(output.end());
    });
  const results = await contest(
    [
      toContender(stdout, store, letters, (name) =>
        createTestSink('stdout', {}, { ...common(name), stdout: createWriteStream('/dev/null') }),
      ),
      toContender(batchFile, store, letters, toFile('batch')),
      toContender(file, store, letters, toFile('never')),
      toContender(http, store, letters, (name) =>
        createTestSink('http', { url: `http://127.0.0.1:${HTTP_PORT}/` }, common(name)),
      ),
      { name: 'readline, JSON and a stream, from a file', run: naive },
      ...(await findCommand('`cat` to a file', ['cat'], 'cat "$LINES" > "$COPY"', {
        LINES: lines,
        COPY: `${lines}.copy`,
      })),
    ],
    Number(rounds),
  );
  printSinks(results, RECORDS, text.length);
}

async function compareNats(): Promise<void> {
  const connection = await connect({ port: NATS_PORT });
  const { streams } = await jetstreamManager(connection);
  for (const [logs, records, delayMs] of NATS_TRIALS) {
    const line = delayMs > 0 ? await openLongLine(NATS_PORT, delayMs) : undefined;
    const commits = [...createCommits(records, logs)];
    const place = `${logs} logs${line ? `, ${2 * delayMs} ms to the server and back` : ''}`;
    const contenders = Object.entries(NATS_MODES).map(([mode, config]) => ({ name: `${mode}, ${place}`, config }));
    const names = contenders.flatMap(({ name }) =>
      Array.from({ length: Number(rounds) + 1 }, (_, round) => `${name} ${round}`),
    );
    const path = join(folder, `nats-${logs}-${delayMs}`);
    using store = openStore(path, names);
    using letters = new DeadLetterStore({ path, now: Date.now });
    for (const commit of commits) store.commit(commit);
    const create = (name: string) =>
      createTestSink(
        'nats',
        { servers: [`nats://127.0.0.1:${line?.port ?? NATS_PORT}`] },
        { name, batch: NATS_BATCH, clock },
      );
    // The first delivery of a sink is one by one in every mode.
    const warmUp = (sink: Sink) => sink.deliver([new OutgoingRecord(renderRecord(records, logs))], never);
    const results = await contest(
      contenders.map(({ name, config }) => {
        const contender = toContender(name, store, letters, create, warmUp);
        const run = async () => {
          // With a new stream the ids of the round before are no repeats.
          await streams.add({ name: 'LOGS', subjects: ['logs.>'], ...config });
          const seconds = await contender.run();
          const { state } = await streams.info('LOGS');
          if (state.messages !== records + 1) throw new Error(`${name}: ${state.messages} messages are stored`);
          await streams.delete('LOGS');
          return seconds;
        };
        return { name, run };
      }),
      Number(rounds),
    );
    const bytes = commits.flatMap(({ lines }) => lines).join('\n').length;
    printSinks(results, records, bytes);
    line?.close();
  }
  await connection.close();
}

/** A line to a port of this machine on which everything takes `delayMs` in each direction. */
async function openLongLine(target: number, delayMs: number) {
  const server = createServer((near) => {
    const far = connectTo(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay().on('error', () => {});
      from.on('data', (chunk) => void setTimeout(() => to.writable && to.write(chunk), delayMs));
      from.on('close', () => void setTimeout(() => to.end(), delayMs));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

const children = [
  spawn(process.execPath, ['-e', RECEIVER], { stdio: ['ignore', 'pipe', 'inherit'] }),
  spawn('nats-server', ['-a', '127.0.0.1', '-p', String(NATS_PORT), '-js', '-sd', join(folder, 'jetstream')], {
    stdio: 'ignore',
  }),
];
try {
  const [receiver, nats] = children;
  const hasNats = await new Promise<boolean>((resolve) => {
    nats?.once('spawn', () => resolve(true)).once('error', () => resolve(false));
  });
  if (receiver?.stdout) await once(receiver.stdout, 'data');
  print(`${describeMachine()}; ${rounds} rounds, medians.`);
  if (!isNatsAlone) {
    const commits = [...createCommits(RECORDS)];
    const text = `${commits.flatMap(({ lines }) => lines).join('\n')}\n`;
    print(`${RECORDS} records, ${(text.length / 1e6).toFixed(0)} MB of JSON.`);
    await compareCommits(commits, text.length);
    await compareSinks(commits, text);
  }
  if (hasNats) await compareNats();
  else print('Skipped: nats, because nats-server is not installed.');
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
