import type { SinkStart, SpoolCursor } from './contracts.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

const START: SpoolCursor = { batch: 0, index: 0 };

/** Returns true if one cursor is before the other. */
export function isBefore(one: SpoolCursor, other: SpoolCursor): boolean {
  return one.batch < other.batch || (one.batch === other.batch && one.index < other.index);
}

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
 * The tables `cursor`, `taken` and `repeat`: how far each sink is, which records it has taken within `replay`, and how far
 * a redelivery has come. A row of `taken` means that at `at_ms`, or up to one step later, the sink took records from a
 * cursor on. The times are wall times, because they outlive the process. They are compared with the time of the last row,
 * not with the clock: the loss of a receiver may be noticed long after it took its last records. Methods that write must
 * be called inside a transaction.
 */
export class SinkCursors {
  readonly #file: SqliteFile;
  #replayMs: ReadonlyMap<string, number> = new Map();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Sets the sinks that have a cursor; rows of other sinks are dropped. A new sink starts at batch 0 or `newest`. */
  setSinks(sinks: readonly SinkStart[], newest: number): void {
    const names = new Set(sinks.map(({ name }) => name));
    for (const { sink } of this.#file.all('SELECT sink FROM cursor')) {
      if (!names.has(String(sink))) this.#file.run('DELETE FROM cursor WHERE sink = ?', String(sink));
    }
    for (const { name, start } of sinks) {
      const batch = start === 'newest' ? newest : START.batch;
      this.#file.run('INSERT INTO cursor (sink, batch, idx) VALUES (?, ?, 0) ON CONFLICT DO NOTHING', name, batch);
    }
    this.#replayMs = new Map(sinks.flatMap(({ name, replayMs = 0 }) => (replayMs > 0 ? [[name, replayMs]] : [])));
    for (const row of this.#file.all('SELECT sink FROM taken UNION SELECT sink FROM repeat')) {
      const sink = String(row['sink']);
      if (!this.#replayMs.has(sink)) this.#forget(sink);
    }
  }

  of(sink: string): SpoolCursor {
    const row = this.#file.get('SELECT batch, idx FROM cursor WHERE sink = ?', sink);
    return row ? toCursor(row) : START;
  }

  /** The lowest batch of all cursors; `undefined` without sinks. */
  get lowest(): number | undefined {
    const batch = this.#file.get('SELECT min(batch) AS batch FROM cursor')?.['batch'];
    return typeof batch === 'number' ? batch : undefined;
  }

  /** Lists the sinks that have yet to get a batch. */
  listWaiting(batch: number): string[] {
    return this.#file.all('SELECT sink FROM cursor WHERE batch <= ?', batch).map(({ sink }) => String(sink));
  }

  /** Moves the cursor of a sink from `from` to `next`. */
  move(sink: string, from: SpoolCursor, next: SpoolCursor, nowMs: number): void {
    const sql = 'UPDATE cursor SET batch = ?, idx = ? WHERE sink = ?';
    const { changes } = this.#file.run(sql, next.batch, next.index, sink);
    if (changes > 0) this.#recordTaken(sink, from, nowMs);
  }

  /** Records that a sink has taken everything from `from` on, and removes rows that are too old. */
  #recordTaken(sink: string, from: SpoolCursor, nowMs: number): void {
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
   * work; absent if unknown, so that everything kept is redelivered.
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

  /** Advances a redelivery to `next`, and ends it at `end`. */
  advance(sink: string, pass: ReplayPass, next: SpoolCursor, end: SpoolCursor, nowMs: number): void {
    if (!isBefore(pass, next)) return;
    if (pass.renews) this.#recordTaken(sink, pass, nowMs);
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

  /** Records that nothing before a batch exists any more. */
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
