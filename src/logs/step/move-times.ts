import type { GapEdge } from '../position/event-records.ts';
import type { HeldEntry, LogFile, LogPosition, StreamState } from '../position/position.ts';
import { isFuture } from '../time/log-clock.ts';
import type { Zone } from '../time/zone.ts';

/**
 * Returns the position with all its times moved from one zone to another, as if its lines had been placed with that one from
 * the start: otherwise the next line would look as if the router's clock had jumped by the difference.
 */
export function moveTimes(position: LogPosition, from: Zone, to: Zone, nowMs: number): LogPosition {
  const move = (utcMs: number): number => {
    const offsetMs = from.offsetAt(utcMs);
    // A time in the hour that occurs twice stays in the one in which it is.
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
    // Another time than that of the line was the agent's, which has no zone.
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

/** As far as whole seconds go, in which offsets of zones are. */
const SECOND_CHARS = 'YYYY-MM-DDThh:mm:ss'.length;
const renderSecond = (utcMs: number): string => new Date(utcMs).toISOString().slice(0, SECOND_CHARS);

/** The record that was kept back has the time of its line, or of the line before; or that of the agent, which has no zone. */
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
