import type { LogRecord } from '../../../model/index.ts';
import { toUnixNano } from '../../formats/otel-record.ts';

const MINUTE_MS = 60_000;
/** Maximum lead of a line of the live lane over the start of its download, when the router's clock is ahead. Milliseconds. */
export const LIVE_AHEAD_MS_MAX = 5 * MINUTE_MS;
const NANOS_PER_MS = 1_000_000;
/**
 * Bytes of a file that share a nanosecond. A line with a time is longer, so no two lines share one. A millisecond covers
 * 15 MiB; log files have a few.
 */
const BYTES_PER_NANO = 16;

/** The fields of a record that determine its time. */
export type TimedRecord = Pick<LogRecord, 'timestamp' | 'observed_timestamp' | 'flags' | 'offset'>;

/**
 * Returns the record's own time; `undefined` when it has none or it cannot be true.
 *
 * While the time zone of a router is unknown, UTC is assumed. East of Greenwich, the newest lines are then hours ahead of
 * their download, and Loki rejects lines more than ten minutes ahead. The time of the download is more accurate.
 */
export function findOwnTime(record: TimedRecord): string | undefined {
  return isGuessedAhead(record) ? undefined : record.timestamp;
}

/** Returns the time of a record in Loki: its own, or that of its download. RFC 3339. */
export function findLokiTime(record: TimedRecord): string {
  return findOwnTime(record) ?? record.observed_timestamp;
}

/** True when the record's own time is a guess that cannot be true. Depends on the record alone, so that it never changes. */
export function isGuessedAhead({ timestamp, observed_timestamp: observed, flags }: TimedRecord): boolean {
  if (timestamp === undefined || !flags?.includes('zone_assumed')) return false;
  return Date.parse(timestamp) - Date.parse(observed) > LIVE_AHEAD_MS_MAX;
}

/**
 * Returns the time of a line in nanoseconds since the Unix epoch. Without its own time, it is the millisecond of the
 * download plus nanoseconds from the offset in the file, so that equal lines stay distinct.
 */
export function toLokiNanos(record: TimedRecord): string {
  const nanos = toUnixNano(findOwnTime(record));
  if (nanos !== undefined) return nanos;
  const { offset } = record;
  // Adjacent lines keep their order. Lines without any time are few, at the beginning of a file.
  const withinMs = isGuessedAhead(record)
    ? Math.min(Math.floor(offset / BYTES_PER_NANO), NANOS_PER_MS - 1)
    : Math.trunc(offset) % NANOS_PER_MS;
  return String(BigInt(toUnixNano(record.observed_timestamp) ?? 0) + BigInt(withinMs));
}
