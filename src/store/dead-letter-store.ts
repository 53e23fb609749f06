import { crc32 } from 'node:zlib';
import { DeadLetterFile, type DeadLetterOptions } from './dead-letter-file.ts';
import {
  type DeadLetters,
  LETTER_LIST_MAX,
  LETTERS_BYTES_MAX,
  LETTERS_KEEP_MS,
  type LetterBounds,
  type LetterSelection,
  type ListOptions,
  measureLetter,
  type RefusedRecord,
  type StoredLetter,
  toLetterFields,
} from './letters.ts';
import type { Row, SqliteFile } from './sqlite-file.ts';

/** Columns of a dead letter in a database, without its number, which every store counts by itself. */
export const LETTER_COLUMNS =
  'sink, uid, at_ms, is_replayed, bytes, checksum, router, component, timestamp, code, reason, line';

/** A letter with its size, as it counts against the limit, and without its number. */
export type UnnumberedLetter = Omit<StoredLetter, 'id'> & { readonly bytes: number };

/** Returns the values of {@link LETTER_COLUMNS}. */
function toLetterValues(letter: UnnumberedLetter) {
  const { sink, uid, atMs, isReplayed, bytes, router, component, timestamp, code, reason, line } = letter;
  const about = [sink, uid, Math.floor(atMs), isReplayed ? 1 : 0, bytes, crc32(line)] as const;
  return [...about, router, component, timestamp ?? null, code ?? null, reason, line] as const;
}

/** Returns the dead letter of a row of the database. */
function toLetter(row: Row): StoredLetter {
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

/** Number of letters examined at a time when some must be dropped. */
const LEAVING_MAX = 100;

/**
 * Records permanently rejected by a sink, in a separate file, so that a command can inspect and replay or drop them
 * while the agent runs. Durable when a method returns, also against a power cut: the sink's cursor advances on the
 * strength of it. All methods throw {@link StoreError}: `locked` when another process holds the file for more than a
 * moment, `full` and `unwritable` (disposition `hold-back`) when the disk cannot be written.
 */
export class DeadLetterStore implements DeadLetters, Disposable {
  readonly #options: DeadLetterOptions;
  readonly #letters: DeadLetterFile;

  /** Opens the file; for a guest also throws `absent` and `damaged`. */
  constructor(options: DeadLetterOptions) {
    this.#options = options;
    this.#letters = new DeadLetterFile(options);
  }

  /**
   * Stores the records that a sink rejected and removes the letters `taken`, which it has now accepted, in one
   * transaction. A letter for the same record replaces the earlier one and is not marked for replay. When the size
   * limit is reached, the oldest letters of the sink whose letters take the most space are dropped.
   */
  add(sink: string, refused: readonly RefusedRecord[], taken: readonly number[] = []): void {
    if (refused.length + taken.length === 0) return;
    const atMs = this.#options.now();
    this.#drop((file) => {
      for (const id of taken) file.run('DELETE FROM letter WHERE id = ?', id);
      for (const letter of refused) {
        file.run('DELETE FROM letter WHERE sink = ? AND uid = ?', sink, letter.uid);
        file.run(INSERT_LETTER, ...toLetterValues({ ...toLetterFields(letter), sink, atMs, isReplayed: false }));
      }
      return takeOldest(file, this.#options.bytesMax ?? LETTERS_BYTES_MAX);
    });
  }

  addMoved(letters: readonly StoredLetter[]): number {
    const known = INSERT_LETTER.replace('INSERT', 'INSERT OR IGNORE');
    return this.#letters.attempt((file) =>
      file.transact(() =>
        letters
          .map((letter) => file.run(known, ...toLetterValues({ ...letter, bytes: measureLetter(letter) })).changes)
          .reduce((sum, changes) => sum + changes, 0),
      ),
    );
  }

  /**
   * Returns the letters of a sink that are marked for replay, oldest first; one larger than `bytesMax` is returned
   * alone.
   */
  readReplayed(sink: string, bounds: LetterBounds): readonly StoredLetter[] {
    const rows = this.#letters.attempt((file) => readReplayedRows(file, sink, bounds));
    const letters = rows.map(toLetter);
    const damaged = letters.filter(({ isDamaged }) => isDamaged).map(({ id }) => id);
    if (damaged.length > 0) this.#drop((file) => takeWhere(file, { ids: damaged }, 0));
    return letters.filter(({ isDamaged }) => !isDamaged);
  }

  /** Returns letters in the order in which they were rejected. */
  list({ sink, limit, order = 'newest', afterId }: ListOptions): readonly StoredLetter[] {
    const [direction, behind] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>'];
    const { where, values } = toCondition({ sink }, 0);
    const from = afterId === undefined ? '' : `AND id ${behind} ?`;
    const sql = `SELECT * FROM letter WHERE ${where} ${from} ORDER BY id ${direction} LIMIT ?`;
    const after = afterId === undefined ? [] : [afterId];
    return this.#letters.attempt((file) =>
      file.all(sql, ...values, ...after, Math.min(Math.max(0, limit), LETTER_LIST_MAX)).map(toLetter),
    );
  }

  get(id: number): StoredLetter | undefined {
    return this.#letters.attempt((file) => {
      const row = file.get('SELECT * FROM letter WHERE id = ?', id);
      return row && toLetter(row);
    });
  }

  /** Marks letters for replay, ahead of new records for their sink; returns their number. */
  markReplay(selection: LetterSelection): number {
    const { where, values } = toCondition(selection, this.#options.now());
    return this.#letters.attempt((file) =>
      file.transact(() => file.run(`UPDATE letter SET is_replayed = 1 WHERE ${where}`, ...values).changes),
    );
  }

  /** Drops letters permanently; returns their number. */
  drop(selection: LetterSelection): number {
    const { where, values } = toCondition(selection, this.#options.now());
    return this.#letters.attempt((file) =>
      file.transact(() => file.run(`DELETE FROM letter WHERE ${where}`, ...values).changes),
    );
  }

  /** Drops letters older than the retention. */
  expire(nowMs: number): void {
    this.#drop((file) => takeWhere(file, { olderThanMs: this.#options.keepMs ?? LETTERS_KEEP_MS }, nowMs));
  }

  /** Returns the number of letters of a sink, or of all sinks. */
  count(sink?: string): number {
    if (sink !== undefined) return this.counts().get(sink) ?? 0;
    return [...this.counts().values()].reduce((sum, letters) => sum + letters, 0);
  }

  /** Returns the number of letters by sink; sinks without letters are omitted. */
  counts(): Map<string, number> {
    const rows = this.#letters.attempt((file) => file.all('SELECT sink, letters FROM tally'));
    return new Map(rows.map((row) => [String(row['sink']), Number(row['letters'])]));
  }

  /** Size of all letters, as counted against the limit. */
  get bytes(): number {
    return this.#letters.attempt(readBytes);
  }

  close(): void {
    this.#letters.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Deletes letters in one transaction with everything else `work` does; `work` returns their sinks. */
  #drop(work: (file: SqliteFile) => readonly string[]): void {
    const dropped = new Map<string, number>();
    const sinks = this.#letters.attempt((file) => file.transact(() => work(file)));
    for (const sink of sinks) dropped.set(sink, (dropped.get(sink) ?? 0) + 1);
    for (const [sink, letters] of dropped) this.#options.onDropped?.(sink, letters);
  }
}

function readBytes(file: SqliteFile): number {
  return Number(file.get('SELECT coalesce(sum(bytes), 0) AS bytes FROM tally')?.['bytes']);
}

/**
 * Deletes letters beyond the limit; returns the sink of each. The sink whose letters take the most space gives up its
 * oldest, so that a sink never loses letters to another that has more.
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

function takeWhere(file: SqliteFile, selection: LetterSelection, nowMs: number): string[] {
  const { where, values } = toCondition(selection, nowMs);
  return file.all(`DELETE FROM letter WHERE ${where} RETURNING sink`, ...values).map(({ sink }) => String(sink));
}

function readReplayedRows(file: SqliteFile, sink: string, { recordsMax, bytesMax }: LetterBounds): readonly Row[] {
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

/** SQL statement that adds a dead letter. */
const INSERT_LETTER = `INSERT INTO letter (${LETTER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Returns the SQL condition of a selection and its values. */
function toCondition({ sink, ids, olderThanMs }: LetterSelection, nowMs: number) {
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
