import { closeSync, copyFileSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreError } from '../model/index.ts';
import { OlderFormat, openState, STATE_FILE } from './database-format.ts';
import { DEAD_LETTERS_FILE } from './dead-letter-file.ts';
import { DEAD_LETTER_COLUMNS, DeadLetterStore } from './dead-letter-store.ts';
import { EmbeddedStore } from './embedded-store.ts';
import { FOLDER_MODE, SqliteFile, toAbsent, toRefusal, toStoreError } from './sqlite-file.ts';

/**
 * State of routers in transit: a folder with a store and its dead letters, as an agent has it, and one file: the database of
 * the store with the dead letters as one more table.
 */
export class MovedState implements Disposable {
  readonly #folder: string;
  readonly #now: () => number;

  private constructor(folder: string, now: () => number) {
    this.#folder = folder;
    this.#now = now;
  }

  /** Creates empty state for a file, which must not exist. */
  static create(output: string, now: () => number): MovedState {
    if (existsSync(output)) throw toRefusal(`${output} exists already`, 'Choose another file, or remove this one');
    const folder = `${output}.unfinished`;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: FOLDER_MODE });
    return new MovedState(folder, now);
  }

  /**
   * Opens a copy of a file, in a folder that `createFolder` makes. Throws {@link StoreError}: `absent` without the file,
   * `broken` if it is no exported state or of another format.
   */
  static read(input: string, createFolder: () => string, now: () => number): MovedState {
    if (!existsSync(input)) throw toAbsent(input, 'Name a file that state export has written');
    const state = new MovedState(createFolder(), now);
    try {
      copyFileSync(input, state.#database);
      if (state.#takeDeadLetters()) return state;
    } catch (cause) {
      state[Symbol.dispose]();
      if (cause instanceof OlderFormat)
        throw toRefusal(`${input}: ${cause.message}`, 'Import it with the version that exported it');
      const error = toStoreError(cause, input);
      // Any other error is caused by the content of the file.
      if (cause instanceof StoreError || error.code !== 'broken') throw error;
    }
    state[Symbol.dispose]();
    throw toRefusal(`${input} is not a whole file of state export`, 'Export the state again');
  }

  get #database(): string {
    return join(this.#folder, STATE_FILE);
  }

  open() {
    const [path, now] = [this.#folder, this.#now];
    const store = new EmbeddedStore({ path, spoolBytesMax: Number.POSITIVE_INFINITY, now });
    const deadLetters = new DeadLetterStore({ path, bytesMax: Number.POSITIVE_INFINITY, now });
    const close = () => {
      store.close();
      deadLetters.close();
    };
    return { store, deadLetters, [Symbol.dispose]: close };
  }

  /** Writes the state to one durable file. The store must be closed. */
  finish(output: string): void {
    {
      using file = openState(this.#database);
      file.run('ATTACH ? AS letters', join(this.#folder, DEAD_LETTERS_FILE));
      file.exec(`CREATE TABLE letter AS SELECT ${DEAD_LETTER_COLUMNS} FROM letters.letter ORDER BY id`);
      // One file, without a write-ahead log.
      file.exec('PRAGMA journal_mode = DELETE');
    }
    makeDurable(this.#database);
    renameSync(this.#database, output);
    makeDurable(dirname(output));
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Moves the dead letters to a file of their own. Returns false if the database is incomplete, or not what an export writes. */
  #takeDeadLetters(): boolean {
    // Before anything else is read: a view or trigger in it may run any SQL.
    if (!holdsTablesOnly(this.#database)) return false;
    new DeadLetterStore({ path: this.#folder, now: this.#now }).close();
    using file = openState(this.#database);
    if (file.get('PRAGMA quick_check(1)')?.['quick_check'] !== 'ok' || !hasSoundNumbers(file)) return false;
    file.run('ATTACH ? AS letters', join(this.#folder, DEAD_LETTERS_FILE));
    file.exec(
      `INSERT OR IGNORE INTO letters.letter (${DEAD_LETTER_COLUMNS}) SELECT ${DEAD_LETTER_COLUMNS} FROM main.letter ORDER BY rowid`,
    );
    return true;
  }
}

function holdsTablesOnly(path: string): boolean {
  using file = new SqliteFile(path, 0);
  const other = `type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'`;
  return file.get(`SELECT 1 FROM sqlite_schema WHERE ${other}`) === undefined;
}

const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  cursor: ['batch', 'idx'],
  batch: ['id', 'committed_ms', 'records', 'bytes'],
  spool: ['batch', 'records'],
  letter: ['at_ms', 'is_replayed', 'bytes', 'checksum'],
};

/** Returns true if all copied numbers are in range: the program writes no others. */
function hasSoundNumbers(file: SqliteFile): boolean {
  return Object.entries(NUMBERS).every(([table, columns]) => {
    const isSound = columns.map((column) => `${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`).join(' AND ');
    return file.get(`SELECT 1 FROM ${table} WHERE NOT (${isSound})`) === undefined;
  });
}

function makeDurable(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
