import { DatabaseSync } from 'node:sqlite';
import { unpackLines } from './spool-batch.ts';

/** A batch of the spool as it is stored. */
interface StoredBatch {
  readonly batch: number;
  readonly records: number;
  readonly body: Uint8Array;
}

/** What could be read of a damaged database. */
export interface Salvage {
  readonly batches: readonly StoredBatch[];
  /** Sinks with the places that they have reached. */
  readonly cursors: readonly { readonly sink: string; readonly batch: number; readonly index: number }[];
}

/** Damaged places that are stepped over; each costs a search in the tree. */
const FAULTS_MAX = 1000;

/**
 * Reads what can be read of a damaged database: batches whose checksum is right, and cursors. Positions are left behind: one
 * of them may be ahead of a batch that is lost, and without them the lines are read again, with the same uids.
 */
export function salvage(file: string): Salvage {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    return { batches: readBatches(database), cursors: readCursors(database) };
  } catch {
    return { batches: [], cursors: [] };
  } finally {
    database?.close();
  }
}

function readBatches(database: DatabaseSync): StoredBatch[] {
  const batches: StoredBatch[] = [];
  let next = 0;
  for (let faults = 0; faults < FAULTS_MAX; faults++) {
    try {
      const rows = database
        .prepare('SELECT batch, records, body FROM spool WHERE batch >= ? ORDER BY batch')
        .iterate(next);
      for (const row of rows) {
        const batch = Number(row['batch']);
        next = batch + 1;
        const body = row['body'];
        if (body instanceof Uint8Array && isWhole(body)) batches.push({ batch, records: Number(row['records']), body });
      }
      return batches;
    } catch {
      // The row cannot be read; the one behind it may be.
      next++;
    }
  }
  return batches;
}

function isWhole(body: Uint8Array): boolean {
  try {
    unpackLines(body);
    return true;
  } catch {
    return false;
  }
}

function readCursors(database: DatabaseSync): Salvage['cursors'] {
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
