import type { OutgoingRecord } from '../outgoing-record.ts';
import { OTEL_SCOPE, type OtelRecord, type OtelValue, toOtelRecord } from './otel-record.ts';

/**
 * A record as one object `LogsData` of OTLP in JSON, on one line: what the file exporter of the OpenTelemetry collector
 * writes and its file receiver reads.
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

/** The object `Resource` of OTLP in JSON. */
function toJsonResource({ resource }: OtelRecord): object {
  return { attributes: toJsonAttributes(resource) };
}

/** The object `LogRecord` of OTLP in JSON: numbers of 64 bits are strings, and what is unknown is left out. */
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

/** A record as the exporter for Elasticsearch of the OpenTelemetry collector writes it (mapping mode `otel`). */
export function renderOtelDocument(record: OutgoingRecord): string {
  const { fields } = record;
  const { resource, severityNumber, severityText, eventName, body, attributes } = toOtelRecord(fields);
  return JSON.stringify({
    // A data stream takes nothing without it.
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
