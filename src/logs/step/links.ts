import {
  addEvidence,
  hasOtherMiss,
  isLinked,
  isRefuted,
  isRuleConfirmed,
  judgeLinks,
  LINK_MS_MAX,
  type LinkObservation,
  linkOffsetMs,
} from '../listing/link-rule.ts';
import { parseStampUtcMs } from '../listing/listing.ts';
import type { BrokenLink, LogFile, SequenceEnd } from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import { type Draft, HOLD_MS, isFarAhead, isOlder, type View } from './state.ts';

/** Returns true if this log may rely on the rule that a file begins in the second in which the previous one ends. */
export function doLinksHold({ rules: { links, component } }: Pick<View, 'rules'>): boolean {
  return !isRefuted(links, component) && judgeLinks(links).holds;
}

/** Returns true if a rotation that breaks the rule is more likely a loss than a refutation. */
export function isBreakALoss({ rules: { links, component } }: Pick<View, 'rules'>): boolean {
  return isRuleConfirmed(links, component);
}

/**
 * Returns true if a new file may be read now, and records a break.
 *
 * A file waits while an older one is probably missing before it. If the rule holds, its first line and the name of the
 * previous file show that. A rotated file with a `stamp` may also be older than the last file read and then does not
 * wait.
 */
export function admitFile(draft: Draft, firstWallAsUtcMs: number, stamp: string | undefined): boolean {
  const { position, seen, rules } = draft;
  const { sequenceEnd } = position;
  if (!sequenceEnd) return true;
  const endUtcMs = parseStampUtcMs(sequenceEnd.stamp);
  const beginsUtcMs = rules.zone.toUtc(firstWallAsUtcMs, endUtcMs).utcMs;
  // A clock that was not set proves neither a link nor a gap.
  const isSet = firstWallAsUtcMs >= FLOOR_MS && endUtcMs >= FLOOR_MS && !hasFallen(draft, endUtcMs, beginsUtcMs);
  const offsetMs = linkOffsetMs(firstWallAsUtcMs, sequenceEnd.stamp, rules.zone);
  const isEarlier = stamp !== undefined && stamp < sequenceEnd.stamp && !isFarAhead(draft, endUtcMs);
  // Files rotated by a timer match each other in some zone. A file with an earlier name must match in the zone in use.
  if (offsetMs !== undefined && (!isEarlier || isLinked(beginsUtcMs, sequenceEnd.stamp))) {
    if (isSet) recordMatch(draft, sequenceEnd, offsetMs);
    dropLink(draft, sequenceEnd.stamp);
    return true;
  }
  if (isEarlier) {
    seen.lateStamps = new Set([...seen.lateStamps, stamp]);
    return true;
  }
  return admitBehindBreak(draft, sequenceEnd, { beginsUtcMs, isSet, stamp });
}

function admitBehindBreak(
  draft: Draft,
  { stamp: after, edge: from, isWatched }: SequenceEnd,
  begin: { readonly beginsUtcMs: number; readonly isSet: boolean; readonly stamp: string | undefined },
): boolean {
  const { position, seen, rules } = draft;
  const { beginsUtcMs, isSet, stamp } = begin;
  const known = position.brokenLinks.find((link) => link.after === after);
  const recordBreak = (about: Partial<BrokenLink>): void => {
    position.brokenLinks = [...position.brokenLinks, { after, from, sinceMs: rules.nowMs, isWatched, ...about }];
  };
  if (!isSet || !doLinksHold(draft)) {
    // Files after that one may have been deleted with it.
    if (!known && !seen.listed.has(after)) recordBreak({ isVague: true });
    return true;
  }
  if (stamp !== undefined && !isBreakALoss(draft) && isNext(draft, after, stamp, beginsUtcMs, beginsUtcMs)) {
    dropLink(draft, after);
    return true;
  }
  if (known) return known.isVague === true || isOlder(draft, known.sinceMs, HOLD_MS);
  const isBrief = stamp !== undefined && beginsUtcMs >= parseStampUtcMs(stamp) - LINK_MS_MAX;
  recordBreak({ beginsUtcMs: isBrief ? undefined : beginsUtcMs });
  return rules.isOnlyRun;
}

/** True if the router's clock restarted without a battery. Setting a clock right that was ahead does not count. */
function hasFallen(draft: Draft, fromUtcMs: number, toUtcMs: number): boolean {
  return toUtcMs < fromUtcMs - UNSYNCED_STEP_MS && !isFarAhead(draft, fromUtcMs);
}

/** In a log that contradicts the rule a match is coincidence. */
function recordMatch(draft: Draft, { stamp, distanceMs }: SequenceEnd, offsetMs: number): void {
  const { links, component } = draft.rules;
  if (!isRefuted(links, component)) recordEvidence(draft, { type: 'match', stamp, distanceMs, offsetMs });
}

function recordEvidence(draft: Draft, observation: LinkObservation): void {
  const { rules, evidence } = draft;
  evidence.push(observation);
  rules.links = addEvidence(rules.links, rules.component, observation);
}

/**
 * True if nothing can be missing between two rotated files, whatever their lines say: both are listed with none between
 * them, and the router deletes the oldest first. Not valid if the clock was set in between, which is not visible
 * without a zone; nor for a file that begins in the second of its own name, which may have replaced another one.
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

/** Tests the rule on two completely read files: if nothing is missing between them, they must be linked. */
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

/** Without a battery a clock restarts at 1970 or at the date of the firmware. */
function isClockSet(utcMs: number, stamp: string): boolean {
  const stampMs = parseStampUtcMs(stamp);
  return utcMs >= FLOOR_MS && stampMs >= FLOOR_MS && utcMs >= stampMs - UNSYNCED_STEP_MS;
}

/** Records that the next file does not begin at the rotation although nothing seems to be missing. */
export function contradict(draft: Draft, stamp: string, isWatched: boolean): void {
  const { links, component } = draft.rules;
  // A single file may have vanished, for example when its compression failed. That does not happen twice.
  const isExcused = isBreakALoss(draft) && !hasOtherMiss(links, component, stamp);
  // A writer that buffers may have lost the beginning of the file in a crash.
  const isRefutation = isWatched && !isExcused && !draft.position.stream.isBuffered;
  recordEvidence(draft, { type: isRefutation ? 'refutation' : 'miss', stamp });
}

function dropLink({ position }: Draft, stamp: string): void {
  position.brokenLinks = position.brokenLinks.filter(({ after }) => after !== stamp);
}
