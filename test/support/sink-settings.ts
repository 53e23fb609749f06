import type { SinkSettingsOf } from '../../src/delivery/index.ts';
import { PLAIN_TLS } from './router-settings.ts';

const common = {
  format: 'native',
  start: 'oldest',
  batch: { recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 0 },
  timeoutMs: 30_000,
  select: { routers: ['*'], components: ['*'], severities: ['*'], events: ['*'] },
} as const;

/** A sink of type `http` that sends at once. */
export function createHttpSettings(
  name: string,
  url: string,
  change: Partial<SinkSettingsOf<'http'>> = {},
): SinkSettingsOf<'http'> {
  return {
    ...common,
    name,
    type: 'http',
    url,
    query: [],
    auth: undefined,
    headers: {},
    tls: PLAIN_TLS,
    compress: 'none',
    replayMs: 0,
    ...change,
  };
}

/** A sink of type `loki` that sends at once. */
export function createLokiSettings(
  name: string,
  url: string,
  change: Partial<SinkSettingsOf<'loki'>> = {},
): SinkSettingsOf<'loki'> {
  return {
    ...common,
    name,
    type: 'loki',
    url,
    tenant: undefined,
    layout: 'auto',
    streamLimit: 5000,
    shards: 32,
    maxAgeMs: 0,
    auth: undefined,
    headers: {},
    tls: PLAIN_TLS,
    replayMs: 0,
    ...change,
  };
}

/** A sink of type `file` that does not wait for the disk. */
export function createFileSettings(
  name: string,
  path: string,
  change: Partial<SinkSettingsOf<'file'>> = {},
): SinkSettingsOf<'file'> {
  return {
    ...common,
    name,
    type: 'file',
    path,
    bytesMax: 100 * 1024 ** 2,
    ageMs: 86_400_000,
    keep: 1000,
    compress: 'gzip',
    fsync: 'never',
    ...change,
  };
}
