import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Accessible only to the user of this program, because the folder contains records. */
const FOLDER_MODE = 0o700;

/**
 * Creates a folder and its parents. Not `mkdirSync` with `recursive`: it loops forever where a folder exists but
 * creating something in it fails with ENOENT, as in `/proc`.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EEXIST') return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || existsSync(parent)) throw cause;
    makeFolder(parent);
    mkdirSync(path, { mode: FOLDER_MODE });
  }
}
