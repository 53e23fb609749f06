import {
  collectSlice,
  type LogChoice,
  type SinkStart,
  type Slice,
  type SliceBounds,
  type SpoolCursor,
  type StoredBatch,
} from '../model/index.ts';
import { SinkCursors } from './sink-cursors.ts';
import { type BatchEntry, type LogCount, SpoolBatches, type SpoolTotals } from './spool-batches.ts';
import type { SqliteFile } from './sqlite-file.ts';

export class DamagedBatch {
  readonly entry: BatchEntry;
  constructor(entry: BatchEntry) {
    this.entry = entry;
  }
}

/** Unwanted batches skipped in one call, which takes about 20 ms. */
const PASSED_MAX = 2000;
/** Limits of the batches moved to another store at a time: a commit on a slow line must end within the time limit of a request. */
const TAKEN_MAX = 200;
const TAKEN_BYTES_MAX = 1024 * 1024;
const NOTHING: SpoolTotals = { records: 0, bytes: 0 };

/**
 * The records of an open database on their way to the sinks, with their totals.
 *
 * ```
 *   batches:  … dropped │ kept: every sink has them, some may get them again │ waiting: some sink still needs them
 *                       └ the lowest batch of `taken` and `repeat`           └ the lowest cursor
 * ```
 */
export class SpoolTable {
  readonly #batches: SpoolBatches;
  readonly #cursors: SinkCursors;
  readonly #backlogs = new Map<string, Backlog>();
  #waitingFrom = 0;
  #waiting = new WaitingRecords();
  #kept = NOTHING;

  constructor(file: SqliteFile) {
    this.#batches = new SpoolBatches(file);
    this.#cursors = new SinkCursors(file);
    this.#measure();
  }

  get totals(): SpoolTotals {
    return this.#waiting.totals;
  }

  bytesOf(router: string): number {
    return this.#waiting.bytesOf(router);
  }

  get newest(): number {
    return this.#batches.newest;
  }

  /** Records that every sink has and some may replay, and their bytes as stored. */
  get kept(): SpoolTotals {
    return this.#kept;
  }

  /**
   * Adds a batch. Call inside a transaction; call the returned function after commit to update the totals. `lines`: the
   * records as bytes, for the cache.
   */
  append(entry: Omit<BatchEntry, 'seq' | 'bytes'>, body: Uint8Array, lines?: Buffer): () => void {
    const { router, component, records } = entry;
    const batch = this.#batches.append(entry, body);
    return () => {
      if (lines && this.#backlogs.size > 0) this.#batches.unpacked.keep(batch, records, lines);
      this.#waiting.add(router, { records, bytes: body.length });
      for (const backlog of this.#backlogs.values()) backlog.add({ router, component, records });
    };
  }

  /** Removes a batch. Call inside a transaction; call the returned function after commit to update the totals. */
  remove(entry: BatchEntry): () => void {
    const holders = this.#cursors.listWaiting(entry.seq);
    this.#batches.remove(entry.seq);
    return () => {
      if (entry.seq < this.#waitingFrom) this.#kept = subtract(this.#kept, entry);
      else this.#waiting.subtract(entry.router, entry);
      this.#batches.unpacked.forget(entry.seq);
      for (const sink of holders) this.#backlogs.get(sink)?.add({ ...entry, records: -entry.records });
    };
  }

  /** Sets the sinks that have a cursor. Call inside a transaction; call the returned function after commit. */
  setSinks(sinks: readonly SinkStart[]): () => void {
    this.#cursors.setSinks(sinks, this.#batches.newest + 1);
    // Records that only a removed sink needed would otherwise fill the spool until another sink makes progress.
    const settle = this.#dropDelivered();
    return () => {
      settle();
      // A new sink may start at records that the others already have.
      this.#measure();
      const names = new Set(sinks.map(({ name }) => name));
      for (const sink of this.#backlogs.keys()) if (!names.has(sink)) this.#backlogs.delete(sink);
      this.#countBacklogs([...names].filter((name) => !this.#backlogs.has(name)));
    };
  }

  /** Advances a cursor, or the redelivery of a sink. Call inside a transaction; call the returned function after commit. */
  acknowledge(sink: string, cursor: SpoolCursor, nowMs: number): () => void {
    const from = this.cursorOf(sink);
    if (!this.#cursors.advance(sink, cursor, nowMs)) return () => {};
    // A redelivery does not move the cursor.
    const passed = this.#batches.countLogs(from.batch, this.cursorOf(sink).batch);
    const settle = this.#dropDelivered();
    return () => {
      settle();
      const backlog = this.#backlogs.get(sink);
      for (const log of passed) backlog?.add({ ...log, records: -log.records });
    };
  }

  repeat(sink: string, endedMs: number | undefined): void {
    this.#cursors.repeat(sink, endedMs);
  }

  /**
   * Drops `bytes` of the records that every sink has, oldest first. Call inside a transaction; call the returned function
   * after commit.
   */
  dropKept(bytes: number): () => void {
    let dropped = NOTHING;
    let next = 0;
    for (const entry of this.#batches.from(0)) {
      if (dropped.bytes >= bytes || entry.seq >= this.#waitingFrom) break;
      dropped = add(dropped, entry);
      next = entry.seq + 1;
    }
    this.#batches.removeBefore(next);
    this.#cursors.raiseFloor(next);
    return () => {
      this.#kept = subtract(this.#kept, dropped);
      this.#batches.unpacked.forgetBefore(next);
    };
  }

  get sinks(): readonly string[] {
    return this.#cursors.names;
  }

  get waitingFrom(): number {
    return this.#cursors.waitingFrom;
  }

  beginSinks(names: readonly string[]): void {
    this.#cursors.begin(names, this.#cursors.lowest === undefined ? 0 : this.#batches.newest + 1);
    this.#measure();
  }

  /** Returns batches from `from` on that a sink still needs or gets again, as stored; at most about a megabyte. */
  takeWaiting(from: number): readonly StoredBatch[] {
    const taken: StoredBatch[] = [];
    let bytes = 0;
    for (const entry of this.#batches.from(Math.max(from, this.waitingFrom))) {
      const body = this.#batches.readBody(entry.seq) ?? new Uint8Array();
      bytes += body.length;
      if (taken.length > 0 && (bytes > TAKEN_BYTES_MAX || taken.length === TAKEN_MAX)) break;
      taken.push({ ...entry, body });
    }
    return taken;
  }

  cursorOf(sink: string): SpoolCursor {
    return this.#cursors.of(sink);
  }

  /** Returns the next records for a sink, `undefined` if it has everything, or the damaged batch in front of them. */
  readSlice(sink: string, bounds: SliceBounds): Slice<SpoolCursor> | DamagedBatch | undefined {
    const place = { cursor: this.cursorOf(sink), pass: this.#cursors.passOf(sink) };
    let damaged: BatchEntry | undefined;
    const slice = collectSlice(
      {
        batches: this.#batches.from((place.pass ?? place.cursor).batch),
        isComplete: true,
        skippedMax: PASSED_MAX,
        linesOf: (entry) => {
          const lines = this.#batches.use(entry);
          if (!lines) damaged = entry;
          return lines && { lines };
        },
      },
      place,
      { ...bounds, isWanted: withUnknown(bounds.isWanted) },
    );
    if (damaged && slice?.lines.length === 0) return new DamagedBatch(damaged);
    return slice;
  }

  /** Lists other sinks than these with the records that they have yet to acknowledge. */
  listGone(sinks: readonly SinkStart[]): { readonly sink: string; readonly records: number }[] {
    const gone = this.#cursors.names.filter((sink) => !sinks.some(({ name }) => name === sink));
    this.#countBacklogs(gone);
    return gone.flatMap((sink) => {
      const records = this.countWaiting(sink, () => true);
      return records > 0 ? [{ sink, records }] : [];
    });
  }

  countWaiting(sink: string, isWanted: LogChoice): number {
    const count = this.#backlogs.get(sink)?.count(withUnknown(isWanted));
    if (!count) return 0;
    const { batch, index } = this.cursorOf(sink);
    if (index === 0) return count;
    const head = this.#batches.find(batch);
    return head && withUnknown(isWanted)(head.router, head.component) ? count - index : count;
  }

  /**
   * Returns the commit time of the oldest batch that a sink still needs. Examines a limited number of batches; beyond that,
   * the next batch counts.
   */
  oldestWaitingMs(sink: string, isWanted: LogChoice): number | undefined {
    const counts = withUnknown(isWanted);
    let passed = 0;
    for (const { router, component, committedMs } of this.#batches.from(this.cursorOf(sink).batch)) {
      if (counts(router, component) || passed++ === PASSED_MAX) return committedMs;
    }
    return undefined;
  }

  #countBacklogs(sinks: readonly string[]): void {
    // Sinks often have the same cursor, and this count is the slowest part of a start after an outage.
    const counted = new Map<number, readonly LogCount[]>();
    for (const sink of sinks) {
      const { batch } = this.cursorOf(sink);
      const logs = counted.get(batch) ?? this.#batches.countLogs(batch);
      counted.set(batch, logs);
      const backlog = new Backlog();
      for (const log of logs) backlog.add(log);
      this.#backlogs.set(sink, backlog);
    }
  }

  /** Drops the batches that every sink has and none may replay; does nothing without sinks. */
  #dropDelivered(): () => void {
    const lowest = this.#cursors.lowest;
    if (lowest === undefined) return () => {};
    const settled = this.#batches.sumRouters(this.#waitingFrom, lowest);
    const floor = Math.min(this.#cursors.floor ?? lowest, lowest);
    const dropped = this.#batches.sumBefore(floor);
    this.#batches.removeBefore(floor);
    return () => {
      this.#waitingFrom = lowest;
      for (const [router, totals] of settled) {
        this.#waiting.subtract(router, totals);
        this.#kept = add(this.#kept, totals);
      }
      this.#kept = subtract(this.#kept, dropped);
      this.#batches.unpacked.forgetBefore(floor);
    };
  }

  #measure(): void {
    this.#waitingFrom = this.#cursors.lowest ?? 0;
    this.#waiting = new WaitingRecords();
    const waiting = this.#batches.sumRouters(this.#waitingFrom);
    for (const [router, totals] of waiting) this.#waiting.add(router, totals);
    this.#kept = this.#batches.sumBefore(this.#waitingFrom);
  }
}

function withUnknown(isWanted: LogChoice): LogChoice {
  return (router, component) => router === '' || isWanted(router, component);
}

function add(one: SpoolTotals, other: SpoolTotals): SpoolTotals {
  return { records: one.records + other.records, bytes: one.bytes + other.bytes };
}

function subtract(one: SpoolTotals, other: SpoolTotals): SpoolTotals {
  return { records: one.records - other.records, bytes: one.bytes - other.bytes };
}

class WaitingRecords {
  readonly #bytes = new Map<string, number>();
  #totals = NOTHING;

  get totals(): SpoolTotals {
    return this.#totals;
  }

  bytesOf(router: string): number {
    return this.#bytes.get(router) ?? 0;
  }

  add(router: string, totals: SpoolTotals): void {
    this.#totals = add(this.#totals, totals);
    this.#bytes.set(router, this.bytesOf(router) + totals.bytes);
  }

  subtract(router: string, totals: SpoolTotals): void {
    this.#totals = subtract(this.#totals, totals);
    const bytes = this.bytesOf(router) - totals.bytes;
    if (bytes > 0) this.#bytes.set(router, bytes);
    else this.#bytes.delete(router);
  }
}

/**
 * Counts the records that a sink still needs, per log, in whole batches. Kept in memory, because metrics read it often and a
 * long outage leaves millions of batches.
 */
class Backlog {
  readonly #logs = new Map<string, LogCount>();

  /** A negative number subtracts. */
  add({ router, component, records }: LogCount): void {
    const key = `${router}\n${component}`;
    const sum = (this.#logs.get(key)?.records ?? 0) + records;
    if (sum > 0) this.#logs.set(key, { router, component, records: sum });
    else this.#logs.delete(key);
  }

  count(isWanted: (router: string, component: string) => boolean): number {
    let records = 0;
    for (const log of this.#logs.values()) if (isWanted(log.router, log.component)) records += log.records;
    return records;
  }
}
