import type { LogRecord, Severity } from '../../model/index.ts';
import type { OutgoingRecord } from '../outgoing-record.ts';

/** Value of an attribute. Numbers are whole. */
export type OtelValue = string | number | readonly string[];

/** A record in the terms of the OpenTelemetry logs data model, before it is written as JSON or protobuf. */
export interface OtelRecord {
  /** Attributes shared by all records of a router, with the same keys in the same order. */
  readonly resource: Readonly<Record<string, string>>;
  /** Nanoseconds since the Unix epoch, in decimal; absent when the line has no time, or one that OTLP cannot carry. */
  readonly timeUnixNano?: string | undefined;
  /** Time of reading, nanoseconds since the Unix epoch, in decimal. */
  readonly observedTimeUnixNano?: string | undefined;
  /** OpenTelemetry severity, 1 to 24; absent when the line has none. */
  readonly severityNumber?: number | undefined;
  /** Severity as in the record; absent when the line has none. */
  readonly severityText?: string | undefined;
  /** Name of the event; only for synthetic records. */
  readonly eventName?: string | undefined;
  /** The message. */
  readonly body: string;
  /** Attributes of the record. */
  readonly attributes: Readonly<Record<string, OtelValue>>;
}

/** Instrumentation scope. Without a version, so that a record gives the same bytes after an update. */
export const OTEL_SCOPE = 'router-exporter';

/** The mapping of syslog severities in the OpenTelemetry logs data model (appendix B). */
const SEVERITY_NUMBERS: Readonly<Record<Severity, number>> = {
  debug: 5,
  info: 9,
  notice: 10,
  warning: 13,
  error: 17,
  critical: 18,
  alert: 19,
  emergency: 21,
};

/** Converts a record by the mapping in docs/log-records.md. */
export function toOtelRecord(record: LogRecord): OtelRecord {
  return {
    resource: toOtelResource(record),
    timeUnixNano: toUnixNano(record.timestamp),
    observedTimeUnixNano: toUnixNano(record.observed_timestamp),
    ...(record.severity && {
      severityNumber: SEVERITY_NUMBERS[record.severity],
      severityText: record.severity,
    }),
    eventName: record.event,
    body: record.message,
    attributes: toAttributes(record),
  };
}

/** Builds the resource attributes, which identify the router. */
function toOtelResource({ router, labels = {} }: LogRecord): Readonly<Record<string, string>> {
  return {
    'service.name': 'router-exporter',
    'host.name': router,
    ...Object.fromEntries(Object.entries(labels).map(([name, value]) => [`router.label.${name}`, value])),
  };
}

function toAttributes(record: LogRecord): Record<string, OtelValue> {
  const { uid, file, offset, component, tag, flags, original, details = {} } = record;
  const attributes: Record<string, OtelValue> = {
    'log.record.uid': uid,
    'log.file.path': file,
    'log.file.record_offset': offset,
    'router.component': component,
  };
  if (tag !== undefined) attributes['router.tag'] = tag;
  if (flags && flags.length > 0) attributes['router.flags'] = flags;
  if (original !== undefined) attributes['router.original_base64'] = original;
  for (const [name, value] of Object.entries(details)) {
    if (value !== null) attributes[`router.details.${name}`] = value;
  }
  return attributes;
}

const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;
/** OTLP times are unsigned 64-bit integers. */
const UNIX_NANO_MAX = 2n ** 64n - 1n;

/** Converts an instant of a record to nanoseconds since the Unix epoch, in decimal. */
export function toUnixNano(instant: string | undefined): string | undefined {
  const [, second, fraction = ''] = INSTANT.exec(instant ?? '') ?? [];
  const ms = second === undefined ? Number.NaN : Date.parse(`${second}Z`);
  if (Number.isNaN(ms)) return undefined;
  const nanos = BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
  // Zero means "unknown".
  return nanos > 0n && nanos <= UNIX_NANO_MAX ? nanos.toString() : undefined;
}

/**
 * Renders a record as an OTLP/JSON object `LogsData` on one line, the format of the file exporter and the file receiver
 * of the OpenTelemetry collector.
 */
export function renderOtel(record: OutgoingRecord): string {
  const otel = toOtelRecord(record.fields);
  return JSON.stringify({
    resourceLogs: [
      {
        resource: toJsonResource(otel),
        scopeLogs: [{ scope: { name: OTEL_SCOPE }, logRecords: [toJsonLogRecord(otel)] }],
      },
    ],
  });
}

/** Converts to the OTLP/JSON object `Resource`. */
function toJsonResource({ resource }: OtelRecord): object {
  return { attributes: toJsonAttributes(resource) };
}

/** Converts to the OTLP/JSON object `LogRecord`: 64-bit numbers are strings, unknown fields are omitted. */
function toJsonLogRecord(record: OtelRecord): object {
  const { timeUnixNano, observedTimeUnixNano, severityNumber, severityText, eventName, body, attributes } = record;
  return {
    timeUnixNano,
    observedTimeUnixNano,
    severityNumber,
    severityText,
    body: { stringValue: body },
    attributes: toJsonAttributes(attributes),
    eventName,
  };
}

function toJsonAttributes(attributes: Readonly<Record<string, OtelValue>>): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toJsonValue(value) }));
}

function toJsonValue(value: OtelValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  }
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

/** Renders a record as the Elasticsearch exporter of the OpenTelemetry collector does (mapping mode `otel`). */
export function renderOtelDocument(record: OutgoingRecord): string {
  const { fields } = record;
  const { resource, severityNumber, severityText, eventName, body, attributes } = toOtelRecord(fields);
  return JSON.stringify({
    // Data streams require it.
    '@timestamp': fields.timestamp ?? fields.observed_timestamp,
    observed_timestamp: fields.observed_timestamp,
    severity_number: severityNumber,
    severity_text: severityText,
    event_name: eventName,
    body: { text: body },
    attributes,
    resource: { attributes: resource },
    scope: { name: OTEL_SCOPE },
  });
}
