import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';

/** A row of a result, by column. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** An open database. Caches prepared statements: preparing one costs more than running it. */
export class SqliteFile implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens or creates `file`, accessible only to its owner. `lockWaitMs`: how long to wait for another process. */
  constructor(file: string, lockWaitMs: number) {
    makeFile(file);
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

/** SQLite creates a file readable by everybody, and its journals with the same permissions. */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // It exists already, or SQLite reports why it cannot be created.
  }
}
