import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { unpackLines } from '../base/index.ts';
import { type Row, removeDatabase, renameDatabase, type SqliteFile } from './sqlite-file.ts';

/** Number of rows, or records, that could not be read; `unknown` if their total is unknown. */
type Lost = number | 'unknown';

/** Result of the rebuild of a damaged database. */
export interface Rebuilt {
  readonly recordsSaved: number;
  readonly recordsLost: Lost;
  /** Routers whose facts were lost. */
  readonly factsLost: Lost;
  /** Counters of routers, and states that were set by request. */
  readonly valuesLost: Lost;
  /** Sinks that get everything again. */
  readonly cursorsLost: Lost;
  readonly damagedFile: string;
}

const UNFINISHED = '.rebuilding';
const DAMAGED = '.damaged';

const TABLES = {
  cursor: { sink: 'string', batch: 'number', idx: 'number' },
  fact: { router: 'string', text: 'string' },
  note: { router: 'string', key: 'string', text: 'string' },
  batch: {
    id: 'number',
    router: 'string',
    component: 'string',
    committed_ms: 'number',
    records: 'number',
    bytes: 'number',
  },
  spool: { batch: 'number', records: 'number', body: 'object' },
} as const;

type Table = keyof typeof TABLES;

/**
 * Reads the index of a table, and the table from both ends: a damaged page ends a reading, and there may be readable ones
 * after it.
 */
const READ_ORDERS = ['', 'NOT INDEXED ORDER BY rowid', 'NOT INDEXED ORDER BY rowid DESC'];

/**
 * Moves a damaged database aside, and creates a new one with everything that can be read: undelivered records whose checksum
 * is correct, cursors, and facts, values and journals of routers. Positions are not copied: one may be beyond a lost batch; without
 * them the lines are read again, with the same uids. `openEmpty` opens a new database with its tables.
 *
 * The new one is complete before the damaged one is renamed: a crash leaves one of them, and {@link finishRebuild} continues.
 */
export function rebuildDatabase(file: string, openEmpty: (file: string) => SqliteFile, nowMs: number): Rebuilt {
  const unfinished = `${file}${UNFINISHED}`;
  removeDatabase(unfinished);
  try {
    using fresh = openEmpty(unfinished);
    const copied = fresh.transact(() => copyReadable(file, fresh, nowMs));
    fresh.close();
    const damagedFile = moveAside(file);
    finishRebuild(file);
    return { ...copied, damagedFile };
  } catch (cause) {
    // On a full disk it would take the space that everything else needs.
    if (existsSync(file)) removeDatabase(unfinished);
    throw cause;
  }
}

/** Gives a rebuilt database its name if a crash or an error came before. Returns true if there was one. */
export function finishRebuild(file: string): boolean {
  const unfinished = `${file}${UNFINISHED}`;
  if (existsSync(file) || !existsSync(unfinished)) return false;
  renameDatabase(unfinished, file);
  return true;
}

/** Renames a database so that it can be examined, replacing one moved aside earlier; returns its new name. */
export function moveAside(file: string): string {
  const aside = `${file}${DAMAGED}`;
  removeDatabase(aside);
  renameDatabase(file, aside);
  return aside;
}

function copyReadable(file: string, fresh: SqliteFile, nowMs: number): Omit<Rebuilt, 'damagedFile'> {
  using damaged = new DatabaseSync(file, { readOnly: true });
  const lost = new Map<Table, readonly number[] | 'unknown'>();
  for (const table of Object.keys(TABLES) as Table[]) lost.set(table, copyRows(damaged, fresh, table));
  keepKnownRouters(damaged, fresh);
  // Unlike a position, a journal is not beyond anything that is lost.
  readWhilePossible(damaged, `SELECT router, position FROM log WHERE component = ''`, ({ router, position }) => {
    if (typeof router !== 'string' || typeof position !== 'string') return;
    fresh.run(`INSERT INTO log VALUES (?, '', ?) ON CONFLICT DO NOTHING`, router, position);
  });
  // Batches before all cursors were delivered, and are kept for replay.
  const waitingFrom = Number(fresh.get('SELECT coalesce(min(batch), 0) AS batch FROM cursor')?.['batch']);
  const recordsLost = sumRecords(fresh, lost.get('spool') ?? [], waitingFrom);
  fresh.exec('DELETE FROM batch WHERE id NOT IN (SELECT batch FROM spool)');
  fresh.exec('UPDATE batch SET (records, bytes) = (SELECT records, length(body) FROM spool WHERE batch = id)');
  if (lost.get('batch')?.length === 0) {
    // A body without metadata was delivered, and is kept for the last lines.
    fresh.exec('DELETE FROM spool WHERE batch NOT IN (SELECT id FROM batch)');
  } else {
    // If the log of a batch cannot be read, every sink gets its records.
    fresh.run(
      `INSERT INTO batch SELECT batch, '', '', ?, records, length(body) FROM spool WHERE batch NOT IN (SELECT id FROM batch)`,
      Math.floor(nowMs),
    );
  }
  const saved = fresh.get('SELECT coalesce(sum(records), 0) AS records FROM batch WHERE id >= ?', waitingFrom);
  // New batches must come after everything the sinks have; AUTOINCREMENT continues from the highest number inserted.
  fresh.exec(`
    INSERT OR IGNORE INTO spool SELECT coalesce(max(batch), 0), 0, x'' FROM cursor;
    DELETE FROM spool WHERE records = 0`);
  const count = (table: Table) => (lost.get(table) === 'unknown' ? 'unknown' : (lost.get(table)?.length ?? 0));
  return {
    recordsSaved: Number(saved?.['records']),
    recordsLost,
    factsLost: count('fact'),
    valuesLost: count('note'),
    cursorsLost: count('cursor'),
  };
}

/** Sums the records of lost batches from `from` on. A batch of unknown size has at least one. */
function sumRecords(fresh: SqliteFile, batches: readonly number[] | 'unknown', from: number): Lost {
  if (batches === 'unknown') return batches;
  return batches
    .filter((batch) => batch >= from)
    .reduce(
      (sum, batch) => sum + Number(fresh.get('SELECT records FROM batch WHERE id = ?', batch)?.['records'] ?? 1),
      0,
    );
}

/** Copies a table row by row, so that an unreadable row costs no other. Returns the ids of unreadable rows. */
function copyRows(damaged: DatabaseSync, fresh: SqliteFile, table: Table): readonly number[] | 'unknown' {
  const columns = Object.entries(TABLES[table]);
  const names = columns.map(([name]) => name).join();
  const insert = `INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join()})`;
  const { ids, isComplete } = listIds(damaged, table);
  const lost: number[] = [];
  for (const id of ids) {
    const row = readRow(damaged, `SELECT ${names} FROM ${table} WHERE rowid = ?`, id);
    const isSound = row && columns.every(([name, type]) => typeof row[name] === type && !(Number(row[name]) < 0));
    if (isSound && (table !== 'spool' || isWhole(row)))
      fresh.run(insert, ...columns.map(([name]) => row[name] ?? null));
    else lost.push(id);
  }
  return isComplete ? lost : 'unknown';
}

/** Lists the row ids of a table; for the spool also those of its metadata. `isComplete`: true if unreadable rows are included. */
function listIds(
  damaged: DatabaseSync,
  table: Table,
): { readonly ids: ReadonlySet<number>; readonly isComplete: boolean } {
  const ids = new Set<number>();
  let isComplete = false;
  for (const source of table === 'spool' ? ['spool', 'batch'] : [table]) {
    for (const way of READ_ORDERS) {
      const isEnd = readWhilePossible(damaged, `SELECT rowid AS id FROM ${source} ${way}`, ({ id }) => {
        ids.add(Number(id));
      });
      isComplete ||= isEnd;
    }
  }
  return { ids, isComplete };
}

/**
 * A router whose facts are lost keeps empty ones: it is known, so the existing lines of its logs must not be skipped as for a
 * new router.
 */
function keepKnownRouters(damaged: DatabaseSync, fresh: SqliteFile): void {
  for (const table of ['fact', 'log', 'batch']) {
    readWhilePossible(damaged, `SELECT DISTINCT router FROM ${table}`, ({ router }) => {
      if (typeof router !== 'string' || router === '') return;
      fresh.run(`INSERT INTO fact (router, text) VALUES (?, '') ON CONFLICT DO NOTHING`, router);
    });
  }
}

function readWhilePossible(damaged: DatabaseSync, query: string, take: (row: Row) => void): boolean {
  const rows: Row[] = [];
  let isEnd = false;
  try {
    for (const row of damaged.prepare(query).iterate()) rows.push(row);
    isEnd = true;
  } catch {}
  for (const row of rows) take(row);
  return isEnd;
}

function readRow(damaged: DatabaseSync, query: string, id: number): Row | undefined {
  try {
    return damaged.prepare(query).get(id);
  } catch {
    return undefined;
  }
}

function isWhole({ body, records }: Row): boolean {
  try {
    return body instanceof Uint8Array && unpackLines(body).length === records;
  } catch {
    return false;
  }
}
