/**
 * What does a look at one log cost that has one new line: a listing, one `current` of 40 KB, one commit? Without the wire.
 *
 *   npx node bench/look.ts [folder of another checkout, to compare in turn, or - [rounds, default 7]]
 *
 * Takes half a minute. Prints Markdown for RESULTS.md. Another checkout without log rules in the form of this one (before
 * the `LineMatcher`) is measured without them.
 */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSystemClock, packLines } from '../src/base/index.ts';
import type { EmbeddedStore } from '../src/store/index.ts';
import { SqliteFile } from '../src/store/sqlite-file.ts';
import { describeMachine, median, print } from './contest.ts';
import { createLogText } from './log-text.ts';

type Logs = typeof import('../src/logs/index.ts');

const CURRENT_BYTES = 40_000;
const LOOKS = 100;
const ROUTERS = 5;
const ROUNDS = Number(process.argv[3] ?? 7);
const CHUNK_BYTES = 16 * 1024;
const text = createLogText(CURRENT_BYTES + LOOKS * 200);

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.slice(from, from + CHUNK_BYTES);
}

/** The end of the line that holds the byte before `offset`. */
function lineEnd(offset: number): number {
  return text.indexOf('\n', offset - 1) + 1;
}

/** Reads what has come to the log of a router line by line; returns the time of one look. Microseconds of the processor. */
async function look(logs: Logs, store: EmbeddedStore, router: string, hasRules: boolean): Promise<number> {
  await using archives = logs.openArchivePool({ workers: 1 });
  let end = lineEnd(CURRENT_BYTES);
  let records = 0;
  const matcher = hasRules ? new logs.LineMatcher(logs.SHIPPED_RULES) : undefined;
  const options = {
    router: { name: router, labels: { site: 'munich' } },
    source: {
      listLogs: () => Promise.resolve(['network/current']),
      readLog: <T>(_: string, __: AbortSignal, consume: (body: AsyncIterable<Uint8Array>) => Promise<T>) =>
        consume(bodyOf(text.subarray(0, end))),
    },
    records: {
      readPositions: (name: string) => store.readPositions(name),
      readFacts: (name: string) => store.readFacts?.(name),
      commit: (...commits: Parameters<EmbeddedStore['commit']>) => {
        for (const one of commits) if ('lines' in one) records += one.lines.length;
        store.commit(...commits);
      },
    },
    archives,
    clock: createSystemClock(),
    zone: new logs.Zone('Europe/Berlin'),
    memory: new logs.FollowMemory(),
    isWanted: () => true,
    ...(matcher && { matcher }),
    report: (event: { readonly type: string; readonly cause?: unknown }) => {
      if (event.type === 'log-failed') throw event.cause;
    },
  };
  const { signal } = new AbortController();
  await logs.followOnce(options, signal);
  const before = process.threadCpuUsage();
  const first = records;
  for (let count = 0; count < LOOKS; count++) {
    end = lineEnd(end + 1);
    await logs.followOnce(options, signal);
  }
  const { user, system } = process.threadCpuUsage(before);
  if (records - first < LOOKS) throw new RangeError(`Only ${records - first} new lines became records`);
  return (user + system) / LOOKS;
}

const RECORD = JSON.stringify({ router: 'plant-7', uid: 'x'.repeat(26), message: 'x'.repeat(200) });
const POSITION = 'x'.repeat(600);

/**
 * The least that a look needs, whatever the program: every byte of the file is hashed, because a router without ranges sends all
 * of them and any may have changed, one record is packed, and position and record are stored in one transaction.
 */
function openLeast(path: string): () => Promise<number> {
  const file = new SqliteFile(path, 1000);
  file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  file.exec(
    'CREATE TABLE log (name TEXT PRIMARY KEY, position TEXT); CREATE TABLE batch (id INTEGER PRIMARY KEY, body BLOB)',
  );
  return async () => {
    const before = process.threadCpuUsage();
    for (let count = 0; count < LOOKS; count++) {
      hash('sha256', text.subarray(0, CURRENT_BYTES), 'buffer');
      const body = packLines([RECORD]);
      file.transact(() => {
        file.run('INSERT INTO log VALUES (?, ?) ON CONFLICT DO UPDATE SET position = excluded.position', 'a', POSITION);
        file.run('INSERT INTO batch (body) VALUES (?)', body);
      });
    }
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / LOOKS;
  };
}

async function open(root: string, folder: string) {
  const logs = (await import(join(root, 'src/logs/index.ts'))) as Logs;
  const { EmbeddedStore: Store } = (await import(join(root, 'src/store/index.ts'))) as {
    EmbeddedStore: typeof EmbeddedStore;
  };
  const store = new Store({
    path: folder,
    sinks: [{ name: 'out', start: 'oldest' }],
    spoolBytesMax: 2 ** 32,
    now: Date.now,
  });
  return { logs, store };
}

const own = fileURLToPath(new URL('..', import.meta.url));
const other = process.argv[2] === '-' ? undefined : process.argv[2];
const folder = mkdtempSync(join(tmpdir(), 'look-'));
const contenders: { readonly name: string; readonly run: (router: string) => Promise<number> }[] = [];
for (const [name, root] of [['this checkout', own], ...(other === undefined ? [] : [[other, other]])] as const) {
  const { logs, store } = await open(root, join(folder, `${contenders.length}`));
  contenders.push({ name: `${name}, without log rules`, run: (router) => look(logs, store, `${router}-a`, false) });
  if ('LineMatcher' in logs) {
    contenders.push({ name: `${name}, as shipped`, run: (router) => look(logs, store, `${router}-b`, true) });
  }
}
contenders.push({
  name: 'hash of the file, one packed record, one transaction',
  run: openLeast(join(folder, 'least.db')),
});
const figures = contenders.map((): number[] => []);
for (let round = 0; round <= ROUNDS; round++) {
  for (let router = 0; router < ROUTERS; router++) {
    for (const [index, { run }] of contenders.entries()) {
      const us = await run(`plant-${round}-${router}`);
      if (round > 0) figures[index]?.push(us);
    }
  }
}
print(`${describeMachine()}; ${ROUNDS * ROUTERS} times ${LOOKS} looks.`, '');
print('| A look at one log with one new line | processor µs, median | fastest |', '|---|---|---|');
for (const [index, { name }] of contenders.entries()) {
  const all = figures[index] ?? [];
  print(`| ${name} | ${median(all).toFixed(0)} | ${Math.min(...all).toFixed(0)} |`);
}
rmSync(folder, { recursive: true });
