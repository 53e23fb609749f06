import { renderDuration } from '../../base/index.ts';
import { renderByteSize } from '../../settings/index.ts';
import type { SinkAuthSettings, SinkSettings } from '../sinks/settings.ts';
import { toTlsKeys } from './tls-keys-of.ts';

/** A sink by the keys of the configuration file. */
export function toSinkKeys(sink: SinkSettings): object {
  const { name, type, start, format, batch, select, timeoutMs } = sink;
  return {
    name,
    type,
    ...toOwnKeys(sink),
    format,
    start,
    ...select,
    batch: { records: batch.recordsMax, bytes: renderByteSize(batch.bytesMax), wait: renderDuration(batch.waitMs) },
    timeout: timeoutMs === undefined ? undefined : renderDuration(timeoutMs),
    tls: 'tls' in sink ? toTlsKeys(sink.tls) : undefined,
  };
}

function toOwnKeys(sink: SinkSettings): object {
  switch (sink.type) {
    case 'stdout':
      return {};
    case 'file': {
      const { path, bytesMax, ageMs, keep, compress, fsync } = sink;
      return { path, max_size: renderByteSize(bytesMax), max_age: renderDuration(ageMs), keep, compress, fsync };
    }
    case 'syslog': {
      const { host, port, protocol, facility, appName, messageBytesMax, replayMs } = sink;
      return {
        address: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
        protocol,
        facility,
        app_name: appName,
        message_max: renderByteSize(messageBytesMax),
        replay: renderDuration(replayMs),
      };
    }
    case 'nats': {
      const { servers, subject, stream, credentials, auth } = sink;
      return { servers, subject, stream, credentials_file: credentials, ...toAuthKeys(auth) };
    }
    case 'loki': {
      const { tenant, layout, streamLimit, shards, maxAgeMs } = sink;
      return {
        ...toWebKeys(sink),
        tenant,
        layout,
        stream_limit: streamLimit,
        shards,
        max_age: renderDuration(maxAgeMs),
      };
    }
    case 'elasticsearch': {
      const { index, pipeline, compress } = sink;
      return { ...toWebKeys(sink), index, pipeline, compress };
    }
    case 'http': {
      const { url, query, compress } = sink;
      // As text, a secret says that it is one.
      return { ...toWebKeys(sink), url: query.length === 0 ? url : `${url}?${query.join('')}`, compress };
    }
    case 'otlp':
      return { ...toWebKeys(sink), compress: sink.compress };
  }
}

function toWebKeys({ url, auth, headers, replayMs }: Extract<SinkSettings, { headers: object }>): object {
  return { url, ...toAuthKeys(auth), headers, replay: renderDuration(replayMs) };
}

function toAuthKeys(auth: SinkAuthSettings | undefined): object {
  switch (auth?.kind) {
    case undefined:
      return {};
    case 'basic':
      return { username: auth.username, password: auth.password };
    case 'bearer':
      return { bearer_token: auth.token };
    case 'api-key':
      return { api_key: auth.key };
  }
}
