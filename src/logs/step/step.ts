import type { LinkObservation } from '../listing/link-rule.ts';
import { type Gap, type GapEdge, type Track, toGapUid } from '../position/gap.ts';
import type { HeldEntry, LogFile, LogPosition, StreamState } from '../position/position.ts';
import { isFuture } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import { addListed, adoptFile, completeFile, openCurrent, recordFault, recordUnrelated, suspendOpen } from './files.ts';
import { admitFile } from './links.ts';
import { dropUnlisted, emitEnds, emitGap, emitGaps, emitHeld, expireOverdue, loseRotated, resetLog } from './losses.ts';
import {
  type Draft,
  type Emitted,
  isSameFile,
  lastLineOf,
  listFresh,
  type Observation,
  type ReadPiece,
  type StepState,
  trackOf,
  type View,
} from './state.ts';

type Of<Type extends Observation['type']> = Extract<Observation, { readonly type: Type }>;

/** Result of one observation. */
export interface Step {
  readonly state: StepState;
  /** Records to commit with the position, in order. */
  readonly emitted: readonly Emitted[];
  /** For `file-began`: true if the file may be read now. */
  readonly mayRead: boolean;
  readonly evidence: readonly LinkObservation[];
}

/**
 * Applies one observation to the state. Pure, and the only writer of positions. The caller commits the new position
 * together with what the step emits.
 */
export function takeStep(state: StepState, observation: Observation, rules: View['rules']): Step {
  const draft = createDraft(state, rules);
  const mayRead =
    observation.type !== 'file-began' || admitFile(draft, observation.firstWallAsUtcMs, observation.stamp);
  if (observation.type !== 'file-began') apply(draft, observation);
  const { position, seen, emitted, evidence } = draft;
  return { state: { position, seen }, emitted, mayRead, evidence };
}

function apply(draft: Draft, observation: Exclude<Observation, { readonly type: 'file-began' }>): void {
  switch (observation.type) {
    case 'listed':
      addListed(draft, observation.listed);
      break;
    case 'unlisted':
      dropUnlisted(draft, observation.listed);
      break;
    case 'time-passed':
      expireOverdue(draft, observation.listed);
      break;
    case 'started':
      begin(draft, observation);
      break;
    case 'history-deferred':
      deferHistory(draft, observation);
      break;
    case 'file-unrelated':
      recordUnrelated(draft, observation.stamp, observation.firstWallAsUtcMs);
      break;
    case 'lines-read':
      recordLines(draft, observation.piece);
      break;
    case 'current-opened':
      recordCurrent(draft, observation.piece);
      break;
    case 'current-replaced':
      suspendOpen(draft);
      break;
    case 'file-ended':
      recordEnd(draft, observation);
      break;
    case 'file-failed':
    case 'file-unreadable':
      recordFailure(draft, observation);
      break;
    case 'current-unreadable':
      recordBinary(draft, observation.bytes);
      break;
    case 'held-released':
      emitHeld(draft);
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
  emitGaps(draft, [
    { certainty: 'certain', reason: 'skipped', from: undefined, file: last.name, offset: 0, lines: undefined },
  ]);
}

function deferHistory(draft: Draft, { listed }: Of<'history-deferred'>): void {
  addListed(draft, listed);
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

function recordLines(draft: Draft, piece: ReadPiece): void {
  const track = trackOf(draft, piece.file, piece.stamp);
  if (piece.file) adoptFile(draft, piece.file, piece.stamp);
  emitLines(draft, piece, track);
}

function recordCurrent(draft: Draft, piece: ReadPiece): void {
  if (piece.file) openCurrent(draft, piece.file);
  draft.position.skipBeforeUtcMs = undefined;
  emitLines(draft, piece, trackOf(draft, piece.file, undefined));
}

function recordEnd(draft: Draft, { stamp, piece, damage }: Of<'file-ended'>): void {
  const track = trackOf(draft, piece.file, stamp);
  // No line follows the damage in this file, so its gap ends with the first line after the file, if that was read.
  const to = draft.position.waiting[stamp]?.to;
  completeFile(draft, stamp, piece.file);
  emitLines(draft, piece, track);
  emitGaps(
    draft,
    damage.map((gap): Gap => ({ ...gap, to, track })),
  );
}

function recordFailure(draft: Draft, failure: Of<'file-failed' | 'file-unreadable'>): void {
  const { piece } = failure;
  const track = piece ? trackOf(draft, piece.file, piece.stamp) : 'live';
  if (piece?.file) adoptFile(draft, piece.file, piece.stamp);
  const isUnreadable = failure.type === 'file-unreadable';
  const gaps = isUnreadable
    ? [
        {
          ...loseRotated(draft, failure.rotated, failure.reason, failure.file),
          ...(failure.bytes !== undefined && { bytesMin: failure.bytes }),
        },
      ]
    : [];
  if (!isUnreadable) recordFault(draft, failure.stamp, failure.fault);
  if (piece) emitLines(draft, piece, track);
  else emitEnds(draft, undefined, 'live');
  emitGaps(draft, gaps);
}

/** One gap until a line of the log is read again. */
function recordBinary(draft: Draft, bytesMin: number): void {
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
  if (!position.openGaps.some((open) => open.uid === uid)) emitGaps(draft, [gap]);
}

function emitLines(draft: Draft, piece: ReadPiece, track: Track): void {
  const { position, emitted } = draft;
  const { first, skipped } = piece;
  const stream = track === 'live' ? piece.stream : undefined;
  const { held } = position.stream;
  if (stream) position.stream = stream;
  if (piece.file && first) recordFirst(draft, piece, first, track);
  emitEnds(draft, findShipped(first, stream ? held : undefined, stream?.held), track);
  if (skipped) emitGaps(draft, [skipped]);
  emitted.push({ type: 'lines' });
  for (const gap of piece.gaps) emitGap(draft, { ...gap, track }, true);
}

/** Missing lines before `first` end there. */
function recordFirst({ position }: Draft, { file, stamp }: ReadPiece, first: GapEdge, track: Track): void {
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

/** The first line that this batch makes durable: a record held before comes first, and one held now comes later. */
function findShipped(
  first: GapEdge | undefined,
  heldBefore: HeldEntry | undefined,
  held: HeldEntry | undefined,
): GapEdge | undefined {
  if (heldBefore) return heldBefore.uid === held?.uid ? undefined : { uid: heldBefore.uid, utcMs: heldBefore.utcMs };
  return first?.uid === held?.uid ? undefined : first;
}

function createDraft({ position, seen }: StepState, rules: View['rules']): Draft {
  return { position: { ...position }, seen: { ...seen }, rules: { ...rules }, emitted: [], evidence: [] };
}

/** Converts all times to another zone. Otherwise the next line would look like a jump of the router's clock. */
function moveTimes(position: LogPosition, from: Zone, to: Zone, nowMs: number): LogPosition {
  const move = (utcMs: number): number => {
    const offsetMs = from.offsetAt(utcMs);
    // A time in the hour that occurs twice keeps its pass.
    return to.offsetAt(utcMs) === offsetMs ? utcMs : to.toUtc(utcMs + offsetMs, undefined).utcMs;
  };
  const moveEdge = (edge: GapEdge | undefined): GapEdge | undefined =>
    edge?.utcMs === undefined ? edge : { ...edge, utcMs: move(edge.utcMs) };
  const moveFile = (file: LogFile): LogFile => moveFileTimes(file, move);
  const moveEnd = <Entry extends { readonly to?: GapEdge | null | undefined }>(entry: Entry): Entry =>
    entry.to ? { ...entry, to: moveEdge(entry.to) } : entry;
  const { open, pending, waiting, lost, completed, sequenceEnd, liveFrom, brokenLinks, stream } = position;
  return {
    ...position,
    open: open && moveFile(open),
    pending: pending.map((entry) => moveEnd({ ...entry, file: moveFile(entry.file) })),
    waiting: mapValues(waiting, moveEnd),
    lost: lost.map(moveFile),
    completed: mapValues(completed, (file) => file && moveFile(file)),
    sequenceEnd: sequenceEnd && { ...sequenceEnd, edge: moveEdge(sequenceEnd.edge) },
    brokenLinks: brokenLinks.map((link) => ({
      ...link,
      from: moveEdge(link.from),
      to: moveEdge(link.to),
      beginsUtcMs: link.beginsUtcMs === undefined ? undefined : move(link.beginsUtcMs),
    })),
    liveFrom: liveFrom ? moveEdge(liveFrom) : liveFrom,
    stream: moveStream(stream, move, to, nowMs),
  };
}

function moveFileTimes(file: LogFile, move: (utcMs: number) => number): LogFile {
  const { firstUtcMs, lastUtcMs, shownMs } = file;
  return {
    ...file,
    // Any other time is the agent's, which has no zone.
    shownMs: shownMs !== undefined && shownMs === lastUtcMs ? move(shownMs) : shownMs,
    firstUtcMs: firstUtcMs === undefined ? undefined : move(firstUtcMs),
    lastUtcMs: lastUtcMs === undefined ? undefined : move(lastUtcMs),
  };
}

function moveStream(stream: StreamState, move: (utcMs: number) => number, to: Zone, nowMs: number): StreamState {
  const { clock, held } = stream;
  const { lastUtcMs: beforeMs, unsyncedBelowMs, isAhead } = clock;
  const lastUtcMs = beforeMs === undefined ? undefined : move(beforeMs);
  return {
    ...stream,
    held: held && moveHeld(held, move, beforeMs, to),
    clock: {
      ...clock,
      unsyncedBelowMs: unsyncedBelowMs === undefined ? undefined : move(unsyncedBelowMs),
      lastUtcMs,
      isAhead: lastUtcMs === undefined ? isAhead : isFuture(lastUtcMs, nowMs, !to.isAssumed),
    },
  };
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** Zone offsets are whole seconds. */
const SECOND_CHARS = 'YYYY-MM-DDThh:mm:ss'.length;
const renderSecond = (utcMs: number): string => new Date(utcMs).toISOString().slice(0, SECOND_CHARS);

/** The held record has the time of its line or of the previous one, or the agent's, which has no zone. */
function moveHeld(
  held: HeldEntry,
  move: (utcMs: number) => number,
  lastUtcMs: number | undefined,
  to: Zone,
): HeldEntry {
  const { timestamp } = held;
  const utcMs = held.utcMs ?? lastUtcMs;
  if (timestamp === undefined || utcMs === undefined || !timestamp.startsWith(renderSecond(utcMs))) return held;
  const movedMs = move(utcMs);
  return {
    ...held,
    utcMs: held.utcMs === undefined ? undefined : movedMs,
    timestamp: `${renderSecond(movedMs)}${timestamp.slice(SECOND_CHARS)}`,
    flags: to.isAssumed ? held.flags : held.flags.filter((flag) => flag !== 'zone_assumed'),
  };
}
