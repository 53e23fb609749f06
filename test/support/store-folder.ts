import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { createSeededRandom } from '../../src/base/index.ts';
import { type SinkStart, type SliceBounds, StoreError } from '../../src/model/index.ts';
import { DeadLetterStore, EmbeddedStore, type EmbeddedStoreOptions } from '../../src/store/index.ts';

/** A folder for one test, and the stores in it. */
export interface StoreFolder extends AsyncDisposable {
  readonly path: string;
  /** File of the embedded store. */
  readonly database: string;
  /** File of the dead letters. */
  readonly deadLetters: string;
  open(
    options?: Partial<Omit<EmbeddedStoreOptions, 'sinks'>> & { sinks?: readonly (string | SinkStart)[] },
  ): EmbeddedStore;
  openDeadLetters(options?: Partial<ConstructorParameters<typeof DeadLetterStore>[0]>): DeadLetterStore;
}

const ROOM_BYTES = 64 * 1024 * 1024;
/** Wall time of stores that are told none. */
export const NOW_MS = Date.UTC(2026, 10, 21);

export async function createStoreFolder(): Promise<StoreFolder> {
  const path = await mkdtemp(join(tmpdir(), 'router-exporter-store-'));
  return {
    path,
    database: join(path, 'router-exporter.db'),
    deadLetters: join(path, 'dead-letters.db'),
    open: ({ sinks = ['a'], ...options } = {}) =>
      new EmbeddedStore({ path, sinks: toStarts(sinks), spoolBytesMax: ROOM_BYTES, now: () => NOW_MS, ...options }),
    openDeadLetters: (options = {}) => new DeadLetterStore({ path, now: () => NOW_MS, ...options }),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** Sinks that begin at the oldest record, where nothing else is said. */
export function toStarts(sinks: readonly (string | SinkStart)[]): SinkStart[] {
  return sinks.map((sink) => (typeof sink === 'string' ? { name: sink, start: 'oldest' } : sink));
}

export function commitOf(lines: readonly string[], position = 'p', component = 'network', router = 'plant-7') {
  return { router, component, position, lines };
}

/** Lines that cannot be compressed much. */
export function noisyLines(count: number, seed = 1): string[] {
  const random = createSeededRandom(seed);
  return Array.from({ length: count }, () => Array.from({ length: 8 }, () => random().toString(36)).join(''));
}

/** The error that `work` throws. */
export function thrownBy(work: () => unknown): StoreError {
  try {
    work();
  } catch (cause) {
    if (cause instanceof StoreError) return cause;
    throw cause;
  }
  throw new TypeError('Nothing was thrown');
}

export function readSlice(store: EmbeddedStore, sink: string, bounds: Partial<SliceBounds> = {}) {
  const slice = store.readSlice(sink, { recordsMax: 5000, bytesMax: 1024 * 1024, isWanted: () => true, ...bounds });
  if (!slice) return undefined;
  return { ...slice, lines: slice.lines.map(({ text }) => text) };
}

/** Reads and acknowledges everything that is left for a sink. */
export function drain(store: EmbeddedStore, sink: string, bounds: Partial<SliceBounds> = {}): string[] {
  const lines: string[] = [];
  for (let slice = readSlice(store, sink, bounds); slice; slice = readSlice(store, sink, bounds)) {
    lines.push(...slice.lines);
    store.acknowledge(sink, slice.next);
  }
  return lines;
}

/** Runs SQL on a database that nothing has open; gives the rows of the last statement. */
export function runSql(file: string, sql: string, query?: string): Record<string, SQLOutputValue>[] {
  using database = new DatabaseSync(file);
  database.exec(sql);
  return query === undefined ? [] : database.prepare(query).all();
}

/** Overwrites the page from which the tree of `table` grows. */
export async function destroyTree(file: string, table: string): Promise<void> {
  const [row] = runSql(file, '', `SELECT rootpage FROM sqlite_schema WHERE name = '${table}'`);
  const bytes = await readFile(file);
  const start = (Number(row?.['rootpage']) - 1) * 4096;
  await writeFile(file, bytes.fill(0xff, start, start + 4096));
}
