import { isLinked, LINK_MS_MAX } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import { type Gap, type GapEdge, type OpenGap, type Track, toGapUid } from '../position/event-records.ts';
import { createUidPrefix } from '../position/identity.ts';
import {
  type BrokenLink,
  createStreamState,
  type LogFile,
  type LogPosition,
  type UnreadFile,
} from '../position/position.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from '../time/log-clock.ts';
import { closeStamp, forgetFiles, giveUp } from './files.ts';
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

/** After this the rest of a file counts as lost. Covers the slowest compression that a router can need. */
const GRACE_MS = 15 * 60_000;
/** After this it counts as lost although a file is listed that cannot be downloaded: that one may never be. */
const REFUSED_GRACE_MS = 86_400_000;
/** A listed file that is answered with 404 so often is gone. */
const GONE_ATTEMPTS = 3;

/** Files that the router no longer lists are either completed or lost. */
export function noteUnlisted(draft: Draft, listed: ListedLog): void {
  const { position, seen, rules } = draft;
  seen.listed = toStamps(listed);
  const known = [...Object.keys(position.completed), ...Object.keys(position.waiting)];
  if (seen.listed.size > 0) position.isWiped = false;
  else if (known.length > 0) position.isWiped = true;
  const gone = known.filter((stamp) => !seen.listed.has(stamp));
  const lost = gone.filter((stamp) => stamp in position.waiting).toSorted();
  forgetCompleted(draft, gone);
  tellGaps(
    draft,
    lost.map((stamp) => giveUpStamp(draft, stamp, `${rules.component}/log-${stamp}`, 'expired')),
  );
}

function forgetCompleted(draft: Draft, gone: readonly string[]): void {
  const { completed } = draft.position;
  draft.position.completed = without(completed, gone);
  // A listing may be wrong for a moment: when the file is back, its content says that it is known.
  for (const [stamp, file] of Object.entries(completed)) {
    if (file && !(stamp in draft.position.completed)) giveUp(draft, file);
  }
}

/** A rotated file can never be read. `known`: the begun file that it is. */
export function giveUpFile(draft: Draft, { stamp, name }: RotatedFile, reason: Gap['reason'], known?: LogFile): Gap {
  const gap = giveUpStamp(draft, stamp, name, reason, known);
  closeStamp(draft, stamp, null);
  return gap;
}

/** Gives up files that were looked for long enough. A log whose open file is lost with all others was emptied. */
export function giveUpOverdue(draft: Draft, listed: ListedLog): void {
  const isEmptied = listed.rotated.length === 0 && !draft.position.isWiped;
  const gaps = [...giveUpWaiting(draft, listed), ...giveUpPending(draft), ...giveUpLinks(draft)];
  tellGaps(draft, gaps);
  // A file that was neither rotated nor goes on was emptied; `current` may be open already.
  // Where archives are gone too, that is told when the new `current` is seen.
  const emptied = isEmptied ? gaps.find(({ file }) => file.endsWith('/current')) : undefined;
  if (emptied) draft.told.push({ type: 'reset', reason: 'wiped', from: emptied.from });
}

function giveUpWaiting(draft: Draft, listed: ListedLog): Gap[] {
  return listed.rotated.flatMap((rotated) => {
    const entry = draft.position.waiting[rotated.stamp];
    if (!entry) return [];
    const isGone = entry.fault === 'gone' && entry.attempts >= GONE_ATTEMPTS;
    const isCut = entry.fault === 'cut' && hasWaited(draft, entry);
    return isGone || isCut ? [giveUpFile(draft, rotated, isGone ? 'expired' : 'damaged')] : [];
  });
}

/** True if a file was tried for long enough. One that nobody has looked at may have been finished meanwhile: it is read once more. */
function hasWaited(draft: Draft, entry: UnreadFile): boolean {
  const { sinceMs, notBeforeMs } = entry;
  const graceMs = graceOf(entry);
  const isLookedAt = draft.rules.isOnlyRun || notBeforeMs - sinceMs >= graceMs;
  return isLookedAt && isOlder(draft, sinceMs, graceMs);
}

function giveUpPending(draft: Draft): Gap[] {
  const { position } = draft;
  const graceMs = findGraceMs(position);
  const overdue = position.pending.filter(
    (entry) => (entry.isPassed && graceMs === GRACE_MS) || isOlder(draft, entry.sinceMs, graceMs),
  );
  position.pending = position.pending.filter((entry) => !overdue.includes(entry));
  return overdue.map(({ file, isPassed, to }) => {
    giveUp(draft, file);
    const about = isPassed
      ? ({ certainty: 'certain', reason: 'expired', to } as const)
      : ({ certainty: 'possible', reason: 'not-found', to } as const);
    return toGap(draft, about, file);
  });
}

/** Gives up the breaks that have lasted long enough: the gaps. */
function giveUpLinks(draft: Draft): Gap[] {
  const { position, seen, rules } = draft;
  const overdue = position.brokenLinks.filter(
    (link) => isOlder(draft, link.sinceMs, GRACE_MS) && !mayBeMended(draft, link),
  );
  position.brokenLinks = position.brokenLinks.filter((link) => !overdue.includes(link));
  // The next file is not expected to follow there any more.
  if (overdue.some(({ after }) => after === position.sequenceEnd?.stamp)) position.sequenceEnd = undefined;
  return overdue.flatMap((link) => {
    const { after, beginsUtcMs, isWatched } = link;
    const isBehind = beginsUtcMs !== undefined && beginsUtcMs >= parseStampUtcMs(after) - LINK_MS_MAX;
    // A file that got its name in that second may have taken the place of another one of that name.
    const isCovered = isBehind && [...seen.listed].some((stamp) => isLinked(beginsUtcMs, stamp));
    if (rules.isOnlyRun || !isBehind || isCovered || !seen.listed.has(after)) return toLinkGap(draft, link) ?? [];
    // A file rotated after one that is still listed would have appeared by now: there was none, or it was lost alone.
    const gap = isBreakALoss(draft) ? toLinkGap(draft, link) : undefined;
    contradict(draft, after, isWatched === true);
    return gap ? [{ ...gap, certainty: 'possible' }] : [];
  });
}

/** True if a file is listed that may begin at the break, and that is still to be read. */
function mayBeMended(draft: Draft, { after }: BrokenLink): boolean {
  if (draft.rules.isOnlyRun) return false;
  return Object.entries(draft.position.waiting).some(
    ([stamp, entry]) => stamp > after && (entry.attempts === 0 || !hasWaited(draft, entry)),
  );
}

/** The gap of a broken link; none where nothing says any more that something is missing. */
function toLinkGap(draft: Draft, { after, from, to, track, isVague }: BrokenLink): Gap | undefined {
  const isVouched = isVague !== true && doLinksHold(draft);
  if (!isVouched && draft.seen.listed.has(after)) return undefined;
  return {
    certainty: isVouched ? 'likely' : 'possible',
    reason: 'broken-link',
    from,
    to,
    track,
    file: `${draft.rules.component}/log-${after}`,
    offset: 0,
  };
}

/** The gap of a rotated file that is lost. The oldest file whose rest is missing and that it may be is taken to be this one. */
function giveUpStamp(draft: Draft, stamp: string, name: string, reason: Gap['reason'], known?: LogFile): Gap {
  const { position } = draft;
  const { sequenceEnd, pending, waiting } = position;
  const track: Track = isBackfill(position, stamp) ? 'backfill' : 'live';
  const to = waiting[stamp]?.to;
  position.waiting = without(waiting, [stamp]);
  const isNewest = sequenceEnd !== undefined && sequenceEnd.stamp < stamp;
  // A pending file that was overtaken by the file read last is older than that one.
  const entry = pending.find(({ file, isOvertaken }) => (known ? isSameFile(file, known) : !(isOvertaken && isNewest)));
  const file = entry?.file ?? known;
  position.pending = pending.filter((other) => other !== entry);
  const before = isNewest ? sequenceEnd.edge : undefined;
  const from = file ? edgeOf(draft, file) : before;
  // Between the lost file and the next one that is read there may be others that were never seen.
  if (!position.open && (!sequenceEnd || sequenceEnd.stamp < stamp)) position.sequenceEnd = { stamp, edge: from };
  if (!file) return { certainty: 'certain', reason, from, to, file: name, offset: 0, track };
  if (entry) giveUp(draft, file);
  return { ...toGap(draft, { certainty: 'certain', reason, to: to ?? entry?.to }, file), file: name, track };
}

/**
 * The router has deleted everything, or another device answers: gaps behind what was read, and the log begins anew. What was
 * not read of another device is lost with it, and what was kept back is not continued.
 */
export function resetLog(draft: Draft, reason: 'wiped' | 'replaced'): void {
  const isReplaced = reason === 'replaced';
  const gaps = loseEverything(draft, reason);
  if (isReplaced) tellHeld(draft);
  tellGaps(draft, gaps);
  draft.told.push({ type: 'reset', reason, from: gaps.at(-1)?.from });
  if (!isReplaced) return;
  draft.position.stream = createStreamState();
  draft.position.zone = draft.rules.zone.text;
}

/** A deletion is inferred from one listing, and files that are being compressed may be in none: nothing is certain then. */
function loseEverything(draft: Draft, reason: 'wiped' | 'replaced'): Gap[] {
  const { position, rules } = draft;
  const unread = reason === 'replaced' ? loseListed(draft) : [];
  const lost = listBegun(position);
  // Files that were missing before the deletion cannot appear any more.
  const links = position.brokenLinks.flatMap((link) => toLinkGap(draft, link) ?? []);
  const from = (position.open ? edgeOf(draft, position.open) : position.sequenceEnd?.edge) ?? lastLineOf(position);
  const behind = lost.map((file) => lineBehind(position, file));
  for (const file of lost) giveUp(draft, file);
  beginAnew(draft);
  const begun = lost.map((file, index): Gap => {
    const gap = toGap(draft, { certainty: 'possible', reason: 'reset', to: behind[index] }, file);
    return reason === 'replaced' ? gap : { ...gap, certainty: 'possible', bytesMin: undefined };
  });
  const gaps = [...links, ...unread, ...begun];
  if (reason === 'replaced') forgetFiles(draft);
  const { router, component } = rules;
  if (lost.some((file) => from?.uid.startsWith(createUidPrefix(router, component, file)))) return gaps;
  // Behind what was read last there may have been files that were never seen.
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
  // A log that begins anew days before is that of a clock that was not set.
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

/** Gives up the files of the previous device that were listed and not read. */
function loseListed(draft: Draft): Gap[] {
  const unread = Object.keys(draft.position.waiting).toSorted();
  return unread.map((stamp) => giveUpStamp(draft, stamp, `${draft.rules.component}/log-${stamp}`, 'expired'));
}

/** Gaps whose end is still to be told; of more than these the oldest stay without one. */
const OPEN_GAPS_MAX = 256;

/** Tells gaps, with their ends as far as they are known. What follows missing lines continues no record before them. */
export function tellGaps(draft: Draft, gaps: readonly Gap[]): void {
  const ended = gaps.map((gap): Gap => ({ ...gap, reason: toReason(draft, gap), to: endOf(draft, gap) }));
  if (ended.some(({ to, track = 'live' }) => to === undefined && track === 'live')) tellHeld(draft);
  for (const gap of ended) tellGap(draft, gap);
}

/** Period after a pause in which missing lines are attributed to it: the router deleted them while nobody asked. */
const PAUSE_TOLD_MS = 86_400_000;
const PAUSE_REASONS: ReadonlySet<Gap['reason']> = new Set(['expired', 'not-found', 'broken-link']);

/** Returns the reason of a gap: that the router was paused, if the missing lines may be those of that time. */
function toReason({ rules: { pause, nowMs } }: Draft, { reason, from }: Gap): Gap['reason'] {
  const endMs = pause?.toMs;
  if (endMs === undefined || !PAUSE_REASONS.has(reason) || nowMs - endMs > PAUSE_TOLD_MS) return reason;
  return from?.utcMs === undefined || from.utcMs <= endMs ? 'paused' : reason;
}

/** Tells a gap and keeps it in mind until its end is known. */
export function tellGap(draft: Draft, gap: Gap, isInLines = false): void {
  const uid = toGapUid(draft.rules.router, draft.rules.component, gap);
  if (gap.to === undefined) noteOpenGap(draft, uid, gap);
  draft.told.push({ type: 'gap', gap, uid, isInLines });
}

/** Tells the record that was kept back, if there is one: no line continues it. */
export function tellHeld(draft: Draft): void {
  const { position } = draft;
  const { held } = position.stream;
  if (!held) return;
  position.stream = { ...position.stream, held: undefined };
  tellEnded(draft, { uid: held.uid, utcMs: held.utcMs }, 'live');
  draft.told.push({ type: 'held', held });
}

/** Tells the gaps that end with `line`, the first one that a step makes durable in its track. */
export function tellEnded(draft: Draft, line: GapEdge | undefined, track: Track): void {
  const { position, told } = draft;
  const { openGaps, liveFrom } = position;
  const ended = openGaps.flatMap((gap) => {
    const isOwn = track === (gap.track ?? 'live');
    const behind = gap.track === 'backfill' && !hasBackfill(position) ? (liveFrom ?? undefined) : undefined;
    const to = (isOwn ? line : undefined) ?? behind;
    return to ? [{ type: 'gap-ended' as const, gap, to }] : [];
  });
  if (ended.length === 0) return;
  position.openGaps = openGaps.filter((open) => !ended.some(({ gap }) => gap === open));
  told.push(...ended);
}

/**
 * The line that ends a gap which is told now, as far as it was read already. The last gap of the history ends where what is
 * new begins.
 */
function endOf({ position }: Draft, gap: Gap): GapEdge | null | undefined {
  const isLast = gap.track === 'backfill' && !hasBackfill(position);
  return gap.to ?? (isLast ? (position.liveFrom ?? undefined) : gap.to);
}

/** A gap was told without its end. What was read behind lines that are late is not known any more. */
function noteOpenGap({ position }: Draft, uid: string, { file, offset, track }: Gap): void {
  if (track === 'late') return;
  const others = position.openGaps.filter((gap) => gap.uid !== uid);
  const open: OpenGap = { uid, file, offset, track };
  position.openGaps = [...others, open].slice(-OPEN_GAPS_MAX);
}

/** The gap behind what was read of a file. */
function toGap(draft: Draft, { certainty, reason, to }: Pick<Gap, 'certainty' | 'reason' | 'to'>, file: LogFile): Gap {
  const unread = (file.tornAt.at(-1) ?? file.off) - file.off;
  return {
    // Bytes that were seen behind what was read are lost for sure.
    certainty: unread > 0 ? 'certain' : certainty,
    reason,
    from: edgeOf(draft, file),
    to,
    file: `${draft.rules.component}/current`,
    offset: file.off,
    ...(unread > 0 && { bytesMin: unread }),
  };
}

/** Returns how long the rest of a file is looked for. A listed file that the router does not give may be that rest for a day. */
export function findGraceMs({ waiting }: LogPosition): number {
  const live = Object.values(waiting).filter((entry) => !entry.isBackfill);
  return Math.max(GRACE_MS, ...live.map(graceOf));
}

/** Returns how long a listed file may be what is missing. */
function graceOf({ fault }: UnreadFile): number {
  return fault === 'refused' ? REFUSED_GRACE_MS : GRACE_MS;
}

/** True if a part of the history is still to be read after the live log. */
function hasBackfill({ waiting }: LogPosition): boolean {
  return Object.values(waiting).some((entry) => entry.isBackfill);
}
