import { defineSink, toConnection } from '../define-sink.ts';
import { checkWeb, readWebSecrets } from '../web-keys.ts';
import { elasticsearchSchema } from './schema.ts';
import { createElasticsearchSink } from './sink.ts';

export const elasticsearch = defineSink({
  schema: elasticsearchSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url),
  readSecrets: readWebSecrets,
  toSettings: (own) => own,
  toKeys: (own) => own,
  open: (settings, around) => createElasticsearchSink({ ...settings, ...toConnection(settings, around) }),
});
