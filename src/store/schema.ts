import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './errors.ts';

/** Each entry lifts the database by one format version; entries are never changed once released. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE log (
     router TEXT NOT NULL, component TEXT NOT NULL, position TEXT NOT NULL,
     PRIMARY KEY (router, component)
   ) WITHOUT ROWID, STRICT;
   CREATE TABLE spool (batch INTEGER PRIMARY KEY AUTOINCREMENT, records INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
   CREATE TABLE cursor (sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL) WITHOUT ROWID, STRICT;`,
  `CREATE TABLE note (
     router TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
     PRIMARY KEY (router, key)
   ) WITHOUT ROWID, STRICT;`,
  // Routers that are not configured any more, and since when (wall time, milliseconds since the Unix epoch).
  'CREATE TABLE absence (router TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) WITHOUT ROWID, STRICT;',
];

/** Brings the database to the format of this program. Throws {@link StoreError} when a newer program wrote it. */
export function migrate(database: DatabaseSync): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version > MIGRATIONS.length) {
    throw new StoreError('broken', `The state has format ${version}, and this program knows ${MIGRATIONS.length}`, {
      disposition: 'operator',
      hint: 'Run the version of router-exporter that wrote it, or a later one',
    });
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    database.exec(`BEGIN; ${MIGRATIONS[next]}; PRAGMA user_version = ${next + 1}; COMMIT`);
  }
}
