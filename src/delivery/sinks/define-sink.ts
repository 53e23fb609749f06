import type { Writable } from 'node:stream';
import type { z } from 'zod';
import type { Secret } from '../../base/index.ts';
import { type ConnectionPlan, toClientAuth } from '../../net/index.ts';
import {
  type Filled,
  type Place,
  revealTls,
  type Settled,
  type SoundOf,
  section,
  type TlsSettings,
} from '../../settings/index.ts';
import type { SinkConnection } from '../connection.ts';
import type { Sink } from '../contracts.ts';
import { commonShape, tag } from './common-keys.ts';

/** The settings of a sink: the keys of its schema, defaults applied, with secrets and the content of files in place of their names. */
export type SettingsOf<Schema extends z.ZodObject> = Settled<Filled<z.output<Schema>>>;

/** The dependencies of a sink. */
export interface SinkSurroundings extends Pick<ConnectionPlan, 'clock' | 'onShortHello'> {
  /** Output of a sink of type `stdout`. */
  readonly stdout: Writable;
  /** Returns the number of routers. */
  readonly routers: () => number;
  /** Version of this program; absent = not sent to sinks. */
  readonly version?: string | undefined;
}

/** Settings that sinks over a network have, each of them if it has the key. */
interface ClientSettings {
  readonly timeout: number;
  readonly replay?: number;
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  readonly bearer_token?: Secret | undefined;
  readonly api_key?: Secret | undefined;
  readonly headers?: Readonly<Record<string, Secret>> | undefined;
  readonly tls?: TlsSettings | undefined;
}

/** Returns the options of a client with these settings. */
export function toClientOptions(settings: ClientSettings, { clock, onShortHello }: SinkSurroundings) {
  const { timeout: timeoutMs, replay: replayMs = 0, headers = {} } = settings;
  const auth = toClientAuth(settings);
  const connection = { tls: revealTls(settings.tls), clock, onShortHello } satisfies SinkConnection;
  return { timeoutMs, replayMs, headers, auth, ...connection };
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

/** A type of sink, as listed in list.ts. */
export interface SinkDefinition<Schema extends SinkSchema = SinkSchema> {
  /** Schema of the sink's section. */
  readonly schema: Schema;
  /** Rejects combinations of keys. */
  check?(place: Place, keys: SoundOf<Schema>): void;
  /** Returns the file that no other sink may use, as written in the configuration. */
  findFile?(keys: SoundOf<Schema>): string | undefined;
  /** Creates the sink, without contacting the receiver. */
  open(settings: SettingsOf<Schema>, surroundings: SinkSurroundings): Sink;
}

/** Builds the definition of a type of sink. */
export function defineSink<Schema extends SinkSchema>(definition: SinkDefinition<Schema>): SinkDefinition<Schema> {
  return definition;
}
