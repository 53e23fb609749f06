import { revealTls } from '../../../settings/index.ts';
import { defineSink } from '../define-sink.ts';
import { checkWeb, readWebSecrets } from '../web-keys.ts';
import { elasticsearchSchema } from './schema.ts';
import { createElasticsearchSink } from './sink.ts';

export const elasticsearch = defineSink({
  schema: elasticsearchSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url),
  readSecrets: readWebSecrets,
  toSettings: (own) => own,
  toKeys: (own) => own,
  open: (settings, { clock, onShortHello }) =>
    createElasticsearchSink({ ...settings, tls: revealTls(settings.tls), clock, onShortHello }),
});
