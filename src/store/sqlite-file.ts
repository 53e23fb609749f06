import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** An open database. It keeps its prepared statements: to prepare one costs more than to run it. */
export class SqliteFile implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens or creates `file`, open to nobody but its owner; `lockWaitMs`: how long to wait for another process. */
  constructor(file: string, lockWaitMs: number) {
    makeFile(file);
    this.#database = new DatabaseSync(file, { timeout: lockWaitMs });
  }

  /** Runs statements that give nothing back. */
  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs one statement; gives how many rows it changed, and the last row's number. */
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

  /** Does all of `work` or nothing; what it gives is given once it is committed. */
  transact<T>(work: () => T): T {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (cause) {
      // A full disk has often undone it already.
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

/** SQLite makes a new file open to everybody, and its journals as open as the file. */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // It is there already, or SQLite says what stands in the way.
  }
}
