import { isBefore, type SpoolCursor } from './spool-batch.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

/** A redelivery in progress: records that a sink has taken before and gets again. */
export interface ReplayPass extends SpoolCursor {
  /** True if records taken during the pass may be lost again, so that they are recorded as taken now. */
  readonly renews: boolean;
}

/**
 * Granularity of the recorded times as a share of `replay`, so that a sink has few rows however many batches it takes.
 */
const STEP_SHARE = 1 / 16;

/**
 * Records which records a sink has taken within `replay`, and how far a redelivery has come: the tables `taken` and
 * `repeat`. A row of `taken` means that at `at_ms`, or up to one step later, the sink took records from a cursor on.
 * The times are wall times, because they outlive the process. They are compared with the time of the last row, not with
 * the clock: the loss of a receiver may be noticed long after it took its last records.
 */
export class ReplayTable {
  readonly #file: SqliteFile;
  #replayMs: ReadonlyMap<string, number> = new Map();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Sets `replayMs` for each sink; rows of other sinks are dropped. Call inside a transaction. */
  setSinks(replayMs: ReadonlyMap<string, number>): void {
    this.#replayMs = replayMs;
    for (const row of this.#file.all('SELECT sink FROM taken UNION SELECT sink FROM repeat')) {
      const sink = String(row['sink']);
      if (!replayMs.has(sink)) this.#forget(sink);
    }
  }

  /**
   * Records that a sink has taken everything from `from` on, and removes rows that are too old. Call inside a
   * transaction.
   */
  recordTaken(sink: string, from: SpoolCursor, nowMs: number): void {
    const replayMs = this.#replayMs.get(sink);
    if (replayMs === undefined) return;
    const atMs = Math.floor(nowMs);
    const stepMs = replayMs * STEP_SHARE;
    // After the clock was set back, rows lie in the future and would be kept until the clock catches up.
    const recent = this.#earliest(sink, atMs - stepMs);
    const isCovered = recent && !isBefore(from, recent);
    if (isCovered && !this.#file.get('SELECT 1 FROM taken WHERE sink = ? AND at_ms > ?', sink, atMs)) return;
    const { batch, index } = isCovered ? recent : from;
    this.#file.run('DELETE FROM taken WHERE sink = ? AND at_ms > ?', sink, atMs - stepMs);
    this.#file.run('INSERT INTO taken (sink, at_ms, batch, idx) VALUES (?, ?, ?, ?)', sink, atMs, batch, index);
    this.#file.run('DELETE FROM taken WHERE sink = ? AND at_ms <= ?', sink, atMs - replayMs - stepMs);
  }

  /** Returns the redelivery of a sink, if there is one. */
  passOf(sink: string): ReplayPass | undefined {
    const row = this.#file.get('SELECT batch, idx, renews FROM repeat WHERE sink = ?', sink);
    return row && { ...toCursor(row), renews: row['renews'] === 1 };
  }

  /**
   * Starts a redelivery, or restarts the current one where necessary. `endedMs`: when the receiver was last known to
   * work; absent if unknown, so that everything kept is redelivered. Call inside a transaction.
   */
  begin(sink: string, end: SpoolCursor, endedMs: number | undefined): void {
    const replayMs = this.#replayMs.get(sink);
    if (replayMs === undefined) return;
    const sinceMs = endedMs === undefined ? Number.MIN_SAFE_INTEGER : endedMs - replayMs * (1 + STEP_SHARE);
    const pass = this.passOf(sink);
    const taken = this.#earliest(sink, Math.floor(sinceMs));
    const start = pass && !(taken && isBefore(taken, pass)) ? pass : taken;
    if (!start || !isBefore(start, end)) return;
    this.#setPass(sink, { ...start, renews: endedMs === undefined || (pass?.renews ?? false) });
  }

  /** Advances a redelivery to `next`, and ends it at `end`. Call inside a transaction. */
  advance(sink: string, pass: ReplayPass, next: SpoolCursor, end: SpoolCursor, nowMs: number): void {
    if (!isBefore(pass, next)) return;
    if (pass.renews) this.recordTaken(sink, pass, nowMs);
    if (isBefore(next, end)) this.#setPass(sink, { ...next, renews: pass.renews });
    else this.#file.run('DELETE FROM repeat WHERE sink = ?', sink);
  }

  /** The first batch that may be redelivered; `undefined` if there is none. */
  get floor(): number | undefined {
    const row = this.#file.get(
      'SELECT min(batch) AS batch FROM (SELECT batch FROM taken UNION ALL SELECT batch FROM repeat)',
    );
    return typeof row?.['batch'] === 'number' ? row['batch'] : undefined;
  }

  /** Records that nothing before a batch exists any more. Call inside a transaction. */
  raiseFloor(batch: number): void {
    this.#file.run('UPDATE taken SET batch = ?, idx = 0 WHERE batch < ?', batch, batch);
    this.#file.run('UPDATE repeat SET batch = ?, idx = 0 WHERE batch < ?', batch, batch);
  }

  #setPass(sink: string, { batch, index, renews }: ReplayPass): void {
    this.#file.run(
      `INSERT INTO repeat (sink, batch, idx, renews) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
         SET batch = excluded.batch, idx = excluded.idx, renews = excluded.renews`,
      sink,
      batch,
      index,
      renews ? 1 : 0,
    );
  }

  /** Returns the first cursor of the records taken after `sinceMs`. */
  #earliest(sink: string, sinceMs: number): SpoolCursor | undefined {
    const row = this.#file.get(
      'SELECT batch, idx FROM taken WHERE sink = ? AND at_ms > ? ORDER BY batch, idx LIMIT 1',
      sink,
      sinceMs,
    );
    return row && toCursor(row);
  }

  #forget(sink: string): void {
    this.#file.run('DELETE FROM taken WHERE sink = ?', sink);
    this.#file.run('DELETE FROM repeat WHERE sink = ?', sink);
  }
}

function toCursor(row: Row): SpoolCursor {
  return { batch: Number(row['batch']), index: Number(row['idx']) };
}
