import type { ListedLog, RotatedFile } from '../names.ts';
import type { FileFault, LogPosition } from '../position/position.ts';
import { type Draft, toStamps, type View } from './state.ts';

/** A damaged file is asked for again so often before what can be read of it is taken. */
const CORRUPT_ATTEMPTS = 3;
/** How long a file is left alone after a reading that failed: doubled each time. */
const RETRY_FIRST_MS = 5000;
const RETRY_CEILING_MS = 120_000;

/** Whether a listing holds a rotated file that no listing had before. */
export function isNews({ completed, waiting }: LogPosition, listed: ListedLog): boolean {
  return listed.rotated.some(({ stamp }) => !(stamp in completed) && !(stamp in waiting));
}

/** Rotated files that have not been read to their end, oldest first. */
export function listFresh({ completed }: LogPosition, listed: ListedLog): RotatedFile[] {
  return listed.rotated.filter(({ stamp }) => !(stamp in completed));
}

/** Whether a file may be tried now: not too soon after it could not be read. */
export function isDue({ position, rules }: View, stamp: string): boolean {
  return (position.waiting[stamp]?.notBeforeMs ?? 0) <= rules.nowMs;
}

/** Whether a rotated file is part of the history that is read behind what is new. */
export function isBackfill({ waiting }: LogPosition, stamp: string): boolean {
  return waiting[stamp]?.isBackfill === true;
}

/** Whether a part of the history is still to be read behind what is new. */
export function hasBackfill({ waiting }: LogPosition): boolean {
  return Object.values(waiting).some((entry) => entry.isBackfill);
}

/** Whether what can be read of a damaged file should be taken now, because it will not get better. */
export function isBeyondRepair({ waiting }: LogPosition, stamp: string): boolean {
  const entry = waiting[stamp];
  return entry?.fault === 'corrupt' && entry.attempts >= CORRUPT_ATTEMPTS;
}

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
  const waitMs = Math.min(RETRY_FIRST_MS * 2 ** (attempts - 1), RETRY_CEILING_MS);
  const failed = { ...entry, attempts, fault, notBeforeMs: rules.nowMs + waitMs };
  position.waiting = { ...position.waiting, [stamp]: failed };
}
