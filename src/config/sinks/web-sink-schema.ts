import { renderDuration } from '../../base/index.ts';
import { choice, durationOrNone, section, text, wholeNumber } from '../../settings/index.ts';
import {
  ELASTICSEARCH_INDEX_DEFAULT,
  LOKI_AGE_MS,
  LOKI_AGE_MS_MAX,
  LOKI_AGE_MS_MIN,
  LOKI_SHARDS_DEFAULT,
  LOKI_SHARDS_MAX,
  LOKI_STREAM_LIMIT_DEFAULT,
  LOKI_STREAM_LIMIT_MAX,
} from '../defaults.ts';
import { batch, commonShape, compress, format, tag, webShape } from './sink-keys.ts';
import { baseUrl, elasticsearchIndex, elasticsearchPipeline, lokiTenant, queryUrl, token } from './sink-values.ts';

/** A sink of type `http`. */
export const httpSchema = section('One record per line in the body of a POST, as `application/x-ndjson`.', {
  ...commonShape,
  type: tag('http'),
  url: queryUrl(
    {
      description:
        'Where records are posted, with the query that the receiver needs. The values of the query are treated as secrets, except those of keys that begin with `_`.',
    },
    'https://logs.example.net/ingest?source=routers',
  ),
  ...webShape,
  compress: compress('none', 'bodies'),
  format: format(['native', 'ecs', 'otel']).optional(),
  batch: batch('http'),
});

/** A sink of type `loki`. */
export const lokiSchema = section('Grafana Loki.', {
  ...commonShape,
  type: tag('loki'),
  url: baseUrl(
    { description: 'Address of Loki. Without a path `/loki/api/v1/push` is meant.' },
    'https://loki.example.net',
  ),
  tenant: lokiTenant({ description: 'Tenant, sent as `X-Scope-OrgID`.' }).optional(),
  layout: choice(
    {
      description:
        'Labels of the streams. `router`: one of them is the router. `shard`: routers share streams, and their names stand beside the line. `auto`: by the size of the fleet and `stream_limit`.',
      default: 'auto',
    },
    ['auto', 'router', 'shard'],
  ).optional(),
  stream_limit: wholeNumber(
    { description: 'Streams that the tenant may have.', default: LOKI_STREAM_LIMIT_DEFAULT },
    1,
    LOKI_STREAM_LIMIT_MAX,
  ).optional(),
  shards: wholeNumber(
    { description: 'Buckets over which routers are spread with `layout: shard`.', default: LOKI_SHARDS_DEFAULT },
    1,
    LOKI_SHARDS_MAX,
  ).optional(),
  max_age: durationOrNone(
    {
      description:
        'Age from which Loki refuses lines (`reject_old_samples_max_age`): they become dead letters without being sent. 0: it takes all.',
      default: renderDuration(LOKI_AGE_MS),
    },
    LOKI_AGE_MS_MIN,
    LOKI_AGE_MS_MAX,
  ).optional(),
  ...webShape,
  format: format(['native']).optional(),
  batch: batch('loki'),
});

/** A sink of type `elasticsearch`. */
export const elasticsearchSchema = section(
  'Elasticsearch or OpenSearch, by the bulk interface. The uid of a record is its `_id`.',
  {
    ...commonShape,
    type: tag('elasticsearch'),
    url: baseUrl({ description: 'Address of the cluster.' }, 'https://search.example.net:9200'),
    index: elasticsearchIndex({
      description: 'Data stream, index or alias that takes the records.',
      default: ELASTICSEARCH_INDEX_DEFAULT,
    }).optional(),
    pipeline: elasticsearchPipeline({ description: 'Ingest pipeline that they pass.' }).optional(),
    api_key: token({ description: 'API key in its encoded form, instead of an account.' }).optional(),
    api_key_file: text({
      description: 'File that holds the API key; one line end after it is ignored. Instead of `api_key`.',
      kind: 'path',
    }).optional(),
    ...webShape,
    compress: compress('gzip', 'bodies'),
    format: format(['ecs', 'native', 'otel']).optional(),
    batch: batch('elasticsearch'),
  },
);

/** A sink of type `otlp`. */
export const otlpSchema = section('A collector of OpenTelemetry, or what takes OTLP over HTTP.', {
  ...commonShape,
  type: tag('otlp'),
  url: baseUrl(
    { description: 'Address of the collector. Without a path `/v1/logs` is meant.' },
    'https://otel.example.net:4318',
  ),
  ...webShape,
  compress: compress('gzip', 'bodies'),
  format: format(['otel']).optional(),
  batch: batch('otlp'),
});
