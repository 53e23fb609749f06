import { existsSync, renameSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { unpackLines } from '../base/index.ts';
import type { BatchEntry } from './spool-batches.ts';
import { type Row, removeDatabase, renameDatabase, type SqliteFile } from './sqlite-file.ts';

/** Limit of the damaged rows skipped; each costs a search in the tree. */
const FAULTS_MAX = 1000;
/** Suffix of a database being written from the readable parts of a damaged one. */
const UNFINISHED = '.rebuilding';
/** Suffix of a finished database that is about to replace the damaged one. */
const FINISHED = '.rebuilt';
const DAMAGED = '.damaged';
/** Tables are read from both ends: a damaged page ends the reading, and there may be whole ones behind it. */
const ORDERS = ['ASC', 'DESC'];

/**
 * Replaces a damaged database by a new one with everything readable: batches whose checksum is correct, cursors, and facts
 * and values of routers. Positions are not copied: one of them may be beyond a lost batch, and without them the lines are read again,
 * with the same uids. A crash at any point leaves either the damaged database or the finished new one. `openEmpty` opens a new
 * database with its tables. Returns the number of undelivered records saved and the new path of the damaged database.
 */
export function rebuildDatabase(file: string, openEmpty: (file: string) => SqliteFile) {
  const unfinished = `${file}${UNFINISHED}`;
  removeDatabase(unfinished);
  let recordsSaved = 0;
  try {
    using fresh = openEmpty(unfinished);
    fresh.transact(() => {
      recordsSaved = salvage(file, fresh);
    });
  } catch (cause) {
    // A disk that is full would have no room for anything else.
    removeDatabase(unfinished);
    throw cause;
  }
  removeDatabase(`${file}${DAMAGED}`);
  renameSync(unfinished, `${file}${FINISHED}`);
  finishRebuild(file);
  return { recordsSaved, damagedFile: `${file}${DAMAGED}` };
}

/** Completes a rebuild that was interrupted by a crash, or by an error. Returns true if there was one. */
export function finishRebuild(file: string): boolean {
  if (!existsSync(`${file}${FINISHED}`)) return false;
  renameDatabase(file, `${file}${DAMAGED}`);
  renameSync(`${file}${FINISHED}`, file);
  return true;
}

/** Renames a database so that it can be examined, replacing one moved aside earlier; returns its new name. */
export function putAside(file: string): string {
  const aside = `${file}${DAMAGED}`;
  removeDatabase(aside);
  renameDatabase(file, aside);
  return aside;
}

function salvage(file: string, fresh: SqliteFile): number {
  let damaged: DatabaseSync | undefined;
  try {
    damaged = new DatabaseSync(file, { readOnly: true });
    return copyAll(damaged, fresh);
  } finally {
    damaged?.close();
  }
}

function copyAll(damaged: DatabaseSync, fresh: SqliteFile): number {
  let recordsSaved = 0;
  let highest = 0;
  const cursors = readCursors(damaged);
  // Batches before all cursors are kept for replay and do not count as undelivered.
  const waitingFrom = Math.min(...cursors.map(({ batch }) => batch));
  for (const { sink, batch, index } of cursors) {
    fresh.run('INSERT INTO cursor (sink, batch, idx) VALUES (?, ?, ?)', sink, batch, index);
    highest = Math.max(highest, batch);
  }
  // New batches must come after everything the sinks have; the database continues from the highest number it has seen.
  fresh.run('INSERT INTO spool (batch, records, body) VALUES (?, 0, ?)', highest, new Uint8Array());
  fresh.run('DELETE FROM spool WHERE batch = ?', highest);
  for (const { batch, records, body } of readBatches(damaged)) {
    const { router, component, committedMs } = readEntry(damaged, batch);
    fresh.run('INSERT INTO spool (batch, records, body) VALUES (?, ?, ?)', batch, records, body);
    fresh.run(
      'INSERT INTO batch (id, router, component, committed_ms, records, bytes) VALUES (?, ?, ?, ?, ?, ?)',
      batch,
      router,
      component,
      committedMs,
      records,
      body.length,
    );
    if (cursors.length === 0 || batch >= waitingFrom) recordsSaved += records;
  }
  copyFacts(damaged, fresh);
  copyValues(damaged, fresh);
  return recordsSaved;
}

/**
 * Copies the facts about routers. A router whose facts are lost keeps empty ones: it was met before, so that what its logs hold
 * is not passed over as older than that.
 */
function copyFacts(damaged: DatabaseSync, fresh: SqliteFile): void {
  const add = (router: unknown, text: unknown) =>
    fresh.run('INSERT INTO fact (router, text) VALUES (?, ?) ON CONFLICT DO NOTHING', String(router), String(text));
  for (const order of ORDERS) {
    const facts = readWhilePossible(damaged, `SELECT router, text FROM fact ORDER BY router ${order}`);
    for (const { router, text } of facts) add(router, text);
  }
  for (const table of ['log', 'batch']) {
    const routers = readWhilePossible(damaged, `SELECT DISTINCT router FROM ${table} WHERE router <> ''`);
    for (const { router } of routers) add(router, '');
  }
}

/** Copies the values of routers: what an operator has asked for, such as a pause, must not end with the damage. */
function copyValues(damaged: DatabaseSync, fresh: SqliteFile): void {
  for (const order of ORDERS) {
    const query = `SELECT router, key, text FROM note ORDER BY router ${order}, key ${order}`;
    for (const { router, key, text } of readWhilePossible(damaged, query)) {
      const values = [String(router), String(key), String(text)];
      fresh.run('INSERT INTO note (router, key, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', ...values);
    }
  }
}

/** Yields the rows of a query up to the first one that cannot be read; none of a damaged table. */
function* readWhilePossible(database: DatabaseSync, query: string): Generator<Row> {
  try {
    yield* database.prepare(query).iterate();
  } catch {
    // A damaged page.
  }
}

function* readBatches(database: DatabaseSync): Generator<{ batch: number; records: number; body: Uint8Array }> {
  let next = 0;
  for (let faults = 0; faults < FAULTS_MAX; ) {
    let row: ReturnType<ReturnType<DatabaseSync['prepare']>['get']>;
    try {
      row = database
        .prepare('SELECT batch, records, body FROM spool WHERE batch >= ? ORDER BY batch LIMIT 1')
        .get(next);
    } catch {
      // The row cannot be read; the next one may be readable.
      faults++;
      next++;
      continue;
    }
    if (!row) return;
    const batch = Number(row['batch']);
    const records = Number(row['records']);
    const body = row['body'];
    next = batch + 1;
    if (body instanceof Uint8Array && isWhole(body, records)) yield { batch, records, body };
  }
}

function isWhole(body: Uint8Array, records: number): boolean {
  try {
    return unpackLines(body).length === records;
  } catch {
    return false;
  }
}

/** Returns what is known about a batch; nothing if that cannot be read, so that every sink gets it. */
function readEntry(database: DatabaseSync, batch: number): Pick<BatchEntry, 'router' | 'component' | 'committedMs'> {
  try {
    // A batch without a time counts as committed now.
    const time = `CASE WHEN ${isInRange('committed_ms')} THEN committed_ms ELSE 0 END AS committed_ms`;
    const row = database.prepare(`SELECT router, component, ${time} FROM batch WHERE id = ?`).get(batch);
    if (row) {
      const { router, component, committed_ms: committedMs } = row;
      return { router: String(router), component: String(component), committedMs: Number(committedMs) };
    }
  } catch {
    // A damaged page.
  }
  return { router: '', component: '', committedMs: 0 };
}

/** Returns the condition for a number that can be read: nothing here writes others. */
export function isInRange(column: string): string {
  return `${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`;
}

function readCursors(database: DatabaseSync) {
  try {
    return database
      .prepare(`SELECT sink, batch, idx FROM cursor WHERE ${isInRange('batch')} AND ${isInRange('idx')}`)
      .all()
      .map((row) => ({ sink: String(row['sink']), batch: Number(row['batch']), index: Number(row['idx']) }));
  } catch {
    // A sink without a cursor gets everything.
    return [];
  }
}
