import { baseUrl } from '../../../net/index.ts';
import { batch, compress, format } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';
import { webShape } from '../web-keys.ts';

/** A sink of type `otlp`. */
export const otlpSchema = sinkSchema('otlp', 'An OpenTelemetry collector or another receiver of OTLP over HTTP.', {
  url: baseUrl({ description: 'URL of the collector. Default path: `/v1/logs`.' }, 'https://otel.example.net:4318'),
  ...webShape,
  compress: compress('gzip', 'bodies'),
  format: format(['otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});
