import { ByteLine, cutLines } from '../base/index.ts';
import type { ShippedRecord } from '../model/index.ts';
import { renderOtel } from './otel.ts';

/** Start of the uid field. Unambiguous: quotation marks in earlier texts are escaped, and labels and details come after it. */
const UID_KEY = Buffer.from(',"uid":"');
const QUOTE = 0x22;

/** A record to deliver: the stored bytes, with text and fields decoded on demand. */
export class OutgoingRecord extends ByteLine {
  #line: string | undefined;
  #fields: ShippedRecord | undefined;

  /** `stored`: one line of JSON without a line end. */
  constructor(stored: ByteLine | string) {
    const { memory, start, end } = typeof stored === 'string' ? ByteLine.of(stored) : stored;
    super(memory, start, end);
  }

  /** The record in format `native`: one line of JSON without a line end. Decoded on first access. */
  get line(): string {
    this.#line ??= this.text;
    return this.#line;
  }

  /** The uid, found without parsing the record. */
  get uid(): string {
    if (this.#fields) return this.#fields.uid;
    const from = this.memory.indexOf(UID_KEY, this.start) + UID_KEY.length;
    const to = this.memory.indexOf(QUOTE, from);
    // A record that someone else put into the store may have another form.
    return from < UID_KEY.length || to < 0 || to > this.end
      ? this.fields.uid
      : this.memory.toString('latin1', from, to);
  }

  /** Parsed on first access: most sinks of format `native` never need the fields. */
  get fields(): ShippedRecord {
    // The store has verified that this program wrote these bytes.
    this.#fields ??= JSON.parse(this.line) as ShippedRecord;
    return this.#fields;
  }
}

/** Record format: as stored, Elastic Common Schema, or OTLP in JSON. */
export type RecordFormat = 'native' | 'ecs' | 'otel';

const RENDERERS: Readonly<Record<RecordFormat, (record: OutgoingRecord) => string>> = {
  // One line of JSON, its fields in the order of docs/log-records.md.
  native: ({ line }) => line,
  ecs: renderEcs,
  otel: ({ fields }) => renderOtel(fields),
};

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

const ECS_VERSION = '8.17.0';

/** Renders a record as a document of the Elastic Common Schema, on one line. */
export function renderEcs(record: OutgoingRecord): string {
  const { fields } = record;
  const { labels = {}, flags = [], details, original } = fields;
  return JSON.stringify({
    // Data streams require it.
    '@timestamp': fields.timestamp ?? fields.observed_timestamp,
    ecs: { version: ECS_VERSION },
    message: fields.message,
    // An event of a router is not from a log.
    ...(fields.file !== undefined && {
      log: { level: fields.severity, logger: fields.tag, file: { path: fields.file }, offset: fields.offset },
    }),
    event: {
      id: fields.uid,
      kind: 'event',
      dataset: `router.${fields.component ?? 'events'}`,
      action: fields.event,
      created: fields.observed_timestamp,
    },
    host: { name: fields.router },
    observer: { name: fields.router, type: 'router' },
    agent: { type: 'router-exporter' },
    ...(flags.length > 0 && { tags: flags }),
    ...(Object.keys(labels).length > 0 && { labels }),
    router: { component: fields.component, original_base64: original, details },
  });
}

/** Returns the first bytes of UTF-8 text, at most `bytesMax`, cut between characters. */
export function cutUtf8(text: Buffer, bytesMax: number): Buffer {
  let end = Math.min(bytesMax, text.length);
  // Bytes of the form 10xxxxxx continue a character.
  while (end > 0 && end < text.length && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
  return text.subarray(0, end);
}
