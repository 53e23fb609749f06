import { defineSink, toClientOptions } from '../define-sink.ts';
import { checkWeb } from '../web-keys.ts';
import { httpSchema } from './schema.ts';
import { createHttpSink } from './sink.ts';

export const http = defineSink({
  schema: httpSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url?.url),
  open: (settings, around) => createHttpSink({ ...settings, ...toClientOptions(settings, around), ...settings.url }),
});
