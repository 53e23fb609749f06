import type { RouterState } from './contracts.ts';
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

/** Reads positions, facts and values of a router. */
export function readState(file: SqliteFile, router: string): RouterState {
  const read = (key: string, value: string, table: string) =>
    new Map(
      file
        .all(`SELECT ${key} AS key, ${value} AS value FROM ${table} WHERE router = ?`, router)
        .map((row) => [String(row['key']), String(row['value'])]),
    );
  return {
    positions: read('component', 'position', 'log'),
    values: read('key', 'text', 'note'),
    facts: read('router', 'text', 'fact').get(router),
  };
}

/** Lists the routers of which there is something, with those of the batches from one on. */
export function listRouters(file: SqliteFile, from: number): readonly string[] {
  const rows = file.all(
    `SELECT router FROM log UNION SELECT router FROM fact UNION SELECT router FROM note
     UNION SELECT router FROM batch WHERE id >= ?`,
    from,
  );
  return rows.map(({ router }) => String(router));
}

/** Removes what there is of routers, with their batches from one on. */
export function removeRouters(file: SqliteFile, routers: readonly { readonly router: string }[], from: number): void {
  const names = JSON.stringify(routers.map(({ router }) => router));
  const isOne = 'router IN (SELECT value FROM json_each(?))';
  // Bodies that last lines name go with these.
  file.run(
    `DELETE FROM spool WHERE batch IN (SELECT id FROM batch WHERE ${isOne} AND id >= ?)
      AND NOT EXISTS (SELECT 1 FROM recent WHERE recent.batch = spool.batch)`,
    names,
    from,
  );
  file.run(`DELETE FROM batch WHERE ${isOne} AND id >= ?`, names, from);
  for (const table of ['log', 'fact', 'note', 'absence']) file.run(`DELETE FROM ${table} WHERE ${isOne}`, names);
}
