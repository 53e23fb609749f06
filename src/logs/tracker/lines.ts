import type { HeldEntry } from '../entry.ts';
import type { Gap, GapEdge, Track } from '../event-records.ts';
import { adoptFile, completeFile, openCurrent } from './files.ts';
import { tellEnded, tellGap, tellGaps } from './gaps.ts';
import { giveUpFile } from './losses.ts';
import type { Observation, ReadPiece } from './observation.ts';
import { trackOf } from './reading-order.ts';
import { type Draft, isSameFile } from './state.ts';
import { noteFault } from './waiting.ts';

type Of<Type extends Observation['type']> = Extract<Observation, { readonly type: Type }>;

/** Lines of a file that goes on. */
export function noteLines(draft: Draft, piece: ReadPiece): void {
  const track = trackOf(draft, piece.file, piece.stamp);
  if (piece.file) adoptFile(draft, piece.file, piece.stamp);
  tellLines(draft, piece, track);
}

/** Lines of the file that is being written now: from here on nothing is passed over. */
export function noteCurrent(draft: Draft, piece: ReadPiece): void {
  if (piece.file) openCurrent(draft, piece.file);
  draft.position.skipBeforeUtcMs = undefined;
  tellLines(draft, piece, trackOf(draft, piece.file, undefined));
}

/** The last lines of a rotated file, which is done with. */
export function noteEnd(draft: Draft, { stamp, piece, damage }: Of<'file-ended'>): void {
  const track = trackOf(draft, piece.file, stamp);
  // What is left here has no line behind it in the file: it ends with the line behind the file, if that was read.
  const to = draft.position.waiting[stamp]?.to;
  completeFile(draft, stamp, piece.file);
  tellLines(draft, piece, track);
  tellGaps(
    draft,
    damage.map((gap): Gap => ({ ...gap, to, track })),
  );
}

/** A rotated file could not be read to its end, or never can. */
export function noteFailure(draft: Draft, failure: Of<'file-failed' | 'file-unreadable'>): void {
  const { piece } = failure;
  const track = piece ? trackOf(draft, piece.file, piece.stamp) : 'live';
  if (piece?.file) adoptFile(draft, piece.file, piece.stamp);
  const isUnreadable = failure.type === 'file-unreadable';
  const gaps = isUnreadable ? [giveUpFile(draft, failure.rotated, failure.reason)] : [];
  if (!isUnreadable) noteFault(draft, failure.stamp, failure.fault);
  if (piece) tellLines(draft, piece, track);
  else tellEnded(draft, undefined, 'live');
  tellGaps(draft, gaps);
}

/** Tells the records of the lines, the gaps that end with them, and what was passed over or damaged among them. */
function tellLines(draft: Draft, piece: ReadPiece, track: Track): void {
  const { position, told } = draft;
  const { first, skipped, hasTimes } = piece;
  const stream = track === 'live' ? piece.stream : undefined;
  if (hasTimes) position.hasHistory = true;
  const { held } = position.stream;
  if (stream) position.stream = stream;
  if (piece.file && first) noteFirst(draft, piece, first, track);
  tellEnded(draft, findShipped(first, stream ? held : undefined, stream?.held), track);
  if (skipped) tellGaps(draft, [skipped]);
  told.push({ type: 'lines', track });
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
