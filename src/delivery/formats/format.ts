import { type ByteLine, cutLines } from '../../base/index.ts';
import type { OutgoingRecord } from '../outgoing-record.ts';
import { renderEcs } from './ecs.ts';
import { renderOtel } from './otel.ts';

/** Record format: as stored, Elastic Common Schema, or OTLP in JSON. */
export type RecordFormat = 'native' | 'ecs' | 'otel';

const RENDERERS: Readonly<Record<RecordFormat, (record: OutgoingRecord) => string>> = {
  native: renderNative,
  ecs: renderEcs,
  otel: renderOtel,
};

/** Returns the record as stored: one line of JSON, its fields in the order of docs/log-records.md. */
export function renderNative(record: OutgoingRecord): string {
  return record.line;
}

/** Renders a record as one line of JSON without a line end. The same record always gives the same text. */
export function renderRecord(record: OutgoingRecord, format: RecordFormat): string {
  return RENDERERS[format](record);
}

/** Renders records as lines of JSON in UTF-8. The same record always gives the same bytes. */
export function renderLines(records: readonly OutgoingRecord[], format: RecordFormat): readonly ByteLine[] {
  if (format === 'native') return records;
  if (records.length === 0) return [];
  return cutLines(Buffer.from(records.map((record) => renderRecord(record, format)).join('\n')));
}
