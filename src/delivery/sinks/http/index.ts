import { defineSink, toConnection } from '../define-sink.ts';
import { checkWeb, readWebSecrets } from '../web-keys.ts';
import { httpSchema, toHttpKeys, toHttpSettings } from './schema.ts';
import { createHttpSink } from './sink.ts';

export const http = defineSink({
  schema: httpSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url?.url),
  readSecrets: readWebSecrets,
  toSettings: toHttpSettings,
  toKeys: toHttpKeys,
  open: (settings, around) => createHttpSink({ ...settings, ...toConnection(settings, around) }),
});
