import type { Gap, GapEdge, OpenGap, Track } from '../event-records.ts';
import { toGapUid } from '../event-records.ts';
import type { LogFile } from '../position/position.ts';
import { type Draft, edgeOf } from './state.ts';
import { hasBackfill } from './waiting.ts';

/** Gaps whose end is still to be told; of more than these the oldest stay without one. */
const OPEN_GAPS_MAX = 256;

/** Tells gaps, with their ends as far as they are known. What follows missing lines continues no record before them. */
export function tellGaps(draft: Draft, gaps: readonly Gap[]): void {
  const ended = gaps.map((gap): Gap => ({ ...gap, to: endOf(draft, gap) }));
  if (ended.some(({ to, track = 'live' }) => to === undefined && track === 'live')) tellHeld(draft);
  for (const gap of ended) tellGap(draft, gap);
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
export function toGap(
  draft: Draft,
  { certainty, reason, to }: Pick<Gap, 'certainty' | 'reason' | 'to'>,
  file: LogFile,
): Gap {
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
