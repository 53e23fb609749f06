import { existsSync, mkdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { ensureFile } from '../base/index.ts';
import { readSystemCode } from './errors.ts';

/** Accessible only to the user of this program, because it contains records. */
export const FILE_MODE = 0o600;

/** A row of a result, by column. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** An open database. Caches prepared statements: preparing one costs more than running it. */
export class SqliteFile implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens or creates `file`, accessible only to its owner. `lockWaitMs`: how long to wait for another process. */
  constructor(file: string, lockWaitMs: number) {
    ensureFile(file, FILE_MODE);
    this.#database = new DatabaseSync(file, { timeout: lockWaitMs });
  }

  /** Runs statements that return nothing. */
  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs one statement; returns the number of changed rows and the id of the last inserted row. */
  run(sql: string, ...values: SQLInputValue[]): { readonly changes: number; readonly lastId: number } {
    const { changes, lastInsertRowid } = this.#prepare(sql).run(...values);
    return { changes: Number(changes), lastId: Number(lastInsertRowid) };
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): readonly Row[] {
    return this.#prepare(sql).all(...values);
  }

  /** Runs `work` in a transaction, all or nothing; returns its result after the commit. */
  transact<T>(work: () => T): T {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (cause) {
      // On a full disk SQLite has often rolled back already.
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw cause;
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** True if the file exists and holds nothing: its content was lost, or a crash came right after it was created. */
export function isEmptyFile(file: string): boolean {
  try {
    return statSync(file).size === 0;
  } catch {
    // Missing, or SQLite reports what is wrong.
    return false;
  }
}

/**
 * A database is these files. The logs before the database: next to a new database they would be taken for that database's logs.
 */
const DATABASE_SUFFIXES = ['-journal', '-wal', '-shm', ''] as const;

/** True if there is a database of this name, or something beside it that would be taken for its own. */
export function databaseExists(file: string): boolean {
  return DATABASE_SUFFIXES.some((suffix) => existsSync(`${file}${suffix}`));
}

/** Renames a database with the files beside it. */
export function renameDatabase(file: string, to: string): void {
  for (const suffix of DATABASE_SUFFIXES) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${to}${suffix}`);
  }
}

/** Removes a database with the files beside it. */
export function removeDatabase(file: string): void {
  for (const suffix of DATABASE_SUFFIXES) rmSync(`${file}${suffix}`, { force: true });
}

/** Accessible only to the user of this program, because the folder contains records. */
export const FOLDER_MODE = 0o700;

/**
 * Creates a folder and its parents. Not `mkdirSync` with `recursive`: it loops forever where a folder exists but
 * creating something in it fails with ENOENT, as in `/proc`.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (cause) {
    const code = readSystemCode(cause);
    if (code === 'EEXIST') return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || existsSync(parent)) throw cause;
    makeFolder(parent);
    mkdirSync(path, { mode: FOLDER_MODE });
  }
}

/** Free space up to this size is kept, because it will soon be needed again. Bytes. */
const FREE_BYTES_KEPT = 16 * 1024 * 1024;
/** SQLite's page size for a new database. Bytes. */
export const PAGE_BYTES = 4096;
/** Pages freed per step at most; one step takes a few milliseconds. */
const STEP_PAGES = 512;

/** Returns the used and unused bytes of the file. */
function measure(file: SqliteFile): { readonly usedBytes: number; readonly freeBytes: number } {
  const read = (name: string) => Number(file.get(`PRAGMA ${name}`)?.[name]);
  const page = read('page_size');
  const free = read('freelist_count');
  return { usedBytes: (read('page_count') - free) * page, freeBytes: free * page };
}

/**
 * Returns some unused space to the disk if more than half of the file and more than 16 MiB is unused. Each call is one
 * small step.
 */
export function compact(file: SqliteFile): void {
  const free = file.get('PRAGMA freelist_count')?.['freelist_count'];
  // The common case costs one query.
  if (Number(free) * PAGE_BYTES <= FREE_BYTES_KEPT) return;
  const { usedBytes, freeBytes } = measure(file);
  if (freeBytes <= usedBytes) return;
  try {
    file.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
  } catch {
    // The operation before this one has succeeded; the next write reports what is wrong.
  }
}

/** Space that the agent leaves free on a disk: several times the size that the write-ahead log reaches. Bytes. */
export const DISK_RESERVE_BYTES = 16 * 1024 * 1024;
/** Upper limit of the reserve on a small disk, as a share of its size. */
const RESERVE_SHARE = 1 / 8;

/**
 * Returns true if more than `reserveBytes` are free on the disk of `folder`. Records are not added to a disk with less:
 * acknowledgements could no longer be stored, so nothing would ever leave the disk again.
 */
export function hasReserve(folder: string, reserveBytes: number): boolean {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    // Some network file systems do not report their size.
    return blocks === 0 || bavail * bsize > Math.min(reserveBytes, blocks * bsize * RESERVE_SHARE);
  } catch {
    return true;
  }
}
