import { LineTable, unpackLines } from '../base/index.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

/**
 * Cache size in bytes. A sink that keeps up takes a batch right after it was written, a batch often takes several slices, and
 * sinks are often at the same position. Room for five batches of a long archive, so that a slow disk makes no sink unpack
 * them again.
 */
const KEPT_BYTES_MAX = 12 * 1024 * 1024;

/** The most recently written or unpacked batches of the spool. A batch above the limit is kept alone. */
export class UnpackedBatches {
  /** In order of use; the most recently used is last. */
  readonly #kept = new Map<number, LineTable>();
  #bytes = 0;

  /**
   * Returns the records of a batch; `undefined` if its body is damaged. `readBody` is called only if the batch is not
   * cached.
   */
  use(batch: number, records: number, readBody: () => Uint8Array | undefined): LineTable | undefined {
    const kept = this.#kept.get(batch);
    if (kept) {
      this.#kept.delete(batch);
      this.#kept.set(batch, kept);
      return kept;
    }
    const unpacked = unpack(readBody(), records);
    if (unpacked) this.#add(batch, unpacked);
    return unpacked;
  }

  /** Keeps the `records` of a batch: its lines, separated by line feeds. */
  keep(batch: number, records: number, lines: Buffer): void {
    this.#add(batch, new LineTable(lines, records));
  }

  #add(batch: number, unpacked: LineTable): void {
    this.#kept.set(batch, unpacked);
    this.#bytes += sizeOf(unpacked);
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX || oldest === batch) break;
      this.forget(oldest);
    }
  }

  forget(batch: number): void {
    const kept = this.#kept.get(batch);
    if (!kept) return;
    this.#bytes -= sizeOf(kept);
    this.#kept.delete(batch);
  }

  /** Drops batches that no sink will need again. */
  forgetBefore(batch: number): void {
    for (const kept of this.#kept.keys()) if (kept < batch) this.forget(kept);
  }
}

/** Bytes of memory, which may be more than those of the records. */
function sizeOf({ memory }: LineTable): number {
  return memory.buffer.byteLength;
}

function unpack(body: Uint8Array | undefined, records: number): LineTable | undefined {
  if (!body) return undefined;
  try {
    const lines = unpackLines(body);
    return lines.length === records ? lines : undefined;
  } catch {
    // Whatever the codec reports: these are not the bytes that were written.
    return undefined;
  }
}

/** Metadata of a batch. */
export interface BatchEntry {
  readonly id: number;
  /** Empty if the log is not known any more, as after damage. */
  readonly router: string;
  readonly component: string;
  readonly committedMs: number;
  readonly records: number;
  readonly bytes: number;
}

/** Number and size of records. */
export interface SpoolTotals {
  readonly records: number;
  /** Size as stored. */
  readonly bytes: number;
}

/** Number of records of one log. */
export interface LogCount {
  readonly router: string;
  readonly component: string;
  readonly records: number;
}

/** Number of entries read at a time: few at first, because one batch often fills a slice. */
const ENTRIES_MIN = 16;
const ENTRIES_MAX = 1024;
const RANGE = 'id >= ? AND id < ?';
const NO_END = Number.MAX_SAFE_INTEGER;

/** The tables `spool` (bodies) and `batch` (their metadata). The bodies of last lines for the pages stay without metadata. Methods that write must be called inside a transaction. */
export class SpoolBatches {
  readonly #file: SqliteFile;
  readonly #unpacked = new UnpackedBatches();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Number of the last batch that ever existed: numbers are never reused. */
  get newest(): number {
    return Number(this.#file.get(`SELECT seq FROM sqlite_sequence WHERE name = 'spool'`)?.['seq'] ?? 0);
  }

  /** Adds a batch; returns its number. */
  append({ router, component, records, committedMs }: Omit<BatchEntry, 'id' | 'bytes'>, body: Uint8Array): number {
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
    return lastId;
  }

  remove(batch: number): void {
    this.#file.run('DELETE FROM spool WHERE batch = ?', batch);
    this.#file.run('DELETE FROM batch WHERE id = ?', batch);
  }

  removeBefore(batch: number): void {
    this.#file.run(
      `DELETE FROM spool WHERE batch IN (SELECT id FROM batch WHERE id < ?
       AND NOT EXISTS (SELECT 1 FROM recent WHERE recent.batch = batch.id))`,
      batch,
    );
    this.#file.run('DELETE FROM batch WHERE id < ?', batch);
  }

  find(batch: number): BatchEntry | undefined {
    const row = this.#file.get('SELECT * FROM batch WHERE id = ?', batch);
    return row && toEntry(row);
  }

  /** Yields the entries from a batch on; the file may be written to in between. */
  *from(batch: number): Generator<BatchEntry> {
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

  /** Returns the records of a batch; `undefined` if its body is damaged. */
  use({ id, records }: BatchEntry): LineTable | undefined {
    return this.#unpacked.use(id, records, () => this.readBody(id));
  }

  /** Returns the packed records of a batch; `undefined` if there are none. */
  readBody(id: number): Uint8Array | undefined {
    const body = this.#file.get('SELECT body FROM spool WHERE batch = ?', id)?.['body'];
    return body instanceof Uint8Array ? body : undefined;
  }

  /** Keeps the records of a batch that was just added, until the sinks have them or others need the room. */
  keep(batch: number, records: number, lines: Buffer): void {
    this.#unpacked.keep(batch, records, lines);
  }

  /** Drops a batch from the cache. */
  forget(batch: number): void {
    this.#unpacked.forget(batch);
  }

  /** Drops batches that no sink will need again from the cache. */
  forgetBefore(batch: number): void {
    this.#unpacked.forgetBefore(batch);
  }

  /** Adds up the batches before one. */
  sumBefore(batch: number): SpoolTotals {
    const sql = 'SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(records), 0) AS records FROM batch WHERE id < ?';
    const sums = this.#file.get(sql, batch);
    return { records: Number(sums?.['records']), bytes: Number(sums?.['bytes']) };
  }

  /** Adds up the batches from one on and before another one, per router. */
  sumRouters(from: number, before = NO_END): Map<string, SpoolTotals> {
    const sql = `SELECT router, sum(bytes) AS bytes, sum(records) AS records FROM batch WHERE ${RANGE} GROUP BY router`;
    const rows = this.#file.all(sql, from, before);
    return new Map(
      rows.map((row) => [String(row['router']), { records: Number(row['records']), bytes: Number(row['bytes']) }]),
    );
  }

  /** Adds up the records of the batches from one on and before another one, per log. */
  countLogs(from: number, before = NO_END): LogCount[] {
    const sql = `SELECT router, component, sum(records) AS records FROM batch WHERE ${RANGE} GROUP BY router, component`;
    return this.#file.all(sql, from, before).map((row) => ({
      router: String(row['router']),
      component: String(row['component']),
      records: Number(row['records']),
    }));
  }
}

function toEntry(row: Row): BatchEntry {
  return {
    id: Number(row['id']),
    router: String(row['router']),
    component: String(row['component']),
    committedMs: Number(row['committed_ms']),
    records: Number(row['records']),
    bytes: Number(row['bytes']),
  };
}
