import { revealTls } from '../../../settings/index.ts';
import { defineSink } from '../define-sink.ts';
import { checkWeb, readWebSecrets } from '../web-keys.ts';
import { otlpSchema } from './schema.ts';
import { createOtlpSink } from './sink.ts';

export const otlp = defineSink({
  schema: otlpSchema,
  check: (place, keys) => checkWeb(place, keys, keys.url),
  readSecrets: readWebSecrets,
  toSettings: (own) => own,
  toKeys: (own) => own,
  open: (settings, { clock, version, onShortHello }) =>
    createOtlpSink({ ...settings, tls: revealTls(settings.tls), clock, version, onShortHello }),
});
