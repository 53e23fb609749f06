import type { Writable } from 'node:stream';
import { z } from 'zod';
import { apiKeyShape, type ClientAuth, type ConnectionPlan, renderAccount } from '../../net/index.ts';
import {
  type NamedFileReader,
  type Place,
  renderTls,
  revealTls,
  type SoundOf,
  section,
  type TlsSettings,
} from '../../settings/index.ts';
import type { SinkConnection } from '../connection.ts';
import type { BatchBounds, Sink } from '../contracts.ts';
import type { RecordFormat } from '../formats/format.ts';
import { commonShape, tag } from './common-keys.ts';
import { webShape } from './web-keys.ts';

/** Selects the records of a sink by globs; a leading `!` excludes, and each list has at least one that includes. */
export interface SinkSelection {
  /** Globs of router names. */
  readonly routers: readonly string[];
  /** Globs of log names. */
  readonly components: readonly string[];
  /** Globs of severities. Records without one count as `none`. */
  readonly severities: readonly string[];
  /** Globs of events. Plain log lines count as `line`. */
  readonly events: readonly string[];
}

/** The settings that every sink has, defaults applied. */
export interface CommonSinkSettings {
  /** Unique name. */
  readonly name: string;
  /** Type of the sink, such as `loki`. */
  readonly type: string;
  /** Record format; the default depends on the type. */
  readonly format: RecordFormat;
  /** First record of a new sink: the oldest in the spool, or the next one stored. Default `oldest`. */
  readonly start: 'oldest' | 'newest';
  /** Batch bounds; the defaults depend on the type. */
  readonly batch: BatchBounds;
  /** Time limit of one delivery in milliseconds; `undefined` = none. */
  readonly timeoutMs: number | undefined;
  /** The records that the sink gets. */
  readonly select: SinkSelection;
}

/** The dependencies of a sink. */
export interface SinkSurroundings extends Pick<ConnectionPlan, 'clock' | 'onShortHello'> {
  /** Output of a sink of type `stdout`. */
  readonly stdout: Writable;
  /** Returns the number of routers. */
  readonly routers: () => number;
  /** Version of this program; absent = not sent to sinks. */
  readonly version?: string | undefined;
}

/** Returns how a sink with these settings opens its connections. */
export function toConnection({ tls }: { readonly tls: TlsSettings }, { clock, onShortHello }: SinkSurroundings) {
  return { tls: revealTls(tls), clock, onShortHello } satisfies SinkConnection;
}

/** Builds the schema of a sink: the common keys, then its own. */
export function sinkSchema<const Type extends string, Shape extends z.core.$ZodLooseShape>(
  type: Type,
  description: string,
  shape: Shape,
) {
  return section(description, { ...commonShape, type: tag(type), ...shape });
}

/** The schema of any sink. */
export type SinkSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

/** Keys with the same meaning in all sinks. The others are a sink's own. */
const SHARED_SHAPE = { ...commonShape, ...webShape, ...apiKeyShape };
const SHARED_KEYS: ReadonlySet<string> = new Set([...Object.keys(SHARED_SHAPE), 'type', 'format', 'batch']);
type SharedKey = keyof typeof SHARED_SHAPE | 'type' | 'format' | 'batch';
/** The settings that they become. */
type SharedSettings = CommonSinkSettings & {
  readonly replayMs?: number;
  readonly auth?: ClientAuth | undefined;
  readonly headers?: object;
  readonly tls?: TlsSettings;
};

/** The keys of one type of sink only, defaults applied. */
export type OwnKeys<Schema> = Omit<z.output<Schema>, SharedKey>;

/** All settings of a sink, from its keys and from files. */
export type SettingsOf<Schema, Own, Secrets> = CommonSinkSettings &
  Pick<z.output<Schema>, keyof z.output<Schema> & ('type' | 'format')> & {
    readonly timeoutMs: z.output<Schema> extends { timeout: infer Time } ? Time : undefined;
  } & (z.output<Schema> extends { replay: infer Time } ? { readonly replayMs: Time } : unknown) &
  Own &
  Secrets;

interface SinkParts<Schema extends SinkSchema, Own, Secrets> {
  /** Schema of the sink's section. */
  readonly schema: Schema;
  /** Rejects combinations of keys. */
  readonly check?: (place: Place, keys: SoundOf<Schema>) => void;
  /** Reads every file that the keys refer to. Errors are faults at the key. */
  readonly readSecrets?: (place: Place, keys: SoundOf<Schema>, reader: NamedFileReader) => Promise<Secrets>;
  /** Returns the file that no other sink may use, as written in the configuration. */
  readonly findFile?: (keys: SoundOf<Schema>) => string | undefined;
  /** Converts the sink's own keys to settings. Relative paths start at `folder`. */
  readonly toSettings: (own: OwnKeys<Schema>, around: { keys: z.output<Schema>; folder: string }) => Own;
  /** Inverse of `toSettings`. */
  readonly toKeys: (own: Own & Omit<Secrets, keyof SharedSettings>) => OwnKeys<Schema>;
  /** Creates the sink, without contacting the receiver. */
  readonly open: (settings: SettingsOf<Schema, Own, Secrets>, surroundings: SinkSurroundings) => Sink;
}

/** A type of sink, as listed in list.ts. */
export interface SinkDefinition<Settings extends CommonSinkSettings = CommonSinkSettings> {
  /** Schema of the sink's section. */
  readonly schema: SinkSchema;
  /** Returns the file that no other sink may use, as written in the configuration. */
  findFile?(keys: object): string | undefined;
  /** Checks the valid keys of a sink, reads its files and returns its settings; `undefined` when it has a fault. */
  read(place: Place, keys: object, reader: NamedFileReader): Promise<Settings | undefined>;
  /** Returns the settings for keys that refer to no file. */
  toSettings(keys: object, folder: string): Settings;
  /** Renders settings as keys, with secrets as `[secret]`. */
  render(settings: Settings): object;
  /** Creates the sink, without contacting the receiver. */
  open(settings: Settings, surroundings: SinkSurroundings): Sink;
}

/** Builds the definition of a type of sink from its parts. */
export function defineSink<Schema extends SinkSchema, Own extends object, Secrets extends object = object>(
  parts: SinkParts<Schema, Own, Secrets>,
): SinkDefinition<SettingsOf<Schema, Own, Secrets>> {
  const { schema, check, readSecrets, findFile, toKeys, open } = parts;
  const toSettings = (keys: z.output<Schema>, folder: string, secrets?: Secrets) => {
    const own = Object.keys(schema.shape).filter((key) => !SHARED_KEYS.has(key));
    // Include all own keys, even those without a value.
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
      // Without faults the keys are complete.
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
