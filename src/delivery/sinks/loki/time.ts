import type { LogRecord } from '../../../model/index.ts';
import { toUnixNano } from '../../formats/otel-record.ts';

const MINUTE_MS = 60_000;
/** How far a line of the live lane may lie after the start of its download, because the router's clock is ahead. Milliseconds. */
export const LIVE_AHEAD_MS_MAX = 5 * MINUTE_MS;
const NANOS_PER_MS = 1_000_000;
/**
 * Bytes of a file that share a nanosecond. A line with a time is longer, so that no two lines get the same; 15 MiB fit into
 * a millisecond, and log files have a few.
 */
const BYTES_PER_NANO = 16;

/** The fields of a record that say when its line was written. */
export type TimedRecord = Pick<LogRecord, 'timestamp' | 'observed_timestamp' | 'flags' | 'offset'>;

/**
 * The record's own time, as far as Loki is to believe it; `undefined` when it has none.
 *
 * While the zone of a router is not known, UTC stands in for it. East of Greenwich the newest lines then lie hours ahead of
 * their own download, and Loki takes none more than ten minutes ahead. When they were downloaded is closer to the truth.
 */
export function findOwnTime(record: TimedRecord): string | undefined {
  return isGuessedAhead(record) ? undefined : record.timestamp;
}

/** Where a record stands in Loki: its own time, or else when it was downloaded. RFC 3339. */
export function findLokiTime(record: TimedRecord): string {
  return findOwnTime(record) ?? record.observed_timestamp;
}

/** Whether the record's own time is a guess that cannot be true. Of the record alone, so that a resend is the same. */
export function isGuessedAhead({ timestamp, observed_timestamp: observed, flags }: TimedRecord): boolean {
  if (timestamp === undefined || !flags?.includes('zone_assumed')) return false;
  return Date.parse(timestamp) - Date.parse(observed) > LIVE_AHEAD_MS_MAX;
}

/**
 * When a line was written, as far as that is known, in nanoseconds since the Unix epoch. Otherwise it is placed within the
 * millisecond of its download by its place in the file, so that equal lines stay apart.
 */
export function toLokiNanos(record: TimedRecord): string {
  const nanos = toUnixNano(findOwnTime(record));
  if (nanos !== undefined) return nanos;
  const { offset } = record;
  // Lines next to each other are in order; those without any time are few, and stand at the beginning of a file.
  const withinMs = isGuessedAhead(record)
    ? Math.min(Math.floor(offset / BYTES_PER_NANO), NANOS_PER_MS - 1)
    : Math.trunc(offset) % NANOS_PER_MS;
  return String(BigInt(toUnixNano(record.observed_timestamp) ?? 0) + BigInt(withinMs));
}
