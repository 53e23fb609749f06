import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { OTEL_SCOPE, type OtelRecord, type OtelValue } from '../../formats/otel.ts';

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
 * Encodes an `ExportLogsServiceRequest`: one `ResourceLogs` per router, in the order in which the routers first appear,
 * with the router's records in their order. `version`: version of the scope; absent = none.
 */
export function encodeLogsRequest(records: readonly OtelRecord[], version?: string): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const group of Map.groupBy(records, ({ resource }) => JSON.stringify(resource)).values()) {
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
