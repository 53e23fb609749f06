import { existsSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { unpackLines } from './spool-batch.ts';
import type { BatchEntry } from './spool-table.ts';
import type { SqliteFile } from './sqlite-file.ts';

/** Damaged places that are stepped over; each costs a search in the tree. */
const FAULTS_MAX = 1000;
/** Ending of a database that is being written from what could be read of a damaged one. */
const UNFINISHED = '.rebuilding';
/** Ending of one that is finished, and is about to take the place of the damaged one. */
const FINISHED = '.rebuilt';
const DAMAGED = '.damaged';

/**
 * Puts a new database in the place of a damaged one, with what can be read of it: batches whose checksum is right, and
 * cursors. Positions are left behind: one of them may be ahead of a batch that is lost, and without them the lines are read
 * again, with the same uids. A crash at any point leaves either the damaged database or the finished new one.
 * `openEmpty`: opens a new database with its tables. Gives how many undelivered records were saved, and where the damaged
 * database lies now.
 */
export function rebuildDatabase(file: string, openEmpty: (file: string) => SqliteFile) {
  const unfinished = `${file}${UNFINISHED}`;
  removeDatabase(unfinished);
  let recordsSaved = 0;
  {
    using fresh = openEmpty(unfinished);
    fresh.transact(() => {
      recordsSaved = salvage(file, fresh);
    });
  }
  removeDatabase(`${file}${DAMAGED}`);
  renameSync(unfinished, `${file}${FINISHED}`);
  finishRebuild(file);
  return { recordsSaved, damagedFile: `${file}${DAMAGED}` };
}

/** Does what is left of a rebuild that a crash has ended. */
export function finishRebuild(file: string): void {
  if (!existsSync(`${file}${FINISHED}`)) return;
  moveAside(file);
  renameSync(`${file}${FINISHED}`, file);
}

/** Renames a database, so that it can be looked at, in place of one that was put aside before; gives its new name. */
export function putAside(file: string): string {
  removeDatabase(`${file}${DAMAGED}`);
  moveAside(file);
  return `${file}${DAMAGED}`;
}

function moveAside(file: string): void {
  // The log before the database: beside a new database it would be taken for its own.
  for (const suffix of ['-journal', '-wal', '-shm', '']) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${file}${DAMAGED}${suffix}`);
  }
}

function removeDatabase(file: string): void {
  for (const suffix of ['-journal', '-wal', '-shm', '']) rmSync(`${file}${suffix}`, { force: true });
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
  // What stands before all of them is kept to go again, and is not undelivered.
  const waitingFrom = Math.min(...cursors.map(({ batch }) => batch));
  for (const { sink, batch, index } of cursors) {
    fresh.run('INSERT INTO cursor (sink, batch, idx) VALUES (?, ?, ?)', sink, batch, index);
    highest = Math.max(highest, batch);
  }
  // New batches must come behind what the sinks have; the database counts on from the highest number it has seen.
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
  return recordsSaved;
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
      // The row cannot be read; the one behind it may be.
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

/** What is known of a batch; nothing when that cannot be read, so that every sink gets it. */
function readEntry(database: DatabaseSync, batch: number): Pick<BatchEntry, 'router' | 'component' | 'committedMs'> {
  try {
    const row = database.prepare('SELECT router, component, committed_ms FROM batch WHERE id = ?').get(batch);
    if (row) {
      const { router, component, committed_ms: committedMs } = row;
      return { router: String(router), component: String(component), committedMs: Number(committedMs) };
    }
  } catch {
    // A damaged page, or a format without this table.
  }
  return { router: '', component: '', committedMs: 0 };
}

function readCursors(database: DatabaseSync) {
  try {
    return database
      .prepare('SELECT sink, batch, idx FROM cursor')
      .all()
      .map((row) => ({ sink: String(row['sink']), batch: Number(row['batch']), index: Number(row['idx']) }));
  } catch {
    // A sink without a cursor gets everything that is there.
    return [];
  }
}
