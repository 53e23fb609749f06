import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Severity, ShippedRecord } from '../model/index.ts';

type OtelValue = string | number | readonly string[];

/** A record in the terms of the OpenTelemetry logs data model, before it is written as JSON or protobuf. */
type OtelRecord = ReturnType<typeof toOtelRecord>;

/** Instrumentation scope. Without a version, so that a record gives the same bytes after an update. */
const OTEL_SCOPE = 'router-exporter';

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

/** Converts a record by the mapping in docs/log-records.md. Times are nanoseconds since the Unix epoch, in decimal. */
export function toOtelRecord(record: ShippedRecord) {
  const { router, labels = {}, severity } = record;
  return {
    /** Identifies the router: the same for all of its records, in the same order. */
    resource: {
      'service.name': 'router-exporter',
      'host.name': router,
      ...Object.fromEntries(Object.entries(labels).map(([name, value]) => [`router.label.${name}`, value])),
    } as Readonly<Record<string, string>>,
    /** Absent when the line has no time, or one that OTLP cannot carry. */
    timeUnixNano: toUnixNano(record.timestamp),
    /** Time of reading. */
    observedTimeUnixNano: toUnixNano(record.observed_timestamp),
    ...(severity && { severityNumber: SEVERITY_NUMBERS[severity], severityText: severity }),
    /** Only for synthetic records. */
    eventName: record.event,
    body: record.message,
    attributes: toAttributes(record),
  };
}

function toAttributes(record: ShippedRecord): Record<string, OtelValue> {
  const { uid, file, offset, component, tag, flags, original, details = {} } = record;
  const attributes: Record<string, OtelValue> = {
    'log.record.uid': uid,
    ...(file !== undefined && { 'log.file.path': file }),
    ...(offset !== undefined && { 'log.file.record_offset': offset }),
    ...(component !== undefined && { 'router.component': component }),
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

/** Renders a record as an OTLP/JSON object `LogsData` on one line: the format of the collector's file exporter and receiver. */
export function renderOtel(record: ShippedRecord): string {
  const { resource, timeUnixNano, observedTimeUnixNano, severityNumber, severityText, eventName, body, attributes } =
    toOtelRecord(record);
  // 64-bit numbers are strings, unknown fields are omitted.
  const logRecord = {
    timeUnixNano,
    observedTimeUnixNano,
    severityNumber,
    severityText,
    body: { stringValue: body },
    attributes: toJsonAttributes(attributes),
    eventName,
  };
  const scopeLogs = [{ scope: { name: OTEL_SCOPE }, logRecords: [logRecord] }];
  return JSON.stringify({ resourceLogs: [{ resource: { attributes: toJsonAttributes(resource) }, scopeLogs }] });
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
export function renderOtelDocument(fields: ShippedRecord): string {
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

// Field numbers of OTLP 1.x (opentelemetry-proto). Empty fields are omitted, as in proto3.
const REQUEST = { resourceLogs: 1 } as const;
const RESOURCE_LOGS = { resource: 1, scopeLogs: 2 } as const;
const RESOURCE = { attributes: 1 } as const;
const SCOPE_LOGS = { scope: 1, logRecords: 2 } as const;
const SCOPE = { name: 1, version: 2 } as const;
const LOG_RECORD = {
  timeUnixNano: 1,
  severityNumber: 2,
  severityText: 3,
  body: 5,
  attributes: 6,
  observedTimeUnixNano: 11,
  eventName: 12,
} as const;
const KEY_VALUE = { key: 1, value: 2 } as const;
const ANY_VALUE = { string: 1, int: 3, double: 4, array: 5 } as const;
const ARRAY_VALUE = { values: 1 } as const;

/**
 * Encodes an `ExportLogsServiceRequest`: one `ResourceLogs` per router, in the order of first appearance, with the router's
 * records in their order. `version`: version of the scope; absent = none.
 */
export function encodeLogsRequest(records: readonly ShippedRecord[], version?: string): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const group of Map.groupBy(records.map(toOtelRecord), ({ resource }) => JSON.stringify(resource)).values()) {
    writeMessage(writer, REQUEST.resourceLogs, () => writeResourceLogs(writer, group, version));
  }
  return writer.finish();
}

function writeResourceLogs(writer: BinaryWriter, records: readonly OtelRecord[], version: string | undefined): void {
  writeMessage(writer, RESOURCE_LOGS.resource, () =>
    writeAttributes(writer, RESOURCE.attributes, records[0]?.resource ?? {}),
  );
  writeMessage(writer, RESOURCE_LOGS.scopeLogs, () => {
    writeMessage(writer, SCOPE_LOGS.scope, () => {
      writeText(writer, SCOPE.name, OTEL_SCOPE);
      writeText(writer, SCOPE.version, version);
    });
    for (const record of records) writeMessage(writer, SCOPE_LOGS.logRecords, () => writeRecord(writer, record));
  });
}

function writeRecord(writer: BinaryWriter, record: OtelRecord): void {
  writeNanos(writer, LOG_RECORD.timeUnixNano, record.timeUnixNano);
  writeNanos(writer, LOG_RECORD.observedTimeUnixNano, record.observedTimeUnixNano);
  if (record.severityNumber !== undefined) {
    writer.tag(LOG_RECORD.severityNumber, WireType.Varint).int32(record.severityNumber);
  }
  writeText(writer, LOG_RECORD.severityText, record.severityText);
  writeMessage(writer, LOG_RECORD.body, () => writeValue(writer, record.body));
  writeAttributes(writer, LOG_RECORD.attributes, record.attributes);
  writeText(writer, LOG_RECORD.eventName, record.eventName);
}

function writeAttributes(writer: BinaryWriter, field: number, attributes: Readonly<Record<string, OtelValue>>): void {
  for (const [key, value] of Object.entries(attributes)) {
    writeMessage(writer, field, () => {
      writer.tag(KEY_VALUE.key, WireType.LengthDelimited).string(key);
      writeMessage(writer, KEY_VALUE.value, () => writeValue(writer, value));
    });
  }
}

/** Writes a member of a `oneof`, even when it is empty: an absent member means "no value". */
function writeValue(writer: BinaryWriter, value: OtelValue): void {
  if (typeof value === 'string') {
    writer.tag(ANY_VALUE.string, WireType.LengthDelimited).string(value);
  } else if (typeof value !== 'number') {
    writeMessage(writer, ANY_VALUE.array, () => {
      for (const item of value) writeMessage(writer, ARRAY_VALUE.values, () => writeValue(writer, item));
    });
  } else if (Number.isSafeInteger(value)) {
    writer.tag(ANY_VALUE.int, WireType.Varint).int64(value);
  } else {
    writer.tag(ANY_VALUE.double, WireType.Bit64).double(value);
  }
}

function writeMessage(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

function writeText(writer: BinaryWriter, field: number, text: string | undefined): void {
  if (text !== undefined && text !== '') writer.tag(field, WireType.LengthDelimited).string(text);
}

function writeNanos(writer: BinaryWriter, field: number, nanos: string | undefined): void {
  if (nanos !== undefined) writer.tag(field, WireType.Bit64).fixed64(nanos);
}
