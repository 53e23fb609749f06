import { LineTable, unpackLines } from '../base/index.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

/**
 * Cache size. A sink that keeps up takes a batch right after it was written, a batch often takes several slices, and sinks
 * are often at the same position. Room for five batches of a long archive, so that a slow disk does not make sinks unpack
 * them again. Bytes.
 */
const KEPT_BYTES_MAX = 12 * 1024 * 1024;

/** Cache of the most recently written or unpacked batches of the spool. A batch above the limit is kept alone. */
export class UnpackedBatches {
  readonly #kept = new Map<number, LineTable>();
  #bytes = 0;

  /** Returns the records of a batch; `undefined` if its body is damaged. Calls `readBody` only on a cache miss. */
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

  /** Caches the `records` of a batch: its lines, separated by line feeds. */
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
    return undefined;
  }
}

export interface BatchEntry {
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  readonly committedMs: number;
  readonly records: number;
  readonly bytes: number;
}

export interface SpoolTotals {
  readonly records: number;
  readonly bytes: number;
}

export interface LogCount {
  readonly router: string;
  readonly component: string;
  readonly records: number;
}

/** Entries read per query: few at first, because one batch often fills a slice. */
const ENTRIES_MIN = 16;
const ENTRIES_MAX = 1024;
const RANGE = 'id >= ? AND id < ?';
const NO_END = Number.MAX_SAFE_INTEGER;

/**
 * The tables `spool` (bodies) and `batch` (their metadata). Bodies that the last lines refer to stay without metadata.
 * Methods that write must be called inside a transaction.
 */
export class SpoolBatches {
  readonly #file: SqliteFile;
  readonly unpacked = new UnpackedBatches();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Number of the last batch ever added: numbers are never reused. */
  get newest(): number {
    return Number(this.#file.get(`SELECT seq FROM sqlite_sequence WHERE name = 'spool'`)?.['seq'] ?? 0);
  }

  append({ router, component, records, committedMs }: Omit<BatchEntry, 'seq' | 'bytes'>, body: Uint8Array): number {
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

  /** Yields the entries from `batch` on; the file may be written to in between. */
  *from(batch: number): Generator<BatchEntry> {
    let next = batch;
    for (let limit = ENTRIES_MIN; ; limit = Math.min(ENTRIES_MAX, limit * 4)) {
      const rows = this.#file.all('SELECT * FROM batch WHERE id >= ? ORDER BY id LIMIT ?', next, limit);
      for (const row of rows) {
        const entry = toEntry(row);
        next = entry.seq + 1;
        yield entry;
      }
      if (rows.length < limit) return;
    }
  }

  use({ seq, records }: BatchEntry): LineTable | undefined {
    return this.unpacked.use(seq, records, () => this.readBody(seq));
  }

  readBody(id: number): Uint8Array | undefined {
    const body = this.#file.get('SELECT body FROM spool WHERE batch = ?', id)?.['body'];
    return body instanceof Uint8Array ? body : undefined;
  }

  sumBefore(batch: number): SpoolTotals {
    const sql = 'SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(records), 0) AS records FROM batch WHERE id < ?';
    const sums = this.#file.get(sql, batch);
    return { records: Number(sums?.['records']), bytes: Number(sums?.['bytes']) };
  }

  sumRouters(from: number, before = NO_END): Map<string, SpoolTotals> {
    const sql = `SELECT router, sum(bytes) AS bytes, sum(records) AS records FROM batch WHERE ${RANGE} GROUP BY router`;
    const rows = this.#file.all(sql, from, before);
    return new Map(
      rows.map((row) => [String(row['router']), { records: Number(row['records']), bytes: Number(row['bytes']) }]),
    );
  }

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
    seq: Number(row['id']),
    router: String(row['router']),
    component: String(row['component']),
    committedMs: Number(row['committed_ms']),
    records: Number(row['records']),
    bytes: Number(row['bytes']),
  };
}
