import type { OutgoingRecord } from '../outgoing-record.ts';

/** A record as it was stored: one line of JSON, its fields in the order that docs/log-records.md shows. */
export function renderNative(record: OutgoingRecord): string {
  return record.line;
}
