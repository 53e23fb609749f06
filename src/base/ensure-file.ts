import { closeSync, openSync } from 'node:fs';

/**
 * Creates an empty file with this mode where there is none, for SQLite, which would create one that everybody may read. One that
 * exists is not even opened: its end would release the locks that this process has on it. Does not throw: who opens the file next
 * says why it cannot be.
 */
export function ensureFile(path: string, mode: number): void {
  try {
    closeSync(openSync(path, 'wx', mode));
  } catch {
    // It exists already, or cannot be created.
  }
}
