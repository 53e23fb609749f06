import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import {
  type ArchivePool,
  FollowMemory,
  type FollowOptions,
  followOnce,
  type LogEvent,
  type LogSource,
  openArchivePool,
  type RecordLog,
  Zone,
} from '../../src/logs/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type SimulatedRouter, type SimulatorOptions, startSimulator } from '../../src/simulator/index.ts';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
/** A Saturday noon without a change of summer time near it. */
export const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);

/** Positions and records in memory, both or neither. */
export class MemoryLog implements RecordLog {
  readonly positions = new Map<string, string>();
  facts: string | undefined;
  readonly lines: string[] = [];

  readPositions(): ReadonlyMap<string, string> {
    return new Map(this.positions);
  }

  readFacts(): string | undefined {
    return this.facts;
  }

  forgetLogs(_router: string, components: readonly string[]): void {
    for (const component of components) this.positions.delete(component);
  }

  commit(...commits: Parameters<RecordLog['commit']>): void {
    for (const commit of commits) {
      if ('facts' in commit) this.facts = commit.facts;
      else {
        this.positions.set(commit.component, commit.position);
        this.lines.push(...commit.lines);
      }
    }
  }
}

export type RunOptions = Partial<Omit<FollowOptions, 'archives'>>;

/** Runs over the logs of one router, each when the test says so. */
export class LogReader {
  readonly log = new MemoryLog();
  readonly events: LogEvent[] = [];
  memory = new FollowMemory();
  readonly #source: LogSource;
  readonly #archives: ArchivePool;
  readonly #options: RunOptions & { readonly clock: SteppedClock };

  constructor(source: LogSource, archives: ArchivePool, options: RunOptions & { readonly clock: SteppedClock }) {
    this.#source = source;
    this.#archives = archives;
    this.#options = options;
  }

  /** Reads once; resolves with the records that this run made. */
  async run(options: RunOptions = {}, signal = new AbortController().signal): Promise<LogRecord[]> {
    const before = this.log.lines.length;
    await followOnce(
      {
        router: { name: 'plant-7', labels: {} },
        source: this.#source,
        records: this.log,
        archives: this.#archives,
        zone: new Zone('Europe/Berlin'),
        isWanted: () => true,
        report: (event) => this.events.push(event),
        memory: this.memory,
        ...this.#options,
        ...options,
      },
      signal,
    );
    return this.log.lines.slice(before).map((line) => JSON.parse(line) as LogRecord);
  }

  /** As many runs as it takes to go so far, half a minute between two. */
  async runsFor(durationMs: number): Promise<LogRecord[]> {
    const records: LogRecord[] = [];
    for (let passed = 0; passed < durationMs; passed += 30 * SECOND_MS) {
      await this.#options.clock.advance(30 * SECOND_MS);
      records.push(...(await this.run()));
    }
    return records;
  }

  /** All records so far. */
  get records(): LogRecord[] {
    return this.log.lines.map((line) => JSON.parse(line) as LogRecord);
  }

  /** Another process, on the same state. */
  restart(): void {
    this.memory = new FollowMemory();
  }

  /** How often this was reported. */
  count(type: LogEvent['type']): number {
    return this.events.filter((event) => event.type === type).length;
  }
}

export interface LogBench extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly router: SimulatedRouter;
  readonly reader: LogReader;
  readonly client: RouterClient;
  /** A reader of the same router that knows nothing of what the first one has read. */
  createReader(options?: RunOptions): LogReader;
  /** Writes lines `line <from>` up to before `to`. */
  write(from: number, to: number, component?: string): void;
}

/** A router that takes 40 s to compress an archive: a run 30 s after a rotation finds it cut in the middle. */
export const SLOW_ARCHIVES = { logs: { compressionMs: 40 * SECOND_MS } } as const;

/**
 * Reads lines up to before 2000, rotates those up to before 2100 unread, and takes a run that meets the archive cut.
 * Resolves with the records of that run.
 */
export async function readUnfinishedArchive(bench: LogBench): Promise<LogRecord[]> {
  bench.write(0, 2000);
  await bench.reader.run();
  bench.write(2000, 2100);
  bench.router.rotate('network', 'after');
  await bench.clock.advance(30 * SECOND_MS);
  return await bench.reader.run();
}

/** A simulated router over plain HTTP and a reader of its logs, on one stepped clock. */
export async function openLogBench(
  options: {
    readonly simulator?: Partial<SimulatorOptions>;
    readonly runs?: RunOptions;
    readonly startMs?: number;
  } = {},
): Promise<LogBench> {
  const clock = createSteppedClock(options.startMs ?? START_MS);
  const simulator = await startSimulator({ routers: 1, clock, seed: 7, plainHttp: true, ...options.simulator });
  const [router] = simulator.routers;
  if (!router) throw new RangeError('There is no router');
  const archives = openArchivePool({ workers: 1 });
  const client = new RouterClient({ url: router.url, username: 'monitor', password: 'simulated', clock });
  const readers: LogReader[] = [];
  const createReader = (runs: RunOptions = {}) => {
    const reader = new LogReader(client, archives, { ...options.runs, ...runs, clock });
    readers.push(reader);
    return reader;
  };
  return {
    clock,
    router,
    client,
    reader: createReader(),
    createReader,
    write(from, to, component = 'network') {
      for (let line = from; line < to; line++) router.appendLog(component, `line ${line}`);
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await archives.close();
      await simulator.close();
      expectGoldenRecords(readers);
    },
  };
}

/** Records of a reader that a golden file holds word by word; of more, the first and last ones and the digest of all. */
const GOLDEN_RECORDS_MAX = 8;

/** Compares all records of a test with those of the golden file next to it. A test that fails earlier fails with its own words. */
function expectGoldenRecords(readers: readonly LogReader[]): void {
  const golden = readers.map(({ log: { lines } }) =>
    lines.length <= GOLDEN_RECORDS_MAX
      ? lines
      : [
          ...lines.slice(0, GOLDEN_RECORDS_MAX / 2),
          `${lines.length} records, SHA-256 ${hash('sha256', lines.join('\n'))}`,
          ...lines.slice(-GOLDEN_RECORDS_MAX / 2),
        ],
  );
  expect(golden).toMatchSnapshot('records');
}

/** A log that comes before all others, and whose files show that each begins in the second in which the one before ends. */
export const LINKED_LOG: readonly (readonly [string, string])[] = [
  ['audit/log-2026-11-20-08:00:00.bz2', '2026-11-20 08:30:00 [a] one\n2026-11-20 08:45:00 [a] two\n'],
  ['audit/log-2026-11-20-08:30:00.bz2', '2026-11-20 09:00:00 [a] three\n2026-11-20 09:15:00 [a] four\n'],
  ['audit/current', '2026-11-20 09:30:00 [a] five\n'],
];

/** Files as a router might have them, for what no simulated one would write. */
export async function openFileBench(files: Map<string, Buffer | string>, runs: RunOptions = {}) {
  const clock = createSteppedClock(START_MS);
  const archives = openArchivePool({ workers: 1 });
  const asked: string[] = [];
  /** Errors with which files are refused, by name. */
  const refusals = new Map<string, unknown>();
  const source: LogSource = {
    listLogs: () => Promise.resolve([...files.keys()]),
    readLog(name, _signal, consume) {
      asked.push(name);
      if (refusals.has(name)) return Promise.reject(refusals.get(name));
      const content = files.get(name) ?? '';
      return consume(
        (async function* () {
          yield Buffer.from(content);
        })(),
      );
    },
  };
  const reader = new LogReader(source, archives, { ...runs, clock });
  return {
    clock,
    files,
    asked,
    refusals,
    reader,
    async [Symbol.asyncDispose]() {
      await archives.close();
      expectGoldenRecords([reader]);
    },
  };
}

export const jumpsOf = (records: readonly LogRecord[]) => records.filter(({ event }) => event === 'log.clock_jump');
export const messagesOf = (records: readonly LogRecord[]) => records.map(({ message }) => message);
export const linesOf = (records: readonly LogRecord[]) => records.filter(({ event }) => event === undefined);
export const gapsOf = (records: readonly LogRecord[]) => records.filter(({ event }) => event === 'log.gap');
export const lineNames = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `line ${from + index}`);
