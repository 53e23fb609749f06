import {
  addEvidence,
  hasOtherMiss,
  isBeyondDoubt,
  isLinked,
  isRefuted,
  judgeLinks,
  LINK_MS_MAX,
  type LinkObservation,
  linkOffsetMs,
} from '../listing/link-rule.ts';
import { parseStampUtcMs } from '../listing/listing.ts';
import type { BrokenLink, LogFile, SequenceEnd } from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import { type Draft, HOLD_MS, isFarAhead, isOlder, type View } from './state.ts';

/** True if this log may rely on the rule that a file begins in the second in which the one before it ends. */
export function doLinksHold({ rules: { links, component } }: Pick<View, 'rules'>): boolean {
  return !isRefuted(links, component) && judgeLinks(links).holds;
}

/** True if one rotation that breaks the rule is more likely a loss than its refutation, although no older file is missing. */
export function isBreakALoss({ rules: { links, component } }: Pick<View, 'rules'>): boolean {
  return isBeyondDoubt(links, component);
}

/**
 * Returns true if a new file may be read now: not while one is likely to be missing before it. Where the router has shown that
 * they do, the first line of a file and the name of the one before it say so. A break that is found first is noted. A
 * rotated file, one with a `stamp`, may also be older than what was read last: nothing waits for that.
 */
export function admitFile(draft: Draft, firstWallAsUtcMs: number, stamp: string | undefined): boolean {
  const { position, seen, rules } = draft;
  const { sequenceEnd } = position;
  if (!sequenceEnd) return true;
  const endUtcMs = parseStampUtcMs(sequenceEnd.stamp);
  const beginsUtcMs = rules.zone.toUtc(firstWallAsUtcMs, endUtcMs).utcMs;
  // A clock that was not set proves neither that two files belong together nor that one is missing.
  const isSet = firstWallAsUtcMs >= FLOOR_MS && endUtcMs >= FLOOR_MS && !hasFallen(draft, endUtcMs, beginsUtcMs);
  const offsetMs = linkOffsetMs(firstWallAsUtcMs, sequenceEnd.stamp, rules.zone);
  const isEarlier = stamp !== undefined && stamp < sequenceEnd.stamp && !isFarAhead(draft, endUtcMs);
  // Of a timer's files each begins where any other one ends, in some zone: one with an earlier name follows only in the zone in use.
  if (offsetMs !== undefined && (!isEarlier || isLinked(beginsUtcMs, sequenceEnd.stamp))) {
    if (isSet) noteMatch(draft, sequenceEnd, offsetMs);
    // The missing file is found.
    dropLink(draft, sequenceEnd.stamp);
    return true;
  }
  if (isEarlier) {
    seen.lateStamps = new Set([...seen.lateStamps, stamp]);
    return true;
  }
  return admitBehindBreak(draft, sequenceEnd, { beginsUtcMs, isSet, stamp });
}

/** Returns true if a file may be read that does not begin where the last one ended. */
function admitBehindBreak(
  draft: Draft,
  { stamp: after, edge: from, isWatched }: SequenceEnd,
  begin: { readonly beginsUtcMs: number; readonly isSet: boolean; readonly stamp: string | undefined },
): boolean {
  const { position, seen, rules } = draft;
  const { beginsUtcMs, isSet, stamp } = begin;
  const known = position.brokenLinks.find((link) => link.after === after);
  const noteBreak = (about: Partial<BrokenLink>): void => {
    position.brokenLinks = [...position.brokenLinks, { after, from, sinceMs: rules.nowMs, isWatched, ...about }];
  };
  if (!isSet || !doLinksHold(draft)) {
    // Files behind that one may have been deleted with it.
    if (!known && !seen.listed.has(after)) noteBreak({ isVague: true });
    return true;
  }
  if (stamp !== undefined && !isBreakALoss(draft) && isNext(draft, after, stamp, beginsUtcMs, beginsUtcMs)) {
    dropLink(draft, after);
    return true;
  }
  if (known) return known.isVague === true || isOlder(draft, known.sinceMs, HOLD_MS);
  const isBrief = stamp !== undefined && beginsUtcMs >= parseStampUtcMs(stamp) - LINK_MS_MAX;
  noteBreak({ beginsUtcMs: isBrief ? undefined : beginsUtcMs });
  return rules.isOnlyRun;
}

/**
 * True if the router's clock fell back by days, as one without a battery does that begins at the date of its firmware. One that
 * had been ahead was set right, and the names that were ahead have cost files.
 */
function hasFallen(draft: Draft, fromUtcMs: number, toUtcMs: number): boolean {
  return toUtcMs < fromUtcMs - UNSYNCED_STEP_MS && !isFarAhead(draft, fromUtcMs);
}

/** A file begins in the second in which the one before it was rotated. In a log that contradicts the rule that is chance. */
function noteMatch(draft: Draft, { stamp, distanceMs }: SequenceEnd, offsetMs: number): void {
  const { links, component } = draft.rules;
  if (!isRefuted(links, component)) noteEvidence(draft, { type: 'match', stamp, distanceMs, offsetMs });
}

function noteEvidence(draft: Draft, observation: LinkObservation): void {
  const { rules, evidence } = draft;
  evidence.push(observation);
  rules.links = addEvidence(rules.links, rules.component, observation);
}

/**
 * True if nothing is missing between two rotated files, whatever their lines say: the router lists both and none between
 * them, and it deletes the oldest first. Only if its clock was not set meanwhile; while the zone is unknown nobody sees
 * that. And a file that begins in the second of its own name may have taken the place of another one of that name.
 */
function isNext(
  { seen: { listed }, rules: { zone } }: Draft,
  before: string,
  stamp: string,
  firstUtcMs: number,
  lastUtcMs: number,
): boolean {
  const isAlone = [...listed].every((other) => other <= before || other >= stamp);
  if (!listed.has(before) || !listed.has(stamp) || !isAlone) return false;
  const [fromMs, toMs] = [parseStampUtcMs(before), parseStampUtcMs(stamp)];
  if (zone.isAssumed) return linkOffsetMs(firstUtcMs, stamp) === undefined;
  if (isLinked(firstUtcMs, stamp)) return false;
  return fromMs - LINK_MS_MAX <= firstUtcMs && firstUtcMs <= lastUtcMs && lastUtcMs <= toMs + LINK_MS_MAX;
}

/** A file was read to its end, and the one before it too: if nothing is missing between them, they must be linked. */
export function testRule(draft: Draft, stamp: string, { follows, firstUtcMs, lastUtcMs }: LogFile): void {
  const before = follows ?? draft.position.sequenceEnd?.stamp;
  if (before === undefined || firstUtcMs === undefined || lastUtcMs === undefined) return;
  if (!isClockSet(firstUtcMs, before) || linkOffsetMs(firstUtcMs, before) !== undefined) return;
  if (!isNext(draft, before, stamp, firstUtcMs, lastUtcMs)) return;
  // It becomes a gap if the missing file does not appear.
  if (isBreakALoss(draft) && draft.position.brokenLinks.some(({ after }) => after === before)) return;
  contradict(draft, before, follows !== undefined);
  dropLink(draft, before);
}

/**
 * True if the router's clock was set when it wrote a line at `utcMs`, after the rotation `stamp`. One without a battery begins
 * at 1970, or at the date of its firmware.
 */
function isClockSet(utcMs: number, stamp: string): boolean {
  const stampMs = parseStampUtcMs(stamp);
  return utcMs >= FLOOR_MS && stampMs >= FLOOR_MS && utcMs >= stampMs - UNSYNCED_STEP_MS;
}

/** The file behind this one begins at another time, and nothing seems to be missing between them. */
export function contradict(draft: Draft, stamp: string, isWatched: boolean): void {
  const { links, component } = draft.rules;
  // A file between them may have vanished alone, as one whose compression failed: that does not happen twice.
  const isExcused = isBreakALoss(draft) && !hasOtherMiss(links, component, stamp);
  // A writer that buffers may have lost the beginning of the file in a crash.
  const isRefutation = isWatched && !isExcused && !draft.position.stream.isBuffered;
  noteEvidence(draft, { type: isRefutation ? 'refutation' : 'miss', stamp });
}

function dropLink({ position }: Draft, stamp: string): void {
  position.brokenLinks = position.brokenLinks.filter(({ after }) => after !== stamp);
}
