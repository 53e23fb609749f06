import { closeSync, copyFileSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LETTERS_FILE } from './dead-letter-file.ts';
import { DeadLetterStore, LETTER_COLUMNS } from './dead-letter-store.ts';
import { EmbeddedStore } from './embedded-store.ts';
import { StoreError, toAbsent, toRefusal, toStoreError } from './errors.ts';
import { OlderFormat, openState, STATE_FILE } from './schema.ts';
import { FOLDER_MODE, SqliteFile } from './sqlite-file.ts';

/**
 * State of routers on its way: a folder with a store and its dead letters, as an agent has it. On its way it is one file: the
 * database of the store, with the dead letters as one more table.
 */
export class MovedState implements Disposable {
  readonly #folder: string;
  readonly #now: () => number;

  private constructor(folder: string, now: () => number) {
    this.#folder = folder;
    this.#now = now;
  }

  /** Begins state for a file, which must not exist. */
  static create(output: string, now: () => number): MovedState {
    if (existsSync(output)) throw toRefusal(`${output} exists already`, 'Choose another file, or remove this one');
    const folder = `${output}.unfinished`;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: FOLDER_MODE });
    return new MovedState(folder, now);
  }

  /**
   * Opens a copy of a file, in a folder that `createFolder` makes. Throws {@link StoreError}: `absent` without the file, `broken` if it is no
   * exported state or of another format.
   */
  static read(input: string, createFolder: () => string, now: () => number): MovedState {
    if (!existsSync(input)) throw toAbsent(input, 'Name a file that state export has written');
    const state = new MovedState(createFolder(), now);
    try {
      copyFileSync(input, state.#database);
      if (state.#takeLetters()) return state;
    } catch (cause) {
      state[Symbol.dispose]();
      if (cause instanceof OlderFormat)
        throw toRefusal(`${input}: ${cause.message}`, 'Import it with the version that exported it');
      const error = toStoreError(cause, input);
      // Anything else is what the file holds.
      if (cause instanceof StoreError || error.code !== 'broken') throw error;
    }
    state[Symbol.dispose]();
    throw toRefusal(`${input} is not a whole file of state export`, 'Export the state again');
  }

  get #database(): string {
    return join(this.#folder, STATE_FILE);
  }

  /** Opens the store and its dead letters. */
  open() {
    const [path, now] = [this.#folder, this.#now];
    const store = new EmbeddedStore({ path, spoolBytesMax: Number.POSITIVE_INFINITY, now });
    const letters = new DeadLetterStore({ path, bytesMax: Number.POSITIVE_INFINITY, now });
    const close = () => {
      store.close();
      letters.close();
    };
    return { store, letters, [Symbol.dispose]: close };
  }

  /** Makes the state one durable file. Nobody may have it open. */
  finish(output: string): void {
    {
      using file = openState(this.#database);
      file.run('ATTACH ? AS letters', join(this.#folder, LETTERS_FILE));
      file.exec(`CREATE TABLE letter AS SELECT ${LETTER_COLUMNS} FROM letters.letter ORDER BY id`);
      // One file, without a write-ahead log beside it.
      file.exec('PRAGMA journal_mode = DELETE');
    }
    makeDurable(this.#database);
    renameSync(this.#database, output);
    makeDurable(dirname(output));
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Gives the dead letters a file of their own. Returns false if the database is not whole, or not what an export makes. */
  #takeLetters(): boolean {
    // Before anything else is read: a view or trigger in it may do anything that SQL can.
    if (!holdsTablesOnly(this.#database)) return false;
    new DeadLetterStore({ path: this.#folder, now: this.#now }).close();
    using file = openState(this.#database);
    if (file.get('PRAGMA quick_check(1)')?.['quick_check'] !== 'ok' || !hasSoundNumbers(file)) return false;
    file.run('ATTACH ? AS letters', join(this.#folder, LETTERS_FILE));
    file.exec(
      `INSERT OR IGNORE INTO letters.letter (${LETTER_COLUMNS}) SELECT ${LETTER_COLUMNS} FROM main.letter ORDER BY rowid`,
    );
    return true;
  }
}

function holdsTablesOnly(path: string): boolean {
  using file = new SqliteFile(path, 0);
  const other = `type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'`;
  return file.get(`SELECT 1 FROM sqlite_schema WHERE ${other}`) === undefined;
}

/** Numbers that are copied. */
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  cursor: ['batch', 'idx'],
  batch: ['id', 'committed_ms', 'records', 'bytes'],
  spool: ['batch', 'records'],
  letter: ['at_ms', 'is_replayed', 'bytes', 'checksum'],
};

/** True if all numbers can be read: nothing here writes others. */
function hasSoundNumbers(file: SqliteFile): boolean {
  return Object.entries(NUMBERS).every(([table, columns]) => {
    const isSound = columns.map((column) => `${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`).join(' AND ');
    return file.get(`SELECT 1 FROM ${table} WHERE NOT (${isSound})`) === undefined;
  });
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
