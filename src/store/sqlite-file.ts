import { existsSync, mkdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { ensureFile } from '../base/index.ts';
import { StoreError } from '../model/index.ts';

/** SQLite result codes (sqlite.org/rescode.html): a malformed database, and a file that is not a database. */
const DAMAGE_KINDS: readonly unknown[] = [11, 26];
const BUSY_KINDS: readonly unknown[] = [5, 6];
const FULL_KIND = 13;
/** Read-only, an I/O error, and a file that cannot be opened. */
const DISK_KINDS: readonly unknown[] = [8, 10, 14];
/** System errors for a full disk when a folder cannot be created. */
const FULL_SYSTEM_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT'];
// Creating a folder and its parents on a read-only disk gives ENOENT in Node.js.
const DISK_SYSTEM_CODES: readonly unknown[] = ['EROFS', 'EIO', 'ENOENT'];

/** Returns true if the database is damaged: its structure, or a number out of range. */
export function isDamage(cause: unknown): boolean {
  const isNumber =
    readSystemCode(cause) === 'ERR_OUT_OF_RANGE' || (cause instanceof Error && cause.message === 'integer overflow');
  return isNumber || DAMAGE_KINDS.includes(kindOf(cause));
}

/** Returns true if the disk failed, so that the files may have to be reopened. */
export function isDiskFault(cause: unknown): boolean {
  return DISK_KINDS.includes(kindOf(cause));
}

/** Converts a failure of SQLite or the file system to {@link StoreError}, with a hint. */
export function toStoreError(cause: unknown, where: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const kind = kindOf(cause);
  const systemCode = readSystemCode(cause);
  if (BUSY_KINDS.includes(kind)) {
    return new StoreError('locked', `The state in ${where} is in use by another process`, {
      disposition: 'operator',
      hint: 'Stop the other agent, or give this one a storage.path of its own',
      cause,
    });
  }
  if (kind === FULL_KIND || FULL_SYSTEM_CODES.includes(systemCode)) {
    return new StoreError('full', `There is no room to write the state in ${where}`, {
      disposition: 'hold-back',
      hint: 'Free some space on its disk; the agent then continues where it stopped',
      cause,
    });
  }
  if (DISK_KINDS.includes(kind) || DISK_SYSTEM_CODES.includes(systemCode)) {
    return new StoreError('unwritable', `Cannot write the state in ${where}`, {
      disposition: 'hold-back',
      hint: 'Check that its disk works and is not mounted read-only, and that the folder is writable; the agent then continues where it stopped',
      cause,
    });
  }
  return new StoreError('broken', `The state in ${where} could not be used`, {
    disposition: 'operator',
    hint: 'Check that the folder can be written to and that its disk is not full',
    cause,
  });
}

export function readSystemCode(cause: unknown): unknown {
  return cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
}

function kindOf(cause: unknown): number | undefined {
  const errcode: unknown = cause instanceof Error ? Reflect.get(cause, 'errcode') : undefined;
  return typeof errcode === 'number' ? errcode % 256 : undefined;
}

export function toAbsent(path: string, hint: string): StoreError {
  return new StoreError('absent', `There is no file ${path}`, { disposition: 'operator', hint });
}

export function toRefusal(message: string, hint: string): StoreError {
  return new StoreError('broken', message, { disposition: 'operator', hint });
}

/** Only the user of this program has access, because the file contains records. */
export const FILE_MODE = 0o600;

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

  /** Runs `work` in a transaction; returns its result after the commit. */
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

/** Returns true if the file exists and is empty: its content was lost, or a crash came right after its creation. */
export function isEmptyFile(file: string): boolean {
  try {
    return statSync(file).size === 0;
  } catch {
    // Missing, or SQLite reports what is wrong.
    return false;
  }
}

/** Suffixes of the files of a database. The logs come first: next to a new database, an old log would be taken for its own. */
const DATABASE_SUFFIXES = ['-journal', '-wal', '-shm', ''] as const;

/** Returns true if a database of this name exists, or a log that would be taken for its own. */
export function databaseExists(file: string): boolean {
  return DATABASE_SUFFIXES.some((suffix) => existsSync(`${file}${suffix}`));
}

export function renameDatabase(file: string, to: string): void {
  for (const suffix of DATABASE_SUFFIXES) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${to}${suffix}`);
  }
}

export function removeDatabase(file: string): void {
  for (const suffix of DATABASE_SUFFIXES) rmSync(`${file}${suffix}`, { force: true });
}

/** Only the user of this program has access, because the folder contains records. */
export const FOLDER_MODE = 0o700;

/**
 * Creates a folder and its parents. Not `mkdirSync` with `recursive`: it loops forever where a folder exists but creating
 * something in it fails with ENOENT, as in `/proc`.
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

/** Free space up to this size stays in the file, because it will soon be needed again. Bytes. */
const FREE_BYTES_KEPT = 16 * 1024 * 1024;
/** SQLite's page size for a new database. Bytes. */
export const PAGE_BYTES = 4096;
/** Pages freed per step; one step takes a few milliseconds. */
const STEP_PAGES = 512;

function measure(file: SqliteFile): { readonly usedBytes: number; readonly freeBytes: number } {
  const read = (name: string) => Number(file.get(`PRAGMA ${name}`)?.[name]);
  const page = read('page_size');
  const free = read('freelist_count');
  return { usedBytes: (read('page_count') - free) * page, freeBytes: free * page };
}

/**
 * Returns some unused space to the disk if more than half of the file and more than 16 MiB is unused. Each call is one small
 * step.
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
 * Returns true if more than `reserveBytes` are free on the disk of `folder`. With less, records are not accepted:
 * acknowledgements could no longer be stored, so that nothing would ever leave the disk.
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
