import type { Sink, SinkOptions } from '../../contracts.ts';
import { toAnswerError } from '../../http/answer.ts';
import { type HttpClientOptions, SinkHttpClient } from '../../http/sink-http-client.ts';
import type { SettingsOf } from '../define-sink.ts';
import { readBulkReport, renderBulk } from './bulk.ts';
import { checkElasticsearch } from './preflight.ts';
import type { elasticsearchSchema } from './schema.ts';

/** Settings and client of a sink of type `elasticsearch`. Default format: `ecs`. */
type ElasticsearchSinkOptions = HttpClientOptions &
  SinkOptions &
  Pick<SettingsOf<typeof elasticsearchSchema>, 'index' | 'pipeline'>;

/** Maximum size of a response. One that rejects all of 5,000 records has about 3 MiB; larger batches are halved. Bytes. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** The requested fields of the response. */
const FIELDS = ['_id', 'status', 'failure_store', 'error.type', 'error.reason', 'error.caused_by.reason'];

/**
 * Creates a sink that creates documents in Elasticsearch or OpenSearch through the bulk API. The uid of a record is the id
 * of its document, so the receiver detects a record sent again. Ids are unique within one backing index of a data stream,
 * so a record sent again after a rollover is stored twice.
 */
export function createElasticsearchSink(options: ElasticsearchSinkOptions): Sink {
  const { name, batch, timeoutMs, format = 'ecs', index, pipeline } = options;
  const client = new SinkHttpClient(options);
  const path = renderBulkPath(pipeline);

  const deliver: Sink['deliver'] = async (records, signal) => {
    const answer = await client.post(
      {
        path,
        contentType: 'application/x-ndjson',
        body: renderBulk(records, format, index),
        answerBytesMax: ANSWER_BYTES_MAX,
        // What was accepted then is there already. That of a single record has no excuse, and must not cost it.
        isAnswerByRecord: records.length > 1,
      },
      signal,
    );
    if (answer.status !== 200) throw toAnswerError(answer, `Sink ${name}`);
    return { bytes: answer.sentBytes, ...readBulkReport(name, records, answer) };
  };

  return {
    name,
    batch,
    timeoutMs,
    connection: client.connection,
    deliver,
    preflight: (_fleet, signal) => checkElasticsearch(client, deliver, options, signal),
    close: () => client.close(),
  };
}

function renderBulkPath(pipeline: string | undefined): string {
  const filter = FIELDS.map((field) => `items.*.${field}`).join(',');
  const query = [
    ...(pipeline === undefined ? [] : [`pipeline=${encodeURIComponent(pipeline)}`]),
    `filter_path=errors,${filter}`,
  ];
  return `/_bulk?${query.join('&')}`;
}
