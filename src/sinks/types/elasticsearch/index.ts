import { decodeObject, parseJson } from '../../../base/index.ts';
import { apiKeyShape, baseUrl } from '../../../net/index.ts';
import { type About, checked } from '../../../settings/index.ts';
import { DeliveryError, type DeliveryReport, type Destination } from '../../contracts.ts';
import { SinkHttpClient } from '../../http/client.ts';
import { type HttpAnswer, toAnswerError } from '../../http/messages.ts';
import { renderOtelDocument } from '../../otel.ts';
import { type OutgoingRecord, type RecordFormat, renderEcs } from '../../outgoing-record.ts';
import { batch, checkHttpSink, compress, defineSink, format, httpSinkShape, sinkSchema } from '../define-sink.ts';
import { checkElasticsearch } from './preflight.ts';

/** Elasticsearch's limit for the name of an index. Bytes. */
const INDEX_BYTES_MAX = 255;

const schema = sinkSchema(
  'elasticsearch',
  'Elasticsearch or OpenSearch, through the bulk API. The uid of a record is its `_id`.',
  {
    url: baseUrl({ description: 'URL of the cluster.' }, 'https://search.example.net:9200'),
    // A data stream named type-dataset-namespace, for which Elasticsearch has a template.
    index: indexName({ description: 'Data stream, index or alias to write to.' }).prefault('logs-router-default'),
    pipeline: pipelineName({ description: 'Ingest pipeline for the records.' }).optional(),
    ...apiKeyShape,
    ...httpSinkShape,
    compress: compress('gzip', 'bodies'),
    format: format(['ecs', 'native', 'otel']),
    batch: batch({ recordsMax: 5000, bytesMax: 4 * 1024 ** 2, waitMs: 1000 }),
  },
);

/** Creates the schema of an index name, by the rules of Elasticsearch (REST API, "create index"). */
function indexName(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of a data stream, index or alias, without capitals, blanks and any of \\ / * ? " < > | , # :, and not starting with - _ or +',
    INDEX_BYTES_MAX,
    (value) =>
      /^(?![-_+]|\.{1,2}$)[^\s\p{Cc}\p{Lu}\\/*?"<>|,#:]+$/u.test(value) && Buffer.byteLength(value) <= INDEX_BYTES_MAX,
  );
}

function pipelineName(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of an ingest pipeline, without blanks, commas, "*" and slashes',
    INDEX_BYTES_MAX,
    (value) => /^[^\s\p{Cc},*/\\]+$/u.test(value),
  );
}

/** Maximum size of a response. One that rejects all of 5,000 records has about 3 MiB; larger batches are halved. Bytes. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const FIELDS = ['_id', 'status', 'failure_store', 'error.type', 'error.reason', 'error.caused_by.reason'];

/**
 * Creates documents in Elasticsearch or OpenSearch through the bulk API. The uid of a record is the id of its document, so
 * the receiver detects a record sent again. Ids are unique within one backing index of a data stream, so a record sent again
 * after a rollover is stored twice.
 */
export const elasticsearch = defineSink({
  schema,
  check: (place, keys) => checkHttpSink(place, keys, keys.url),
  open(settings, around) {
    const { name, index, pipeline, format: recordFormat } = settings;
    const client = new SinkHttpClient(settings, around);
    const path = renderBulkPath(pipeline);
    const deliver: Destination['deliver'] = async (records, signal) => {
      const answer = await client.post(
        {
          path,
          contentType: 'application/x-ndjson',
          body: renderBulk(records, recordFormat, index),
          answerBytesMax: ANSWER_BYTES_MAX,
          // What was accepted before is there already. A single record must not be rejected because of the response's size.
          isAnswerByRecord: records.length > 1,
        },
        signal,
      );
      if (answer.status !== 200) throw toAnswerError(answer, `Sink ${name}`);
      return { bytes: answer.sentBytes, ...readBulkReport(name, records, answer) };
    };
    return {
      connection: client.connection,
      deliver,
      preflight: (_fleet, signal) =>
        checkElasticsearch(client, deliver, { name, index, pipeline, clock: around.clock }, signal),
      close: () => client.close(),
    };
  },
});

function renderBulkPath(pipeline: string | undefined): string {
  const filter = FIELDS.map((field) => `items.*.${field}`).join(',');
  const query = [
    ...(pipeline === undefined ? [] : [`pipeline=${encodeURIComponent(pipeline)}`]),
    `filter_path=errors,${filter}`,
  ];
  return `/_bulk?${query.join('&')}`;
}

interface ItemResult {
  readonly status: number;
  /** Type of the error, such as `document_parsing_exception`; empty when there is none. */
  readonly type: string;
  readonly reason: string;
  /** True when the record went to the failure store of the data stream instead of its indices. */
  readonly isInFailureStore: boolean;
}

const RENDERERS: Readonly<Record<RecordFormat, (record: OutgoingRecord) => string>> = {
  native: renderNativeDocument,
  ecs: renderEcs,
  otel: ({ fields }) => renderOtelDocument(fields),
};

/**
 * Renders the body of a bulk request: an action and a document per record. The action is `create`, the only one that data
 * streams accept; the uid is the id, so that Elasticsearch detects a record sent again. The action names the index, as common
 * shippers do: receivers that offer the bulk API under a prefix have no path with an index.
 */
function renderBulk(records: readonly OutgoingRecord[], recordFormat: RecordFormat, index: string): string {
  const render = RENDERERS[recordFormat];
  const action = `{"create":{"_index":${JSON.stringify(index)},"_id":`;
  return records.map((record) => `${action}${JSON.stringify(record.fields.uid)}}}\n${render(record)}\n`).join('');
}

/** Renders a record as stored, plus `@timestamp`, which data streams require. */
function renderNativeDocument({ line, fields }: OutgoingRecord): string {
  return `{"@timestamp":"${fields.timestamp ?? fields.observed_timestamp}",${line.slice(1)}`;
}

/**
 * Reads the result of each of `records` from a bulk response. Throws `protocol_error` when the response does not contain
 * them, and, when it accepted none, an error that may concern the whole sink.
 */
function readBulkReport(sink: string, records: readonly OutgoingRecord[], answer: HttpAnswer): DeliveryReport {
  const results = decodeResults(sink, records, answer);
  const taken = results.filter(isTaken);
  const fault = taken.length > 0 ? undefined : findSinkError(sink, results);
  if (fault) throw fault;
  const refused: { index: number; reason: string; code: string }[] = [];
  const retry: number[] = [];
  for (const [index, result] of results.entries()) {
    if (isTaken(result)) continue;
    if (isRetryable(result)) retry.push(index);
    else refused.push({ index, reason: result.reason, code: String(result.status) });
  }
  const first = results[retry[0] ?? -1];
  const setAside = taken.filter(({ isInFailureStore }) => isInFailureStore).length;
  return {
    duplicates: taken.filter(({ status }) => status === 409).length,
    ...(refused.length > 0 && { refused }),
    ...(first && { retry: { indexes: retry, reason: `Status ${first.status}: ${first.reason}` } }),
    ...(setAside > 0 && { warning: `${setAside} records went to the failure store of the data stream` }),
  };
}

function isTaken({ status, type }: ItemResult): boolean {
  // A conflict of `create` means that the id already exists.
  return (status >= 200 && status < 300) || (status === 409 && /^(version_conflict_engine_exception)?$/.test(type));
}

function isRetryable(result: ItemResult): boolean {
  return result.status >= 500 || isBackPressure(result);
}

const BACK_PRESSURE: ReadonlySet<number> = new Set([408, 409, 429, 503]);

function isBackPressure({ status, type }: ItemResult): boolean {
  return BACK_PRESSURE.has(status) || /^(es_)?rejected_execution_exception$/.test(type);
}

/** Returns the error when no record was accepted, for a reason that may concern every record. */
function findSinkError(sink: string, results: readonly ItemResult[]): DeliveryError | undefined {
  const broken = results.map((result) => findOperatorError(sink, result)).find((error) => error !== undefined);
  const [first] = results;
  if (broken || !first || !results.every((result) => result.status >= 500 && !isBackPressure(result))) return broken;
  return new DeliveryError('failed', renderRefusal(sink, first), {
    disposition: 'retry',
    answer: String(first.status),
    mayBeOfRecords: true,
  });
}

/** Returns the error when a record was rejected for a reason that an operator has to correct. */
function findOperatorError(sink: string, result: ItemResult): DeliveryError | undefined {
  const { status, type, reason } = result;
  if (isRetryable(result)) return undefined;
  const common = { disposition: 'operator', answer: String(status), mayBeOfRecords: true } as const;
  if (status === 401 || status === 403) {
    return new DeliveryError('unauthorized', renderRefusal(sink, result), {
      ...common,
      hint: 'Check the permissions of the credentials of this sink, and whether its index is blocked',
    });
  }
  // Matched from the beginning only, because a reason may quote the record later.
  const isPipelineMissing = /^illegal_argument_exception: pipeline with id \[.*\] does not exist/.test(reason);
  if (status === 404 || isPipelineMissing || type === 'index_closed_exception') {
    return new DeliveryError('misconfigured', renderRefusal(sink, result), {
      ...common,
      hint: isPipelineMissing ? 'Check pipeline of this sink' : 'Check index of this sink',
    });
  }
  return undefined;
}

function renderRefusal(sink: string, { status, reason }: ItemResult): string {
  return `Sink ${sink} refused a record with status ${status}: ${reason}`;
}

function decodeResults(sink: string, records: readonly OutgoingRecord[], answer: HttpAnswer): readonly ItemResult[] {
  const items = decodeObject(parseJson(answer.body))?.['items'];
  if (!Array.isArray(items)) throw toProtocolError(sink, 'it has no items');
  if (items.length !== records.length) {
    throw toProtocolError(sink, `it has ${items.length} items for ${records.length} records`);
  }
  return records.map((record, index) => {
    const item = decodeObject(decodeObject(items[index])?.['create']);
    const status = item?.['status'];
    if (!item || typeof status !== 'number' || !Number.isInteger(status) || status < 200) {
      throw toProtocolError(sink, `item ${index} has no status for "create"`);
    }
    const isInFailureStore = item['failure_store'] === 'used';
    const id = item['_id'];
    // The failure store assigns its own ids. Compatible receivers may return none.
    if (id !== undefined && id !== record.fields.uid && !isInFailureStore) {
      throw toProtocolError(sink, `item ${index} has the id of another record`);
    }
    return { status, isInFailureStore, ...decodeError(item['error'], answer) };
  });
}

function decodeError(value: unknown, answer: HttpAnswer): { readonly type: string; readonly reason: string } {
  if (typeof value === 'string') return { type: '', reason: answer.quote(value) };
  const error = decodeObject(value);
  const cause = decodeObject(error?.['caused_by']);
  const parts = [error?.['type'], error?.['reason'], cause?.['reason']].filter((part) => typeof part === 'string');
  const type = error?.['type'];
  return { type: typeof type === 'string' ? type : '', reason: answer.quote(parts.join(': ')) };
}

function toProtocolError(sink: string, what: string): DeliveryError {
  return new DeliveryError('protocol_error', `Sink ${sink} sent an invalid response: ${what}`, {
    disposition: 'retry',
    hint: 'Check that the url of this sink is that of Elasticsearch or OpenSearch, and that no pipeline changes ids',
  });
}
