import { randomUUID } from 'node:crypto';
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeadLetterStore } from './dead-letter-store.ts';
import { StoreError, toStoreError } from './errors.ts';
import { finishRebuild } from './salvage.ts';
import { openState } from './schema.ts';
import { makeFolder, type SqliteFile } from './sqlite-file.ts';

/** State of some routers on its way from one store to another. */
export interface MovedState {
  /** Names of the routers, sorted. */
  readonly routers: readonly string[];
  /** Number of logs with a position. */
  readonly logs: number;
  /** Number of records that not every sink has. */
  readonly records: number;
  readonly deadLetters: number;
}

/** A store, and the routers of which the state is moved. */
interface TransferOptions {
  /** Folder of the store; no agent may be using it. */
  readonly path: string;
  /** Selects the routers. */
  readonly isWanted: (router: string) => boolean;
  /** Returns the wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** Options of {@link exportState}. */
export interface ExportOptions extends TransferOptions {
  /** File to write; must not exist. */
  readonly output: string;
  /** True: removes the state from the store when the file is safe on the disk. */
  readonly removes: boolean;
}

/** Options of {@link importState}. The folder is created if missing. */
export interface ImportOptions extends TransferOptions {
  /** File that {@link exportState} wrote. It is not changed. */
  readonly input: string;
  /** True: replaces positions that the store already has for these routers. */
  readonly replaces: boolean;
}

/** What {@link importState} did. */
export interface ImportedState extends MovedState {
  /** Routers that were left alone, because this file was imported for them before. */
  readonly known: readonly string[];
}

const STATE_FILE = 'router-exporter.db';
/** Key of the value of a router that names the file it was imported from last. */
const IMPORT_KEY = 'imported';
/** Columns of dead letters, without their number, which every file counts by itself. */
const LETTER_COLUMNS =
  'sink, uid, at_ms, is_replayed, bytes, checksum, router, component, timestamp, code, reason, line';
const SELECTED = 'router IN (SELECT router FROM selected)';
/** Records from here on are missing at one sink at least, or are being delivered to it again; without sinks all are missing. */
const FROM_LOWEST =
  'id >= coalesce((SELECT min(batch) FROM (SELECT batch FROM main.cursor UNION SELECT batch FROM main.repeat)), 0)';

/**
 * Writes the state of routers to a file: positions of logs, facts, values, records that not every sink has, and dead letters. The file is a database of
 * the format of the state, so that later versions can import it. Throws {@link StoreError}: `absent` without a store, `locked`
 * while an agent uses it, `full` and `unwritable`. A crash leaves either no file or the whole one; then the store may
 * still hold what was exported.
 */
export function exportState({ path, output, isWanted, removes, now }: ExportOptions): MovedState {
  const source = join(path, STATE_FILE);
  finishRebuild(source);
  if (!existsSync(source)) throw toAbsent(source, 'Check storage.path of the configuration');
  const unfinished = `${output}.unfinished`;
  if (existsSync(output)) throw toRefusal(`${output} exists already`, 'Choose another file, or remove this one');
  try {
    removeDatabase(unfinished);
    openState(unfinished).close();
    using file = openWithLetters(path, now);
    file.run('ATTACH ? AS moved', unfinished);
    const routers = select(file, isWanted, [
      'SELECT router FROM main.log UNION SELECT router FROM main.fact UNION SELECT router FROM main.note',
      `SELECT router FROM main.batch WHERE ${FROM_LOWEST}`,
      'SELECT router FROM letters.letter',
    ]);
    const moved = file.transact(() => {
      copyOut(file, now());
      return { routers, ...countSelected(file) };
    });
    // One file, without a write-ahead log beside it.
    file.exec('PRAGMA moved.journal_mode = DELETE; DETACH moved');
    makeDurable(unfinished);
    renameSync(unfinished, output);
    makeDurable(dirname(output));
    if (removes) file.transact(() => removeSelected(file));
    return moved;
  } catch (cause) {
    throw toStoreError(cause, source);
  } finally {
    removeDatabase(unfinished);
  }
}

/**
 * Adds the state of routers from a file to a store, in one transaction; dead letters come first. Records that some sinks had are delivered to all again,
 * with the same uids. Routers that this file was imported for before are left alone. Throws {@link StoreError}: `absent` without the
 * file, `broken` if it is no exported state or if the store has positions of these routers, `locked` while an agent uses the store, `full` and `unwritable`.
 */
export function importState({ path, input, isWanted, replaces, now }: ImportOptions): ImportedState {
  if (!existsSync(input)) throw toAbsent(input, 'Name a file that state export has written');
  makeFolder(path);
  const target = join(path, STATE_FILE);
  // A copy, because a file of an earlier version is converted, and the one that was given is not to be changed.
  const copy = join(path, 'importing.db');
  try {
    removeDatabase(copy);
    copyFileSync(input, copy);
    const id = readOrigin(copy, input);
    using file = openWithLetters(path, now);
    file.run('ATTACH ? AS moved', copy);
    const tables = ['log', 'fact', 'note', 'batch', 'letter'];
    const wanted = select(file, isWanted, [tables.map((table) => `SELECT router FROM moved.${table}`).join(' UNION ')]);
    const known = leaveOutKnown(file, id);
    if (!replaces) refusePositions(file);
    // Twice is once: a record has one letter for each sink.
    file.exec(
      `INSERT OR IGNORE INTO letters.letter (${LETTER_COLUMNS}) SELECT ${LETTER_COLUMNS} FROM moved.letter WHERE ${SELECTED}`,
    );
    file.transact(() => copyIn(file, id));
    return { routers: wanted.filter((router) => !known.includes(router)), known, ...countSelected(file) };
  } catch (cause) {
    throw toStoreError(cause, target);
  } finally {
    removeDatabase(copy);
  }
}

/** Opens the store as `main` and its dead letters, which have a file of their own, as `letters`. */
function openWithLetters(path: string, now: () => number): SqliteFile {
  finishRebuild(join(path, STATE_FILE));
  const file = openState(join(path, STATE_FILE));
  try {
    // Creates the file, or converts it to the current format.
    new DeadLetterStore({ path, now }).close();
    file.run('ATTACH ? AS letters', join(path, 'dead-letters.db'));
    return file;
  } catch (cause) {
    file.close();
    throw cause;
  }
}

/** Fills the temporary table `selected` with the wanted routers of some queries; returns them sorted. */
function select(
  file: SqliteFile,
  isWanted: (router: string) => boolean,
  queries: readonly string[],
): readonly string[] {
  file.exec('CREATE TEMP TABLE selected (router TEXT PRIMARY KEY) WITHOUT ROWID');
  const found = file.all(queries.join(' UNION ')).map(({ router }) => String(router));
  const wanted = found.filter((router) => router !== '' && isWanted(router)).toSorted();
  for (const router of wanted) file.run('INSERT INTO selected VALUES (?)', router);
  return wanted;
}

/** Copies the state of the selected routers from the store to the new file. */
function copyOut(file: SqliteFile, nowMs: number): void {
  file.exec('CREATE TABLE moved.origin (id TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT');
  file.run('INSERT INTO moved.origin VALUES (?, ?)', randomUUID(), Math.floor(nowMs));
  file.exec(`
    CREATE TABLE moved.letter AS SELECT ${LETTER_COLUMNS} FROM letters.letter WHERE ${SELECTED} ORDER BY id;
    INSERT INTO moved.log SELECT * FROM main.log WHERE ${SELECTED};
    INSERT INTO moved.fact SELECT * FROM main.fact WHERE ${SELECTED};
    INSERT INTO moved.note SELECT * FROM main.note WHERE ${SELECTED};
    INSERT INTO moved.cursor SELECT * FROM main.cursor;
    INSERT INTO moved.batch SELECT * FROM main.batch WHERE ${SELECTED} AND ${FROM_LOWEST};
    INSERT INTO moved.spool SELECT * FROM main.spool WHERE batch IN (SELECT id FROM moved.batch);`);
}

function removeSelected(file: SqliteFile): void {
  file.exec(`
    DELETE FROM main.spool WHERE batch IN (SELECT id FROM main.batch WHERE ${SELECTED} AND ${FROM_LOWEST});
    DELETE FROM main.batch WHERE ${SELECTED} AND ${FROM_LOWEST};
    DELETE FROM main.log WHERE ${SELECTED};
    DELETE FROM main.fact WHERE ${SELECTED};
    DELETE FROM main.note WHERE ${SELECTED};
    DELETE FROM main.absence WHERE ${SELECTED};
    DELETE FROM letters.letter WHERE ${SELECTED};`);
}

/** Adds the state of the selected routers to the store. The records come behind those that wait there. */
function copyIn(file: SqliteFile, id: string): void {
  const newest = Number(file.get(`SELECT seq FROM main.sqlite_sequence WHERE name = 'spool'`)?.['seq'] ?? 0);
  // A sink that this store does not have yet may be one that starts behind the newest record.
  file.run(
    'INSERT INTO main.cursor SELECT sink, ?, 0 FROM moved.cursor WHERE sink NOT IN (SELECT sink FROM main.cursor)',
    newest + 1,
  );
  file.exec('CREATE TEMP TABLE renumbered (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)');
  file.run(
    `INSERT INTO renumbered SELECT id, ? + row_number() OVER (ORDER BY id) FROM moved.batch WHERE ${SELECTED} AND id IN (SELECT batch FROM moved.spool)`,
    newest,
  );
  file.exec(`
    INSERT INTO main.spool (batch, records, body)
      SELECT new, records, body FROM renumbered JOIN moved.spool ON batch = old ORDER BY old;
    INSERT INTO main.batch (id, router, component, committed_ms, records, bytes)
      SELECT new, router, component, committed_ms, records, bytes FROM renumbered JOIN moved.batch ON id = old;
    INSERT OR REPLACE INTO main.log SELECT * FROM moved.log WHERE ${SELECTED};
    INSERT OR REPLACE INTO main.fact SELECT * FROM moved.fact WHERE ${SELECTED};
    INSERT OR REPLACE INTO main.note SELECT * FROM moved.note WHERE ${SELECTED};`);
  file.run('INSERT OR REPLACE INTO main.note SELECT router, ?, ? FROM selected', IMPORT_KEY, id);
}

/** Removes routers from the selection that this file was imported for before; returns them. */
function leaveOutKnown(file: SqliteFile, id: string): readonly string[] {
  const known = file
    .all(`SELECT router FROM main.note WHERE key = ? AND text = ? AND ${SELECTED}`, IMPORT_KEY, id)
    .map(({ router }) => String(router));
  for (const router of known) file.run('DELETE FROM selected WHERE router = ?', router);
  return known;
}

/** Throws if the store has positions of its own for logs of the selected routers. */
function refusePositions(file: SqliteFile): void {
  const taken = file.all(
    `SELECT router, component FROM main.log JOIN moved.log AS other USING (router, component)
     WHERE ${SELECTED} AND main.log.position <> other.position ORDER BY router, component`,
  );
  const [first] = taken;
  if (!first) return;
  const example = `${String(first['router'])}/${String(first['component'])}`;
  throw toRefusal(
    `The store already has positions of ${taken.length} of these logs, such as ${example}`,
    'Leave their routers out with --routers, or replace the positions with --replace',
  );
}

/** Counts the state of the selected routers in the file. */
function countSelected(file: SqliteFile): Omit<MovedState, 'routers'> {
  const read = (what: string, table: string) =>
    Number(file.get(`SELECT ${what} AS sum FROM moved.${table} WHERE ${SELECTED}`)?.['sum']);
  return {
    logs: read('count(*)', 'log'),
    records: read('coalesce(sum(records), 0)', 'batch'),
    deadLetters: read('count(*)', 'letter'),
  };
}

/** Converts a copy of an exported file to the current format; returns the identity of the export. */
function readOrigin(copy: string, input: string): string {
  try {
    using file = openState(copy);
    file.exec('PRAGMA journal_mode = DELETE');
    const check = file.get('PRAGMA quick_check(1)')?.['quick_check'];
    const id = file.get('SELECT id FROM origin')?.['id'];
    if (check === 'ok' && typeof id === 'string') return id;
  } catch (cause) {
    // Of a newer version.
    if (cause instanceof StoreError) throw cause;
  }
  throw toRefusal(`${input} is not a whole file of state export`, 'Export the state again');
}

/** Waits until a file, or the names in a folder, would survive a power cut. */
function makeDurable(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
}

function toAbsent(path: string, hint: string): StoreError {
  return new StoreError('absent', `There is no file ${path}`, { disposition: 'operator', hint });
}

function toRefusal(message: string, hint: string): StoreError {
  return new StoreError('broken', message, { disposition: 'operator', hint });
}
