import { defineSink, toConnection } from '../define-sink.ts';
import { checkWeb, readWebSecrets } from '../web-keys.ts';
import { otlpSchema } from './schema.ts';
import { createOtlpSink } from './sink.ts';

export const otlp = defineSink({
  schema: otlpSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url),
  readSecrets: readWebSecrets,
  toSettings: (own) => own,
  toKeys: (own) => own,
  open: (settings, around) =>
    createOtlpSink({ ...settings, ...toConnection(settings, around), version: around.version }),
});
