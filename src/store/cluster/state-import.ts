import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreError, toStoreError } from '../errors.ts';
import {
  copyMovedFile,
  countSelected,
  IMPORT_KEY,
  type ImportedState,
  listMovedRouters,
  selectRouters,
  toTaken,
} from '../moved-file.ts';
import { openState } from '../schema.ts';
import type { SqliteFile } from '../sqlite-file.ts';
import type { FencedWrite } from './commit-queue.ts';
import { renderPlace } from './cursor.ts';
import type { Message } from './link.ts';
import { importLetters, sumMissingLetters } from './moved-letters.ts';
import { readPayloadMax, toRecordMessages } from './record-messages.ts';
import { type RouterState, readRouterState } from './router-state.ts';
import { checkRoom, readStreamState } from './stream.ts';
import {
  type ClusterTransferOptions,
  eachRouter,
  noteAll,
  readCursors,
  type TransferSession,
  withStream,
} from './transfer.ts';

/** Options of {@link importClusterState}. */
export interface ClusterImportOptions extends ClusterTransferOptions {
  /** File that a state export has written. It is not changed. */
  readonly input: string;
  /** True: replaces positions that the cluster already has for these routers. */
  readonly replaces: boolean;
}

/** Packed records of one commit at most: a batch on a slow line must end within the time limit of a request. Bytes. */
const COMMIT_BYTES_MAX = 1024 * 1024;
const COMMIT_BATCHES_MAX = 200;

/**
 * Adds the state of routers from a file to the streams of a cluster, as `importState` does on a disk. Dead letters come first, then
 * the records of a router, in commits that each say how far they are; its positions, facts and values come last, as one commit,
 * which is refused if a replica has written any of them since they were read here. An import that was interrupted is repeated: it
 * goes on where it was.
 *
 * Rejects with what `checkFree` rejects with, and with {@link StoreError} otherwise: `absent` without the file, `broken` if it is no
 * exported state or if the cluster has positions of these routers, `full` without room for records or letters, and `fenced`.
 */
export function importClusterState(options: ClusterImportOptions): Promise<ImportedState> {
  const { input, isWanted, replaces, checkFree } = options;
  return withStream(options, async (session) => {
    const folder = mkdtempSync(join(tmpdir(), 'router-exporter-import-'));
    try {
      const copy = join(folder, 'importing.db');
      const id = copyMovedFile(input, copy);
      using file = openState(copy);
      const wanted = selectRouters(file, isWanted, listMovedRouters(file, 'main'));
      const states = new Map<string, RouterState>();
      await eachRouter(wanted, async (router) => {
        states.set(router, await readRouterState(session.link, session.subjects, router));
      });
      const known = wanted.filter((router) => states.get(router)?.values.get(IMPORT_KEY) === id);
      for (const router of known) file.run('DELETE FROM selected WHERE router = ?', router);
      const routers = wanted.filter((router) => !known.includes(router));
      if (!replaces) refusePositions(file, routers, states);
      await checkFree(routers);
      const counts = countSelected(file, 'main');
      await checkSpace(session, file, routers);
      await importLetters(session, file);
      await beginSinks(session, file);
      await eachRouter(routers, async (router) => {
        const state = states.get(router);
        if (state) await importRouter(session, file, { id, router, state });
      });
      return { routers, known, ...counts };
    } catch (cause) {
      throw cause instanceof Error && 'errcode' in cause ? toStoreError(cause, input) : cause;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** Throws if the cluster has positions of its own for logs of these routers. */
function refusePositions(file: SqliteFile, routers: readonly string[], states: ReadonlyMap<string, RouterState>): void {
  const taken = routers.flatMap((router) => {
    const positions = states.get(router)?.positions;
    return file
      .all('SELECT component, position FROM log WHERE router = ? ORDER BY component', router)
      .map(({ component, position }) => ({ router, component: String(component), position: String(position) }))
      .filter(({ component, position }) => (positions?.get(component) ?? position) !== position);
  });
  if (taken.length > 0) throw toTaken(taken);
}

/** Throws if the records would take what is kept free for cursors, or if the letters have no room. */
async function checkSpace(session: TransferSession, file: SqliteFile, routers: readonly string[]): Promise<void> {
  const { link, subjects, letters } = session;
  const lettersBytes = sumMissingLetters(session, file);
  if (lettersBytes > 0) letters.checkRoom(lettersBytes);
  const read = (router: string) =>
    Number(file.get('SELECT coalesce(sum(bytes), 0) AS bytes FROM batch WHERE router = ?', router)?.['bytes']);
  const bytes = routers.reduce((sum, router) => sum + read(router), 0);
  if (bytes > 0) checkRoom(readStreamState(await link.ask(`STREAM.INFO.${subjects.stream}`)), bytes);
}

/** Gives the cluster the sinks that it does not have: they may be ones that start behind the newest record. */
async function beginSinks(session: TransferSession, file: SqliteFile): Promise<void> {
  const { link, subjects, queue } = session;
  const known = new Set((await readCursors(session)).map(({ sink }) => sink));
  const sinks = file.all('SELECT sink FROM cursor').map(({ sink }) => String(sink));
  const { lastSeq } = readStreamState(await link.ask(`STREAM.INFO.${subjects.stream}`));
  for (const name of sinks.filter((sink) => !known.has(sink))) {
    const subject = subjects.of({ kind: 'cur', sink: name });
    const payload = Buffer.from(renderPlace({ cursor: { batch: lastSeq + 1, index: 0 }, taken: [] }));
    queue.note(subject, 0);
    await queue
      .commit({ owned: { kind: 'sink', name }, added: [], fenced: [{ subject, payload }] })
      .catch((cause: unknown) => {
        // A replica has begun to serve it, before these records.
        if (!(cause instanceof StoreError && cause.code === 'fenced')) throw cause;
      });
  }
}

/** Imported data of a router, and the data that exists already. */
interface Import {
  readonly id: string;
  readonly router: string;
  readonly state: RouterState;
}

async function importRouter(session: TransferSession, file: SqliteFile, { id, router, state }: Import): Promise<void> {
  const { link, subjects, queue } = session;
  const owned = { kind: 'router', name: router } as const;
  noteAll(session, state.messages);
  const subjectsKnown = new Set(state.messages.map(({ subject }) => subject));
  const toWrite = (subject: string, text: string): FencedWrite => {
    if (!subjectsKnown.has(subject)) {
      subjectsKnown.add(subject);
      queue.note(subject, 0);
    }
    return { subject, payload: Buffer.from(text) };
  };
  const mark = (text: string) => toWrite(subjects.of({ kind: 'val', router, key: IMPORT_KEY }), text);
  const bytesMax = readPayloadMax(link);
  let done = readProgress(id, state.values.get(IMPORT_KEY));
  for (;;) {
    const rows = file.all(
      'SELECT id, component, committed_ms, batch.records, body FROM batch JOIN spool ON batch = id WHERE router = ? AND id > ? ORDER BY id LIMIT ?',
      router,
      done,
      COMMIT_BATCHES_MAX,
    );
    const added: Message[] = [];
    let bytes = 0;
    for (const row of rows) {
      const body = row['body'] as Uint8Array;
      if (bytes > 0 && bytes + body.length > COMMIT_BYTES_MAX) break;
      bytes += body.length;
      done = Number(row['id']);
      const subject = subjects.of({ kind: 'rec', router, component: String(row['component']) });
      const about = { body, records: Number(row['records']), committedMs: Number(row['committed_ms']) };
      added.push(...toRecordMessages(subject, about, bytesMax));
    }
    if (added.length === 0) break;
    await queue.commit({ owned, added, fenced: [mark(`${id}@${done}`)] });
  }
  const of = (table: string, columns: string) => file.all(`SELECT ${columns} FROM ${table} WHERE router = ?`, router);
  const fenced = [
    ...of('log', 'component, position').map((row) =>
      toWrite(subjects.of({ kind: 'pos', router, component: String(row['component']) }), String(row['position'])),
    ),
    ...of('fact', 'text').map((row) => toWrite(subjects.of({ kind: 'fact', router }), String(row['text']))),
    ...of('note', 'key, text')
      .filter(({ key }) => key !== IMPORT_KEY)
      .map((row) => toWrite(subjects.of({ kind: 'val', router, key: String(row['key']) }), String(row['text']))),
    mark(id),
  ];
  await queue.commit({ owned, added: [], fenced });
}

/** Returns the last batch of a file that an interrupted import has stored; -1 without one. */
function readProgress(id: string, text: string | undefined): number {
  const [of, batch] = text?.split('@') ?? [];
  return of === id && batch !== undefined && /^\d+$/.test(batch) ? Number(batch) : -1;
}
