import type { LinkObservation } from '../listing/link-rule.ts';
import { type Gap, type GapEdge, type Track, toGapUid } from '../position/event-records.ts';
import type { HeldEntry, LogPosition } from '../position/position.ts';
import { Zone } from '../time/zone.ts';
import { adoptFile, completeFile, noteFault, noteListed, noteUnrelated, openCurrent, shelveOpen } from './files.ts';
import { admitFile } from './links.ts';
import { giveUpFile, giveUpOverdue, noteUnlisted, resetLog, tellEnded, tellGap, tellGaps, tellHeld } from './losses.ts';
import { moveTimes } from './move-times.ts';
import type { Observation, ReadPiece, Told } from './observation.ts';
import { type Draft, isSameFile, type LogState, lastLineOf, listFresh, trackOf, type View } from './state.ts';

type Of<Type extends Observation['type']> = Extract<Observation, { readonly type: Type }>;

/** The result of an observation. */
export interface Step {
  readonly state: LogState;
  /** Records that must become durable with the position, in order. */
  readonly told: readonly Told[];
  /** True if the file that began may be read now. */
  readonly mayRead: boolean;
  /** Evidence of how files follow each other, for the facts of the router. */
  readonly evidence: readonly LinkObservation[];
}

/**
 * Takes one step: what was observed of a log changes where it stands. Pure, and the only writer of the position; making the
 * position durable together with what the step tells is the caller's.
 */
export function takeStep(state: LogState, observation: Observation, rules: View['rules']): Step {
  const draft = createDraft(state, rules);
  const mayRead =
    observation.type !== 'file-began' || admitFile(draft, observation.firstWallAsUtcMs, observation.stamp);
  if (observation.type !== 'file-began') apply(draft, observation);
  const { position, seen, told, evidence } = draft;
  return { state: { position, seen }, told, mayRead, evidence };
}

function apply(draft: Draft, observation: Exclude<Observation, { readonly type: 'file-began' }>): void {
  switch (observation.type) {
    case 'listed':
      noteListed(draft, observation.listed);
      break;
    case 'unlisted':
      noteUnlisted(draft, observation.listed);
      break;
    case 'time-passed':
      giveUpOverdue(draft, observation.listed);
      break;
    case 'started':
      begin(draft, observation);
      break;
    case 'history-deferred':
      deferHistory(draft, observation);
      break;
    case 'file-unrelated':
      noteUnrelated(draft, observation.stamp, observation.firstWallAsUtcMs);
      break;
    case 'lines-read':
      noteLines(draft, observation.piece);
      break;
    case 'current-opened':
      noteCurrent(draft, observation.piece);
      break;
    case 'current-replaced':
      shelveOpen(draft);
      break;
    case 'file-ended':
      noteEnd(draft, observation);
      break;
    case 'file-failed':
    case 'file-unreadable':
      noteFailure(draft, observation);
      break;
    case 'current-unreadable':
      noteBinary(draft, observation.bytes);
      break;
    case 'held-released':
      tellHeld(draft);
      break;
    case 'wiped':
    case 'replaced':
      resetLog(draft, observation.type);
      break;
    case 'skipping-ended':
      draft.position.skipBeforeUtcMs = undefined;
      break;
    case 'zone-changed':
      Object.assign(draft.position, changeZone(draft, observation));
  }
}

function begin(draft: Draft, { skipped, skipBeforeUtcMs }: Of<'started'>): void {
  const { position } = draft;
  position.skipBeforeUtcMs = skipBeforeUtcMs;
  position.completed = { ...position.completed, ...Object.fromEntries(skipped.map(({ stamp }) => [stamp, null])) };
  const last = skipped.at(-1);
  if (!last) return;
  tellGaps(draft, [
    { certainty: 'certain', reason: 'skipped', from: undefined, file: last.name, offset: 0, lines: undefined },
  ]);
}

/** The rest of the history is read after the live log. */
function deferHistory(draft: Draft, { listed }: Of<'history-deferred'>): void {
  noteListed(draft, listed);
  const { position } = draft;
  const { waiting } = position;
  const deferred = listFresh(position, listed).flatMap(({ stamp }) => {
    const entry = waiting[stamp];
    return entry ? [[stamp, { ...entry, isBackfill: true }] as const] : [];
  });
  position.waiting = { ...waiting, ...Object.fromEntries(deferred) };
  position.sequenceEnd = undefined;
  position.liveFrom = null;
}

function changeZone({ position, rules }: Draft, { from, to }: Of<'zone-changed'>): LogPosition {
  return { ...moveTimes(position, Zone.parse(from), Zone.parse(to), rules.nowMs), zone: to };
}

/** Lines of a file that goes on. */
function noteLines(draft: Draft, piece: ReadPiece): void {
  const track = trackOf(draft, piece.file, piece.stamp);
  if (piece.file) adoptFile(draft, piece.file, piece.stamp);
  tellLines(draft, piece, track);
}

/** Lines of the file that is being written now: from here on nothing is passed over. */
function noteCurrent(draft: Draft, piece: ReadPiece): void {
  if (piece.file) openCurrent(draft, piece.file);
  draft.position.skipBeforeUtcMs = undefined;
  tellLines(draft, piece, trackOf(draft, piece.file, undefined));
}

/** The last lines of a rotated file, which is done with. */
function noteEnd(draft: Draft, { stamp, piece, damage }: Of<'file-ended'>): void {
  const track = trackOf(draft, piece.file, stamp);
  // No line follows the damage in this file: its gap ends with the first line after the file, if that was read.
  const to = draft.position.waiting[stamp]?.to;
  completeFile(draft, stamp, piece.file);
  tellLines(draft, piece, track);
  tellGaps(
    draft,
    damage.map((gap): Gap => ({ ...gap, to, track })),
  );
}

/** A rotated file could not be read to its end, or never can. */
function noteFailure(draft: Draft, failure: Of<'file-failed' | 'file-unreadable'>): void {
  const { piece } = failure;
  const track = piece ? trackOf(draft, piece.file, piece.stamp) : 'live';
  if (piece?.file) adoptFile(draft, piece.file, piece.stamp);
  const isUnreadable = failure.type === 'file-unreadable';
  const gaps = isUnreadable
    ? [
        {
          ...giveUpFile(draft, failure.rotated, failure.reason, failure.file),
          ...(failure.bytes !== undefined && { bytesMin: failure.bytes }),
        },
      ]
    : [];
  if (!isUnreadable) noteFault(draft, failure.stamp, failure.fault);
  if (piece) tellLines(draft, piece, track);
  else tellEnded(draft, undefined, 'live');
  tellGaps(draft, gaps);
}

/** `current` holds no text: a gap, once until a line of the log is read again. */
function noteBinary(draft: Draft, bytesMin: number): void {
  const { position, rules } = draft;
  const gap: Gap = {
    certainty: 'certain',
    reason: 'binary',
    from: lastLineOf(position),
    file: `${rules.component}/current`,
    offset: 0,
    bytesMin,
  };
  const uid = toGapUid(rules.router, rules.component, gap);
  if (!position.openGaps.some((open) => open.uid === uid)) tellGaps(draft, [gap]);
}

/** Tells the records of the lines, the gaps that end with them, and what was passed over or damaged among them. */
function tellLines(draft: Draft, piece: ReadPiece, track: Track): void {
  const { position, told } = draft;
  const { first, skipped } = piece;
  const stream = track === 'live' ? piece.stream : undefined;
  const { held } = position.stream;
  if (stream) position.stream = stream;
  if (piece.file && first) noteFirst(draft, piece, first, track);
  tellEnded(draft, findShipped(first, stream ? held : undefined, stream?.held), track);
  if (skipped) tellGaps(draft, [skipped]);
  told.push({ type: 'lines' });
  for (const gap of piece.gaps) tellGap(draft, { ...gap, track }, true);
}

/** Lines of a file were read, `first` before the others: what is missing before them ends there. */
function noteFirst({ position }: Draft, { file, stamp }: ReadPiece, first: GapEdge, track: Track): void {
  position.brokenLinks = position.brokenLinks.map((link) => {
    const isOwn = link.track !== 'late' && (link.track ?? 'live') === track;
    return isOwn && link.to === undefined ? { ...link, to: first } : link;
  });
  if (track !== 'live') return;
  position.pending = position.pending.map((entry) => {
    return isSameFile(entry.file, file) || entry.to !== undefined ? entry : { ...entry, to: first };
  });
  const behind = Object.entries(position.waiting).filter(([other, { isBackfill, to }]) => {
    return !isBackfill && to === undefined && (stamp === undefined || other < stamp);
  });
  if (behind.length > 0) {
    const entries = behind.map(([other, entry]) => [other, { ...entry, to: first }]);
    position.waiting = { ...position.waiting, ...Object.fromEntries(entries) };
  }
  if (position.liveFrom === null) position.liveFrom = first;
}

/** The first line that becomes durable with a batch: `first` of it, unless that is kept back or another one was before. */
function findShipped(
  first: GapEdge | undefined,
  heldBefore: HeldEntry | undefined,
  held: HeldEntry | undefined,
): GapEdge | undefined {
  if (heldBefore) return heldBefore.uid === held?.uid ? undefined : { uid: heldBefore.uid, utcMs: heldBefore.utcMs };
  return first?.uid === held?.uid ? undefined : first;
}

/** A copy of the state that a step may change. */
function createDraft({ position, seen }: LogState, rules: View['rules']): Draft {
  return { position: { ...position }, seen: { ...seen }, rules: { ...rules }, told: [], evidence: [] };
}
