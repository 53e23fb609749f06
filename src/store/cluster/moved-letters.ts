import { isIntact, LETTER_COLUMNS, toLetter, toLetterValues } from '../letter-rows.ts';
import { SELECTED } from '../moved-file.ts';
import type { SqliteFile } from '../sqlite-file.ts';
import type { TransferSession } from './transfer.ts';

/** Letters that are held at a time: each may be as long as a record. */
const LETTERS_AT_ONCE = 100;

/** Letters that were written to a file. */
export interface MovedLetters {
  /** Their numbers in the cluster. */
  readonly ids: readonly number[];
  /** Routers whose records they hold. */
  readonly routers: ReadonlySet<string>;
}

/** Writes the dead letters of the wanted routers to a file, the oldest first. */
export async function writeLetters(
  { letters }: TransferSession,
  file: SqliteFile,
  isWanted: (router: string) => boolean,
): Promise<MovedLetters> {
  const ids: number[] = [];
  const routers = new Set<string>();
  const insert = `INSERT INTO letter (${LETTER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  for (let afterId = 0; ; ) {
    const page = await letters.list({ limit: LETTERS_AT_ONCE, order: 'oldest', afterId });
    const last = page.at(-1);
    if (!last) return { ids, routers };
    afterId = last.id;
    file.transact(() => {
      for (const letter of page) {
        // One that names no router stays: nobody could tell where it belongs.
        if (letter.router === '' || !isWanted(letter.router)) continue;
        file.run(insert, ...toLetterValues({ ...letter, bytes: letters.bytesOf(letter.id) }));
        ids.push(letter.id);
        routers.add(letter.router);
      }
    });
  }
}

/** Size of the letters of the selected routers that the cluster does not have, as it counts against the limit. Bytes. */
export function sumMissingLetters({ letters }: TransferSession, file: SqliteFile): number {
  return file
    .all(`SELECT sink, uid, bytes FROM letter WHERE ${SELECTED}`)
    .filter(({ sink, uid }) => !letters.has(String(sink), String(uid)))
    .reduce((sum, { bytes }) => sum + Number(bytes), 0);
}

/** Adds the letters of the selected routers to the cluster. Those that it has already are left alone: twice is once. */
export async function importLetters({ letters }: TransferSession, file: SqliteFile): Promise<void> {
  for (let after = 0; ; ) {
    const rows = file.all(
      `SELECT rowid AS id, * FROM letter WHERE ${SELECTED} AND rowid > ? ORDER BY rowid LIMIT ?`,
      after,
      LETTERS_AT_ONCE,
    );
    const last = rows.at(-1);
    if (!last) return;
    after = Number(last['id']);
    const sound = rows.filter(isIntact).map((row) => ({ ...toLetter(row), bytes: Number(row['bytes']) }));
    await letters.store(sound.filter(({ sink, uid }) => !letters.has(sink, uid)));
  }
}
