import { defineSink, toClientOptions } from '../define-sink.ts';
import { checkWeb } from '../web-keys.ts';
import { elasticsearchSchema } from './schema.ts';
import { createElasticsearchSink } from './sink.ts';

export const elasticsearch = defineSink({
  schema: elasticsearchSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url),
  open: (settings, around) => createElasticsearchSink({ ...settings, ...toClientOptions(settings, around) }),
});
