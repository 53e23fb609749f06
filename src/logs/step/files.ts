import { isLinked, meanDistanceMs } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs } from '../listing/listing.ts';
import type { GapEdge } from '../position/gap.ts';
import type { FileFault, LogFile, LogPosition, Pending, SequenceEnd } from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import { doLinksHold, testRule } from './links.ts';
import {
  type Draft,
  edgeOf,
  findFile,
  HOLD_MS,
  isBegun,
  isLate,
  isPassedBy,
  isSameFile,
  lineBehind,
  listFresh,
  listRemembered,
  toStamps,
  trackOf,
  without,
} from './state.ts';

/** Remembered files that are no longer listed or whose rest was not found. */
const LOST_MAX = 8;
/** Completed files remembered with their content. Older ones keep only the name. */
const REMEMBERED_MAX = 64;
/** Remembered keys with the number of files that began alike. */
const GENS_MAX = 64;
/** Delay before a failed read is repeated, doubled each time up to the ceiling. Milliseconds. */
const RETRY_FIRST_MS = 5000;
const RETRY_CEILING_MS = 120_000;
/** Ceiling for files that are listed but cannot be downloaded: each attempt costs bytes. Milliseconds. */
const REFUSED_CEILING_MS = 15 * 60_000;
const RETRY_MS_MAX = REFUSED_CEILING_MS;

/** Adds the new files of a listing. */
export function addListed(draft: Draft, listed: ListedLog): void {
  const { position, seen, rules } = draft;
  seen.listed = toStamps(listed);
  const { waiting } = position;
  const added = listFresh(position, listed).filter(({ stamp }) => !(stamp in waiting));
  if (added.length === 0) return;
  const entry = { sinceMs: rules.nowMs, attempts: 0, fault: undefined, notBeforeMs: 0, isBackfill: false };
  position.waiting = { ...waiting, ...Object.fromEntries(added.map(({ stamp }) => [stamp, entry])) };
}

/** Records that a rotated file could not be read to its end. */
export function recordFault({ position, rules }: Draft, stamp: string, fault: FileFault): void {
  const entry = position.waiting[stamp];
  if (!entry) return;
  // Only equal consecutive faults are counted.
  const attempts = entry.fault === fault ? entry.attempts + 1 : 1;
  // Before the first attempt it only waited in the queue.
  const sinceMs = entry.attempts === 0 ? rules.nowMs : entry.sinceMs;
  const failed = { ...entry, sinceMs, attempts, fault, notBeforeMs: rules.nowMs + findRetryMs(attempts, fault) };
  position.waiting = { ...position.waiting, [stamp]: failed };
}

/** Returns the delay before the next attempt. Milliseconds. */
export function findRetryMs(attempts: number, fault: FileFault): number {
  const ceilingMs = fault === 'refused' ? REFUSED_CEILING_MS : RETRY_CEILING_MS;
  return Math.min(RETRY_FIRST_MS * 2 ** (attempts - 1), ceilingMs);
}

/** Makes a file the open one. */
export function openCurrent(draft: Draft, read: LogFile): LogFile {
  const file = follow(draft, updateFile(draft, read));
  const { position } = draft;
  position.pending = position.pending.filter((entry) => !isSameFile(entry.file, file));
  overtake(draft, file);
  position.open = file;
  recall(draft, file);
  return file;
}

/** Suspends the open file: its rest must appear among the rotated files. */
export function suspendOpen(draft: Draft): void {
  const { position } = draft;
  const { open } = position;
  position.open = undefined;
  // Its new name is not known, so the next file cannot be linked to it.
  position.sequenceEnd = undefined;
  if (open) awaitRest(draft, open, { isOvertaken: false, isRotated: false });
}

/** Adds a file to the position with its first lines, so that it is found again after a crash. */
export function adoptFile(draft: Draft, read: LogFile, stamp: string | undefined): LogFile {
  const known = updateFile(draft, read);
  const { position } = draft;
  if (isBegun(position, known)) return known;
  if (stamp === undefined) return openCurrent(draft, known);
  const late = isLate(draft, known, stamp);
  const file = late ? known : follow(draft, known);
  if (!late) overtake(draft, file);
  // Only the recorded line is known to follow a late file, not the line read next.
  const waiting = position.waiting[stamp];
  const to = late && waiting?.isBackfill !== true ? (waiting?.to ?? null) : undefined;
  awaitRest(draft, file, { isOvertaken: late, isRotated: true, to });
  recall(draft, file);
  return file;
}

/** Completes a rotated file. `read` is absent if it holds no line. */
export function completeFile(draft: Draft, stamp: string, read: LogFile | undefined): void {
  const { position } = draft;
  if (!read) {
    closeStamp(draft, stamp, null);
    return;
  }
  let file = updateFile(draft, read);
  const track = trackOf(draft, file, stamp);
  const isOpen = isSameFile(position.open, file);
  const wasCurrent = isOpen || position.pending.some((entry) => isSameFile(entry.file, file) && !entry.isRotated);
  if (track === 'live') file = follow(draft, file);
  closeStamp(draft, stamp, file);
  const to = takeLineBehind(draft, file);
  position.pending = position.pending.filter((entry) => !isSameFile(entry.file, file));
  recall(draft, file);
  if (isOpen) position.open = undefined;
  if (track === 'live') {
    overtake(draft, file);
    testRule(draft, stamp, file);
    position.sequenceEnd = toSequenceEnd(draft, stamp, file, wasCurrent);
  } else if (draft.rules.zone.isNamed && doLinksHold(draft) && !hasSuccessor(draft, stamp, file)) {
    const link = { after: stamp, from: edgeOf(draft, file), sinceMs: draft.rules.nowMs, to, track };
    position.brokenLinks = [...position.brokenLinks, link];
  }
}

function takeLineBehind({ position }: Draft, file: LogFile): GapEdge | undefined {
  const { firstUtcMs } = file;
  const mended = position.brokenLinks.filter(({ after }) => firstUtcMs !== undefined && isLinked(firstUtcMs, after));
  position.brokenLinks = position.brokenLinks.filter((link) => !mended.includes(link));
  return lineBehind(position, file) ?? mended[0]?.to;
}

function toSequenceEnd(draft: Draft, stamp: string, file: LogFile, wasCurrent: boolean): SequenceEnd {
  const { pace, lastUtcMs = 0, follows } = file;
  const distanceMs = pace && meanDistanceMs(pace, parseStampUtcMs(stamp) - lastUtcMs);
  return { stamp, edge: edgeOf(draft, file), distanceMs, isWatched: wasCurrent || follows !== undefined };
}

/** Marks a rotated file as completed. */
export function closeStamp(draft: Draft, stamp: string, file: LogFile | null): void {
  const { position } = draft;
  position.completed = { ...position.completed, [stamp]: file };
  position.waiting = without(position.waiting, [stamp]);
  if (file) forgetContents(draft);
}

/** Records that a rotated file is the rest of no known file. */
export function recordUnrelated(draft: Draft, stamp: string, firstWallAsUtcMs: number | undefined): void {
  const { zone } = draft.rules;
  if (firstWallAsUtcMs === undefined || zone.isAssumed || isRestAhead(draft, stamp)) return;
  const firstUtcMs = zone.toUtc(firstWallAsUtcMs, undefined).utcMs;
  // A file written for longer than newer lines wait: all files rotated before it had time to appear.
  if (parseStampUtcMs(stamp) - firstUtcMs <= HOLD_MS || firstUtcMs < FLOOR_MS) return;
  draft.seen.unrelatedSinceMs = Math.max(draft.seen.unrelatedSinceMs, firstUtcMs);
  markPassed(draft);
}

function isRestAhead({ position, rules }: Draft, stamp: string): boolean {
  return Object.entries(position.waiting).some(
    ([other, { isBackfill, notBeforeMs }]) => other < stamp && !isBackfill && notBeforeMs > rules.nowMs,
  );
}

function markPassed(draft: Draft): void {
  const { position } = draft;
  position.pending = position.pending.map((entry) => {
    // A file first read as a rotated file has already appeared.
    return !entry.isRotated && isPassedBy(draft, entry.file) ? { ...entry, isPassed: true } : entry;
  });
}

/** Remembers a lost file: if it reappears, it is not read from its start. */
export function rememberLost(draft: Draft, file: LogFile): void {
  const { position, rules } = draft;
  const lost = [...position.lost, file];
  for (const forgotten of lost.slice(0, -LOST_MAX)) {
    if (mayBeginAlike(forgotten, rules.nowMs)) recordGen(draft, forgotten);
  }
  position.lost = lost.slice(-LOST_MAX);
}

/** Forgets all files: those of another device with equal names or beginnings are other files. */
export function forgetFiles(draft: Draft): void {
  const { position } = draft;
  for (const file of listRemembered(position)) recordGen(draft, file);
  position.completed = {};
  position.lost = [];
}

function follow({ position }: Draft, file: LogFile): LogFile {
  const { sequenceEnd } = position;
  const isKnown = listRemembered(position).some((other) => isSameFile(other, file));
  return sequenceEnd?.isWatched !== true || isKnown ? file : { ...file, follows: sequenceEnd.stamp };
}

function overtake({ position }: Draft, file: LogFile): void {
  position.pending = position.pending.map((entry) => {
    return entry.isOvertaken || isSameFile(entry.file, file) ? entry : { ...entry, isOvertaken: true };
  });
}

function hasSuccessor({ position }: Draft, stamp: string, file: LogFile): boolean {
  return listRemembered(position).some(
    (other) => !isSameFile(other, file) && other.firstUtcMs !== undefined && isLinked(other.firstUtcMs, stamp),
  );
}

function forgetContents(draft: Draft): void {
  const { position, rules } = draft;
  const { completed } = position;
  const withContent = Object.keys(completed).filter((stamp) => completed[stamp] !== null);
  const forgotten = withContent.toSorted().slice(0, -REMEMBERED_MAX);
  for (const stamp of forgotten) {
    const file = completed[stamp];
    if (file && mayBeginAlike(file, rules.nowMs)) recordGen(draft, file);
  }
  if (forgotten.length === 0) return;
  position.completed = { ...completed, ...Object.fromEntries(forgotten.map((stamp) => [stamp, null])) };
}

/** Files without a time, or written while the clock was not set, may have a second file with the same beginning. */
function mayBeginAlike({ gen, isUntimed, firstUtcMs, lastUtcMs, shownMs }: LogFile, nowMs: number): boolean {
  if (gen > 0 || isUntimed === true || firstUtcMs === undefined || shownMs !== lastUtcMs) return true;
  return firstUtcMs < Math.max(FLOOR_MS, nowMs - UNSYNCED_STEP_MS);
}

function recall({ position }: Draft, file: LogFile): void {
  position.lost = position.lost.filter((lost) => !isSameFile(lost, file));
}

function recordGen({ position }: Draft, { key, gen }: LogFile): void {
  const { [key]: known = 0, ...others } = position.gens;
  const gens: [string, number][] = [...Object.entries(others), [key, Math.max(known, gen + 1)]];
  // Beginnings that repeated will repeat again.
  const once = gens.findIndex(([, count]) => count === 1);
  if (gens.length > GENS_MAX) gens.splice(Math.max(0, once), 1);
  position.gens = Object.fromEntries(gens);
}

function awaitRest(draft: Draft, file: LogFile, state: Pick<Pending, 'isOvertaken' | 'isRotated' | 'to'>): void {
  const { position, rules } = draft;
  position.pending = [...position.pending, { file, sinceMs: rules.nowMs, ...state, isPassed: false }];
  markPassed(draft);
}

interface Waiting {
  readonly sinceMs: number;
  readonly notBeforeMs?: number;
}

/**
 * Corrects the wall times in a position (first missed, next attempt) after the agent's clock was set by `setByMs`. If
 * the step is unknown, as after a restart, times in the future become now, because the log would otherwise wait until
 * then. Returns the same position if nothing changes.
 */
export function boundTimes(position: LogPosition, nowMs: number, setByMs: number): LogPosition {
  const { pending, brokenLinks, waiting } = position;
  const bound = <T extends Waiting>(entry: T): T => boundEntry(entry, nowMs, setByMs);
  const isChanged = (entry: Waiting) => bound(entry) !== entry;
  if (![...pending, ...brokenLinks, ...Object.values(waiting)].some(isChanged)) return position;
  return {
    ...position,
    pending: pending.map(bound),
    brokenLinks: brokenLinks.map(bound),
    waiting: Object.fromEntries(Object.entries(waiting).map(([stamp, entry]) => [stamp, bound(entry)])),
  };
}

function boundEntry<T extends Waiting>(entry: T, nowMs: number, setByMs: number): T {
  const sinceMs = entry.sinceMs + setByMs;
  // 0 means that the file was never delayed.
  const notBeforeMs = entry.notBeforeMs && entry.notBeforeMs + setByMs;
  const isAhead = sinceMs > nowMs;
  const isPutOffTooFar = notBeforeMs !== undefined && notBeforeMs > nowMs + RETRY_MS_MAX;
  if (setByMs === 0 && !isAhead && !isPutOffTooFar) return entry;
  return {
    ...entry,
    sinceMs: Math.min(sinceMs, nowMs),
    ...(notBeforeMs !== undefined && { notBeforeMs: isAhead || isPutOffTooFar ? nowMs : notBeforeMs }),
  };
}

/** Replaces a file wherever the position has it, keeping what only the position knows. */
function updateFile({ position }: Draft, read: LogFile): LogFile {
  const known = findFile(position, read);
  if (!known) return read;
  const file = known.follows === undefined ? read : { ...read, follows: known.follows };
  const replace = (other: LogFile): LogFile => (isSameFile(other, file) ? file : other);
  position.open &&= replace(position.open);
  position.pending = position.pending.map((entry) => {
    return isSameFile(entry.file, file) ? { ...entry, file } : entry;
  });
  position.lost = position.lost.map(replace);
  for (const [stamp, other] of Object.entries(position.completed)) {
    if (other && isSameFile(other, file)) position.completed = { ...position.completed, [stamp]: file };
  }
  return file;
}
