import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { type ConfigFile, NamedFileReader, type Place, renderPlace } from '../../settings/index.ts';
import type { Sink } from '../contracts.ts';
import type { SettingsOf, SinkDefinition, SinkSurroundings } from './define-sink.ts';
import { SINKS } from './list.ts';

export type SinkSettings = SettingsIn<(typeof SINKS)[keyof typeof SINKS]>;
export type SinkSettingsOf<Type extends SinkSettings['type']> = Extract<SinkSettings, { type: Type }>;

type SettingsIn<Definition> = Definition extends SinkDefinition<infer Schema> ? SettingsOf<Schema> : never;

/** Maximum number of sinks: each has a cursor over the spool and a connection. */
export const SINKS_MAX = 100;

const EXPECTED = `a list of at most ${SINKS_MAX} sinks`;
const DEFINITIONS: Readonly<Record<SinkSettings['type'], SinkDefinition>> = SINKS;
const [, ...others] = Object.values(DEFINITIONS).map(({ schema }) => schema);

/** The key `sinks`. */
export const sinksSchema = z
  .array(
    z
      .discriminatedUnion('type', [SINKS.stdout.schema, ...others], { error: 'a map of keys' })
      .meta({ description: 'One sink. The other keys depend on its type.' }),
    { error: EXPECTED },
  )
  .max(SINKS_MAX, { error: EXPECTED })
  .meta({ description: 'Destinations of log records. Without a sink, no logs are read.' });

type SoundSink = Readonly<Record<string, unknown>>;

/** Checks the sinks of a configuration, reads the files they refer to and returns their settings. Sinks with faults are omitted. */
export async function readSinks(file: ConfigFile, sinks: readonly SoundSink[]): Promise<SinkSettings[]> {
  const reader = new NamedFileReader();
  // An unknown type is already reported.
  const known = sinks.flatMap((keys, index) => {
    const type = keys['type'];
    const place = { file, path: ['sinks', index] };
    return isSinkType(type) ? [{ keys: { ...keys, type }, definition: DEFINITIONS[type], place }] : [];
  });
  refuseSharedFiles(known.map(({ keys, definition, place }) => ({ place, name: definition.findFile?.(keys) })));
  const read = await Promise.all(
    known.map(async ({ keys, definition, place }) => {
      definition.check?.(place, keys);
      return { place, settings: await reader.readSection(place, definition.schema, keys) };
    }),
  );
  // Without faults the keys are complete.
  const sound = read.filter(({ place }) => !place.file.faults.touches(place.path));
  return sound.map(({ settings }) => settings as SinkSettings);
}

/**
 * Returns where a sink starts, and the period of records that it sends again after its connection has ended: none over UDP.
 * Milliseconds.
 */
export function toSinkStart(settings: SinkSettings) {
  const { name, start, type } = settings;
  const isDatagrams = type === 'syslog' && settings.protocol === 'udp';
  return { name, start, replayMs: 'replay' in settings && !isDatagrams ? settings.replay : 0 };
}

/** Rejects a file that an earlier sink already writes; the fault is at the later sink. */
function refuseSharedFiles(named: readonly { readonly place: Place; readonly name: string | undefined }[]): void {
  const first = new Map<string, Place>();
  for (const { place, name } of named) {
    if (name === undefined) continue;
    const { file } = place;
    const path = toRealPath(resolve(file.folder, name));
    const at = { file, path: [...place.path, 'path'] };
    const earlier = first.get(path);
    if (!earlier) first.set(path, at);
    else {
      const message = `Another sink already writes this file ${renderPlace(earlier, file)}; each sink needs its own`;
      file.faults.add(at.path, message);
    }
  }
}

function toRealPath(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    // The sink creates the folder.
    return path;
  }
}

/** Creates a sink from its settings, without opening anything. */
export function createSink(settings: SinkSettings, surroundings: SinkSurroundings): Sink {
  const { name, type, batch } = settings;
  const timeoutMs = 'timeout' in settings ? settings.timeout : undefined;
  return Object.assign(DEFINITIONS[type].open(settings, surroundings), { name, batch, timeoutMs });
}

function isSinkType(type: unknown): type is SinkSettings['type'] {
  return typeof type === 'string' && Object.hasOwn(DEFINITIONS, type);
}
