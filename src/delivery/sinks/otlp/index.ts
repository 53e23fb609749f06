import { defineSink, toClientOptions } from '../define-sink.ts';
import { checkWeb } from '../web-keys.ts';
import { otlpSchema } from './schema.ts';
import { createOtlpSink } from './sink.ts';

export const otlp = defineSink({
  schema: otlpSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url),
  open: (settings, around) =>
    createOtlpSink({ ...settings, ...toClientOptions(settings, around), version: around.version }),
});
