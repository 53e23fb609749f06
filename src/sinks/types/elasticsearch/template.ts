import type { RecordFormat } from '../../outgoing-record.ts';

interface IndexTemplateOptions {
  readonly index: string;
  readonly format: RecordFormat;
}

/** Higher than that of Elasticsearch's own templates, which is 100. */
const PRIORITY = 500;
/** Longer values are stored but not indexed; a term has at most 32,766 bytes. Characters. */
const IGNORE_ABOVE = 1024;

const KEYWORD = { type: 'keyword', ignore_above: IGNORE_ABOVE };
const TEXT = { type: 'text' };
const LONG = { type: 'long' };
/** Nine decimals keep the order of lines written within one second. */
const INSTANT = { type: 'date_nanos' };
/** Stored, not indexed. */
const KEPT = { type: 'keyword', index: false, doc_values: false };

type Properties = Readonly<Record<string, object>>;

const PROPERTIES: Readonly<Record<RecordFormat, Properties>> = {
  native: {
    '@timestamp': INSTANT,
    timestamp: INSTANT,
    observed_timestamp: INSTANT,
    router: KEYWORD,
    component: KEYWORD,
    tag: KEYWORD,
    severity: KEYWORD,
    message: TEXT,
    uid: KEYWORD,
    file: KEYWORD,
    offset: LONG,
    labels: { type: 'object' },
    flags: KEYWORD,
    original: KEPT,
    event: KEYWORD,
    details: { type: 'object' },
  },
  ecs: {
    '@timestamp': INSTANT,
    ecs: toObject({ version: KEYWORD }),
    message: TEXT,
    log: toObject({ level: KEYWORD, logger: KEYWORD, file: toObject({ path: KEYWORD }), offset: LONG }),
    event: toObject({ id: KEYWORD, kind: KEYWORD, dataset: KEYWORD, action: KEYWORD, created: INSTANT }),
    host: toObject({ name: KEYWORD }),
    observer: toObject({ name: KEYWORD, type: KEYWORD }),
    agent: toObject({ type: KEYWORD }),
    tags: KEYWORD,
    labels: { type: 'object' },
    router: toObject({ component: KEYWORD, original_base64: KEPT, details: { type: 'object' } }),
  },
  otel: {
    '@timestamp': INSTANT,
    observed_timestamp: INSTANT,
    severity_number: LONG,
    severity_text: KEYWORD,
    event_name: KEYWORD,
    body: toObject({ text: TEXT }),
    attributes: toObject({
      log: toObject({
        record: toObject({ uid: KEYWORD }),
        file: toObject({ path: KEYWORD, record_offset: LONG }),
      }),
      router: toObject({ component: KEYWORD, tag: KEYWORD, flags: KEYWORD, original_base64: KEPT }),
    }),
    resource: toObject({
      attributes: toObject({ service: toObject({ name: KEYWORD }), host: toObject({ name: KEYWORD }) }),
    }),
    scope: toObject({ name: KEYWORD }),
  },
};

/**
 * Renders the index template that makes `index` a data stream with the right types, as JSON for `PUT /_index_template/<name>`
 * of Elasticsearch 8 and 9 or OpenSearch 2 and later. It sets no retention.
 */
export function renderIndexTemplate({ index, format }: IndexTemplateOptions): string {
  const template = {
    index_patterns: [index],
    data_stream: {},
    priority: PRIORITY,
    template: {
      mappings: {
        // For router labels and event details: numbers stay numbers, and no text is parsed as a date.
        date_detection: false,
        dynamic_templates: [{ texts: { match_mapping_type: 'string', mapping: KEYWORD } }],
        properties: PROPERTIES[format],
      },
    },
    _meta: { description: `Log records of router-exporter, format ${format}` },
  };
  return `${JSON.stringify(template, null, 2)}\n`;
}

function toObject(properties: Properties): object {
  return { properties };
}
