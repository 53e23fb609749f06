import { yieldToLoop } from '../base/index.ts';
import type { RouterState } from '../model/index.ts';
import type { RecentLines } from './recent-lines.ts';
import type { SqliteFile } from './sqlite-file.ts';

export function readValue(file: SqliteFile, router: string, key: string): string | undefined {
  const row = file.get('SELECT text FROM note WHERE router = ? AND key = ?', router, key);
  return row && String(row['text']);
}

export function writeValue(file: SqliteFile, router: string, key: string, text: string): void {
  file.run(
    'INSERT INTO note (router, key, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text',
    router,
    key,
    text,
  );
}

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

/** Lists the routers that have state, or records in batches from `from` on. */
export function listRouters(file: SqliteFile, from: number): readonly string[] {
  const rows = file.all(
    `SELECT router FROM log UNION SELECT router FROM fact UNION SELECT router FROM note
     UNION SELECT router FROM batch WHERE id >= ?`,
    from,
  );
  return rows.map(({ router }) => String(router));
}

/** Removes the state of routers, and their batches from `from` on. */
export function removeRouters(file: SqliteFile, routers: readonly { readonly router: string }[], from: number): void {
  const names = JSON.stringify(routers.map(({ router }) => router));
  const isOne = 'router IN (SELECT value FROM json_each(?))';
  // Bodies that the last lines refer to are removed with those.
  file.run(
    `DELETE FROM spool WHERE batch IN (SELECT id FROM batch WHERE ${isOne} AND id >= ?)
      AND NOT EXISTS (SELECT 1 FROM recent WHERE recent.batch = spool.batch)`,
    names,
    from,
  );
  file.run(`DELETE FROM batch WHERE ${isOne} AND id >= ?`, names, from);
  for (const table of ['log', 'fact', 'note', 'absence']) file.run(`DELETE FROM ${table} WHERE ${isOne}`, names);
}

/** Routers per transaction: about a millisecond. */
const ROUTERS_PER_TRANSACTION = 100;

interface Tables {
  readonly file: SqliteFile;
  readonly recent: RecentLines | undefined;
}

export type Transact = <T>(work: (tables: Tables) => T) => T;

/**
 * Records in the table `absence` which known routers are not configured, and removes the state of those absent for `graceMs`;
 * resolves with their names. Works in steps of some routers, each in its own transaction.
 */
export async function keepRouters(
  transact: Transact,
  configured: readonly string[],
  nowMs: number,
  graceMs: number,
): Promise<string[]> {
  const wanted = new Set(configured);
  const change = async (routers: readonly string[], work: (tables: Tables, router: string) => void) => {
    for (let from = 0; from < routers.length; from += ROUTERS_PER_TRANSACTION) {
      const some = routers.slice(from, from + ROUTERS_PER_TRANSACTION);
      transact((tables) => {
        for (const router of some) work(tables, router);
      });
      await yieldToLoop();
    }
  };
  const absent = transact(({ file }) => listAbsences(file));
  const back = [...absent.keys()].filter((router) => wanted.has(router));
  await change(back, ({ file }, router) => endAbsence(file, router));
  const gone: string[] = [];
  for (let known = ['']; known.length > 0; ) {
    const last = known.at(-1) ?? '';
    known = transact(({ file }) => listKnownAfter(file, last));
    gone.push(...known.filter((router) => !wanted.has(router) && !absent.has(router)));
    await yieldToLoop();
  }
  await change(gone, ({ file }, router) => addAbsence(file, router, nowMs));
  const endMs = nowMs - graceMs;
  const overdue = [...absent].filter(([router, sinceMs]) => !wanted.has(router) && sinceMs <= endMs);
  const forgotten = [...overdue.map(([router]) => router), ...(graceMs <= 0 ? gone : [])];
  await change(forgotten, removeRouter);
  return forgotten;
}

/** Lists the absent routers, with the wall time since which they are absent. */
function listAbsences(file: SqliteFile): ReadonlyMap<string, number> {
  const rows = file.all('SELECT router, since_ms FROM absence');
  return new Map(rows.map((row) => [String(row['router']), Number(row['since_ms'])]));
}

function listKnownAfter(file: SqliteFile, router: string): string[] {
  const known: string[] = [];
  // The tables have many rows per router, so the next name is looked up in the index instead of scanning.
  const sql = `SELECT min(router) AS router FROM (
    SELECT min(router) AS router FROM log WHERE router > ?1
    UNION ALL SELECT min(router) FROM fact WHERE router > ?1
    UNION ALL SELECT min(router) FROM recent WHERE router > ?1)`;
  for (let last = router; known.length < ROUTERS_PER_TRANSACTION; ) {
    const next = file.get(sql, last)?.['router'];
    if (typeof next !== 'string') break;
    known.push(next);
    last = next;
  }
  return known;
}

function addAbsence(file: SqliteFile, router: string, nowMs: number): void {
  file.run('INSERT INTO absence (router, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING', router, Math.floor(nowMs));
}

function endAbsence(file: SqliteFile, router: string): void {
  file.run('DELETE FROM absence WHERE router = ?', router);
}

function removeRouter({ file, recent }: Tables, router: string): void {
  file.run('DELETE FROM log WHERE router = ?', router);
  file.run('DELETE FROM fact WHERE router = ?', router);
  endAbsence(file, router);
  recent?.remove(router);
}
