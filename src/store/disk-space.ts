import { statfsSync } from 'node:fs';
import type { SqliteFile } from './sqlite-file.ts';

/** Free space up to this size is kept, because it will soon be needed again. Bytes. */
const FREE_BYTES_KEPT = 16 * 1024 * 1024;
/** SQLite's page size for a new database. */
const PAGE_BYTES = 4096;
/** Pages freed per step at most; one step takes a few milliseconds. */
const STEP_PAGES = 512;
/** A database created before incremental vacuum was enabled is rewritten once it is no larger than this. Bytes. */
const REWRITE_BYTES_MAX = 32 * 1024 * 1024;
/** `PRAGMA auto_vacuum` of a database that can free space in steps. */
const INCREMENTAL = 2;

/** Returns the used and unused bytes of the file. */
export function measure(file: SqliteFile): { readonly usedBytes: number; readonly freeBytes: number } {
  const read = (name: string) => Number(file.get(`PRAGMA ${name}`)?.[name]);
  const page = read('page_size');
  const free = read('freelist_count');
  return { usedBytes: (read('page_count') - free) * page, freeBytes: free * page };
}

/**
 * Returns some unused space to the disk if more than half of the file and more than 16 MiB is unused. Each call is one
 * small step.
 */
export function compact(file: SqliteFile): void {
  const free = file.get('PRAGMA freelist_count')?.['freelist_count'];
  // The common case costs one query.
  if (Number(free) * PAGE_BYTES <= FREE_BYTES_KEPT) return;
  const { usedBytes, freeBytes } = measure(file);
  if (freeBytes <= usedBytes) return;
  try {
    file.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
  } catch {
    // The operation before this one has succeeded; the next write reports what is wrong.
  }
}

/**
 * Enables incremental vacuum. A new database has it from the start. An older one must be rewritten for it, in memory
 * first; this happens at a start when the database is small.
 */
export function enableCompaction(file: SqliteFile): void {
  const mode = Number(file.get('PRAGMA auto_vacuum')?.['auto_vacuum']);
  if (mode === INCREMENTAL || measure(file).usedBytes > REWRITE_BYTES_MAX) return;
  file.exec('PRAGMA temp_store = MEMORY; PRAGMA auto_vacuum = INCREMENTAL');
  try {
    file.exec('VACUUM');
  } catch {
    // Without enough space everything works as before, and the next start tries again.
  }
}

/** Upper limit of the reserve on a small disk, as a share of its size. */
const RESERVE_SHARE = 1 / 8;

/**
 * Returns true if more than `reserveBytes` are free on the disk of `folder`. Records are not added to a disk with less:
 * acknowledgements could no longer be stored, so nothing would ever leave the disk again.
 */
export function hasReserve(folder: string, reserveBytes: number): boolean {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    // Some network file systems do not report their size.
    return blocks === 0 || bavail * bsize > Math.min(reserveBytes, blocks * bsize * RESERVE_SHARE);
  } catch {
    return true;
  }
}
