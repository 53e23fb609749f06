import { toStoreError } from '../errors.ts';
import { countSelected, IMPORT_KEY, MovedFileWriter, type MovedState, selectRouters } from '../moved-file.ts';
import { openState } from '../schema.ts';
import type { SqliteFile } from '../sqlite-file.ts';
import { floorOf } from './cursor.ts';
import type { StoredMessage } from './link.ts';
import { type MovedLetters, writeLetters } from './moved-letters.ts';
import { RecordFeed, type RecordMessage } from './record-feed.ts';
import { type RouterState, readRouterState } from './router-state.ts';
import { readStreamState } from './stream.ts';
import {
  type ClusterTransferOptions,
  eachRouter,
  noteAll,
  readCursors,
  type TransferSession,
  withStream,
} from './transfer.ts';

/** Options of {@link exportClusterState}. */
export interface ClusterExportOptions extends ClusterTransferOptions {
  /** File to write; must not exist. */
  readonly output: string;
  /** True: removes the state from the stream when the file is safe on the disk. */
  readonly removes: boolean;
}

/** Longest time between two looks whether all records are here. Milliseconds. */
const LOOK_MS = 1000;

/** Data read for one router. */
interface Exported {
  readonly messages: readonly StoredMessage[];
  /** Number of its last message with records; 0 without one. */
  lastSeq: number;
}

/**
 * Writes the state of routers of a cluster to a file, as `exportState` does from a disk. Rejects with what `checkFree` rejects
 * with, and with {@link StoreError} otherwise: `fenced` if a replica has committed something for a router that was to be removed.
 */
export function exportClusterState(options: ClusterExportOptions): Promise<MovedState> {
  const { output, removes, now, checkFree } = options;
  return withStream(options, async (session) => {
    try {
      using moving = new MovedFileWriter(output, now());
      const exported = new Map<string, Exported>();
      let counts: Omit<MovedState, 'routers'>;
      let routers: readonly string[];
      let letters: MovedLetters;
      {
        using file = openState(moving.path);
        letters = await writeLetters(session, file, options.isWanted);
        const listed = [...(await listRouters(session, options)), ...letters.routers];
        routers = selectRouters(file, () => true, listed);
        await checkFree(routers);
        await eachRouter(routers, async (router) => {
          const state = await readRouterState(session.link, session.subjects, router);
          writeState(file, router, state);
          exported.set(router, { messages: state.messages, lastSeq: 0 });
        });
        await writeRecords(file, session, exported, options.sinks);
        counts = countSelected(file, 'main');
      }
      moving.finish();
      if (removes) {
        await checkFree(routers);
        await eachRouter(routers, (router) => removeRouter(session, router, exported.get(router)));
        if (letters.ids.length > 0) await session.letters.drop({ ids: letters.ids });
      }
      return { routers, ...counts };
    } catch (cause) {
      throw cause instanceof Error && 'errcode' in cause ? toStoreError(cause, output) : cause;
    }
  });
}

/** Lists the wanted routers of which the stream of the records holds something. */
async function listRouters(
  { link, subjects }: TransferSession,
  { isWanted }: ClusterTransferOptions,
): Promise<readonly string[]> {
  const routers = new Set<string>();
  for (const filter of [...subjects.states, subjects.records]) {
    for (const subject of await link.listSubjects(subjects.stream, filter)) {
      const topic = subjects.parse(subject);
      if (topic && 'router' in topic && isWanted(topic.router)) routers.add(topic.router);
    }
  }
  return [...routers];
}

function writeState(file: SqliteFile, router: string, { positions, facts, values }: RouterState): void {
  file.transact(() => {
    for (const [component, text] of positions) file.run('INSERT INTO log VALUES (?, ?, ?)', router, component, text);
    if (facts !== undefined) file.run('INSERT INTO fact VALUES (?, ?)', router, facts);
    for (const [key, text] of values)
      if (key !== IMPORT_KEY) file.run('INSERT INTO note VALUES (?, ?, ?)', router, key, text);
  });
}

/** Writes the records that not every sink has, and the names of the sinks. */
async function writeRecords(
  file: SqliteFile,
  session: TransferSession,
  exported: ReadonlyMap<string, Exported>,
  sinks: readonly string[],
): Promise<void> {
  const { link, subjects } = session;
  const cursors = await readCursors(session);
  // A sink that has not begun yet may begin at the oldest record, and one that cannot be read may need everything.
  const isWhole = cursors.length === 0 || sinks.some((sink) => !cursors.some((one) => one.sink === sink));
  const from = isWhole ? 0 : Math.min(...cursors.map(({ place }) => (place ? floorOf(place, true) : 0)));
  for (const { sink, place } of cursors) {
    const { batch, index } = place?.cursor ?? { batch: 0, index: 0 };
    file.run('INSERT INTO cursor VALUES (?, ?, ?)', sink, batch, index);
  }
  const { lastSeq } = readStreamState(await link.ask(`STREAM.INFO.${subjects.stream}`));
  let more = Promise.withResolvers<void>();
  const wake = () => more.resolve();
  const feed = new RecordFeed(link, subjects, from, { onRecords: wake, onSilent: wake });
  try {
    for (;;) {
      const isLast = feed.isCaughtUp || feed.seenSeq >= lastSeq;
      file.transact(() => {
        for (const message of feed.held) writeRecord(file, message, exported.get(message.router));
      });
      feed.dropBefore(feed.seenSeq + 1);
      if (isLast) return;
      if (feed.fault) throw feed.fault;
      await Promise.race([more.promise, link.clock.sleep(LOOK_MS)]);
      more = Promise.withResolvers();
      // Rejects if the engine stays away.
      await link.ready();
    }
  } finally {
    await feed.close();
  }
}

function writeRecord(file: SqliteFile, message: RecordMessage, exported: Exported | undefined): void {
  if (!exported) return;
  const { seq, router, component, committedMs, records, body } = message;
  exported.lastSeq = seq;
  // What cannot be read here cannot be read there.
  if (body.length === 0) return;
  file.run('INSERT INTO spool VALUES (?, ?, ?)', seq, records, body);
  const row = [seq, router, component, committedMs, records, body.length] as const;
  file.run('INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?)', ...row);
}

/** Removes what was written of a router, unless something has changed since. */
async function removeRouter(
  session: TransferSession,
  router: string,
  { messages, lastSeq }: Exported = { messages: [], lastSeq: 0 },
): Promise<void> {
  const { link, subjects, queue } = session;
  noteAll(session, messages);
  const kept = messages.filter(({ payload }) => payload.length > 0);
  const fenced = kept.map(({ subject }) => ({ subject, payload: Buffer.alloc(0) }));
  // Empty messages, and not nothing: a replica that knows the router from before is refused.
  if (fenced.length > 0) await queue.commit({ owned: { kind: 'router', name: router }, added: [], fenced });
  if (lastSeq > 0) {
    await link.ask(`STREAM.PURGE.${subjects.stream}`, { filter: subjects.recordsOf(router), seq: lastSeq + 1 });
  }
}
