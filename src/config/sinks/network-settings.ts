import {
  ELASTICSEARCH_INDEX_DEFAULT,
  LOKI_AGE_MS,
  LOKI_SHARDS_DEFAULT,
  LOKI_STREAM_LIMIT_DEFAULT,
  NATS_SUBJECT_DEFAULT,
  SINK_TIMEOUT_MS,
  SYSLOG_APP_NAME_DEFAULT,
  SYSLOG_MESSAGE_BYTES_DEFAULT,
  SYSLOG_REPLAY_MS,
} from '../defaults.ts';
import type { WrittenNetworkSink } from './check-sink.ts';
import type { CommonSinkSettings, SinkSettings } from './settings.ts';
import type { SinkSecrets } from './sink-files.ts';

/** Applies the defaults of a sink over a network. `undefined` when something that is required is missing. */
export function toNetworkSettings(
  sink: WrittenNetworkSink,
  settings: Omit<CommonSinkSettings, 'format' | 'timeoutMs'>,
  { tls, auth, headers, credentials }: SinkSecrets,
): SinkSettings | undefined {
  const common = { ...settings, timeoutMs: sink.timeout ?? SINK_TIMEOUT_MS, tls };
  if (sink.type === 'syslog') {
    const { type, address, protocol = 'tcp', facility = 'local0', app_name: appName = SYSLOG_APP_NAME_DEFAULT } = sink;
    const { message_max: messageBytesMax = SYSLOG_MESSAGE_BYTES_DEFAULT, replay = SYSLOG_REPLAY_MS } = sink;
    const replayMs = protocol === 'udp' ? 0 : replay;
    const own = { protocol, facility, appName, messageBytesMax, replayMs };
    return address && { ...common, type, format: 'native', ...address, ...own };
  }
  if (sink.type === 'nats') {
    const { type, servers, subject = NATS_SUBJECT_DEFAULT, stream, format = 'native' } = sink;
    return servers && { ...common, type, format, servers, subject, stream, auth, credentials };
  }
  const { replay: replayMs = 0 } = sink;
  if (sink.type === 'http') {
    const { type, url: address, format = 'native', compress = 'none' } = sink;
    return address && { ...common, type, format, ...address, auth, headers, compress, replayMs };
  }
  const { url } = sink;
  if (url === undefined) return undefined;
  const web = { ...common, url, auth, headers, replayMs };
  switch (sink.type) {
    case 'loki': {
      const { tenant, layout = 'auto', stream_limit: streamLimit = LOKI_STREAM_LIMIT_DEFAULT } = sink;
      const { shards = LOKI_SHARDS_DEFAULT, max_age: maxAgeMs = LOKI_AGE_MS } = sink;
      return { ...web, type: 'loki', format: 'native', tenant, layout, streamLimit, shards, maxAgeMs };
    }
    case 'elasticsearch': {
      const { index = ELASTICSEARCH_INDEX_DEFAULT, pipeline, compress = 'gzip', format = 'ecs' } = sink;
      return { ...web, type: 'elasticsearch', format, index, pipeline, compress };
    }
    case 'otlp':
      return { ...web, type: 'otlp', format: 'otel', compress: sink.compress ?? 'gzip' };
  }
}
