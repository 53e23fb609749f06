import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensureFile } from '../../../base/index.ts';
import { DeliveryError } from '../../errors.ts';
import { FILE_MODE, FOLDER_MODE } from './log.ts';

/** SQLite result code: another process holds the lock. */
const BUSY = 5;

/**
 * Keeps other agents from writing the same file: their lines would mix, and each would rotate the file of the other.
 *
 * The lock is that of an empty SQLite database beside the file, because Node.js has no file locks of its own. It ends with
 * the process, also after a kill; the empty file stays.
 */
export class FileLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Takes the lock of `path`. Throws {@link DeliveryError} if another agent has it. Returns `undefined` where no lock is
   * possible, such as in a folder that this account may not write: the file itself may still be writable.
   */
  static async acquire(path: string): Promise<FileLock | undefined> {
    const file = join(dirname(path), `.${basename(path)}.lock`);
    let database: DatabaseSync | undefined;
    try {
      await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
      ensureFile(file, FILE_MODE);
      database = new DatabaseSync(file, { timeout: 0 });
      // A journal in memory leaves no other file; nothing is written anyway.
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return new FileLock(database);
    } catch (cause) {
      database?.close();
      if (!isBusy(cause)) return undefined;
      throw new DeliveryError('unwritable', `Another agent already writes ${path}`, {
        disposition: 'operator',
        hint: 'Give each agent a file of its own, or stop the other agent',
      });
    }
  }

  release(): void {
    this.#database.close();
  }
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && Reflect.get(cause, 'errcode') === BUSY;
}
