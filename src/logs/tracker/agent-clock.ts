import type { LogPosition } from '../position/position.ts';
import { RETRY_MS_MAX } from './files.ts';

/**
 * Positions hold wall times of the agent: since when something is missed, and when a file is tried again. Once the clock was set
 * back they may be of the future, and the log would stand still until then. Returns the position with those of the future as
 * now, or the same one.
 */
export function boundTimes(position: LogPosition, nowMs: number): LogPosition {
  const isAhead = ({ sinceMs }: { readonly sinceMs: number }) => sinceMs > nowMs;
  const isPutOffTooFar = ({ notBeforeMs }: { readonly notBeforeMs: number }) => notBeforeMs > nowMs + RETRY_MS_MAX;
  const { pending, brokenLinks, waiting } = position;
  const unread = Object.values(waiting);
  if (![...pending, ...brokenLinks, ...unread].some(isAhead) && !unread.some(isPutOffTooFar)) return position;
  const bound = <T extends { readonly sinceMs: number }>(one: T): T =>
    isAhead(one) ? { ...one, sinceMs: nowMs } : one;
  return {
    ...position,
    pending: pending.map(bound),
    brokenLinks: brokenLinks.map(bound),
    waiting: Object.fromEntries(
      Object.entries(waiting).map(([stamp, entry]) => {
        const notBeforeMs = isAhead(entry) || isPutOffTooFar(entry) ? nowMs : entry.notBeforeMs;
        return [stamp, { ...bound(entry), notBeforeMs }];
      }),
    ),
  };
}
