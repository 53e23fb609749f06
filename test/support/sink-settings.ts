import { z } from 'zod';
import { type SinkSettingsOf, sinksSchema } from '../../src/sinks/index.ts';

const common = {
  format: 'native',
  start: 'oldest',
  batch: { recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 0 },
  timeout: 30_000,
  routers: ['*'],
  components: ['*'],
  severities: ['*'],
  events: ['line', 'log.*'],
} as const;

/** A sink of type `stdout` with all defaults. */
export function createStdoutSettings(name: string): SinkSettingsOf<'stdout'> {
  const [settings] = z.parse(sinksSchema, [{ type: 'stdout', name }]);
  return settings as SinkSettingsOf<'stdout'>;
}

/** What a test changes of a sink of type `http`. */
type HttpChange = Partial<Omit<SinkSettingsOf<'http'>, 'url'>> & Partial<SinkSettingsOf<'http'>['url']>;

/** A sink of type `http` that sends at once. */
export function createHttpSettings(
  name: string,
  address: string,
  { url = address, query = [], ...change }: HttpChange = {},
): SinkSettingsOf<'http'> {
  return {
    ...common,
    name,
    type: 'http',
    url: { url, query },
    compress: 'none',
    replay: 0,
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
    layout: 'auto',
    stream_limit: 5000,
    shards: 32,
    max_age: 0,
    replay: 0,
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
    max_size: 100 * 1024 ** 2,
    max_age: 86_400_000,
    keep: 1000,
    compress: 'gzip',
    fsync: 'never',
    ...change,
  };
}
