import { randomUUID } from 'node:crypto';
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError, toAbsent } from './errors.ts';
import { openState } from './schema.ts';
import { removeDatabase, SqliteFile } from './sqlite-file.ts';

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

/** Result of an import. */
export interface ImportedState extends MovedState {
  /** Routers that were left alone, because this file was imported for them before. */
  readonly known: readonly string[];
}

/** Key of the value of a router that names the file it was imported from last. */
export const IMPORT_KEY = 'imported';
/** The wanted routers, as `select` of the temporary table names them. */
export const SELECTED = 'router IN (SELECT router FROM selected)';

/**
 * A file of state on its way: a database of the format of the state, so that later versions can import it. It has its name once
 * {@link finish} was called; a crash leaves either no file or the whole one.
 */
export class MovedFileWriter implements Disposable {
  readonly #output: string;
  /** The file while it is written. */
  readonly path: string;

  /** Throws {@link StoreError} `broken` if `output` exists. */
  constructor(output: string, nowMs: number) {
    this.#output = output;
    this.path = `${output}.unfinished`;
    if (existsSync(output)) throw toRefusal(`${output} exists already`, 'Choose another file, or remove this one');
    removeDatabase(this.path);
    using file = openState(this.path);
    file.exec(`CREATE TABLE origin (id TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;
      CREATE TABLE letter (
        sink TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, is_replayed INTEGER NOT NULL, bytes INTEGER NOT NULL,
        checksum INTEGER NOT NULL, router TEXT NOT NULL, component TEXT NOT NULL, timestamp TEXT, code TEXT,
        reason TEXT NOT NULL, line TEXT NOT NULL
      ) STRICT`);
    file.run('INSERT INTO origin VALUES (?, ?)', randomUUID(), Math.floor(nowMs));
  }

  /** Makes the file durable under its name. Nobody may have it open. */
  finish(): void {
    {
      // One file, without a write-ahead log beside it.
      using file = openState(this.path);
      file.exec('PRAGMA journal_mode = DELETE');
    }
    makeDurable(this.path);
    renameSync(this.path, this.#output);
    makeDurable(dirname(this.#output));
  }

  [Symbol.dispose](): void {
    removeDatabase(this.path);
  }
}

/**
 * Copies a moved file, because one of an earlier version is converted, and the one that was given is not to be changed. Returns
 * the identity of the export. Throws {@link StoreError}: `absent` without the file, `broken` if it is no exported state.
 */
export function copyMovedFile(input: string, copy: string): string {
  if (!existsSync(input)) throw toAbsent(input, 'Name a file that state export has written');
  removeDatabase(copy);
  copyFileSync(input, copy);
  try {
    // Before anything else is read: a view or trigger in it may do anything that SQL can.
    const isPlain = holdsTablesOnly(copy);
    using file = isPlain ? openState(copy) : undefined;
    file?.exec('PRAGMA journal_mode = DELETE');
    const check = file?.get('PRAGMA quick_check(1)')?.['quick_check'];
    const id = file?.get('SELECT id FROM origin')?.['id'];
    if (file && check === 'ok' && typeof id === 'string' && hasSoundNumbers(file)) return id;
  } catch (cause) {
    // Of a newer version.
    if (cause instanceof StoreError) throw cause;
  }
  throw toRefusal(`${input} is not a whole file of state export`, 'Export the state again');
}

function holdsTablesOnly(path: string): boolean {
  using file = new SqliteFile(path, 0);
  const other = `type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'`;
  return file.get(`SELECT 1 FROM sqlite_schema WHERE ${other}`) === undefined;
}

/** Numbers of a moved file that an import copies. */
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  batch: ['id', 'committed_ms', 'records', 'bytes'],
  spool: ['batch', 'records'],
  letter: ['at_ms', 'is_replayed', 'bytes', 'checksum'],
};

/** Returns the condition for a number that can be read: nothing here writes others. */
function isInRange(column: string): string {
  return `${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`;
}

function hasSoundNumbers(file: SqliteFile): boolean {
  return Object.entries(NUMBERS).every(([table, columns]) => {
    const isSound = columns.map(isInRange).join(' AND ');
    return file.get(`SELECT 1 FROM ${table} WHERE NOT (${isSound})`) === undefined;
  });
}

/** Fills the temporary table `selected` with the wanted ones of some routers; returns them sorted. */
export function selectRouters(
  file: SqliteFile,
  isWanted: (router: string) => boolean,
  routers: Iterable<string>,
): readonly string[] {
  file.exec('CREATE TEMP TABLE selected (router TEXT PRIMARY KEY) WITHOUT ROWID');
  const wanted = [...new Set(routers)].filter((router) => router !== '' && isWanted(router)).toSorted();
  for (const router of wanted) file.run('INSERT INTO selected VALUES (?)', router);
  return wanted;
}

/** Returns the routers that a moved file is about. `schema`: the name under which it is attached. */
export function listMovedRouters(file: SqliteFile, schema: 'main' | 'moved'): string[] {
  const tables = ['log', 'fact', 'note', 'batch', 'letter'];
  return file
    .all(tables.map((table) => `SELECT router FROM ${schema}.${table}`).join(' UNION '))
    .map(({ router }) => String(router));
}

/** Counts the state of the selected routers in a moved file. */
export function countSelected(file: SqliteFile, schema: 'main' | 'moved'): Omit<MovedState, 'routers'> {
  const read = (what: string, table: string) =>
    Number(file.get(`SELECT ${what} AS sum FROM ${schema}.${table} WHERE ${SELECTED}`)?.['sum']);
  return {
    logs: read('count(*)', 'log'),
    records: read('coalesce(sum(records), 0)', 'batch'),
    deadLetters: read('count(*)', 'letter'),
  };
}

/** Returns the error for positions that a store already has, and that an import would replace. */
export function toTaken(logs: readonly { readonly router: string; readonly component: string }[]): StoreError {
  const example = logs[0] ? `${logs[0].router}/${logs[0].component}` : '';
  return toRefusal(
    `The store already has positions of ${logs.length} of these logs, such as ${example}`,
    'Leave their routers out with --routers, or replace the positions with --replace',
  );
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

function toRefusal(message: string, hint: string): StoreError {
  return new StoreError('broken', message, { disposition: 'operator', hint });
}
