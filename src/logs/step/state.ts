import type { LifecyclePause, RecordFlag } from '../../model/index.ts';
import { LINK_MS_MAX, type LinkFacts, type LinkObservation } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import type { GapEdge, Track } from '../position/event-records.ts';
import { createUidPrefix } from '../position/identity.ts';
import { type LogFile, type LogPosition, toLastEdge, type UnreadFile } from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import type { Zone } from '../time/zone.ts';
import type { Told } from './observation.ts';

/** Newer lines wait this long for the rest of an older file, for the sake of order. */
export const HOLD_MS = 60_000;
/** A damaged file is asked for again so often before what can be read of it is taken. */
const CORRUPT_ATTEMPTS = 3;

/** State of one log: its position, and what this run has seen that no later run needs. */
export interface LogState {
  readonly position: LogPosition;
  readonly seen: Seen;
}

/** Observations of one run that are not stored. */
interface Seen {
  /** Stamps of the rotated files that the router lists. */
  readonly listed: ReadonlySet<string>;
  /** UTC at which the youngest of the unrelated rotated files begins that were written to for long. */
  readonly unrelatedSinceMs: number;
  /** Stamps of new files that were found to come before what was read last. */
  readonly lateStamps: ReadonlySet<string>;
}

/** Inputs of a step besides the state and the observation. */
interface TrackerRules {
  /** Configured name of the router. */
  readonly router: string;
  /** Component whose log is read. */
  readonly component: string;
  /** The agent's clock. Milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** The time zone of the log's lines as known now. */
  readonly zone: Zone;
  /** Evidence of this router for the rule that a file begins in the second in which the one before it ends. */
  readonly links: LinkFacts;
  /** True if no later run follows in which missing files could appear: then nothing waits for them. */
  readonly isOnlyRun: boolean;
  /** The last time in which the router was not asked. Default: none. */
  readonly pause?: LifecyclePause | undefined;
}

/** A state with the rules by which it is judged. */
export interface View extends LogState {
  readonly rules: TrackerRules;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The working copy of one step. Its parts are replaced and never changed, because they are those of the state before. */
export interface Draft {
  readonly position: Writable<LogPosition>;
  readonly seen: Writable<Seen>;
  readonly rules: Writable<TrackerRules>;
  /** Results of the step, in order. */
  readonly told: Told[];
  /** Evidence of how files follow each other. */
  readonly evidence: LinkObservation[];
}

/** The state of a log at the beginning of a run. */
export function createLogState(position: LogPosition): LogState {
  const seen = { listed: new Set<string>(), unrelatedSinceMs: Number.NEGATIVE_INFINITY, lateStamps: new Set<string>() };
  return { position, seen };
}

/** True if two states are of the same file. */
export function isSameFile(a: LogFile | undefined, b: LogFile | undefined): boolean {
  return a !== undefined && b !== undefined && a.key === b.key && a.gen === b.gen;
}

/** The files that were read in part. */
export function listBegun({ open, pending }: LogPosition): LogFile[] {
  const waiting = pending.map(({ file }) => file);
  return open ? [...waiting, open] : waiting;
}

/** All files that are remembered: a rotated file may also be one that was completed under another name. */
export function listRemembered(position: LogPosition): LogFile[] {
  const { lost, completed } = position;
  return [...listBegun(position), ...lost, ...Object.values(completed).filter((file) => file !== null)];
}

/** True if `file` was read in part. */
export function isBegun(position: LogPosition, file: LogFile): boolean {
  return listBegun(position).some((other) => isSameFile(other, file));
}

/** The file as the position has it; `undefined` when it is not remembered. */
export function findFile(position: LogPosition, file: LogFile): LogFile | undefined {
  // Most lines are those of the file that is being written.
  if (isSameFile(position.open, file)) return position.open;
  return listRemembered(position).find((other) => isSameFile(other, file));
}

/** The generation of a new file that begins with `key`. */
export function nextGen(position: LogPosition, key: string): number {
  const gens = listRemembered(position).flatMap((file) => (file.key === key ? [file.gen + 1] : []));
  return Math.max(0, position.gens[key] ?? 0, ...gens);
}

/** The last line that was read of a file. */
export function edgeOf({ rules: { router, component } }: Pick<View, 'rules'>, file: LogFile): GapEdge | undefined {
  return toLastEdge(router, component, file);
}

/** The last line of a log that became a record; `undefined` without one. */
export function lastLineOf({ stream: { lastUid, clock } }: LogPosition): GapEdge | undefined {
  return lastUid === undefined ? undefined : { uid: lastUid, utcMs: clock.lastUtcMs };
}

/** True if `ageMs` have passed since `sinceMs`; always true in an only run. */
export function isOlder({ rules: { isOnlyRun, nowMs } }: Pick<View, 'rules'>, sinceMs: number, ageMs: number): boolean {
  return isOnlyRun || nowMs - sinceMs >= ageMs;
}

/** True if the router's clock was days ahead at `utcMs`: files with a correct time may then be newer despite an earlier time. */
export function isFarAhead({ rules }: Pick<View, 'rules'>, utcMs: number): boolean {
  return utcMs > rules.nowMs + UNSYNCED_STEP_MS;
}

/** The stamps of the rotated files of a listing. */
export function toStamps({ rotated }: ListedLog): ReadonlySet<string> {
  return new Set(rotated.map(({ stamp }) => stamp));
}

/** A record without some of its keys. */
export function without<T>(record: Readonly<Record<string, T>>, keys: readonly string[]): Readonly<Record<string, T>> {
  if (!keys.some((key) => Object.hasOwn(record, key))) return record;
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}

/** True if a listing has a rotated file that no earlier listing had. */
export function isNews({ completed, waiting }: LogPosition, listed: ListedLog): boolean {
  return listed.rotated.some(({ stamp }) => !(stamp in completed) && !(stamp in waiting));
}

/** Rotated files that have not been read to their end, oldest first. */
export function listFresh({ completed }: LogPosition, listed: ListedLog): RotatedFile[] {
  return listed.rotated.filter(({ stamp }) => !(stamp in completed));
}

/** True if a file may be tried now: not too soon after a failed attempt. */
export function isDue({ position, rules }: View, stamp: string): boolean {
  return (position.waiting[stamp]?.notBeforeMs ?? 0) <= rules.nowMs;
}

/** True if a rotated file is part of the history that is read after the live log. */
export function isBackfill({ waiting }: LogPosition, stamp: string): boolean {
  return waiting[stamp]?.isBackfill === true;
}

/**
 * True if a rotated file may hold the rest of one that was begun. What is left of the history was rotated before the file that was
 * written then, and holds the rest only of what was begun in it.
 */
export function mayHoldRest(position: LogPosition, stamp: string): boolean {
  return !isBackfill(position, stamp) || position.pending.some(({ isRotated }) => isRotated);
}

/** True if an unrelated rotated file was written to for long after the last line of this one: its rest would have appeared before. */
export function isPassedBy({ seen }: Pick<LogState, 'seen'>, { lastUtcMs, shownMs }: LogFile): boolean {
  // Times of a clock that was not set say nothing of what came first, and are not shown.
  if (lastUtcMs === undefined || lastUtcMs < FLOOR_MS || lastUtcMs !== shownMs) return false;
  return lastUtcMs <= seen.unrelatedSinceMs;
}

/**
 * True if the rest of all files that were begun would have appeared before the unrelated rotated files that were seen. A name from a
 * clock that was ahead may be that of any file.
 */
export function isSearchOver({ position, seen, rules }: View): boolean {
  const { open, pending } = position;
  if ([...seen.listed].some((stamp) => parseStampUtcMs(stamp) > rules.nowMs)) return false;
  return pending.every(({ isPassed }) => isPassed) && (open === undefined || isPassedBy({ seen }, open));
}

/** True if the readable parts of a damaged file should be taken now, because it stayed damaged. */
export function isBeyondRepair({ waiting }: LogPosition, stamp: string): boolean {
  const entry = waiting[stamp];
  return entry?.fault === 'corrupt' && entry.attempts >= CORRUPT_ATTEMPTS;
}

/** Returns the place of a file's lines among those that were read before. */
export function trackOf(view: View, file: LogFile | undefined, stamp: string | undefined): Track {
  if (stamp !== undefined && isBackfill(view.position, stamp)) return 'backfill';
  return file && isLate(view, file, stamp) ? 'late' : 'live';
}

/** Flags of lines that cannot be handed out in the order in which the router wrote them. */
export function flagsFor(view: View, file: LogFile, stamp: string | undefined): readonly RecordFlag[] {
  const { pending, waiting, brokenLinks } = view.position;
  const track = trackOf(view, file, stamp);
  if (track !== 'live') return [track];
  const missed = [
    ...pending.filter((entry) => !isSameFile(entry.file, file)),
    ...brokenLinks.filter(({ isVague }) => isVague !== true),
    ...Object.entries(waiting).flatMap(([other, entry]) => (other !== stamp && isMissed(entry) ? [entry] : [])),
  ];
  return missed.some(({ sinceMs }) => isOlder(view, sinceMs, HOLD_MS)) ? ['out_of_order'] : [];
}

/** True if lines of a newer file were shipped before those of this one. */
export function isLate(view: View, file: LogFile, stamp: string | undefined): boolean {
  const { open, pending } = view.position;
  const own = pending.find((entry) => isSameFile(entry.file, file));
  if (own) return own.isOvertaken;
  if (stamp === undefined) return false;
  if (view.seen.lateStamps.has(stamp) || (open !== undefined && !isSameFile(open, file))) return true;
  return endsBeforeLastRead(view, file, stamp);
}

/** True if a rotated file ended before the beginning of the file read last, which was `current` and has an unknown name now. */
function endsBeforeLastRead(view: View, file: LogFile, stamp: string): boolean {
  const { position, rules } = view;
  const { sequenceEnd, open, stream } = position;
  const { router, component, zone } = rules;
  if (sequenceEnd || open || stream.lastUid === undefined || zone.isAssumed) return false;
  const last = listRemembered(position).find((one) => {
    return stream.lastUid?.startsWith(createUidPrefix(router, component, one));
  });
  if (last?.firstUtcMs === undefined || isSameFile(last, file) || isFarAhead(view, last.firstUtcMs)) return false;
  return parseStampUtcMs(stamp) <= last.firstUtcMs + LINK_MS_MAX;
}

/** True if the rest of an older file was missed so recently that newer lines should wait for it. */
export function isHolding(view: View): boolean {
  const { pending, waiting } = view.position;
  return (
    pending.some(({ sinceMs, isPassed }) => !isPassed && !isOlder(view, sinceMs, HOLD_MS)) ||
    Object.values(waiting).some((entry) => isMissed(entry) && !isOlder(view, entry.sinceMs, HOLD_MS))
  );
}

/** The line behind the rest of a file, where it was read before that rest; `null` when nobody knows which it was. */
export function lineBehind({ pending }: LogPosition, file: LogFile): GapEdge | null | undefined {
  return pending.find((entry) => isSameFile(entry.file, file))?.to;
}

/** True if newer lines have a reason to wait for this file. */
function isMissed(entry: UnreadFile): boolean {
  return entry.attempts > 0 && !entry.isBackfill;
}
