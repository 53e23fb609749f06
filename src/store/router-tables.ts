import { StoreError } from './errors.ts';
import type { SqliteFile } from './sqlite-file.ts';

/** Values are small, and they are read and written as a whole. */
const VALUE_CHARS_MAX = 16 * 1024;

/**
 * Records in the table `absence` which known routers are not configured, and removes all state of those absent for
 * `graceMs`; returns their names. Call inside a transaction.
 */
export function keepRouters(file: SqliteFile, configured: readonly string[], nowMs: number, graceMs: number): string[] {
  const known = file
    .all('SELECT router FROM log UNION SELECT router FROM fact UNION SELECT router FROM recent')
    .map((row) => String(row['router']));
  for (const router of configured) file.run('DELETE FROM absence WHERE router = ?', router);
  for (const router of known) {
    if (configured.includes(router)) continue;
    file.run('INSERT INTO absence (router, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING', router, Math.floor(nowMs));
  }
  const overdue = file.all('SELECT router FROM absence WHERE since_ms <= ?', nowMs - graceMs);
  const forgotten = overdue.map((row) => String(row['router']));
  for (const router of forgotten) {
    file.run('DELETE FROM log WHERE router = ?', router);
    file.run('DELETE FROM fact WHERE router = ?', router);
    file.run('DELETE FROM absence WHERE router = ?', router);
  }
  return forgotten;
}

/** Returns a value of a router, if there is one. */
export function readValue(file: SqliteFile, router: string, key: string): string | undefined {
  const row = file.get('SELECT text FROM note WHERE router = ? AND key = ?', router, key);
  return row && String(row['text']);
}

/** Throws {@link StoreError} `too-long` for a value above 16 Ki characters. */
export function checkValue(text: string): void {
  if (text.length <= VALUE_CHARS_MAX) return;
  throw new StoreError('too-long', `A value of ${text.length} characters is above the bound of ${VALUE_CHARS_MAX}`, {
    disposition: 'skip',
  });
}

/** Stores a value of a router, replacing the previous one. */
export function writeValue(file: SqliteFile, router: string, key: string, text: string): void {
  file.run(
    'INSERT INTO note (router, key, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text',
    router,
    key,
    text,
  );
}
