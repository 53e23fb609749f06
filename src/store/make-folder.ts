import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Only the user of this program may look into it: records are in there. */
const FOLDER_MODE = 0o700;

/**
 * Makes a folder and those above it. `mkdirSync` with `recursive` never returns where a folder exists and still says that there
 * is no such file to those who would make something in it, as `/proc` does.
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
