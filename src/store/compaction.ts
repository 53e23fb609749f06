import type { SqliteFile } from './sqlite-file.ts';

/** Free pages up to this are kept: they are needed again soon. Bytes. */
const FREE_BYTES_KEPT = 16 * 1024 * 1024;
/** What SQLite makes of a new database. */
const PAGE_BYTES = 4096;
/** One step gives back at most this much, which takes a few milliseconds. Pages. */
const STEP_PAGES = 512;
/** A database that was made before space could be given back is written anew once it is no larger than this. Bytes. */
const REWRITE_BYTES_MAX = 32 * 1024 * 1024;
/** `PRAGMA auto_vacuum` of a database that can give space back in steps. */
const INCREMENTAL = 2;

/** How much of the file is used and unused. Bytes. */
export function measure(file: SqliteFile): { readonly usedBytes: number; readonly freeBytes: number } {
  const read = (name: string) => Number(file.get(`PRAGMA ${name}`)?.[name]);
  const page = read('page_size');
  const free = read('freelist_count');
  return { usedBytes: (read('page_count') - free) * page, freeBytes: free * page };
}

/**
 * Gives some of the unused space back to the disk, when more than half of the file and more than 16 MiB is unused; one call
 * is one small step.
 */
export function compact(file: SqliteFile): void {
  const free = file.get('PRAGMA freelist_count')?.['freelist_count'];
  // The usual case costs one question.
  if (Number(free) * PAGE_BYTES <= FREE_BYTES_KEPT) return;
  const { usedBytes, freeBytes } = measure(file);
  if (freeBytes <= usedBytes) return;
  try {
    file.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
  } catch {
    // What it was called after has succeeded, and whoever writes next learns what is wrong.
  }
}

/**
 * Makes the database one that can give space back. A new one is that from the start. One of the time before has to be
 * written anew for it, in memory first: that happens at a start at which it is small.
 */
export function enableCompaction(file: SqliteFile): void {
  const mode = Number(file.get('PRAGMA auto_vacuum')?.['auto_vacuum']);
  if (mode === INCREMENTAL || measure(file).usedBytes > REWRITE_BYTES_MAX) return;
  file.exec('PRAGMA temp_store = MEMORY; PRAGMA auto_vacuum = INCREMENTAL');
  try {
    file.exec('VACUUM');
  } catch {
    // Without room for it everything works as before, and the next start tries again.
  }
}
