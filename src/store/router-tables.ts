import { StoreError } from './errors.ts';
import type { SqliteFile } from './sqlite-file.ts';

/** Values are small, and they are read and written as a whole. */
const VALUE_CHARS_MAX = 16 * 1024;

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
