import type { LogPosition } from '../position/position.ts';
import { RETRY_MS_MAX } from './files.ts';

/** An entry of a position that waits. */
interface Waiting {
  readonly sinceMs: number;
  readonly notBeforeMs?: number;
}

/**
 * Positions hold wall times of the agent: since when something is missed, and when a file is tried again. Once the clock was set by
 * `setByMs`, they move with it: nothing has waited for longer than before. Where nobody knows by how much it was set, as after a
 * restart, they may be of the future, and the log would stand still until then: those count as now. Returns the same position if
 * nothing changes.
 */
export function boundTimes(position: LogPosition, nowMs: number, setByMs: number): LogPosition {
  const { pending, brokenLinks, waiting } = position;
  const bound = <T extends Waiting>(entry: T): T => boundEntry(entry, nowMs, setByMs);
  const isChanged = (entry: Waiting) => bound(entry) !== entry;
  if (![...pending, ...brokenLinks, ...Object.values(waiting)].some(isChanged)) return position;
  return {
    ...position,
    pending: pending.map(bound),
    brokenLinks: brokenLinks.map(bound),
    waiting: Object.fromEntries(Object.entries(waiting).map(([stamp, entry]) => [stamp, bound(entry)])),
  };
}

function boundEntry<T extends Waiting>(entry: T, nowMs: number, setByMs: number): T {
  const sinceMs = entry.sinceMs + setByMs;
  // A file that was never put off has no time.
  const notBeforeMs = entry.notBeforeMs && entry.notBeforeMs + setByMs;
  const isAhead = sinceMs > nowMs;
  const isPutOffTooFar = notBeforeMs !== undefined && notBeforeMs > nowMs + RETRY_MS_MAX;
  if (setByMs === 0 && !isAhead && !isPutOffTooFar) return entry;
  return {
    ...entry,
    sinceMs: Math.min(sinceMs, nowMs),
    ...(notBeforeMs !== undefined && { notBeforeMs: isAhead || isPutOffTooFar ? nowMs : notBeforeMs }),
  };
}
