import { isLinked, LINK_MS_MAX } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import { type Gap, type GapEdge, type OpenGap, type Track, toGapUid } from '../position/gap.ts';
import { createUidPrefix } from '../position/identity.ts';
import {
  type BrokenLink,
  createStreamState,
  type LogFile,
  type LogPosition,
  type UnreadFile,
} from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import { closeStamp, forgetFiles, rememberLost } from './files.ts';
import { contradict, doLinksHold, isBreakALoss } from './links.ts';
import {
  type Draft,
  edgeOf,
  isBackfill,
  isOlder,
  isSameFile,
  lastLineOf,
  lineBehind,
  listBegun,
  toStamps,
  without,
} from './state.ts';

/** The rest of a file counts as lost after this time, which covers the slowest compression. Milliseconds. */
const GRACE_MS = 15 * 60_000;
/** Limit while a listed file cannot be downloaded, because that file may be the rest. Milliseconds. */
const REFUSED_GRACE_MS = 86_400_000;
/** A listed file counts as deleted after this many 404 responses. */
const GONE_ATTEMPTS = 3;

/** Completes or loses the files that are no longer listed. */
export function dropUnlisted(draft: Draft, listed: ListedLog): void {
  const { position, seen, rules } = draft;
  seen.listed = toStamps(listed);
  const known = [...Object.keys(position.completed), ...Object.keys(position.waiting)];
  if (seen.listed.size > 0) position.isWiped = false;
  else if (known.length > 0) position.isWiped = true;
  const gone = known.filter((stamp) => !seen.listed.has(stamp));
  const lost = gone.filter((stamp) => stamp in position.waiting).toSorted();
  forgetCompleted(draft, gone);
  emitGaps(
    draft,
    lost.map((stamp) => loseStamp(draft, stamp, `${rules.component}/log-${stamp}`, 'expired')),
  );
}

function forgetCompleted(draft: Draft, gone: readonly string[]): void {
  const { completed } = draft.position;
  draft.position.completed = without(completed, gone);
  // A listing may be wrong for a moment. If the file is listed again, its content identifies it.
  for (const [stamp, file] of Object.entries(completed)) {
    if (file && !(stamp in draft.position.completed)) rememberLost(draft, file);
  }
}

/** Loses a rotated file that can never be read. `known`: the file read in part that it is. */
export function loseRotated(draft: Draft, { stamp, name }: RotatedFile, reason: Gap['reason'], known?: LogFile): Gap {
  const gap = loseStamp(draft, stamp, name, reason, known);
  closeStamp(draft, stamp, null);
  return gap;
}

/** Expires files missing for too long. If the open file expires and none is listed, the log was emptied. */
export function expireOverdue(draft: Draft, listed: ListedLog): void {
  const isEmptied = listed.rotated.length === 0 && !draft.position.isWiped;
  const gaps = [...expireWaiting(draft, listed), ...expirePending(draft), ...expireLinks(draft)];
  emitGaps(draft, gaps);
  // A file neither rotated nor continued was emptied; `current` may already be open. If archives are gone too, the
  // reset is emitted with the new `current`.
  const emptied = isEmptied ? gaps.find(({ file }) => file.endsWith('/current')) : undefined;
  if (emptied) draft.emitted.push({ type: 'reset', reason: 'wiped', from: emptied.from });
}

function expireWaiting(draft: Draft, listed: ListedLog): Gap[] {
  return listed.rotated.flatMap((rotated) => {
    const entry = draft.position.waiting[rotated.stamp];
    if (!entry) return [];
    const isGone = entry.fault === 'gone' && entry.attempts >= GONE_ATTEMPTS;
    const isCut = entry.fault === 'cut' && hasWaited(draft, entry);
    return isGone || isCut ? [loseRotated(draft, rotated, isGone ? 'expired' : 'damaged')] : [];
  });
}

/** A file not tried recently may be complete by now and is read once more. */
function hasWaited(draft: Draft, entry: UnreadFile): boolean {
  const { sinceMs, notBeforeMs } = entry;
  const graceMs = graceOf(entry);
  const isLookedAt = draft.rules.isOnlyRun || notBeforeMs - sinceMs >= graceMs;
  return isLookedAt && isOlder(draft, sinceMs, graceMs);
}

function expirePending(draft: Draft): Gap[] {
  const { position } = draft;
  const graceMs = findGraceMs(position);
  const overdue = position.pending.filter(
    (entry) => (entry.isPassed && graceMs === GRACE_MS) || isOlder(draft, entry.sinceMs, graceMs),
  );
  position.pending = position.pending.filter((entry) => !overdue.includes(entry));
  return overdue.map(({ file, isPassed, to }) => {
    rememberLost(draft, file);
    const about = isPassed
      ? ({ certainty: 'certain', reason: 'expired', to } as const)
      : ({ certainty: 'possible', reason: 'not-found', to } as const);
    return toGap(draft, about, file);
  });
}

function expireLinks(draft: Draft): Gap[] {
  const { position, seen, rules } = draft;
  const overdue = position.brokenLinks.filter(
    (link) => isOlder(draft, link.sinceMs, GRACE_MS) && !mayBeMended(draft, link),
  );
  position.brokenLinks = position.brokenLinks.filter((link) => !overdue.includes(link));
  // The next file is no longer expected to follow there.
  if (overdue.some(({ after }) => after === position.sequenceEnd?.stamp)) position.sequenceEnd = undefined;
  return overdue.flatMap((link) => {
    const { after, beginsUtcMs, isWatched } = link;
    const isBehind = beginsUtcMs !== undefined && beginsUtcMs >= parseStampUtcMs(after) - LINK_MS_MAX;
    // A file named in that second may have replaced another one of that name.
    const isCovered = isBehind && [...seen.listed].some((stamp) => isLinked(beginsUtcMs, stamp));
    if (rules.isOnlyRun || !isBehind || isCovered || !seen.listed.has(after)) return toLinkGap(draft, link) ?? [];
    // Any file rotated after a listed one would have appeared: there was none, or it was lost alone.
    const gap = isBreakALoss(draft) ? toLinkGap(draft, link) : undefined;
    contradict(draft, after, isWatched === true);
    return gap ? [{ ...gap, certainty: 'possible' }] : [];
  });
}

function mayBeMended(draft: Draft, { after }: BrokenLink): boolean {
  if (draft.rules.isOnlyRun) return false;
  return Object.entries(draft.position.waiting).some(
    ([stamp, entry]) => stamp > after && (entry.attempts === 0 || !hasWaited(draft, entry)),
  );
}

/** No gap if nothing indicates missing lines any more. */
function toLinkGap(draft: Draft, { after, from, to, track, isVague }: BrokenLink): Gap | undefined {
  const isConfirmed = isVague !== true && doLinksHold(draft);
  if (!isConfirmed && draft.seen.listed.has(after)) return undefined;
  return {
    certainty: isConfirmed ? 'likely' : 'possible',
    reason: 'broken-link',
    from,
    to,
    track,
    file: `${draft.rules.component}/log-${after}`,
    offset: 0,
  };
}

/** The lost file is assumed to be the oldest matching file whose rest is missing. */
function loseStamp(draft: Draft, stamp: string, name: string, reason: Gap['reason'], known?: LogFile): Gap {
  const { position } = draft;
  const { sequenceEnd, pending, waiting } = position;
  const track: Track = isBackfill(position, stamp) ? 'backfill' : 'live';
  const to = waiting[stamp]?.to;
  position.waiting = without(waiting, [stamp]);
  const isNewest = sequenceEnd !== undefined && sequenceEnd.stamp < stamp;
  // A pending file overtaken by the last file is older than that file.
  const entry = pending.find(({ file, isOvertaken }) => (known ? isSameFile(file, known) : !(isOvertaken && isNewest)));
  const file = entry?.file ?? known;
  position.pending = pending.filter((other) => other !== entry);
  const before = isNewest ? sequenceEnd.edge : undefined;
  const from = file ? edgeOf(draft, file) : before;
  // Between the lost file and the next one there may be files that were never listed.
  if (!position.open && (!sequenceEnd || sequenceEnd.stamp < stamp)) position.sequenceEnd = { stamp, edge: from };
  if (!file) return { certainty: 'certain', reason, from, to, file: name, offset: 0, track };
  if (entry) rememberLost(draft, file);
  return { ...toGap(draft, { certainty: 'certain', reason, to: to ?? entry?.to }, file), file: name, track };
}

/** Ends a log with gaps, because the router deleted everything or another device answers. */
export function resetLog(draft: Draft, reason: 'wiped' | 'replaced'): void {
  const isReplaced = reason === 'replaced';
  const gaps = loseEverything(draft, reason);
  if (isReplaced) emitHeld(draft);
  emitGaps(draft, gaps);
  draft.emitted.push({ type: 'reset', reason, from: gaps.at(-1)?.from });
  if (!isReplaced) return;
  draft.position.stream = createStreamState();
  draft.position.zone = draft.rules.zone.text;
}

/** A deletion is inferred from one listing, which may lack files being compressed, so its gaps are not certain. */
function loseEverything(draft: Draft, reason: 'wiped' | 'replaced'): Gap[] {
  const { position, rules } = draft;
  const unread = reason === 'replaced' ? loseListed(draft) : [];
  const lost = listBegun(position);
  // Files missing before the deletion cannot appear any more.
  const links = position.brokenLinks.flatMap((link) => toLinkGap(draft, link) ?? []);
  const from = (position.open ? edgeOf(draft, position.open) : position.sequenceEnd?.edge) ?? lastLineOf(position);
  const behind = lost.map((file) => lineBehind(position, file));
  for (const file of lost) rememberLost(draft, file);
  beginAnew(draft);
  const begun = lost.map((file, index): Gap => {
    const gap = toGap(draft, { certainty: 'possible', reason: 'reset', to: behind[index] }, file);
    return reason === 'replaced' ? gap : { ...gap, certainty: 'possible', bytesMin: undefined };
  });
  const gaps = [...links, ...unread, ...begun];
  if (reason === 'replaced') forgetFiles(draft);
  const { router, component } = rules;
  if (lost.some((file) => from?.uid.startsWith(createUidPrefix(router, component, file)))) return gaps;
  // After the last file read there may have been files that were never listed.
  return [...gaps, { certainty: 'possible', reason: 'reset', from, file: `${component}/current`, offset: 0 }];
}

function beginAnew({ position }: Draft): void {
  const { stream } = position;
  const { lastUtcMs, isAhead } = stream.clock;
  position.open = undefined;
  position.pending = [];
  position.brokenLinks = [];
  position.sequenceEnd = undefined;
  position.isWiped = false;
  // If the log restarts days earlier, the router's clock was not set.
  const unsyncedBelowMs =
    lastUtcMs !== undefined && lastUtcMs >= FLOOR_MS && !isAhead
      ? (stream.clock.unsyncedBelowMs ?? lastUtcMs - UNSYNCED_STEP_MS)
      : stream.clock.unsyncedBelowMs;
  position.stream = {
    ...stream,
    lastUid: undefined,
    clock: { ...stream.clock, unsyncedBelowMs, lastUtcMs: undefined },
  };
}

function loseListed(draft: Draft): Gap[] {
  const unread = Object.keys(draft.position.waiting).toSorted();
  return unread.map((stamp) => loseStamp(draft, stamp, `${draft.rules.component}/log-${stamp}`, 'expired'));
}

/** Open gaps that are remembered. Older ones stay without an end. */
const OPEN_GAPS_MAX = 256;

/** Emits gaps, with their ends if known. Lines after a gap continue no record before it. */
export function emitGaps(draft: Draft, gaps: readonly Gap[]): void {
  const ended = gaps.map((gap): Gap => ({ ...gap, reason: toReason(draft, gap), to: endOf(draft, gap) }));
  if (ended.some(({ to, track = 'live' }) => to === undefined && track === 'live')) emitHeld(draft);
  for (const gap of ended) emitGap(draft, gap);
}

/** Period after a pause in which missing lines are attributed to the pause. Milliseconds. */
const PAUSE_REASON_MS = 86_400_000;
const PAUSE_REASONS: ReadonlySet<Gap['reason']> = new Set(['expired', 'not-found', 'broken-link']);

function toReason({ rules: { pause, nowMs } }: Draft, { reason, from }: Gap): Gap['reason'] {
  const endMs = pause?.toMs;
  if (endMs === undefined || !PAUSE_REASONS.has(reason) || nowMs - endMs > PAUSE_REASON_MS) return reason;
  return from?.utcMs === undefined || from.utcMs <= endMs ? 'paused' : reason;
}

export function emitGap(draft: Draft, gap: Gap, isInLines = false): void {
  const { router, component } = draft.rules;
  if (gap.to === undefined) recordOpenGap(draft, toGapUid(router, component, gap), gap);
  draft.emitted.push({ type: 'gap', gap, isInLines });
}

/** Emits the held record, if any, because no line continues it. */
export function emitHeld(draft: Draft): void {
  const { position } = draft;
  const { held } = position.stream;
  if (!held) return;
  position.stream = { ...position.stream, held: undefined };
  emitEnds(draft, { uid: held.uid, utcMs: held.utcMs }, 'live');
  draft.emitted.push({ type: 'held', held });
}

/** Emits the ends of the gaps that end with `line`, the first line made durable on its track. */
export function emitEnds(draft: Draft, line: GapEdge | undefined, track: Track): void {
  const { position, emitted } = draft;
  const { openGaps, liveFrom } = position;
  const ended = openGaps.flatMap((gap) => {
    const isOwn = track === (gap.track ?? 'live');
    const behind = gap.track === 'backfill' && !hasBackfill(position) ? (liveFrom ?? undefined) : undefined;
    const to = (isOwn ? line : undefined) ?? behind;
    return to ? [{ type: 'gap-ended' as const, gap, to }] : [];
  });
  if (ended.length === 0) return;
  position.openGaps = openGaps.filter((open) => !ended.some(({ gap }) => gap === open));
  emitted.push(...ended);
}

function endOf({ position }: Draft, gap: Gap): GapEdge | null | undefined {
  const isLast = gap.track === 'backfill' && !hasBackfill(position);
  return gap.to ?? (isLast ? (position.liveFrom ?? undefined) : gap.to);
}

/** The line after late lines is not known any more. */
function recordOpenGap({ position }: Draft, uid: string, { file, offset, track }: Gap): void {
  if (track === 'late') return;
  const others = position.openGaps.filter((gap) => gap.uid !== uid);
  const open: OpenGap = { uid, file, offset, track };
  position.openGaps = [...others, open].slice(-OPEN_GAPS_MAX);
}

function toGap(draft: Draft, { certainty, reason, to }: Pick<Gap, 'certainty' | 'reason' | 'to'>, file: LogFile): Gap {
  const unread = (file.tornAt.at(-1) ?? file.off) - file.off;
  return {
    // Bytes seen after the read part are certainly lost.
    certainty: unread > 0 ? 'certain' : certainty,
    reason,
    from: edgeOf(draft, file),
    to,
    file: `${draft.rules.component}/current`,
    offset: file.off,
    ...(unread > 0 && { bytesMin: unread }),
  };
}

/** Returns how long the rest of a file is searched for. A listed file that cannot be downloaded may be it. */
export function findGraceMs({ waiting }: LogPosition): number {
  const live = Object.values(waiting).filter((entry) => !entry.isBackfill);
  return Math.max(GRACE_MS, ...live.map(graceOf));
}

function graceOf({ fault }: UnreadFile): number {
  return fault === 'refused' ? REFUSED_GRACE_MS : GRACE_MS;
}

function hasBackfill({ waiting }: LogPosition): boolean {
  return Object.values(waiting).some((entry) => entry.isBackfill);
}
