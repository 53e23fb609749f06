import type { RecordFlag } from '../../model/index.ts';
import type { GapEdge, Track } from '../event-records.ts';
import { createUidPrefix } from '../identity.ts';
import { parseStampUtcMs } from '../names.ts';
import type { LogFile, LogPosition, Waiting } from '../position/position.ts';
import { LINK_MS_MAX } from '../rotation-link.ts';
import { HOLD_MS, isFarAhead, isOlder, isSameFile, listRemembered, type View } from './state.ts';
import { isBackfill } from './waiting.ts';

/** How the lines of a file stand to those that were read before. */
export function trackOf(view: View, file: LogFile | undefined, stamp: string | undefined): Track {
  if (stamp !== undefined && isBackfill(view.position, stamp)) return 'backfill';
  return file && isLate(view, file, stamp) ? 'late' : 'live';
}

/** Flags of lines that cannot be handed out in the order in which the router wrote them. */
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

/** Whether lines of a newer file were shipped before those of this one. */
export function isLate(view: View, file: LogFile, stamp: string | undefined): boolean {
  const { open, pending } = view.position;
  const own = pending.find((entry) => isSameFile(entry.file, file));
  if (own) return own.isOvertaken;
  if (stamp === undefined) return false;
  if (view.seen.lateStamps.has(stamp) || (open !== undefined && !isSameFile(open, file))) return true;
  return endsBeforeLastRead(view, file, stamp);
}

/** Whether a rotated file ended before the one began that was read last, as `current`: which name that has got nobody knows. */
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

/** Whether the rest of something older was missed so recently that newer lines should wait for it. */
export function isHolding(view: View): boolean {
  const { pending, waiting } = view.position;
  return (
    pending.some(({ sinceMs, isPassed }) => !isPassed && !isOlder(view, sinceMs, HOLD_MS)) ||
    Object.values(waiting).some((entry) => isMissed(entry) && !isOlder(view, entry.sinceMs, HOLD_MS))
  );
}

/** The line behind the rest of a file, where it was read before that rest; `null` when nobody knows which it was. */
export function lineBehind({ pending }: LogPosition, file: LogFile): GapEdge | null | undefined {
  return pending.find((entry) => isSameFile(entry.file, file))?.to;
}

/** Whether newer lines have reason to wait for this file. */
function isMissed(entry: Waiting): boolean {
  return entry.attempts > 0 && !entry.isBackfill;
}
