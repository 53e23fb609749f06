import { isOwnFault, isRefusal } from '../errors.ts';
import { findOffsetEvidence } from '../evidence/offset-evidence.ts';
import type { ListedLog, Listing } from '../names.ts';
import type { TailContext } from './tail-context.ts';

/** Beginnings of files that are read to find the zone; two that agree are enough. */
const HEADS_MAX = 6;
/** As much of a file as its first line takes, most likely. Bytes. */
const HEAD_BYTES = 512;
const LIMITS = { outputBytesMax: 1024 * 1024, ratioMax: 10_000, resync: false };

/**
 * Asks the router for its local time. Resolves to true if lines may be read: a router that is well and does not answer this
 * for once is asked again at the next run, and only then do its lines go without.
 */
export async function askForTime(context: TailContext, signal: AbortSignal): Promise<boolean> {
  const { readTime, memory, isOnlyRun } = context;
  if (!readTime) return true;
  const mayWait = !isOnlyRun && !memory.hasWaitedForTime && context.zone.isAssumed;
  try {
    if (context.noteTime(await readTime(signal)) || !mayWait) return true;
  } catch (cause) {
    if (signal.aborted) throw cause;
    const isRefused = isRefusal(cause);
    if (isRefused) context.noteTime(undefined);
    if (isRefused || !mayWait) return true;
    memory.hasWaitedForTime = true;
    if (!isOwnFault(cause)) throw cause;
  }
  memory.hasWaitedForTime = true;
  return false;
}

/**
 * Finds the zone in what is listed, before the first line is read: the name of a rotated file is in UTC, and the next file
 * begins in that second with the local time. Only beginnings are read, those of the newest files.
 */
export async function findZone(context: TailContext, { logs }: Listing, signal: AbortSignal): Promise<void> {
  const pairs = [...logs.values()].flatMap(listPairs).toSorted((a, b) => (a.after < b.after ? 1 : -1));
  if (pairs.length < 2) return;
  const isText = ({ log, name }: Pair) => name === log.current;
  for (const { name, log } of [...pairs.filter(isText), ...pairs.filter((pair) => !isText(pair))].slice(0, HEADS_MAX)) {
    const evidence = findOffsetEvidence(log, await readHead(context, name, signal));
    if (evidence?.offsetMs === undefined) continue;
    context.noteLink({ utcMs: evidence.rotatedUtcMs, offsetMs: evidence.offsetMs });
    if (!context.zone.isAssumed) return;
  }
}

/** A file, and its log with the file before it as the newest rotated one. */
interface Pair {
  readonly name: string;
  readonly log: ListedLog;
  /** Stamp of the file before it. */
  readonly after: string;
}

function listPairs({ current, rotated }: ListedLog): Pair[] {
  const newest = rotated.slice(-HEADS_MAX - 1);
  return [...newest.map(({ name }) => name), ...(current === undefined ? [] : [current])].flatMap((name, index) => {
    const before = newest[index - 1];
    return before ? [{ name, log: { current, rotated: [before] }, after: before.stamp }] : [];
  });
}

/** The first bytes of a file, decompressed; as many as could be had of one that is not whole. */
async function readHead({ source, archives }: TailContext, name: string, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    await source.readLog(name, signal, async (body) => {
      for await (const item of archives.decode(body, { ...LIMITS, signal })) {
        if (!(item instanceof Uint8Array)) continue;
        chunks.push(item);
        bytes += item.length;
        if (bytes >= HEAD_BYTES) break;
      }
    });
  } catch (cause) {
    if (signal.aborted || !isOwnFault(cause)) throw cause;
  }
  return Buffer.concat(chunks);
}
