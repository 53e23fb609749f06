import { closeSync, openSync } from 'node:fs';

/**
 * Creates an empty file with this mode if it does not exist, because SQLite would create it world-readable. An existing file is not
 * opened: closing it would release this process's locks on it. Does not throw: the next open reports the failure.
 */
export function ensureFile(path: string, mode: number): void {
  try {
    closeSync(openSync(path, 'wx', mode));
  } catch {
    // Exists already, or cannot be created.
  }
}
