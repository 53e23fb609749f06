import { apiKeyShape, baseUrl } from '../../../net/index.ts';
import { type About, checked } from '../../../settings/index.ts';
import { batch, compress, format } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';
import { webShape } from '../web-keys.ts';

/** Elasticsearch's limit for the name of an index. Bytes. */
const INDEX_BYTES_MAX = 255;

/** A sink of type `elasticsearch`. */
export const elasticsearchSchema = sinkSchema(
  'elasticsearch',
  'Elasticsearch or OpenSearch, through the bulk API. The uid of a record is its `_id`.',
  {
    url: baseUrl({ description: 'URL of the cluster.' }, 'https://search.example.net:9200'),
    // A data stream named type-dataset-namespace, for which Elasticsearch has a template.
    index: index({ description: 'Data stream, index or alias to write to.' }).prefault('logs-router-default'),
    pipeline: pipeline({ description: 'Ingest pipeline for the records.' }).optional(),
    ...apiKeyShape,
    ...webShape,
    compress: compress('gzip', 'bodies'),
    format: format(['ecs', 'native', 'otel']),
    batch: batch({ recordsMax: 5000, bytesMax: 4 * 1024 ** 2, waitMs: 1000 }),
  },
);

/** A key for the name of an index, by the rules of Elasticsearch (REST API, "create index"). */
function index(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of a data stream, index or alias, without capitals, blanks and any of \\ / * ? " < > | , # :, and not starting with - _ or +',
    INDEX_BYTES_MAX,
    (value) =>
      /^(?![-_+]|\.{1,2}$)[^\s\p{Cc}\p{Lu}\\/*?"<>|,#:]+$/u.test(value) && Buffer.byteLength(value) <= INDEX_BYTES_MAX,
  );
}

function pipeline(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of an ingest pipeline, without blanks, commas, "*" and slashes',
    INDEX_BYTES_MAX,
    (value) => /^[^\s\p{Cc},*/\\]+$/u.test(value),
  );
}
