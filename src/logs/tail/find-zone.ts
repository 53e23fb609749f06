import { isOwnFault, isRefusal } from '../errors.ts';
import { linkOffsetMs } from '../evidence/link-rule.ts';
import type { ScanOptions } from '../file-scan.ts';
import { type ListedLog, type Listing, parseStampUtcMs } from '../names.ts';
import { Zone } from '../time/zone.ts';
import type { TailContext } from './tail-context.ts';

/** Beginnings of files that are read to find the zone; two that agree are enough. */
const HEADS_MAX = 6;
const LIMITS = { outputBytesMax: 1024 * 1024, ratioMax: 10_000, resync: false };
const UNKNOWN = new Zone(undefined);

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
  const texts = pairs.filter(({ isText }) => isText);
  for (const { name, after } of [...texts, ...pairs.filter(({ isText }) => !isText)].slice(0, HEADS_MAX)) {
    const firstWallAsUtcMs = await readFirstTime(context, name, signal);
    const offsetMs = firstWallAsUtcMs === undefined ? undefined : linkOffsetMs(firstWallAsUtcMs, after, UNKNOWN);
    if (offsetMs === undefined) continue;
    context.noteLink({ utcMs: parseStampUtcMs(after), offsetMs });
    if (!context.zone.isAssumed) return;
  }
}

/** A file that another one is before. */
interface Pair {
  readonly name: string;
  /** True if it is not compressed. */
  readonly isText: boolean;
  /** Stamp of the file before it. */
  readonly after: string;
}

function listPairs({ current, rotated }: ListedLog): Pair[] {
  const newest = rotated.slice(-HEADS_MAX - 1);
  return [...newest.map(({ name }) => name), ...(current === undefined ? [] : [current])].flatMap((name, index) => {
    const before = newest[index - 1];
    return before ? [{ name, isText: name === current, after: before.stamp }] : [];
  });
}

/** Reads a file up to the first line with a time. Resolves with its wall time; `undefined` if no such line could be read. */
async function readFirstTime(
  { source, archives, clock }: TailContext,
  name: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  let firstWallAsUtcMs: number | undefined;
  const options: ScanOptions = {
    name,
    candidates: [],
    acceptsNew: true,
    isClosed: true,
    endMs: clock.now(),
    batchBytes: LIMITS.outputBytesMax,
    begin: (beginning) => {
      ({ firstWallAsUtcMs } = beginning);
      return undefined;
    },
    onBatch: () => {},
  };
  try {
    await source.readLog(name, signal, (body) => archives.open(options, LIMITS, signal).read(body));
  } catch (cause) {
    if (signal.aborted || !isOwnFault(cause)) throw cause;
  }
  return firstWallAsUtcMs;
}
