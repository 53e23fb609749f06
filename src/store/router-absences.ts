import { Steps } from '../base/index.ts';
import type { RecentLines } from './recent-lines.ts';
import type { SqliteFile } from './sqlite-file.ts';

/** Routers in one transaction: about a millisecond. */
const ROUTERS_PER_TRANSACTION = 100;

interface Tables {
  readonly file: SqliteFile;
  readonly recent: RecentLines | undefined;
}

/** Runs work in a transaction. */
export type Transact = <T>(work: (tables: Tables) => T) => T;

/**
 * Records in the table `absence` which known routers are not configured, and removes all state of those absent for
 * `graceMs`; resolves with their names. Works in steps of some routers, each in a transaction of its own.
 */
export async function keepRouters(
  transact: Transact,
  configured: readonly string[],
  nowMs: number,
  graceMs: number,
): Promise<string[]> {
  const wanted = new Set(configured);
  const steps = new Steps();
  const change = async (routers: readonly string[], work: (tables: Tables, router: string) => void) => {
    for (let from = 0; from < routers.length; from += ROUTERS_PER_TRANSACTION) {
      const some = routers.slice(from, from + ROUTERS_PER_TRANSACTION);
      transact((tables) => {
        for (const router of some) work(tables, router);
      });
      if (steps.isDue) await steps.next();
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
    if (steps.isDue) await steps.next();
  }
  await change(gone, ({ file }, router) => addAbsence(file, router, nowMs));
  const endMs = nowMs - graceMs;
  const overdue = [...absent].filter(([router, sinceMs]) => !wanted.has(router) && sinceMs <= endMs);
  const forgotten = [...overdue.map(([router]) => router), ...(graceMs <= 0 ? gone : [])];
  await change(forgotten, removeRouter);
  return forgotten;
}

/** Lists the absent routers, with the wall time since which they are. */
function listAbsences(file: SqliteFile): ReadonlyMap<string, number> {
  const rows = file.all('SELECT router, since_ms FROM absence');
  return new Map(rows.map((row) => [String(row['router']), Number(row['since_ms'])]));
}

/** Lists the next routers of which something is stored, in the order of names. Empty at the end. */
function listKnownAfter(file: SqliteFile, router: string): string[] {
  const known: string[] = [];
  // The tables have many rows of each router: the next name is looked up instead of read.
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
