import type { HeldEntry } from './entry.ts';
import type { GapEdge } from './event-records.ts';
import { isFuture } from './log-clock.ts';
import type { Instance, LogPosition } from './position.ts';
import type { Zone } from './zone.ts';

/**
 * Moves all times of a position from one zone to another, as if its lines had been placed with that one from the start:
 * otherwise the next line would look as if the router's clock had jumped by the difference.
 */
export function moveTimes(position: LogPosition, from: Zone, to: Zone, nowMs: number): void {
  const move = (utcMs: number): number => {
    const offsetMs = from.offsetAt(utcMs);
    // A time in the hour that occurs twice stays in the one in which it is.
    return to.offsetAt(utcMs) === offsetMs ? utcMs : to.place(utcMs + offsetMs, undefined).utcMs;
  };
  const moveEdge = (edge: GapEdge | undefined): GapEdge | undefined =>
    edge?.utcMs === undefined ? edge : { ...edge, utcMs: move(edge.utcMs) };
  const { open, pending, waiting, lost, completed, chainEnd, liveFrom, stream } = position;
  const instances: (Instance | null | undefined)[] = [
    open,
    ...pending.map(({ instance }) => instance),
    ...lost,
    ...Object.values(completed),
  ];
  for (const instance of new Set(instances)) {
    if (!instance) continue;
    const { firstUtcMs, lastUtcMs, shownMs } = instance;
    // Another time than that of the line was the agent's, which has no zone.
    if (shownMs !== undefined && shownMs === lastUtcMs) instance.shownMs = move(shownMs);
    if (firstUtcMs !== undefined) instance.firstUtcMs = move(firstUtcMs);
    if (lastUtcMs !== undefined) instance.lastUtcMs = move(lastUtcMs);
  }
  if (chainEnd) position.chainEnd = { ...chainEnd, edge: moveEdge(chainEnd.edge) };
  position.brokenLinks = position.brokenLinks.map((link) => ({
    ...link,
    from: moveEdge(link.from),
    to: moveEdge(link.to),
    beginsUtcMs: link.beginsUtcMs === undefined ? undefined : move(link.beginsUtcMs),
  }));
  for (const entry of [...pending, ...Object.values(waiting)]) if (entry.to) entry.to = moveEdge(entry.to);
  if (liveFrom) position.liveFrom = moveEdge(liveFrom);
  const { clock, held } = stream;
  if (held) stream.held = moveHeld(held, move, clock.lastUtcMs, to);
  if (clock.unsyncedBelowMs !== undefined) clock.unsyncedBelowMs = move(clock.unsyncedBelowMs);
  if (clock.lastUtcMs === undefined) return;
  clock.lastUtcMs = move(clock.lastUtcMs);
  clock.isAhead = isFuture(clock.lastUtcMs, nowMs, !to.isAssumed);
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
