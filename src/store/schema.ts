import { StoreError } from './errors.ts';
import { enableCompaction, PAGE_BYTES, SqliteFile } from './sqlite-file.ts';

/** Name of the database of the state in its folder. */
export const STATE_FILE = 'router-exporter.db';
/** The write-ahead log is truncated to this size after a checkpoint. Bytes. */
const WAL_BYTES_KEPT = 4 * 1024 * 1024;

/** Each entry upgrades the database by one format version; entries are never changed once released. */
const STATE_MIGRATIONS: readonly string[] = [
  `CREATE TABLE log (
     router TEXT NOT NULL, component TEXT NOT NULL, position TEXT NOT NULL,
     PRIMARY KEY (router, component)
   ) WITHOUT ROWID, STRICT;
   CREATE TABLE spool (batch INTEGER PRIMARY KEY AUTOINCREMENT, records INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
   CREATE TABLE cursor (sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL) WITHOUT ROWID, STRICT;`,
  `CREATE TABLE note (
     router TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
     PRIMARY KEY (router, key)
   ) WITHOUT ROWID, STRICT;`,
  // Routers that are no longer configured, and since when (wall time, milliseconds since the Unix epoch).
  'CREATE TABLE absence (router TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) WITHOUT ROWID, STRICT;',
  // Metadata of the batches in the spool without the bodies: a million of these rows can be scanned quickly. A batch
  // from before this version has no router and counts as committed at the time of the upgrade.
  `CREATE TABLE batch (
     id INTEGER PRIMARY KEY, router TEXT NOT NULL, component TEXT NOT NULL, committed_ms INTEGER NOT NULL,
     records INTEGER NOT NULL, bytes INTEGER NOT NULL
   ) STRICT;
   INSERT INTO batch SELECT batch, '', '', 0, records, length(body) FROM spool;`,
  // `taken`: cursors from which sinks with `replay` took records, and when (wall time). `repeat`: progress of redeliveries.
  `CREATE TABLE taken (
     sink TEXT NOT NULL, at_ms INTEGER NOT NULL, batch INTEGER NOT NULL, idx INTEGER NOT NULL,
     PRIMARY KEY (sink, at_ms)
   ) WITHOUT ROWID, STRICT;
   CREATE TABLE repeat (
     sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL, renews INTEGER NOT NULL
   ) WITHOUT ROWID, STRICT;`,
  // Facts about a router as a whole used to be stored as the position of a log without a name.
  `CREATE TABLE fact (router TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID, STRICT;
   INSERT INTO fact SELECT router, position FROM log WHERE component = '';
   DELETE FROM log WHERE component = '';`,
  // The last lines of each router. `seq`: number of the first record of the row among those of its router. `bytes`: with
  // what the row takes besides its body.
  `CREATE TABLE recent (
     router TEXT NOT NULL, seq INTEGER NOT NULL, records INTEGER NOT NULL, first_ms INTEGER NOT NULL,
     last_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, body BLOB NOT NULL,
     PRIMARY KEY (router, seq)
   ) WITHOUT ROWID, STRICT;
   CREATE INDEX recent_time ON recent (last_ms);`,
  'SELECT 8',
  // Bodies are what the codec gives, or a few lines as they are.
  'SELECT 9',
];

/** Opens or creates the database of the state, with its tables. Default of `bytesMax`: the size of the disk. */
export function openState(path: string, bytesMax?: number): SqliteFile {
  const file = new SqliteFile(path, 0);
  try {
    // Must come before the first write: a database without tables can still switch to incremental vacuum.
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA auto_vacuum = INCREMENTAL');
    file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT');
    migrate(file, STATE_MIGRATIONS);
    file.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`);
    enableCompaction(file);
    if (bytesMax !== undefined) file.exec(`PRAGMA max_page_count = ${Math.floor(bytesMax / PAGE_BYTES)}`);
    return file;
  } catch (cause) {
    file.close();
    throw cause;
  }
}

/** Upgrades the database to the format of this program. Throws {@link StoreError} if a newer program wrote it. */
export function migrate(file: SqliteFile, migrations: readonly string[]): void {
  const version = readFormat(file);
  if (version > migrations.length) {
    throw new StoreError('broken', `The state has format ${version}, and this program knows ${migrations.length}`, {
      disposition: 'operator',
      hint: 'Run the version of router-exporter that wrote it, or a later one',
    });
  }
  for (let next = version; next < migrations.length; next++) {
    file.transact(() => file.exec(`${migrations[next]}; PRAGMA user_version = ${next + 1}`));
  }
}

/** Writes to the disk without changing data, and throws if that fails. */
export function touch(file: SqliteFile): void {
  file.transact(() => file.exec(`PRAGMA user_version = ${readFormat(file)}`));
}

function readFormat(file: SqliteFile): number {
  return Number(file.get('PRAGMA user_version')?.['user_version']);
}
