import { defineSink, toClientOptions } from '../define-sink.ts';
import { checkWeb } from '../web-keys.ts';
import { lokiSchema } from './schema.ts';
import { createLokiSink } from './sink.ts';

export const loki = defineSink({
  schema: lokiSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url, { 'x-scope-orgid': 'tenant' }),
  open({ stream_limit: streamLimit, max_age: maxAgeMs, ...settings }, around) {
    const { routers } = around;
    return createLokiSink({ ...settings, ...toClientOptions(settings, around), streamLimit, maxAgeMs, routers });
  },
});
