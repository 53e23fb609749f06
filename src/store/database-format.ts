import { StoreError } from '../model/index.ts';
import { databaseExists, PAGE_BYTES, renameDatabase, SqliteFile } from './sqlite-file.ts';

export const STATE_FILE = 'router-exporter.db';
/** Size to which the write-ahead log is truncated after a checkpoint. Bytes. */
const WAL_BYTES_KEPT = 4 * 1024 * 1024;

/** A database of an older format that was moved aside. */
export interface OlderState {
  readonly format: number;
  /** Number of undelivered records or dead letters in it; `undefined` if it cannot be read. */
  readonly records: number | undefined;
  /** New name of the file. */
  readonly file: string;
}

export interface FileFormat {
  readonly version: number;
  readonly tables: string;
  /** Counts, as `records`, what is lost without a database of an older format. */
  readonly count: string;
}

const STATE_FORMAT: FileFormat = {
  version: 10,
  tables: `
    CREATE TABLE log (
      router TEXT NOT NULL, component TEXT NOT NULL, position TEXT NOT NULL,
      PRIMARY KEY (router, component)
    ) WITHOUT ROWID, STRICT;
    -- What a rebuild copies has numbered rows, and an index that names them where the table is damaged.
    CREATE TABLE spool (batch INTEGER PRIMARY KEY AUTOINCREMENT, records INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
    -- Metadata of the batches in the spool without the bodies: a million of these rows can be scanned quickly.
    CREATE TABLE batch (
      id INTEGER PRIMARY KEY, router TEXT NOT NULL, component TEXT NOT NULL, committed_ms INTEGER NOT NULL,
      records INTEGER NOT NULL, bytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE cursor (sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL) STRICT;
    -- Cursors from which sinks with "replay" took records, and when (wall time).
    CREATE TABLE taken (
      sink TEXT NOT NULL, at_ms INTEGER NOT NULL, batch INTEGER NOT NULL, idx INTEGER NOT NULL,
      PRIMARY KEY (sink, at_ms)
    ) WITHOUT ROWID, STRICT;
    -- Progress of redeliveries.
    CREATE TABLE repeat (
      sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL, renews INTEGER NOT NULL
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE fact (router TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
    CREATE TABLE note (
      router TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
      PRIMARY KEY (router, key)
    ) STRICT;
    -- Routers that are no longer configured, and since when (wall time, milliseconds since the Unix epoch).
    CREATE TABLE absence (router TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) WITHOUT ROWID, STRICT;
    -- The last lines of each router: a row for each commit of a log. The body is that of a batch of the spool, which stays there
    -- for it when all sinks have it, or one of its own. "bytes": with what the row takes besides its body.
    CREATE TABLE recent (
      router TEXT NOT NULL, seq INTEGER NOT NULL, component TEXT NOT NULL, first_ms INTEGER NOT NULL,
      last_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, batch INTEGER, body BLOB,
      PRIMARY KEY (router, seq)
    ) WITHOUT ROWID, STRICT;
    CREATE INDEX recent_time ON recent (last_ms);
    CREATE INDEX recent_router ON recent (router, last_ms);
    CREATE INDEX recent_batch ON recent (batch);`,
  // The sink that lags most has a part of its batch.
  count: `
    SELECT coalesce(sum(records), 0) - coalesce((SELECT idx FROM cursor ORDER BY batch, idx LIMIT 1), 0) AS records
    FROM spool WHERE batch >= coalesce((SELECT min(batch) FROM cursor), 0)`,
};

/** A database of an older format than this program reads. */
export class OlderFormat extends StoreError {
  readonly version: number;
  readonly records: number | undefined;

  constructor(version: number, known: number, records: number | undefined) {
    super('broken', `The state has format ${version}, and this program knows ${known}`, {
      disposition: 'operator',
      hint: 'The agent moves it aside at its next start and creates a new one',
    });
    this.version = version;
    this.records = records;
  }
}

/** Opens or creates the database of the state, with its tables. Default of `bytesMax`: the size of the disk. */
export function openState(path: string, bytesMax?: number): SqliteFile {
  const file = new SqliteFile(path, 0);
  try {
    // Must come before the first write: only a database without tables can switch to incremental vacuum.
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA auto_vacuum = INCREMENTAL');
    file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT');
    ensureFormat(file, STATE_FORMAT);
    file.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`);
    if (bytesMax !== undefined) file.exec(`PRAGMA max_page_count = ${Math.floor(bytesMax / PAGE_BYTES)}`);
    return file;
  } catch (cause) {
    file.close();
    throw cause;
  }
}

/** Creates the tables in a new database. Throws {@link StoreError} if the format differs: `OlderFormat` if it is older. */
export function ensureFormat(file: SqliteFile, { version: known, tables, count }: FileFormat): void {
  const version = readFormat(file);
  if (version === known) return;
  if (version === 0) {
    file.transact(() => file.exec(`${tables}; PRAGMA user_version = ${known}`));
    return;
  }
  if (version < known) throw new OlderFormat(version, known, readCount(file, count));
  throw new StoreError('broken', `The state has format ${version}, and this program knows ${known}`, {
    disposition: 'operator',
    hint: 'Run the version of router-exporter that wrote it, or a later one',
  });
}

function readCount(file: SqliteFile, count: string): number | undefined {
  try {
    return Number(file.get(count)?.['records']);
  } catch {
    return undefined;
  }
}

export function openCurrent<T>(path: string, open: () => T, onOlder: ((older: OlderState) => void) | undefined): T {
  try {
    return open();
  } catch (cause) {
    if (!onOlder || !(cause instanceof OlderFormat)) throw cause;
    const { version: format, records } = cause;
    const name = `${path}.format-${format}`;
    let file = name;
    for (let number = 2; databaseExists(file); number++) file = `${name}-${number}`;
    renameDatabase(path, file);
    onOlder({ format, records, file });
    return open();
  }
}

/** Writes to the disk without changing data, and throws if that fails. */
export function touch(file: SqliteFile): void {
  file.transact(() => file.exec(`PRAGMA user_version = ${readFormat(file)}`));
}

function readFormat(file: SqliteFile): number {
  return Number(file.get('PRAGMA user_version')?.['user_version']);
}
