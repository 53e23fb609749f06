import type { Writable } from 'node:stream';
import { z } from 'zod';
import type { Clock } from '../../base/index.ts';
import {
  type NamedFileReader,
  type Place,
  renderTls,
  type SoundOf,
  section,
  type TlsSettings,
} from '../../settings/index.ts';
import type { SinkAuth } from '../auth.ts';
import type { BatchBounds, Sink } from '../contracts.ts';
import type { RecordFormat } from '../formats/format.ts';
import { commonShape, tag } from './common-keys.ts';
import { apiKeyShape, renderAccount } from './network-keys.ts';
import { webShape } from './web-keys.ts';

/** Which records a sink gets. Globs; a leading `!` excludes, and at least one of each list includes. */
export interface SinkSelection {
  readonly routers: readonly string[];
  readonly components: readonly string[];
  /** A record without a severity counts as `none`. */
  readonly severities: readonly string[];
  /** A record that is a line and no event counts as `line`. */
  readonly events: readonly string[];
}

/** What every sink is told, defaults applied. */
export interface CommonSinkSettings {
  /** Unique. */
  readonly name: string;
  /** Type of the sink, such as `loki`. */
  readonly type: string;
  /** Format of the records. */
  readonly format: RecordFormat;
  /** Where a sink begins that is new: with the oldest record of the spool, or with those that come from then on. */
  readonly start: 'oldest' | 'newest';
  /** Limits of one batch. */
  readonly batch: BatchBounds;
  /** Limit of one delivery; `undefined`: none. */
  readonly timeoutMs: number | undefined;
  /** Selects the records that the sink gets. */
  readonly select: SinkSelection;
}

/** What is there for every sink when it is opened. */
export interface SinkSurroundings {
  readonly clock: Clock;
  /** Where a sink of type `stdout` writes. */
  readonly stdout: Writable;
  /** Size of the fleet. */
  readonly routers: () => number;
  /** Of this program; absent: not told to sinks. */
  readonly version?: string | undefined;
}

/** The schema of a sink: its own keys behind those that all have. */
export function sinkSchema<const Type extends string, Shape extends z.core.$ZodLooseShape>(
  type: Type,
  description: string,
  shape: Shape,
) {
  return section(description, { ...commonShape, type: tag(type), ...shape });
}

/** The schema of a sink, whichever it is. */
export type SinkSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

/** Keys that mean the same wherever they stand. The others are a sink's own. */
const SHARED_SHAPE = { ...commonShape, ...webShape, ...apiKeyShape };
const SHARED_KEYS: ReadonlySet<string> = new Set([...Object.keys(SHARED_SHAPE), 'type', 'format', 'batch']);
type SharedKey = keyof typeof SHARED_SHAPE | 'type' | 'format' | 'batch';
/** The settings that they become. */
type SharedSettings = CommonSinkSettings & {
  readonly replayMs?: number;
  readonly auth?: SinkAuth | undefined;
  readonly headers?: object;
  readonly tls?: TlsSettings;
};

/** The keys that a sink alone has, defaults applied. */
export type OwnKeys<Schema> = Omit<z.output<Schema>, SharedKey>;

/** All that a sink is told: what its keys say, and what stands in files. */
export type SettingsOf<Schema, Own, Secrets> = CommonSinkSettings &
  Pick<z.output<Schema>, keyof z.output<Schema> & ('type' | 'format')> & {
    readonly timeoutMs: z.output<Schema> extends { timeout: infer Time } ? Time : undefined;
  } & (z.output<Schema> extends { replay: infer Time } ? { readonly replayMs: Time } : unknown) &
  Own &
  Secrets;

interface SinkParts<Schema extends SinkSchema, Own, Secrets> {
  readonly schema: Schema;
  /** Refuses keys that do not go together. */
  readonly check?: (place: Place, keys: SoundOf<Schema>) => void;
  /** Reads every file that the keys name. What is wrong with one is a fault at its key. */
  readonly readSecrets?: (place: Place, keys: SoundOf<Schema>, reader: NamedFileReader) => Promise<Secrets>;
  /** The file that no other sink may have, as it is written. */
  readonly findFile?: (keys: SoundOf<Schema>) => string | undefined;
  /** What the sink's own keys are inside of the program. Relative paths start at `folder`. */
  readonly toSettings: (own: OwnKeys<Schema>, around: { keys: z.output<Schema>; folder: string }) => Own;
  /** The way back. */
  readonly toKeys: (own: Own & Omit<Secrets, keyof SharedSettings>) => OwnKeys<Schema>;
  /** Nothing of the other side is touched yet. */
  readonly open: (settings: SettingsOf<Schema, Own, Secrets>, surroundings: SinkSurroundings) => Sink;
}

/** A type of sink, as the list of sinks has it. */
export interface SinkDefinition<Settings extends CommonSinkSettings = CommonSinkSettings> {
  readonly schema: SinkSchema;
  /** The file that no other sink may have, as it is written. */
  findFile?(keys: object): string | undefined;
  /** Checks what is sound of a sink, reads its files and gives its settings; `undefined` when it has a fault. */
  read(place: Place, keys: object, reader: NamedFileReader): Promise<Settings | undefined>;
  /** Gives the settings of keys that name no file. */
  toSettings(keys: object, folder: string): Settings;
  /** The keys that say the same, with `[secret]` for what is secret. */
  render(settings: Settings): object;
  open(settings: Settings, surroundings: SinkSurroundings): Sink;
}

/** Puts a type of sink together for the list. */
export function defineSink<Schema extends SinkSchema, Own extends object, Secrets extends object = object>(
  parts: SinkParts<Schema, Own, Secrets>,
): SinkDefinition<SettingsOf<Schema, Own, Secrets>> {
  const { schema, check, readSecrets, findFile, toKeys, open } = parts;
  const toSettings = (keys: z.output<Schema>, folder: string, secrets?: Secrets) => {
    const own = Object.keys(schema.shape).filter((key) => !SHARED_KEYS.has(key));
    // All of them are there, also without a value.
    const written = Object.fromEntries(own.map((key) => [key, Reflect.get(keys, key)])) as OwnKeys<Schema>;
    return {
      ...toSharedSettings(keys as SharedKeys),
      ...secrets,
      ...parts.toSettings(written, { keys, folder }),
    } as SettingsOf<Schema, Own, Secrets>;
  };
  return {
    schema,
    toSettings,
    ...(findFile && { findFile }),
    async read(place, keys: SoundOf<Schema>, reader) {
      check?.(place, keys);
      const secrets = await readSecrets?.(place, keys, reader);
      const { faults, folder } = place.file;
      // Without a fault nothing is missing.
      return faults.touches(place.path) ? undefined : toSettings(keys as z.output<Schema>, folder, secrets);
    },
    render(settings) {
      const own = Object.entries(settings).filter(([key]) => !SHARED_SETTINGS.has(key));
      const keys = Object.entries({
        ...toKeys(Object.fromEntries(own) as Own & Secrets),
        ...toSharedKeys(settings),
      }).filter(([, value]) => value !== undefined);
      const { name, type } = settings;
      return Object.assign({ name, type }, z.encode(schema, Object.fromEntries(keys) as z.output<Schema>));
    },
    open,
  };
}

type SharedKeys = z.output<z.ZodObject<typeof commonShape>> &
  Pick<CommonSinkSettings, 'type' | 'format' | 'batch'> & { readonly timeout?: number; readonly replay?: number };

function toSharedSettings(keys: SharedKeys): SharedSettings {
  const { name, type, format, start, batch, timeout: timeoutMs, replay: replayMs } = keys;
  const { routers, components, severities, events } = keys;
  const select = { routers, components, severities, events };
  return { name, type, format, start, batch, timeoutMs, select, ...(replayMs !== undefined && { replayMs }) };
}

const SHARED_SETTINGS: ReadonlySet<string> = new Set<keyof SharedSettings>([
  ...(['name', 'type', 'format', 'start', 'batch', 'timeoutMs', 'select'] as const),
  ...(['replayMs', 'auth', 'headers', 'tls'] as const),
]);

function toSharedKeys({ select, timeoutMs: timeout, replayMs: replay, auth, tls, ...rest }: SharedSettings) {
  const { name, type, format, start, batch, headers } = rest;
  const account = renderAccount(auth);
  return {
    name,
    type,
    format,
    start,
    ...select,
    batch,
    timeout,
    replay,
    headers,
    ...account,
    tls: tls && renderTls(tls),
  };
}
