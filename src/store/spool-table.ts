import type { Slice, SliceBounds } from '../model/index.ts';
import { Backlog, type LogCount } from './backlog.ts';
import { ReplayTable } from './replay-table.ts';
import { isBefore, type SpoolCursor, UnpackedBatches } from './spool-batch.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

/** A configured sink, and where it starts if it is new: at the oldest spooled record, or after the newest. */
export interface SinkStart {
  readonly name: string;
  readonly start: 'oldest' | 'newest';
  /** Period whose records may be redelivered, because the sink may lose what it took. Milliseconds; default 0: none. */
  readonly replayMs?: number | undefined;
}

/** Returns true if a sink wants a log. Batches of the previous format, whose log is unknown, are always wanted. */
export type LogChoice = (router: string, component: string) => boolean;

/** Metadata of a batch. */
export interface BatchEntry {
  readonly id: number;
  /** Empty for a batch of the previous format. */
  readonly router: string;
  readonly component: string;
  readonly committedMs: number;
  readonly records: number;
  readonly bytes: number;
}

/** Number and size of records. */
export interface SpoolTotals {
  readonly records: number;
  /** Compressed size. */
  readonly bytes: number;
}

/** A batch whose body does not contain what was put into it. */
export class DamagedBatch {
  readonly entry: BatchEntry;
  constructor(entry: BatchEntry) {
    this.entry = entry;
  }
}

/** Number of entries read at a time: few at first, because one batch often fills a slice. */
const ENTRIES_MIN = 16;
const ENTRIES_MAX = 1024;
/** Limit of the unwanted batches skipped in one call, which takes about 20 ms. */
const PASSED_MAX = 2000;
const START: SpoolCursor = { batch: 0, index: 0 };
const NOTHING: SpoolTotals = { records: 0, bytes: 0 };

/**
 * The tables `spool`, `batch` and `cursor` of an open database, and what they add up to.
 *
 * ```
 *   batches:  … dropped │ kept: every sink has them, some may get them again │ waiting: not every sink has them
 *                       └ the lowest batch of `taken` and `repeat`           └ the lowest cursor
 * ```
 */
export class SpoolTable {
  readonly #file: SqliteFile;
  readonly #unpacked = new UnpackedBatches();
  readonly #backlogs = new Map<string, Backlog>();
  readonly #replays: ReplayTable;
  /** The lowest cursor. */
  #waitingFrom = 0;
  #waiting = NOTHING;
  #kept = NOTHING;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#replays = new ReplayTable(file);
    this.#measure();
  }

  /** Records that at least one sink has yet to get, and their compressed bytes. */
  get totals(): SpoolTotals {
    return this.#waiting;
  }

  /** Records that every sink has and some may replay, and their compressed bytes. */
  get kept(): SpoolTotals {
    return this.#kept;
  }

  /** Adds a batch. Call inside a transaction; call the returned function after commit to update the totals. */
  append(entry: Omit<BatchEntry, 'id' | 'bytes'>, body: Uint8Array): () => void {
    const { router, component, records, committedMs } = entry;
    const { lastId } = this.#file.run('INSERT INTO spool (records, body) VALUES (?, ?)', records, body);
    this.#file.run(
      'INSERT INTO batch (id, router, component, committed_ms, records, bytes) VALUES (?, ?, ?, ?, ?, ?)',
      lastId,
      router,
      component,
      committedMs,
      records,
      body.length,
    );
    return () => {
      this.#waiting = add(this.#waiting, { records, bytes: body.length });
      for (const backlog of this.#backlogs.values()) backlog.add({ router, component, records });
    };
  }

  /** Removes a batch. Call inside a transaction; call the returned function after commit to update the totals. */
  remove(entry: BatchEntry): () => void {
    const holders = this.#file.all('SELECT sink FROM cursor WHERE batch <= ?', entry.id);
    this.#file.run('DELETE FROM spool WHERE batch = ?', entry.id);
    this.#file.run('DELETE FROM batch WHERE id = ?', entry.id);
    return () => {
      if (entry.id < this.#waitingFrom) this.#kept = subtract(this.#kept, entry);
      else this.#waiting = subtract(this.#waiting, entry);
      this.#unpacked.forget(entry.id);
      for (const { sink } of holders) this.#backlogs.get(String(sink))?.add({ ...entry, records: -entry.records });
    };
  }

  /** Sets the sinks that have a cursor. Call inside a transaction; call the returned function after commit. */
  setSinks(sinks: readonly SinkStart[]): () => void {
    const names = new Set(sinks.map(({ name }) => name));
    for (const row of this.#file.all('SELECT sink FROM cursor')) {
      const sink = String(row['sink']);
      if (!names.has(sink)) this.#file.run('DELETE FROM cursor WHERE sink = ?', sink);
    }
    for (const { name, start } of sinks) {
      const batch = start === 'newest' ? this.#newest() + 1 : START.batch;
      this.#file.run('INSERT INTO cursor (sink, batch, idx) VALUES (?, ?, 0) ON CONFLICT DO NOTHING', name, batch);
    }
    this.#replays.setSinks(
      new Map(sinks.flatMap(({ name, replayMs = 0 }) => (replayMs > 0 ? [[name, replayMs] as const] : []))),
    );
    // Records for which only a removed sink was waiting would otherwise fill the spool until another sink makes
    // progress.
    const settle = this.#dropDelivered();
    return () => {
      settle();
      // A new sink may start at records that the others already have.
      this.#measure();
      for (const sink of this.#backlogs.keys()) if (!names.has(sink)) this.#backlogs.delete(sink);
      this.#countBacklogs([...names].filter((name) => !this.#backlogs.has(name)));
    };
  }

  /**
   * Advances a cursor, or the redelivery of a sink. Call inside a transaction; call the returned function after commit.
   */
  acknowledge(sink: string, cursor: SpoolCursor, nowMs: number): () => void {
    const from = this.cursorOf(sink);
    const pass = this.#replays.passOf(sink);
    if (pass) {
      this.#replays.advance(sink, pass, cursor, from, nowMs);
      return this.#dropDelivered();
    }
    if (!isBefore(from, cursor)) return () => {};
    const { changes } = this.#file.run(
      'UPDATE cursor SET batch = ?, idx = ? WHERE sink = ?',
      cursor.batch,
      cursor.index,
      sink,
    );
    if (changes > 0) this.#replays.recordTaken(sink, from, nowMs);
    const passed = this.#countLogs('id >= ? AND id < ?', from.batch, cursor.batch);
    const settle = this.#dropDelivered();
    return () => {
      settle();
      const backlog = this.#backlogs.get(sink);
      for (const log of passed) backlog?.add({ ...log, records: -log.records });
    };
  }

  /** Starts redelivering what a sink took last. Call inside a transaction. */
  repeat(sink: string, endedMs: number | undefined): void {
    this.#replays.begin(sink, this.cursorOf(sink), endedMs);
  }

  /**
   * Drops this many bytes of the records that every sink has, oldest first. Call inside a transaction; call the
   * returned function after commit to update the totals.
   */
  dropKept(bytes: number): () => void {
    let dropped = NOTHING;
    let next = 0;
    for (const entry of this.#entriesFrom(0)) {
      if (dropped.bytes >= bytes || entry.id >= this.#waitingFrom) break;
      dropped = add(dropped, entry);
      next = entry.id + 1;
    }
    this.#deleteBefore(next);
    this.#replays.raiseFloor(next);
    return () => {
      this.#kept = subtract(this.#kept, dropped);
      this.#unpacked.forgetBefore(next);
    };
  }

  cursorOf(sink: string): SpoolCursor {
    const row = this.#file.get('SELECT batch, idx FROM cursor WHERE sink = ?', sink);
    return row ? { batch: Number(row['batch']), index: Number(row['idx']) } : START;
  }

  /** Returns the next records for a sink, `undefined` if it has everything, or the damaged batch in front of them. */
  readSlice(
    sink: string,
    { recordsMax, bytesMax, isWanted }: SliceBounds,
  ): Slice<SpoolCursor> | DamagedBatch | undefined {
    const cursor = this.cursorOf(sink);
    const pass = this.#replays.passOf(sink);
    // A redelivery ends where new records start, so that a slice holds only one kind.
    const end = pass ? cursor : undefined;
    let { batch, index } = pass ?? cursor;
    const lines: string[] = [];
    let bytes = 0;
    let oldestMs = 0;
    let skipped = 0;
    let passed = 0;
    const toSlice = (isFull: boolean) => ({
      lines,
      next: { batch, index },
      oldestMs,
      isFull,
      skipped,
      isRepeat: end !== undefined,
    });
    for (const entry of this.#entriesFrom(batch)) {
      if (entry.id !== batch) [batch, index] = [entry.id, 0];
      if (end && !isBefore({ batch, index }, end)) break;
      const stop = end && entry.id === end.batch ? end.index : entry.records;
      if (entry.router !== '' && !isWanted(entry.router, entry.component)) {
        if (passed++ === PASSED_MAX) return toSlice(true);
        skipped += stop - index;
      } else {
        const all = this.#unpacked.take(entry.id, entry.records, () => this.#readBody(entry.id));
        if (!all) return lines.length > 0 ? toSlice(true) : new DamagedBatch(entry);
        for (; index < stop; index++) {
          const line = all[index] ?? '';
          bytes += Buffer.byteLength(line);
          if (lines.length > 0 && (bytes > bytesMax || lines.length >= recordsMax)) return toSlice(true);
          if (lines.length === 0) oldestMs = entry.committedMs;
          lines.push(line);
        }
      }
      [batch, index] = [entry.id + 1, 0];
    }
    if (end) [batch, index] = [end.batch, end.index];
    else if (lines.length === 0 && skipped === 0) return undefined;
    return toSlice(lines.length >= recordsMax || bytes >= bytesMax);
  }

  /** Number of records that a sink has yet to acknowledge. */
  countWaiting(sink: string, isWanted: LogChoice): number {
    const count = this.#backlogs.get(sink)?.count((router, component) => router === '' || isWanted(router, component));
    if (!count) return 0;
    const { batch, index } = this.cursorOf(sink);
    if (index === 0) return count;
    const head = toEntry(this.#file.get('SELECT * FROM batch WHERE id = ?', batch));
    return head && (head.router === '' || isWanted(head.router, head.component)) ? count - index : count;
  }

  /**
   * Commit time of the oldest batch that a sink has yet to get. Examines a limited number of batches; beyond that, the
   * next batch counts.
   */
  oldestWaitingMs(sink: string, isWanted: LogChoice): number | undefined {
    let passed = 0;
    for (const { router, component, committedMs } of this.#entriesFrom(this.cursorOf(sink).batch)) {
      if (router === '' || isWanted(router, component) || passed++ === PASSED_MAX) return committedMs;
    }
    return undefined;
  }

  /** Yields the entries from a batch on; the file may be written to in between. */
  *#entriesFrom(batch: number): Generator<BatchEntry> {
    let next = batch;
    for (let limit = ENTRIES_MIN; ; limit = Math.min(ENTRIES_MAX, limit * 4)) {
      const rows = this.#file.all('SELECT * FROM batch WHERE id >= ? ORDER BY id LIMIT ?', next, limit);
      for (const row of rows) {
        const entry = toEntry(row);
        next = entry.id + 1;
        yield entry;
      }
      if (rows.length < limit) return;
    }
  }

  #readBody(batch: number): Uint8Array | undefined {
    const body = this.#file.get('SELECT body FROM spool WHERE batch = ?', batch)?.['body'];
    return body instanceof Uint8Array ? body : undefined;
  }

  /** Number of the last batch that ever existed: numbers are never reused. */
  #newest(): number {
    return Number(this.#file.get(`SELECT seq FROM sqlite_sequence WHERE name = 'spool'`)?.['seq'] ?? 0);
  }

  #countBacklogs(sinks: readonly string[]): void {
    // Sinks often have the same cursor, and counting what follows it is the slowest part of a start after an outage.
    const counted = new Map<number, readonly LogCount[]>();
    for (const sink of sinks) {
      const { batch } = this.cursorOf(sink);
      const logs = counted.get(batch) ?? this.#countLogs('id >= ?', batch);
      counted.set(batch, logs);
      const backlog = new Backlog();
      for (const log of logs) backlog.add(log);
      this.#backlogs.set(sink, backlog);
    }
  }

  #countLogs(where: string, ...values: number[]): LogCount[] {
    const sql = `SELECT router, component, sum(records) AS records FROM batch WHERE ${where} GROUP BY router, component`;
    return this.#file.all(sql, ...values).map((row) => ({
      router: String(row['router']),
      component: String(row['component']),
      records: Number(row['records']),
    }));
  }

  /** Drops the batches that every sink has and none may replay; does nothing without sinks. */
  #dropDelivered(): () => void {
    const lowest = this.#lowestCursor();
    if (lowest === undefined) return () => {};
    const settled = this.#sum('id >= ? AND id < ?', this.#waitingFrom, lowest);
    const floor = Math.min(this.#replays.floor ?? lowest, lowest);
    const dropped = this.#sum('id < ?', floor);
    this.#deleteBefore(floor);
    return () => {
      this.#waitingFrom = lowest;
      this.#waiting = subtract(this.#waiting, settled);
      this.#kept = subtract(add(this.#kept, settled), dropped);
      this.#unpacked.forgetBefore(floor);
    };
  }

  #deleteBefore(batch: number): void {
    this.#file.run('DELETE FROM spool WHERE batch < ?', batch);
    this.#file.run('DELETE FROM batch WHERE id < ?', batch);
  }

  #lowestCursor(): number | undefined {
    const batch = this.#file.get('SELECT min(batch) AS batch FROM cursor')?.['batch'];
    return typeof batch === 'number' ? batch : undefined;
  }

  #measure(): void {
    this.#waitingFrom = this.#lowestCursor() ?? 0;
    this.#waiting = this.#sum('id >= ?', this.#waitingFrom);
    this.#kept = this.#sum('id < ?', this.#waitingFrom);
  }

  #sum(where: string, ...values: number[]): SpoolTotals {
    const sums = this.#file.get(
      `SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(records), 0) AS records FROM batch WHERE ${where}`,
      ...values,
    );
    return { records: Number(sums?.['records']), bytes: Number(sums?.['bytes']) };
  }
}

function add(one: SpoolTotals, other: SpoolTotals): SpoolTotals {
  return { records: one.records + other.records, bytes: one.bytes + other.bytes };
}

function subtract(one: SpoolTotals, other: SpoolTotals): SpoolTotals {
  return { records: one.records - other.records, bytes: one.bytes - other.bytes };
}

function toEntry(row: Row): BatchEntry;
function toEntry(row: Row | undefined): BatchEntry | undefined;
function toEntry(row: Row | undefined): BatchEntry | undefined {
  if (!row) return undefined;
  return {
    id: Number(row['id']),
    router: String(row['router']),
    component: String(row['component']),
    committedMs: Number(row['committed_ms']),
    records: Number(row['records']),
    bytes: Number(row['bytes']),
  };
}
