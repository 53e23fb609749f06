import { isLinked, meanDistanceMs } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs } from '../listing/listing.ts';
import type { GapEdge } from '../position/event-records.ts';
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

/** Files that are remembered although the router lists them no longer, or their rest was not found. */
const LOST_MAX = 8;
/** Completed files whose content is remembered, not only the name. */
const REMEMBERED_MAX = 64;
/** Beginnings that may come again, of which only the number of files that had them is remembered. */
const GENS_MAX = 64;
/** Delay before a file whose reading failed is tried again, doubled each time up to the ceiling. Milliseconds. */
const RETRY_FIRST_MS = 5000;
const RETRY_CEILING_MS = 120_000;
/** Ceiling for a file that is there and does not come, as one whose download always ends: each attempt costs bytes, and nothing changes. */
const REFUSED_CEILING_MS = 15 * 60_000;
/** The longest of these delays. */
const RETRY_MS_MAX = REFUSED_CEILING_MS;

/** The router lists these files: new ones are noted. */
export function noteListed(draft: Draft, listed: ListedLog): void {
  const { position, seen, rules } = draft;
  seen.listed = toStamps(listed);
  const { waiting } = position;
  const added = listFresh(position, listed).filter(({ stamp }) => !(stamp in waiting));
  if (added.length === 0) return;
  const entry = { sinceMs: rules.nowMs, attempts: 0, fault: undefined, notBeforeMs: 0, isBackfill: false };
  position.waiting = { ...waiting, ...Object.fromEntries(added.map(({ stamp }) => [stamp, entry])) };
}

/** A rotated file could not be read to its end. */
export function noteFault({ position, rules }: Draft, stamp: string, fault: FileFault): void {
  const entry = position.waiting[stamp];
  if (!entry) return;
  // Faults of another kind begin the count anew: three times the same is what says something.
  const attempts = entry.fault === fault ? entry.attempts + 1 : 1;
  // Until it was asked for first, it has only waited for its turn.
  const sinceMs = entry.attempts === 0 ? rules.nowMs : entry.sinceMs;
  const failed = { ...entry, sinceMs, attempts, fault, notBeforeMs: rules.nowMs + findRetryMs(attempts, fault) };
  position.waiting = { ...position.waiting, [stamp]: failed };
}

/** Returns how long a file is left alone that could not be read so many times. Milliseconds. */
export function findRetryMs(attempts: number, fault: FileFault): number {
  const ceilingMs = fault === 'refused' ? REFUSED_CEILING_MS : RETRY_CEILING_MS;
  return Math.min(RETRY_FIRST_MS * 2 ** (attempts - 1), ceilingMs);
}

/** A file is the one that is being written now. */
export function openCurrent(draft: Draft, read: LogFile): LogFile {
  const file = follow(draft, updateFile(draft, read));
  const { position } = draft;
  position.pending = position.pending.filter((entry) => !isSameFile(entry.file, file));
  overtake(draft, file);
  position.open = file;
  recall(draft, file);
  return file;
}

/** `current` is another file now: the rest of the open one has to turn up among the rotated ones. */
export function shelveOpen(draft: Draft): void {
  const { position } = draft;
  const { open } = position;
  position.open = undefined;
  // Which name the file has got is not known, so there is nothing that the next one could be linked to.
  position.sequenceEnd = undefined;
  if (open) awaitRest(draft, open, { isOvertaken: false, isRotated: false });
}

/** A file that was read in part becomes part of the position with its first lines, so that a crash finds it again. */
export function adoptFile(draft: Draft, read: LogFile, stamp: string | undefined): LogFile {
  const known = updateFile(draft, read);
  const { position } = draft;
  if (isBegun(position, known)) return known;
  if (stamp === undefined) return openCurrent(draft, known);
  const late = isLate(draft, known, stamp);
  const file = late ? known : follow(draft, known);
  if (!late) overtake(draft, file);
  // Only the line noted before is known to follow a late file, not the line that is read next.
  const waiting = position.waiting[stamp];
  const to = late && waiting?.isBackfill !== true ? (waiting?.to ?? null) : undefined;
  awaitRest(draft, file, { isOvertaken: late, isRotated: true, to });
  recall(draft, file);
  return file;
}

/** A rotated file was read to its end; `read` is absent when it holds no line. */
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

/** The line behind a file that ends. What was missing in front of it is found. */
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

/** A rotated file is done with. */
export function closeStamp(draft: Draft, stamp: string, file: LogFile | null): void {
  const { position } = draft;
  position.completed = { ...position.completed, [stamp]: file };
  position.waiting = without(position.waiting, [stamp]);
  if (file) forgetContents(draft);
}

/** A rotated file continues none of those that were begun. */
export function noteUnrelated(draft: Draft, stamp: string, firstWallAsUtcMs: number | undefined): void {
  const { zone } = draft.rules;
  if (firstWallAsUtcMs === undefined || zone.isAssumed || isRestAhead(draft, stamp)) return;
  const firstUtcMs = zone.toUtc(firstWallAsUtcMs, undefined).utcMs;
  // One that was written to for longer than newer lines would wait: what was rotated before it has had its time to appear.
  if (parseStampUtcMs(stamp) - firstUtcMs <= HOLD_MS || firstUtcMs < FLOOR_MS) return;
  draft.seen.unrelatedSinceMs = Math.max(draft.seen.unrelatedSinceMs, firstUtcMs);
  markPassed(draft);
}

/** True if an older rotated file was not whole and is not tried again yet: it may be the rest of any that was begun. */
function isRestAhead({ position, rules }: Draft, stamp: string): boolean {
  return Object.entries(position.waiting).some(
    ([other, { isBackfill, notBeforeMs }]) => other < stamp && !isBackfill && notBeforeMs > rules.nowMs,
  );
}

function markPassed(draft: Draft): void {
  const { position } = draft;
  position.pending = position.pending.map((entry) => {
    // A file that was begun as a rotated one has appeared already.
    return !entry.isRotated && isPassedBy(draft, entry.file) ? { ...entry, isPassed: true } : entry;
  });
}

/** Should a lost file or its rest turn up after all, it is not read from its start. */
export function giveUp(draft: Draft, file: LogFile): void {
  const { position, rules } = draft;
  const lost = [...position.lost, file];
  for (const forgotten of lost.slice(0, -LOST_MAX)) {
    if (mayBeginAlike(forgotten, rules.nowMs)) noteGen(draft, forgotten);
  }
  position.lost = lost.slice(-LOST_MAX);
}

/** Files of another device that have the same names, or begin alike, are other ones. */
export function forgetFiles(draft: Draft): void {
  const { position } = draft;
  for (const file of listRemembered(position)) noteGen(draft, file);
  position.completed = {};
  position.lost = [];
}

/** Before a file becomes part of the position: notes that the log was followed into it. */
function follow({ position }: Draft, file: LogFile): LogFile {
  const { sequenceEnd } = position;
  const isKnown = listRemembered(position).some((other) => isSameFile(other, file));
  return sequenceEnd?.isWatched !== true || isKnown ? file : { ...file, follows: sequenceEnd.stamp };
}

/** Lines of `file` go ahead of what older files still hold. */
function overtake({ position }: Draft, file: LogFile): void {
  position.pending = position.pending.map((entry) => {
    return entry.isOvertaken || isSameFile(entry.file, file) ? entry : { ...entry, isOvertaken: true };
  });
}

/** True if a file is known that begins where `file` was rotated. */
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
    if (file && mayBeginAlike(file, rules.nowMs)) noteGen(draft, file);
  }
  if (forgotten.length === 0) return;
  position.completed = { ...completed, ...Object.fromEntries(forgotten.map((stamp) => [stamp, null])) };
}

/** True if another file may have the same beginning: one without a time, or the clock was probably not set, and may be unset again. */
function mayBeginAlike({ gen, isUntimed, firstUtcMs, lastUtcMs, shownMs }: LogFile, nowMs: number): boolean {
  if (gen > 0 || isUntimed === true || firstUtcMs === undefined || shownMs !== lastUtcMs) return true;
  return firstUtcMs < Math.max(FLOOR_MS, nowMs - UNSYNCED_STEP_MS);
}

function recall({ position }: Draft, file: LogFile): void {
  position.lost = position.lost.filter((lost) => !isSameFile(lost, file));
}

function noteGen({ position }: Draft, { key, gen }: LogFile): void {
  const { [key]: known = 0, ...others } = position.gens;
  const gens: [string, number][] = [...Object.entries(others), [key, Math.max(known, gen + 1)]];
  // Beginnings that have repeated will repeat again.
  const once = gens.findIndex(([, count]) => count === 1);
  if (gens.length > GENS_MAX) gens.splice(Math.max(0, once), 1);
  position.gens = Object.fromEntries(gens);
}

function awaitRest(draft: Draft, file: LogFile, state: Pick<Pending, 'isOvertaken' | 'isRotated' | 'to'>): void {
  const { position, rules } = draft;
  position.pending = [...position.pending, { file, sinceMs: rules.nowMs, ...state, isPassed: false }];
  markPassed(draft);
}

/** An entry of a position that waits. */
interface Waiting {
  readonly sinceMs: number;
  readonly notBeforeMs?: number;
}

/**
 * Positions hold wall times of the agent: since when something is missed, and when a file is tried again. Once the clock was set by
 * `setByMs`, they move with it: nothing has waited for longer than before. Where nobody knows by how much it was set, as after a
 * restart, they may be of the future, and the log would stand still until then: those count as now. Returns the same position if
 * nothing changes.
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
  // A file that was never put off has no time.
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

/**
 * Takes over how far a file was read, wherever the position remembers it. Gives the file with what only the tracker knows
 * of it.
 */
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
