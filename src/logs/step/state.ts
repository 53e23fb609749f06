import type { LifecyclePause, RecordFlag } from '../../model/index.ts';
import { LINK_MS_MAX, type LinkFacts, type LinkObservation } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import type { Gap, GapEdge, OpenGap, Track } from '../position/gap.ts';
import { createUidPrefix } from '../position/identity.ts';
import {
  type FileFault,
  type HeldEntry,
  type LogFile,
  type LogPosition,
  type StreamState,
  toLastEdge,
  type UnreadFile,
} from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import type { Zone } from '../time/zone.ts';

/** Lines of one file that are not durable yet: their effect on the position, without their content. */
export interface ReadPiece {
  readonly file: LogFile | undefined;
  /** Stamp of a rotated file; absent for `current`. */
  readonly stamp: string | undefined;
  readonly stream: StreamState | undefined;
  /** The first line that became a record, even if that is held back. */
  readonly first: GapEdge | undefined;
  /** Gaps in damaged parts, whose records are among those of the lines. */
  readonly gaps: readonly Gap[];
  /** Gap of the lines skipped at the beginning of the file. */
  readonly skipped: Gap | undefined;
}

/**
 * An event of one log, as plain data:
 *
 * - `started`: first contact; unwanted files and lines are skipped.
 * - `listed`: the router lists these files. `unlisted`: known files missing in the listing are completed or lost.
 * - `file-began`: a file begins at this time; `mayRead` of the step says whether it may be read now.
 * - `file-unrelated`: a rotated file is the rest of no known file.
 * - `lines-read`: lines of an unfinished file. `file-ended`: the last lines of a rotated file.
 * - `current-opened`: lines of a new `current`. `current-replaced`: `current` is another file.
 * - `file-failed`: a rotated file could not be read to its end. `file-unreadable`: it never can.
 * - `current-unreadable`: `current` is binary.
 * - `time-passed`: files missing for too long are lost.
 * - `history-deferred`: the remaining history is read after new lines.
 * - `skipping-ended`: lines written from now on are wanted.
 * - `held-released`: no line continues the held record.
 * - `zone-changed`: times of the position are converted to another zone.
 * - `wiped`: the router deleted everything. `replaced`: another device answers.
 */
export type Observation =
  | {
      readonly type: 'started';
      readonly skipped: readonly RotatedFile[];
      readonly skipBeforeUtcMs: number | undefined;
    }
  | { readonly type: 'listed' | 'unlisted' | 'time-passed'; readonly listed: ListedLog }
  | { readonly type: 'history-deferred'; readonly listed: ListedLog }
  | { readonly type: 'file-began'; readonly firstWallAsUtcMs: number; readonly stamp?: string | undefined }
  | { readonly type: 'file-unrelated'; readonly stamp: string; readonly firstWallAsUtcMs: number | undefined }
  | { readonly type: 'lines-read' | 'current-opened'; readonly piece: ReadPiece }
  | {
      readonly type: 'file-ended';
      readonly stamp: string;
      readonly piece: ReadPiece;
      /** Gaps in damaged parts after the last line. */
      readonly damage: readonly Gap[];
    }
  | { readonly type: 'current-replaced' | 'skipping-ended' | 'held-released' | 'wiped' | 'replaced' }
  | {
      readonly type: 'file-failed';
      readonly stamp: string;
      readonly fault: FileFault;
      /** Complete lines before the failure. */
      readonly piece?: ReadPiece | undefined;
    }
  | {
      readonly type: 'file-unreadable';
      readonly rotated: RotatedFile;
      readonly reason: Gap['reason'];
      readonly bytes?: number | undefined;
      readonly file?: LogFile | undefined;
      /** Complete lines before the failure. */
      readonly piece?: ReadPiece | undefined;
    }
  | { readonly type: 'current-unreadable'; readonly bytes: number }
  | {
      readonly type: 'zone-changed';
      readonly from: string;
      readonly to: string;
    };

/** A result of a step, in the order of the records. `lines`: the records of the lines read. */
export type Emitted =
  | { readonly type: 'lines' }
  /** `isInLines`: the record of the gap is among those of the lines. */
  | { readonly type: 'gap'; readonly gap: Gap; readonly isInLines?: boolean }
  | { readonly type: 'gap-ended'; readonly gap: OpenGap; readonly to: GapEdge }
  | { readonly type: 'held'; readonly held: HeldEntry }
  | { readonly type: 'reset'; readonly reason: 'wiped' | 'replaced'; readonly from: GapEdge | undefined };

/** Newer lines wait this long for the rest of an older file, to keep the order. Milliseconds. */
export const HOLD_MS = 60_000;
/** Damaged reads before the readable parts of a file are accepted. */
const CORRUPT_ATTEMPTS = 3;

/** State of one log: the position, and observations of this run that are not stored. */
export interface StepState {
  readonly position: LogPosition;
  readonly seen: Seen;
}

interface Seen {
  readonly listed: ReadonlySet<string>;
  /** Start of the youngest unrelated rotated file that was written for a long time. UTC. */
  readonly unrelatedSinceMs: number;
  /** Stamps of new files that come before the last lines read. */
  readonly lateStamps: ReadonlySet<string>;
}

/** Inputs of a step besides state and observation. */
interface StepInputs {
  readonly router: string;
  readonly component: string;
  readonly nowMs: number;
  readonly zone: Zone;
  /** Evidence on whether files of this router begin in the second in which the previous one ends. */
  readonly links: LinkFacts;
  /** True if no later run follows: nothing waits for missing files. */
  readonly isOnlyRun: boolean;
  /** The last pause of the router. Default: none. */
  readonly pause?: LifecyclePause | undefined;
}

/** A state with the inputs for questions about it. */
export interface View extends StepState {
  readonly rules: StepInputs;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Working copy of one step. Its parts belong to the previous state, so they are replaced and never changed. */
export interface Draft {
  readonly position: Writable<LogPosition>;
  readonly seen: Writable<Seen>;
  readonly rules: Writable<StepInputs>;
  readonly emitted: Emitted[];
  readonly evidence: LinkObservation[];
}

export function createStepState(position: LogPosition): StepState {
  const seen = { listed: new Set<string>(), unrelatedSinceMs: Number.NEGATIVE_INFINITY, lateStamps: new Set<string>() };
  return { position, seen };
}

export function isSameFile(a: LogFile | undefined, b: LogFile | undefined): boolean {
  return a !== undefined && b !== undefined && a.key === b.key && a.gen === b.gen;
}

export function listBegun({ open, pending }: LogPosition): LogFile[] {
  const waiting = pending.map(({ file }) => file);
  return open ? [...waiting, open] : waiting;
}

/** Lists all remembered files. A rotated file may be one that was completed under another name. */
export function listRemembered(position: LogPosition): LogFile[] {
  const { lost, completed } = position;
  return [...listBegun(position), ...lost, ...Object.values(completed).filter((file) => file !== null)];
}

export function isBegun(position: LogPosition, file: LogFile): boolean {
  return listBegun(position).some((other) => isSameFile(other, file));
}

/** Returns the file as remembered; `undefined` if it is not. */
export function findFile(position: LogPosition, file: LogFile): LogFile | undefined {
  // Fast path: most lines are of the open file.
  if (isSameFile(position.open, file)) return position.open;
  return listRemembered(position).find((other) => isSameFile(other, file));
}

/** Returns the generation of a new file with this key. */
export function nextGen(position: LogPosition, key: string): number {
  const gens = listRemembered(position).flatMap((file) => (file.key === key ? [file.gen + 1] : []));
  return Math.max(0, position.gens[key] ?? 0, ...gens);
}

export function edgeOf({ rules: { router, component } }: Pick<View, 'rules'>, file: LogFile): GapEdge | undefined {
  return toLastEdge(router, component, file);
}

/** Returns the last line of a log that became a record. */
export function lastLineOf({ stream: { lastUid, clock } }: LogPosition): GapEdge | undefined {
  return lastUid === undefined ? undefined : { uid: lastUid, utcMs: clock.lastUtcMs };
}

/** Returns true if `ageMs` passed since `sinceMs`; always true in an only run. */
export function isOlder({ rules: { isOnlyRun, nowMs } }: Pick<View, 'rules'>, sinceMs: number, ageMs: number): boolean {
  return isOnlyRun || nowMs - sinceMs >= ageMs;
}

/** Returns true if the router's clock was days ahead: files with correct times may then be newer than they seem. */
export function isFarAhead({ rules }: Pick<View, 'rules'>, utcMs: number): boolean {
  return utcMs > rules.nowMs + UNSYNCED_STEP_MS;
}

/** Returns the stamps of the rotated files. */
export function toStamps({ rotated }: ListedLog): ReadonlySet<string> {
  return new Set(rotated.map(({ stamp }) => stamp));
}

/** Returns a record without some keys. */
export function without<T>(record: Readonly<Record<string, T>>, keys: readonly string[]): Readonly<Record<string, T>> {
  if (!keys.some((key) => Object.hasOwn(record, key))) return record;
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}

/** Returns true if the listing has a new rotated file. */
export function isNews({ completed, waiting }: LogPosition, listed: ListedLog): boolean {
  return listed.rotated.some(({ stamp }) => !(stamp in completed) && !(stamp in waiting));
}

/** Lists the rotated files that are not completely read, oldest first. */
export function listFresh({ completed }: LogPosition, listed: ListedLog): RotatedFile[] {
  return listed.rotated.filter(({ stamp }) => !(stamp in completed));
}

/** Returns true if a file may be tried now: its retry delay has passed. */
export function isDue({ position, rules }: View, stamp: string): boolean {
  return (position.waiting[stamp]?.notBeforeMs ?? 0) <= rules.nowMs;
}

/** Returns true if a rotated file is history, which is read after new lines. */
export function isBackfill({ waiting }: LogPosition, stamp: string): boolean {
  return waiting[stamp]?.isBackfill === true;
}

/** Returns true if a rotated file may be the rest of a known file. History only continues other rotated files. */
export function mayHoldRest(position: LogPosition, stamp: string): boolean {
  return !isBackfill(position, stamp) || position.pending.some(({ isRotated }) => isRotated);
}

/** Returns true if the rest of this file would have appeared before an unrelated file already seen. */
export function isPassedBy({ seen }: Pick<StepState, 'seen'>, { lastUtcMs, shownMs }: LogFile): boolean {
  // Times of a clock that was not set give no order.
  if (lastUtcMs === undefined || lastUtcMs < FLOOR_MS || lastUtcMs !== shownMs) return false;
  return lastUtcMs <= seen.unrelatedSinceMs;
}

/** Returns true if the rests of all known files would have appeared. A name in the future may be any file's. */
export function isSearchOver({ position, seen, rules }: View): boolean {
  const { open, pending } = position;
  if ([...seen.listed].some((stamp) => parseStampUtcMs(stamp) > rules.nowMs)) return false;
  return pending.every(({ isPassed }) => isPassed) && (open === undefined || isPassedBy({ seen }, open));
}

/** Returns true if the readable parts of a damaged file should be accepted now. */
export function skipsDamage({ waiting }: LogPosition, stamp: string): boolean {
  const entry = waiting[stamp];
  return entry?.fault === 'corrupt' && entry.attempts >= CORRUPT_ATTEMPTS;
}

/** Returns the order of a file's lines relative to those already read. */
export function trackOf(view: View, file: LogFile | undefined, stamp: string | undefined): Track {
  if (stamp !== undefined && isBackfill(view.position, stamp)) return 'backfill';
  return file && isLate(view, file, stamp) ? 'late' : 'live';
}

/** Returns flags for lines that are emitted out of order. */
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

/** Returns true if lines of a newer file were emitted before those of this one. */
export function isLate(view: View, file: LogFile, stamp: string | undefined): boolean {
  const { open, pending } = view.position;
  const own = pending.find((entry) => isSameFile(entry.file, file));
  if (own) return own.isOvertaken;
  if (stamp === undefined) return false;
  if (view.seen.lateStamps.has(stamp) || (open !== undefined && !isSameFile(open, file))) return true;
  return endsBeforeLastRead(view, file, stamp);
}

/** True if a rotated file ended before the last file read began, which was `current` and is renamed. */
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

/** Returns true while newer lines wait for the rest of an older file. */
export function isHolding(view: View): boolean {
  const { pending, waiting } = view.position;
  return (
    pending.some(({ sinceMs, isPassed }) => !isPassed && !isOlder(view, sinceMs, HOLD_MS)) ||
    Object.values(waiting).some((entry) => isMissed(entry) && !isOlder(view, entry.sinceMs, HOLD_MS))
  );
}

export function lineBehind({ pending }: LogPosition, file: LogFile): GapEdge | null | undefined {
  return pending.find((entry) => isSameFile(entry.file, file))?.to;
}

function isMissed(entry: UnreadFile): boolean {
  return entry.attempts > 0 && !entry.isBackfill;
}
