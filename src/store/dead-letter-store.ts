import { crc32 } from 'node:zlib';
import {
  DEAD_LETTER_LIST_MAX,
  DEAD_LETTERS_BYTES_MAX,
  DEAD_LETTERS_KEEP_MS,
  type DeadLetterBounds,
  type DeadLetterSelection,
  type DeadLetters,
  type ListOptions,
  measureDeadLetter,
  type RefusedRecord,
  type StoredDeadLetter,
  toDeadLetterFields,
  type UnnumberedDeadLetter,
} from '../model/index.ts';
import { DeadLetterFile, type DeadLetterOptions } from './dead-letter-file.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

/** Columns of a dead letter in a database, without its number, which every store assigns by itself. */
export const DEAD_LETTER_COLUMNS =
  'sink, uid, at_ms, is_replayed, bytes, checksum, router, component, timestamp, code, reason, line';

function toDeadLetterValues(deadLetter: UnnumberedDeadLetter) {
  const { sink, uid, atMs, isReplayed, bytes, router, component, timestamp, code, reason, line } = deadLetter;
  const about = [sink, uid, Math.floor(atMs), isReplayed ? 1 : 0, bytes, crc32(line)] as const;
  return [...about, router, component, timestamp ?? null, code ?? null, reason, line] as const;
}

function toDeadLetter(row: Row): StoredDeadLetter {
  return {
    id: Number(row['id']),
    sink: String(row['sink']),
    uid: String(row['uid']),
    router: String(row['router']),
    component: String(row['component']),
    timestamp: row['timestamp'] === null ? undefined : String(row['timestamp']),
    atMs: Number(row['at_ms']),
    isReplayed: row['is_replayed'] === 1,
    code: row['code'] === null ? undefined : String(row['code']),
    reason: String(row['reason']),
    line: String(row['line']),
    ...(!isIntact(row) && { isDamaged: true }),
  };
}

function isIntact(row: Row): boolean {
  return crc32(String(row['line'])) === row['checksum'];
}

/** Number of rows examined at a time when some must be dropped. */
const LEAVING_MAX = 100;

/**
 * Records permanently rejected by a sink, in a separate file, so that a command can inspect, replay or drop them while the
 * agent runs. Durable when a method returns, also against a power cut, because the sink's cursor advances then. All methods
 * throw {@link StoreError}: `locked` when another process holds the file, `full` and `unwritable` (disposition `hold-back`)
 * when the disk cannot be written.
 */
export class DeadLetterStore implements DeadLetters, Disposable {
  readonly #options: DeadLetterOptions;
  readonly #deadLetters: DeadLetterFile;

  /** Opens the file; for a guest also throws `absent` and `damaged`. */
  constructor(options: DeadLetterOptions) {
    this.#options = options;
    this.#deadLetters = new DeadLetterFile(options);
  }

  /**
   * Stores the records that a sink rejected, and removes the dead letters `taken`, which it has accepted now, in one
   * transaction. A new dead letter for a record replaces the earlier one and is not marked for replay. At the size limit, the
   * oldest of the sink with the largest share are dropped.
   */
  add(sink: string, refused: readonly RefusedRecord[], taken: readonly number[] = []): void {
    if (refused.length + taken.length === 0) return;
    const atMs = this.#options.now();
    this.#drop((file) => {
      for (const id of taken) file.run('DELETE FROM letter WHERE id = ?', id);
      for (const deadLetter of refused) {
        file.run('DELETE FROM letter WHERE sink = ? AND uid = ?', sink, deadLetter.uid);
        file.run(
          INSERT_DEAD_LETTER,
          ...toDeadLetterValues({ ...toDeadLetterFields(deadLetter), sink, atMs, isReplayed: false }),
        );
      }
      return takeOldest(file, this.#options.bytesMax ?? DEAD_LETTERS_BYTES_MAX);
    });
  }

  addMoved(deadLetters: readonly StoredDeadLetter[]): number {
    const known = INSERT_DEAD_LETTER.replace('INSERT', 'INSERT OR IGNORE');
    return this.#deadLetters.attempt((file) =>
      file.transact(() =>
        deadLetters
          .map(
            (deadLetter) =>
              file.run(known, ...toDeadLetterValues({ ...deadLetter, bytes: measureDeadLetter(deadLetter) })).changes,
          )
          .reduce((sum, changes) => sum + changes, 0),
      ),
    );
  }

  readReplayed(sink: string, bounds: DeadLetterBounds): readonly StoredDeadLetter[] {
    const rows = this.#deadLetters.attempt((file) => readReplayedRows(file, sink, bounds));
    const deadLetters = rows.map(toDeadLetter);
    const damaged = deadLetters.filter(({ isDamaged }) => isDamaged).map(({ id }) => id);
    if (damaged.length > 0) this.#drop((file) => takeWhere(file, { ids: damaged }, 0));
    return deadLetters.filter(({ isDamaged }) => !isDamaged);
  }

  list({ sink, limit, order = 'newest', afterId }: ListOptions): readonly StoredDeadLetter[] {
    const [direction, behind] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>'];
    const { where, values } = toCondition({ sink }, 0);
    const from = afterId === undefined ? '' : `AND id ${behind} ?`;
    const sql = `SELECT * FROM letter WHERE ${where} ${from} ORDER BY id ${direction} LIMIT ?`;
    const after = afterId === undefined ? [] : [afterId];
    return this.#deadLetters.attempt((file) =>
      file.all(sql, ...values, ...after, Math.min(Math.max(0, limit), DEAD_LETTER_LIST_MAX)).map(toDeadLetter),
    );
  }

  get(id: number): StoredDeadLetter | undefined {
    return this.#deadLetters.attempt((file) => {
      const row = file.get('SELECT * FROM letter WHERE id = ?', id);
      return row && toDeadLetter(row);
    });
  }

  markReplay(selection: DeadLetterSelection): number {
    const { where, values } = toCondition(selection, this.#options.now());
    return this.#deadLetters.attempt((file) =>
      file.transact(() => file.run(`UPDATE letter SET is_replayed = 1 WHERE ${where}`, ...values).changes),
    );
  }

  drop(selection: DeadLetterSelection): number {
    const { where, values } = toCondition(selection, this.#options.now());
    return this.#deadLetters.attempt((file) =>
      file.transact(() => file.run(`DELETE FROM letter WHERE ${where}`, ...values).changes),
    );
  }

  expire(nowMs: number): void {
    this.#drop((file) => takeWhere(file, { olderThanMs: this.#options.keepMs ?? DEAD_LETTERS_KEEP_MS }, nowMs));
  }

  count(sink?: string): number {
    if (sink !== undefined) return this.counts().get(sink) ?? 0;
    return [...this.counts().values()].reduce((sum, deadLetters) => sum + deadLetters, 0);
  }

  counts(): Map<string, number> {
    const rows = this.#deadLetters.attempt((file) => file.all('SELECT sink, letters FROM tally'));
    return new Map(rows.map((row) => [String(row['sink']), Number(row['letters'])]));
  }

  get bytes(): number {
    return this.#deadLetters.attempt(readBytes);
  }

  close(): void {
    this.#deadLetters.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Deletes rows in one transaction with everything else `work` does; `work` returns their sinks. */
  #drop(work: (file: SqliteFile) => readonly string[]): void {
    const dropped = new Map<string, number>();
    const sinks = this.#deadLetters.attempt((file) => file.transact(() => work(file)));
    for (const sink of sinks) dropped.set(sink, (dropped.get(sink) ?? 0) + 1);
    for (const [sink, deadLetters] of dropped) this.#options.onDropped?.(sink, deadLetters);
  }
}

function readBytes(file: SqliteFile): number {
  return Number(file.get('SELECT coalesce(sum(bytes), 0) AS bytes FROM tally')?.['bytes']);
}

/**
 * Deletes rows beyond the limit; returns the sink of each. Takes the oldest of the sink with the largest share, so that a
 * sink never loses dead letters to one that has more.
 */
function takeOldest(file: SqliteFile, bytesMax: number): string[] {
  const sinks: string[] = [];
  for (let excess = readBytes(file) - bytesMax; excess > 0; ) {
    const [largest, second] = file.all('SELECT sink, bytes FROM tally ORDER BY bytes DESC, sink LIMIT 2');
    const sink = String(largest?.['sink']);
    let bytes = Number(largest?.['bytes']);
    const oldest = file.all('SELECT id, bytes FROM letter WHERE sink = ? ORDER BY id LIMIT ?', sink, LEAVING_MAX);
    if (oldest.length === 0) break;
    for (const row of oldest) {
      if (excess <= 0 || bytes < Number(second?.['bytes'] ?? 0)) break;
      file.run('DELETE FROM letter WHERE id = ?', Number(row['id']));
      excess -= Number(row['bytes']);
      bytes -= Number(row['bytes']);
      sinks.push(sink);
    }
  }
  return sinks;
}

function takeWhere(file: SqliteFile, selection: DeadLetterSelection, nowMs: number): string[] {
  const { where, values } = toCondition(selection, nowMs);
  return file.all(`DELETE FROM letter WHERE ${where} RETURNING sink`, ...values).map(({ sink }) => String(sink));
}

function readReplayedRows(file: SqliteFile, sink: string, { recordsMax, bytesMax }: DeadLetterBounds): readonly Row[] {
  const rows: Row[] = [];
  let bytes = 0;
  let next = 0;
  while (rows.length < recordsMax) {
    const row = file.get(
      'SELECT * FROM letter WHERE sink = ? AND id >= ? AND is_replayed = 1 ORDER BY id LIMIT 1',
      sink,
      next,
    );
    if (!row) break;
    bytes += Buffer.byteLength(String(row['line']));
    if (rows.length > 0 && bytes > bytesMax) break;
    rows.push(row);
    next = Number(row['id']) + 1;
  }
  return rows;
}

const INSERT_DEAD_LETTER = `INSERT INTO letter (${DEAD_LETTER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function toCondition({ sink, ids, olderThanMs }: DeadLetterSelection, nowMs: number) {
  const parts: string[] = ['1'];
  const values: (string | number)[] = [];
  if (sink !== undefined) {
    parts.push('sink = ?');
    values.push(sink);
  }
  if (ids !== undefined) {
    parts.push('id IN (SELECT value FROM json_each(?))');
    values.push(JSON.stringify(ids));
  }
  if (olderThanMs !== undefined) {
    parts.push('at_ms <= ?');
    values.push(Math.floor(nowMs - olderThanMs));
  }
  return { where: parts.join(' AND '), values };
}
