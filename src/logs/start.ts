import type { LogStart } from './log-settings.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from './names.ts';

/** No line is from later. A number that JSON can hold. */
const ALL = Number.MAX_SAFE_INTEGER;

/** What is passed over on first contact with a log. */
export interface StartPlan {
  /** Rotated files that are older than what is wanted. */
  readonly skipped: readonly RotatedFile[];
  /** Lines from before this are passed over in the files that are read; `undefined` for none. */
  readonly skipBeforeUtcMs: number | undefined;
}

/**
 * Plans the first contact with a log. The name of a rotated file is the time of its last line. A log that appears while its
 * router is already known (since `contactMs`) is new as a whole, so nothing of it that is younger is passed over.
 */
export function planStart(start: LogStart, listed: ListedLog, contactMs: number | undefined, nowMs: number): StartPlan {
  if (start === 'all') return { skipped: [], skipBeforeUtcMs: undefined };
  if (start === 'now' && contactMs === undefined) return { skipped: listed.rotated, skipBeforeUtcMs: ALL };
  const sinceMs = (contactMs ?? nowMs) - (start === 'now' ? 0 : start.backMs);
  const skipped = listed.rotated.filter(({ stamp }) => parseStampUtcMs(stamp) < sinceMs);
  return { skipped, skipBeforeUtcMs: sinceMs };
}
