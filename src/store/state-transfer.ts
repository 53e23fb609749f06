import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LETTERS_FILE } from './dead-letter-file.ts';
import { DeadLetterStore } from './dead-letter-store.ts';
import { toAbsent, toStoreError } from './errors.ts';
import { LETTER_COLUMNS } from './letter-rows.ts';
import {
  copyMovedFile,
  countSelected,
  IMPORT_KEY,
  type ImportedState,
  listMovedRouters,
  MovedFileWriter,
  type MovedState,
  SELECTED,
  selectRouters,
  toTaken,
} from './moved-file.ts';
import { finishRebuild } from './rebuild.ts';
import { openState, STATE_FILE } from './schema.ts';
import { makeFolder, removeDatabase, type SqliteFile } from './sqlite-file.ts';

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
  if (!existsSync(source))
    throw toAbsent(source, 'Check storage.path of the configuration, or name the folder with --storage.path');
  try {
    using moving = new MovedFileWriter(output, now());
    using file = openWithLetters(path, now);
    file.run('ATTACH ? AS moved', moving.path);
    const found = file.all(
      `SELECT router FROM main.log UNION SELECT router FROM main.fact UNION SELECT router FROM main.note
       UNION SELECT router FROM main.batch WHERE ${FROM_LOWEST} UNION SELECT router FROM letters.letter`,
    );
    const routers = selectRouters(
      file,
      isWanted,
      found.map(({ router }) => String(router)),
    );
    const moved = file.transact(() => {
      copyOut(file);
      return { routers, ...countSelected(file, 'moved') };
    });
    file.exec('PRAGMA moved.journal_mode = DELETE; DETACH moved');
    moving.finish();
    if (removes) file.transact(() => removeSelected(file));
    return moved;
  } catch (cause) {
    throw toStoreError(cause, source);
  }
}

/**
 * Adds the state of routers from a file to a store, in one transaction; dead letters come first. Records that some sinks had are delivered to all again,
 * with the same uids. Routers that this file was imported for before are left alone. Throws {@link StoreError}: `absent` without the
 * file, `broken` if it is no exported state or if the store has positions of these routers, `locked` while an agent uses the store, `full` and `unwritable`.
 */
export function importState({ path, input, isWanted, replaces, now }: ImportOptions): ImportedState {
  makeFolder(path);
  const target = join(path, STATE_FILE);
  const copy = join(path, 'importing.db');
  try {
    const id = copyMovedFile(input, copy);
    using file = openWithLetters(path, now);
    file.run('ATTACH ? AS moved', copy);
    const wanted = selectRouters(file, isWanted, listMovedRouters(file, 'moved'));
    const known = leaveOutKnown(file, id);
    if (!replaces) refusePositions(file);
    // Twice is once: a record has one letter for each sink.
    const { changes: deadLetters } = file.run(
      `INSERT OR IGNORE INTO letters.letter (${LETTER_COLUMNS}) SELECT ${LETTER_COLUMNS} FROM moved.letter WHERE ${SELECTED}`,
    );
    file.transact(() => copyIn(file, id));
    const routers = wanted.filter((router) => !known.includes(router));
    return { routers, known, ...countSelected(file, 'moved'), deadLetters };
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
    file.run('ATTACH ? AS letters', join(path, LETTERS_FILE));
    return file;
  } catch (cause) {
    file.close();
    throw cause;
  }
}

/** Copies the state of the selected routers from the store to the new file. */
function copyOut(file: SqliteFile): void {
  file.exec(`
    INSERT INTO moved.letter (${LETTER_COLUMNS}) SELECT ${LETTER_COLUMNS} FROM letters.letter WHERE ${SELECTED} ORDER BY id;
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
  if (taken.length > 0) {
    throw toTaken(taken.map((row) => ({ router: String(row['router']), component: String(row['component']) })));
  }
}
