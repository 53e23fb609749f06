import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../model/index.ts';
import { ensureFormat, type FileFormat, type OlderState, openCurrent } from './database-format.ts';
import { moveAside } from './rebuild.ts';
import { isDamage, isDiskFault, isEmptyFile, makeFolder, SqliteFile, toAbsent, toStoreError } from './sqlite-file.ts';

/** File and limit of the dead letters. */
export interface DeadLetterOptions {
  /** Folder of the file: that of the embedded store. */
  readonly path: string;
  /**
   * Maximum size of all dead letters. Beyond it, the oldest of the sink with the largest share are dropped. Bytes; default 64
   * MiB.
   */
  readonly bytesMax?: number | undefined;
  /** Retention of a dead letter. Milliseconds; default 30 days. */
  readonly keepMs?: number | undefined;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /**
   * The agent (`owner`, the default) creates a missing file and moves a damaged one aside. A command (`guest`) does neither,
   * because the agent may have the file open.
   */
  readonly role?: 'owner' | 'guest' | undefined;
  /** True: a disk that cannot be written at first is no error; every call tries to open the file again. Default false. */
  readonly canWait?: boolean | undefined;
  /** Called when dead letters are dropped without a request: too many, too old, or damaged on disk. Default: not reported. */
  readonly onDropped?: ((sink: string, deadLetters: number) => void) | undefined;
  /**
   * Called when a file of an older format was moved aside and an empty one created. Default: such a file is an error, as for
   * a guest.
   */
  readonly onOlder?: ((older: OlderState) => void) | undefined;
  /** Called when the file existed and was empty. Default: not reported. */
  readonly onEmpty?: ((file: string) => void) | undefined;
  /** Called when a damaged file was moved aside and an empty one created. Default: not reported. */
  readonly onRebuilt?: ((rebuilt: { readonly damagedFile: string }) => void) | undefined;
}

export const DEAD_LETTERS_FILE = 'dead-letters.db';
/**
 * Time to wait for another process's lock. The agent blocks meanwhile, so it waits briefly and retries later; a command can
 * wait. Milliseconds.
 */
const LOCK_WAIT_MS = { owner: 250, guest: 15_000 };

const DEAD_LETTERS_FORMAT: FileFormat = {
  version: 2,
  // Triggers maintain `tally`, so that neither a metric nor a limit has to scan all rows.
  tables: `CREATE TABLE letter (
     id INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL,
     is_replayed INTEGER NOT NULL, bytes INTEGER NOT NULL, checksum INTEGER NOT NULL, router TEXT NOT NULL,
     component TEXT NOT NULL, timestamp TEXT, code TEXT, reason TEXT NOT NULL, line TEXT NOT NULL,
     UNIQUE (sink, uid)
   ) STRICT;
   CREATE INDEX letter_at ON letter (at_ms);
   CREATE INDEX letter_of_sink ON letter (sink, id);
   CREATE INDEX letter_replayed ON letter (sink, id) WHERE is_replayed = 1;
   CREATE TABLE tally (sink TEXT PRIMARY KEY, letters INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID, STRICT;
   CREATE TRIGGER letter_added AFTER INSERT ON letter BEGIN
     INSERT INTO tally (sink, letters, bytes) VALUES (new.sink, 1, new.bytes)
       ON CONFLICT DO UPDATE SET letters = letters + 1, bytes = bytes + excluded.bytes;
   END;
   CREATE TRIGGER letter_gone AFTER DELETE ON letter BEGIN
     UPDATE tally SET letters = letters - 1, bytes = bytes - old.bytes WHERE sink = old.sink;
     DELETE FROM tally WHERE sink = old.sink AND letters = 0;
   END;`,
  count: 'SELECT count(*) AS records FROM letter',
};

export class DeadLetterFile {
  readonly #options: DeadLetterOptions;
  readonly #path: string;
  #file: SqliteFile | undefined;
  #isClosed = false;

  constructor(options: DeadLetterOptions) {
    this.#options = options;
    this.#path = join(options.path, DEAD_LETTERS_FILE);
    const isEmpty = isEmptyFile(this.#path);
    try {
      this.attempt(() => {});
      if (isEmpty) options.onEmpty?.(this.#path);
    } catch (cause) {
      if (!options.canWait || !(cause instanceof StoreError) || cause.disposition !== 'hold-back') throw cause;
    }
  }

  attempt<T>(work: (file: SqliteFile) => T): T {
    if (this.#isClosed) {
      throw new StoreError('broken', `The dead letters in ${this.#path} are closed`, { disposition: 'operator' });
    }
    try {
      return work(this.#use());
    } catch (cause) {
      if (isDiskFault(cause)) this.#letGo();
      if (!isDamage(cause)) throw this.#toError(cause);
      return this.#beginAnew(cause, work);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#letGo();
  }

  #use(): SqliteFile {
    this.#file ??= openCurrent(this.#path, () => this.#open(), this.#options.onOlder);
    return this.#file;
  }

  #open(): SqliteFile {
    if (this.#options.role === 'guest') {
      if (!existsSync(this.#path)) {
        throw toAbsent(
          this.#path,
          'Check storage.path of the configuration, or name the folder with --storage.path; the agent creates the file when it starts',
        );
      }
    } else {
      makeFolder(this.#options.path);
    }
    const file = new SqliteFile(this.#path, LOCK_WAIT_MS[this.#options.role ?? 'owner']);
    try {
      // A rollback journal instead of a write-ahead log: the agent and a command share the file, and writes are rare.
      file.exec('PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL');
      ensureFormat(file, DEAD_LETTERS_FORMAT);
      return file;
    } catch (cause) {
      file.close();
      throw cause;
    }
  }

  #beginAnew<T>(cause: unknown, work: (file: SqliteFile) => T): T {
    this.#letGo();
    if (this.#options.role === 'guest') {
      throw new StoreError('damaged', `The dead letters in ${this.#path} are damaged`, {
        disposition: 'operator',
        hint: 'The agent moves the file aside and creates a new one, at its next start at the latest',
        cause,
      });
    }
    try {
      const damagedFile = moveAside(this.#path);
      const file = this.#use();
      this.#options.onRebuilt?.({ damagedFile });
      return work(file);
    } catch (second) {
      throw this.#toError(second);
    }
  }

  #toError(cause: unknown): StoreError {
    const error = toStoreError(cause, this.#path);
    if (error.code !== 'locked') return error;
    return new StoreError('locked', `The dead letters in ${this.#path} are in use by another process`, {
      disposition: 'retry',
      hint: 'Try again in a moment',
      cause,
    });
  }

  #letGo(): void {
    const file = this.#file;
    this.#file = undefined;
    file?.close();
  }
}
