import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DeadLetters,
  EVENTS_LOG,
  type MovableStore,
  type OpenState,
  type StatePlace,
  type StoredBatch,
  StoreError,
} from '../model/index.ts';
import { STATE_FILE } from './database-format.ts';
import { DeadLetterStore } from './dead-letter-store.ts';
import { EmbeddedStore } from './embedded-store.ts';
import { MovedState } from './moved-file.ts';
import { finishRebuild } from './rebuild.ts';
import { makeFolder, toAbsent, toRefusal, toStoreError } from './sqlite-file.ts';

/** What was moved. */
export interface TransferResult {
  /** Names of the routers, sorted. */
  readonly routers: readonly string[];
  /** Number of logs with a position. */
  readonly logs: number;
  /** Number of records that some sink still needs. */
  readonly records: number;
  readonly deadLetters: number;
}

/** Options of {@link exportState}. */
export interface ExportOptions {
  /** File to write; must not exist. */
  readonly output: string;
  /** Selects the routers. */
  readonly isWanted: (router: string) => boolean;
  /** True: removes the state from its place when the file is durable. */
  readonly removes: boolean;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** Options of {@link importState}. */
export interface ImportOptions extends Pick<ExportOptions, 'isWanted' | 'now'> {
  /** File that {@link exportState} wrote. It is not changed. */
  readonly input: string;
  /** True: replaces positions that the place already has for these routers. */
  readonly replaces: boolean;
}

/** Key of a router's value that names the export its state comes from and, until the import is complete, its progress. */
const ORIGIN = 'imported';
const ROUTERS_AT_ONCE = 32;
/** Dead letters held at a time: each may be as long as a record. */
const DEAD_LETTERS_AT_ONCE = 100;

/** The folder of a stopped agent. `creates`: true to create a missing store. */
export function onDisk(options: {
  readonly path: string;
  readonly creates: boolean;
  readonly now: () => number;
}): StatePlace {
  const { path, creates, now } = options;
  return {
    createWorkFolder() {
      const folder = join(path, 'importing');
      // Left by an import that was killed.
      rmSync(folder, { recursive: true, force: true });
      makeFolder(folder);
      return folder;
    },
    checkFree: async () => {},
    async use(work) {
      const file = join(path, STATE_FILE);
      finishRebuild(file);
      if (!creates && !existsSync(file))
        throw toAbsent(file, 'Check storage.path of the configuration, or name the folder with --storage.path');
      const onRebuilt = () => {
        throw new StoreError('damaged', `The state in ${file} was damaged and has been rebuilt`, {
          disposition: 'operator',
          hint: 'Check the disk, and repeat the command to continue with what could be read',
        });
      };
      using store = new EmbeddedStore({ path, spoolBytesMax: Number.POSITIVE_INFINITY, onRebuilt, now });
      using deadLetters = new DeadLetterStore({ path, bytesMax: Number.POSITIVE_INFINITY, now });
      return await work({ store, deadLetters });
    },
  };
}

/**
 * Writes the state of routers to a file: positions of logs, facts, values, records that some sink still needs, and dead
 * letters. Rejects with the errors of `checkFree` and with {@link StoreError}: `absent` without a store, `locked` while an
 * agent uses it, `full`, `unwritable`, and `fenced` if a router that was to be removed has changed. A crash leaves either no
 * file or a complete one; in the latter case the place may still hold what was exported.
 */
export function exportState(place: StatePlace, options: ExportOptions): Promise<TransferResult> {
  const { output, isWanted, removes, now } = options;
  return place.use(async (source) => {
    try {
      using file = MovedState.create(output, now);
      const exported = await writeMoved(source, file, { isWanted, checkFree: place.checkFree });
      file.finish(output);
      const { result, deadLetterIds, lastSeqs } = exported;
      if (removes) {
        await place.checkFree(result.routers);
        await inParts(result.routers, async (routers) => {
          await source.store.removeRouters(routers.map((router) => ({ router, lastSeq: lastSeqs.get(router) ?? 0 })));
        });
        if (deadLetterIds.length > 0) await source.deadLetters.drop({ ids: deadLetterIds });
      }
      return result;
    } catch (cause) {
      throw isOfDisk(cause) ? toStoreError(cause, output) : cause;
    }
  });
}

async function writeMoved(
  source: OpenState,
  file: MovedState,
  { isWanted, checkFree }: Pick<ExportOptions, 'isWanted'> & Pick<StatePlace, 'checkFree'>,
) {
  using target = file.open();
  const deadLetters = await moveDeadLetters(source.deadLetters, target.deadLetters, isWanted);
  const listed = await source.store.listRouters();
  const routers = selectRouters([...listed, ...deadLetters.routers], isWanted);
  await checkFree(routers);
  await openRouters(source.store, routers);
  const origin = randomUUID();
  const { lastSeqs, ...counts } = await moveRouters(source.store, target.store, routers, () => origin);
  return { result: { routers, ...counts, deadLetters: deadLetters.added }, deadLetterIds: deadLetters.ids, lastSeqs };
}

/**
 * Adds the state of routers from a file: first dead letters, then records in steps that store their progress, and last, for
 * each router in one step, its positions, facts and values. A step is refused if another process has changed the router since
 * its position was read here. An interrupted import continues when repeated. Records that some sinks had are delivered to all
 * again, with the same uids. Routers that this file was imported for before are left alone, and named in `known`.
 *
 * Rejects with the errors of `checkFree` and with {@link StoreError}: `absent` without the file, `broken` if it is no
 * exported state or if the place has positions of these routers, `locked` while an agent uses it, `full`, `unwritable` and
 * `fenced`.
 */
export async function importState(
  place: StatePlace,
  { input, isWanted, replaces, now }: ImportOptions,
): Promise<TransferResult & { readonly known: readonly string[] }> {
  try {
    using file = MovedState.read(input, place.createWorkFolder ?? createTemporaryFolder, now);
    using source = file.open();
    return await place.use(async (target) => {
      const wanted = selectRouters(source.store.listRouters(), isWanted);
      await openRouters(target.store, wanted);
      const originOf = (router: string) => source.store.readState(router).values.get(ORIGIN) ?? '';
      const isKnown = (router: string) => target.store.readState(router).values.get(ORIGIN) === originOf(router);
      const known = wanted.filter(isKnown);
      const routers = wanted.filter((router) => !known.includes(router));
      if (!replaces) refusePositions(source.store, target.store, routers);
      await place.checkFree(routers);
      const bytes = routers.reduce((sum, router) => sum + source.store.bytesOf(router), 0);
      if (bytes > 0) await target.store.checkRoom(bytes);
      const selected = new Set(routers);
      const deadLetters = await moveDeadLetters(source.deadLetters, target.deadLetters, (router) =>
        selected.has(router),
      );
      const { lastSeqs: _, ...counts } = await moveRouters(source.store, target.store, routers, originOf);
      return { routers, known, ...counts, deadLetters: deadLetters.added };
    });
  } catch (cause) {
    throw isOfDisk(cause) ? toStoreError(cause, input) : cause;
  }
}

function createTemporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'router-exporter-import-'));
}

async function moveRouters(
  from: MovableStore,
  to: MovableStore,
  routers: readonly string[],
  originOf: (router: string) => string,
) {
  await to.beginSinks(await from.listSinks());
  const done = new Map(
    routers.map((router) => [router, readProgress(originOf(router), to.readState(router).values.get(ORIGIN))]),
  );
  const lastSeqs = new Map<string, number>();
  let records = 0;
  for await (const batches of from.readWaiting()) {
    const groups = new Map<string, StoredBatch[]>();
    for (const batch of batches) {
      const doneSeq = done.get(batch.router);
      if (doneSeq === undefined) continue;
      lastSeqs.set(batch.router, batch.seq);
      // A damaged batch cannot be moved.
      if (batch.seq <= doneSeq || batch.body.length === 0) continue;
      groups.set(batch.router, [...(groups.get(batch.router) ?? []), batch]);
      records += batch.records;
    }
    await to.addTo(
      Array.from(groups, ([router, own]) => {
        const values = new Map([[ORIGIN, `${originOf(router)}@${own.at(-1)?.seq}`]]);
        return { router, batches: own, values };
      }),
    );
  }
  let logs = 0;
  await inParts(routers, async (part) => {
    const states = part.map((router) => {
      const { positions, facts, values } = from.readState(router);
      logs += positions.size - Number(positions.has(EVENTS_LOG));
      return { router, positions, facts, values: new Map([...values, [ORIGIN, originOf(router)]]) };
    });
    await to.addTo(states);
  });
  return { logs, records, lastSeqs };
}

/** Returns the last batch of an export that an interrupted import has stored; -1 without one. */
function readProgress(origin: string, text: string | undefined): number {
  const [of, seq] = text?.split('@') ?? [];
  return of === origin && seq !== undefined && /^\d+$/.test(seq) ? Number(seq) : -1;
}

/** Moves the dead letters of routers, oldest first. One without a router stays, because its target is unknown. */
async function moveDeadLetters(from: DeadLetters, to: DeadLetters, isWanted: (router: string) => boolean) {
  const ids: number[] = [];
  const routers = new Set<string>();
  let added = 0;
  for (let afterId = 0; ; ) {
    const page = await from.list({ limit: DEAD_LETTERS_AT_ONCE, order: 'oldest', afterId });
    const last = page.at(-1);
    if (!last) return { ids, routers, added };
    afterId = last.id;
    const wanted = page.filter(({ router, isDamaged }) => router !== '' && !isDamaged && isWanted(router));
    added += await to.addMoved(wanted);
    for (const { id, router } of wanted) {
      ids.push(id);
      routers.add(router);
    }
  }
}

function selectRouters(routers: Iterable<string>, isWanted: (router: string) => boolean): readonly string[] {
  return [...new Set(routers)].filter((router) => router !== '' && isWanted(router)).toSorted();
}

/** Opens routers: from here on, a change of their stored state by another process is refused. */
async function openRouters(store: MovableStore, routers: readonly string[]): Promise<void> {
  await inParts(routers, async (part) => {
    await Promise.all(part.map(async (router) => await store.openRouter(router)));
  });
}

/** Throws if the target has positions of its own for logs of these routers. */
function refusePositions(from: MovableStore, to: MovableStore, routers: readonly string[]): void {
  const taken = routers.flatMap((router) => {
    const own = to.readState(router).positions;
    return [...from.readState(router).positions]
      .filter(([name, position]) => name !== EVENTS_LOG && (own.get(name) ?? position) !== position)
      .map(([component]) => `${router}/${component}`)
      .toSorted();
  });
  if (taken.length === 0) return;
  throw toRefusal(
    `The store already has positions of ${taken.length} of these logs, such as ${taken[0]}`,
    'Leave their routers out with --routers, or replace the positions with --replace',
  );
}

async function inParts(routers: readonly string[], work: (part: readonly string[]) => Promise<void>): Promise<void> {
  for (let from = 0; from < routers.length; from += ROUTERS_AT_ONCE) {
    await work(routers.slice(from, from + ROUTERS_AT_ONCE));
  }
}

function isOfDisk(cause: unknown): boolean {
  return cause instanceof Error && ('errcode' in cause || 'syscall' in cause) && !(cause instanceof StoreError);
}
