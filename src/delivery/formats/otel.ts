import type { OutgoingRecord } from '../outgoing-record.ts';
import { OTEL_SCOPE, type OtelRecord, type OtelValue, toOtelRecord } from './otel-record.ts';

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
