import { defineSink, toConnection } from '../define-sink.ts';
import { checkWeb, readWebSecrets } from '../web-keys.ts';
import { lokiSchema, toLokiKeys, toLokiSettings } from './schema.ts';
import { createLokiSink } from './sink.ts';

export const loki = defineSink({
  schema: lokiSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url, { 'x-scope-orgid': 'tenant' }),
  readSecrets: readWebSecrets,
  toSettings: toLokiSettings,
  toKeys: toLokiKeys,
  open: (settings, around) =>
    createLokiSink({ ...settings, ...toConnection(settings, around), routers: around.routers }),
});
