import { resolve } from 'node:path';
import { type ConfigFile, NamedFileReader, type Place, renderPlace } from '../../settings/index.ts';
import { FILE_AGE_MS, FILE_BYTES_MAX_DEFAULT, FILE_KEEP_DEFAULT, SINK_BATCHES, SINK_TIMEOUT_MS } from '../defaults.ts';
import { checkSink } from './check-sink.ts';
import { toNetworkSettings } from './network-settings.ts';
import type { CommonSinkSettings, SinkSettings, StdoutSinkSettings } from './settings.ts';
import { readSinkSecrets } from './sink-files.ts';
import type { WrittenSink, WrittenSinkOf } from './sink-schema.ts';

type TypedSink = Exclude<WrittenSink, { type?: undefined }>;
type Common = Omit<CommonSinkSettings, 'format' | 'timeoutMs'>;

/**
 * Checks the sinks of a file, reads the files that they name, and applies the defaults. What lacks something that is
 * required is left out.
 */
export async function resolveSinks(file: ConfigFile, written: readonly WrittenSink[]): Promise<SinkSettings[]> {
  const reader = new NamedFileReader();
  checkPaths(file, written);
  const resolved = written.map((sink, index) => resolveSink(sink, { file, path: ['sinks', index] }, reader));
  return (await Promise.all(resolved)).filter((sink) => sink !== undefined);
}

/** Settings of a sink of type `stdout` that says no more than its name. */
export function createStdoutSettings(name: string): StdoutSinkSettings {
  const sink = { type: 'stdout', name } as const;
  return toStdoutSettings(sink, toCommon(sink, name));
}

async function resolveSink(
  sink: WrittenSink,
  place: Place,
  reader: NamedFileReader,
): Promise<SinkSettings | undefined> {
  checkSink(sink, place);
  if (sink.type === undefined) return undefined;
  const { name } = sink;
  const common = name === undefined ? undefined : toCommon(sink, name);
  if (sink.type === 'stdout') return common && toStdoutSettings(sink, common);
  if (sink.type === 'file') return common && toFileSettings(sink, common, place.file);
  const secrets = await readSinkSecrets(sink, place, reader);
  return common && toNetworkSettings(sink, common, secrets);
}

function toCommon(sink: TypedSink, name: string): Common {
  const batch = SINK_BATCHES[sink.type];
  const { start = 'oldest', batch: own = {} } = sink;
  const { routers = ['*'], components = ['*'], severities = ['*'], events = ['*'] } = sink;
  return {
    name,
    start,
    batch: {
      recordsMax: own.records ?? batch.recordsMax,
      bytesMax: own.bytes ?? batch.bytesMax,
      waitMs: own.wait ?? batch.waitMs,
    },
    select: { routers, components, severities, events },
  };
}

function toStdoutSettings(sink: WrittenSinkOf<'stdout'>, common: Common): StdoutSinkSettings {
  return { ...common, type: 'stdout', format: sink.format ?? 'native', timeoutMs: undefined };
}

function toFileSettings(sink: WrittenSinkOf<'file'>, common: Common, file: ConfigFile): SinkSettings | undefined {
  if (sink.path === undefined) return undefined;
  return {
    ...common,
    type: 'file',
    format: sink.format ?? 'native',
    timeoutMs: sink.timeout ?? SINK_TIMEOUT_MS,
    path: resolve(file.folder, sink.path),
    bytesMax: sink.max_size ?? FILE_BYTES_MAX_DEFAULT,
    ageMs: sink.max_age ?? FILE_AGE_MS,
    keep: sink.keep ?? FILE_KEEP_DEFAULT,
    compress: sink.compress ?? 'gzip',
    fsync: sink.fsync ?? 'batch',
  };
}

/** Refuses a file that an earlier sink writes already, at the later one. */
function checkPaths(file: ConfigFile, written: readonly WrittenSink[]): void {
  const first = new Map<string, Place>();
  for (const [index, sink] of written.entries()) {
    if (sink.type !== 'file' || sink.path === undefined) continue;
    const path = resolve(file.folder, sink.path);
    const place = { file, path: ['sinks', index, 'path'] };
    const earlier = first.get(path);
    if (!earlier) first.set(path, place);
    else {
      const message = `Another sink writes this file ${renderPlace(earlier, file)}; each needs a file of its own`;
      file.faults.add(place.path, message);
    }
  }
}
