import {
  advancePlace,
  beginPass,
  type ReplayPass,
  type SinkPlace,
  type SinkStart,
  type SpoolCursor,
} from '../model/index.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

const START: SpoolCursor = { batch: 0, index: 0 };

/**
 * The tables `cursor`, `taken` and `repeat`: the {@link SinkPlace} of each sink. A row of `taken`: at `at_ms`, or up to one
 * step later, the sink accepted records from this cursor on. Methods that write must be called inside a transaction.
 */
export class SinkCursors {
  readonly #file: SqliteFile;
  #replayMs: ReadonlyMap<string, number> = new Map();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Sets the sinks that have a cursor; rows of other sinks are dropped. A new sink starts at batch 0 or after `newest`. */
  setSinks(sinks: readonly SinkStart[], newest: number): void {
    const names = new Set(sinks.map(({ name }) => name));
    for (const sink of this.names) if (!names.has(sink)) this.#file.run('DELETE FROM cursor WHERE sink = ?', sink);
    for (const { name, start } of sinks) this.begin([name], start === 'newest' ? newest : START.batch);
    this.#replayMs = new Map(sinks.flatMap(({ name, replayMs = 0 }) => (replayMs > 0 ? [[name, replayMs]] : [])));
    for (const row of this.#file.all('SELECT sink FROM taken UNION SELECT sink FROM repeat')) {
      const sink = String(row['sink']);
      if (!this.#replayMs.has(sink)) this.#forget(sink);
    }
  }

  begin(sinks: readonly string[], batch: number): void {
    for (const sink of sinks) {
      this.#file.run('INSERT INTO cursor (sink, batch, idx) VALUES (?, ?, 0) ON CONFLICT DO NOTHING', sink, batch);
    }
  }

  get names(): readonly string[] {
    return this.#file.all('SELECT sink FROM cursor ORDER BY sink').map(({ sink }) => String(sink));
  }

  of(sink: string): SpoolCursor {
    const row = this.#file.get('SELECT batch, idx FROM cursor WHERE sink = ?', sink);
    return row ? toCursor(row) : START;
  }

  get lowest(): number | undefined {
    const batch = this.#file.get('SELECT min(batch) AS batch FROM cursor')?.['batch'];
    return typeof batch === 'number' ? batch : undefined;
  }

  /** The first batch that a sink still needs, or gets again; 0 without sinks. */
  get waitingFrom(): number {
    const row = this.#file.get(
      'SELECT min(batch) AS batch FROM (SELECT batch FROM cursor UNION ALL SELECT batch FROM repeat)',
    );
    return Number(row?.['batch'] ?? 0);
  }

  listWaiting(batch: number): string[] {
    return this.#file.all('SELECT sink FROM cursor WHERE batch <= ?', batch).map(({ sink }) => String(sink));
  }

  /** Records that everything up to `next` is settled. Returns false if neither the cursor nor a redelivery has moved. */
  advance(sink: string, next: SpoolCursor, nowMs: number): boolean {
    return this.#move(sink, (place, replayMs) => advancePlace(place, next, { nowMs, replayMs }));
  }

  passOf(sink: string): ReplayPass | undefined {
    const row = this.#file.get('SELECT batch, idx, renews FROM repeat WHERE sink = ?', sink);
    return row && { ...toCursor(row), renews: row['renews'] === 1 };
  }

  /**
   * Starts a redelivery, or restarts the current one where necessary. `endedMs`: when the receiver was last known to work;
   * absent if unknown: everything kept is redelivered.
   */
  repeat(sink: string, endedMs: number | undefined): void {
    this.#move(sink, (place, replayMs) => beginPass(place, endedMs, replayMs));
  }

  /** The first batch that may be redelivered; `undefined` if there is none. */
  get floor(): number | undefined {
    const row = this.#file.get(
      'SELECT min(batch) AS batch FROM (SELECT batch FROM taken UNION ALL SELECT batch FROM repeat)',
    );
    return typeof row?.['batch'] === 'number' ? row['batch'] : undefined;
  }

  /** Records that all batches before `batch` are gone. */
  raiseFloor(batch: number): void {
    this.#file.run('UPDATE taken SET batch = ?, idx = 0 WHERE batch < ?', batch, batch);
    this.#file.run('UPDATE repeat SET batch = ?, idx = 0 WHERE batch < ?', batch, batch);
  }

  #move(sink: string, move: (place: SinkPlace, replayMs: number) => SinkPlace | undefined): boolean {
    const replayMs = this.#replayMs.get(sink) ?? 0;
    const before = { cursor: this.of(sink), taken: replayMs > 0 ? this.#readTaken(sink) : [], pass: this.passOf(sink) };
    const after = move(before, replayMs);
    if (after) this.#write(sink, before, after);
    return after !== undefined;
  }

  #readTaken(sink: string): SinkPlace['taken'] {
    const rows = this.#file.all('SELECT at_ms, batch, idx FROM taken WHERE sink = ?', sink);
    return rows.map((row) => ({ ...toCursor(row), atMs: Number(row['at_ms']) }));
  }

  #write(sink: string, before: SinkPlace, { cursor, taken, pass }: SinkPlace): void {
    if (cursor !== before.cursor) {
      this.#file.run('UPDATE cursor SET batch = ?, idx = ? WHERE sink = ?', cursor.batch, cursor.index, sink);
    }
    if (taken !== before.taken) {
      this.#file.run('DELETE FROM taken WHERE sink = ?', sink);
      const insert = 'INSERT INTO taken (sink, at_ms, batch, idx) VALUES (?, ?, ?, ?)';
      for (const { atMs, batch, index } of taken) this.#file.run(insert, sink, atMs, batch, index);
    }
    if (pass === before.pass) return;
    this.#file.run('DELETE FROM repeat WHERE sink = ?', sink);
    if (!pass) return;
    const { batch, index, renews } = pass;
    const insert = 'INSERT INTO repeat (sink, batch, idx, renews) VALUES (?, ?, ?, ?)';
    this.#file.run(insert, sink, batch, index, renews ? 1 : 0);
  }

  #forget(sink: string): void {
    this.#file.run('DELETE FROM taken WHERE sink = ?', sink);
    this.#file.run('DELETE FROM repeat WHERE sink = ?', sink);
  }
}

function toCursor(row: Row): SpoolCursor {
  return { batch: Number(row['batch']), index: Number(row['idx']) };
}
