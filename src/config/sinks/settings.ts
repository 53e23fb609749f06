import type { Secret } from '../../base/index.ts';
import type { SyslogFacility } from '../../model/index.ts';
import type { TlsSettings } from '../../settings/index.ts';

/** Where log records go: what each type needs, defaults applied. */
export type SinkSettings =
  | StdoutSinkSettings
  | FileSinkSettings
  | HttpSinkSettings
  | LokiSinkSettings
  | ElasticsearchSinkSettings
  | OtlpSinkSettings
  | SyslogSinkSettings
  | NatsSinkSettings;

/** How a record is written: as the agent knows it, in the Elastic Common Schema, or in the model of OpenTelemetry. */
export type SinkFormat = 'native' | 'ecs' | 'otel';

/** How many records a sink gets at once. */
export interface SinkBatchSettings {
  readonly recordsMax: number;
  readonly bytesMax: number;
  /** How long a record may wait for others; 0: not at all. */
  readonly waitMs: number;
}

/** Which records a sink gets. Globs; a leading `!` excludes, and at least one of each list includes. */
export interface SinkSelection {
  readonly routers: readonly string[];
  readonly components: readonly string[];
  /** A record without a severity counts as `none`. */
  readonly severities: readonly string[];
  /** A record that is a line and no event counts as `line`. */
  readonly events: readonly string[];
}

/** How the agent proves who it is. The values fit into a header. */
export type SinkAuthSettings =
  | { readonly kind: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly kind: 'bearer'; readonly token: Secret }
  | { readonly kind: 'api-key'; readonly key: Secret };

export interface CommonSinkSettings {
  /** Unique. */
  readonly name: string;
  readonly format: SinkFormat;
  /** Where a sink begins that is new: with the oldest record of the spool, or with those that come from then on. */
  readonly start: 'oldest' | 'newest';
  readonly batch: SinkBatchSettings;
  /** Limit of one delivery; `undefined`: none. */
  readonly timeoutMs: number | undefined;
  readonly select: SinkSelection;
}

interface NetworkSinkSettings extends CommonSinkSettings {
  readonly timeoutMs: number;
  /** All defaults where the address is not one of TLS. */
  readonly tls: TlsSettings;
}

interface WebSinkSettings extends NetworkSinkSettings {
  /** Http or https, without credentials, query and fragment; for all but `http` without a slash at the end. */
  readonly url: string;
  readonly auth: SinkAuthSettings | undefined;
  /** Headers to add to every request. No name stands in it twice, in whatever case. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** How far back records are sent again after a broken connection, an answer 5xx or a restart; 0: none are. */
  readonly replayMs: number;
}

export interface StdoutSinkSettings extends CommonSinkSettings {
  readonly type: 'stdout';
  readonly timeoutMs: undefined;
}

export interface FileSinkSettings extends CommonSinkSettings {
  readonly type: 'file';
  readonly timeoutMs: number;
  /** Absolute; no other sink has it. */
  readonly path: string;
  /** When the file is put aside and a new one begun. */
  readonly bytesMax: number;
  readonly ageMs: number;
  /** Files put aside that are kept. */
  readonly keep: number;
  /** Of files put aside. */
  readonly compress: 'gzip' | 'none';
  /** When the disk is waited for. */
  readonly fsync: 'batch' | 'rotate' | 'never';
}

export interface HttpSinkSettings extends WebSinkSettings {
  readonly type: 'http';
  /** The query of the URL in pieces to be joined as they are, percent-encoded and without the question mark. */
  readonly query: readonly (string | Secret)[];
  readonly compress: 'gzip' | 'none';
}

export interface LokiSinkSettings extends WebSinkSettings {
  readonly type: 'loki';
  readonly format: 'native';
  readonly tenant: string | undefined;
  /** Whether the router is a label of its own, or one of `shards` buckets stands for it. */
  readonly layout: 'auto' | 'router' | 'shard';
  /** Streams that the tenant may have. */
  readonly streamLimit: number;
  readonly shards: number;
  /** Older lines are refused there; 0: however old. */
  readonly maxAgeMs: number;
}

export interface ElasticsearchSinkSettings extends WebSinkSettings {
  readonly type: 'elasticsearch';
  /** Data stream, index or alias. */
  readonly index: string;
  readonly pipeline: string | undefined;
  readonly compress: 'gzip' | 'none';
}

export interface OtlpSinkSettings extends WebSinkSettings {
  readonly type: 'otlp';
  readonly format: 'otel';
  readonly compress: 'gzip' | 'none';
}

export interface SyslogSinkSettings extends NetworkSinkSettings {
  readonly type: 'syslog';
  readonly format: 'native';
  /** Host name or address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'tls' | 'udp';
  readonly facility: SyslogFacility;
  readonly appName: string;
  /** Longer messages are cut. */
  readonly messageBytesMax: number;
  /** How far back messages are sent again after a broken connection or a restart; 0: none are, as always over UDP. */
  readonly replayMs: number;
}

export interface NatsSinkSettings extends NetworkSinkSettings {
  readonly type: 'nats';
  /** `nats://host:port` or `tls://host:port`, all of one kind. */
  readonly servers: readonly string[];
  /** Begins every subject. */
  readonly subject: string;
  /** Stream that should take the records; `undefined`: whichever has the subject. */
  readonly stream: string | undefined;
  /** A bearer token is the token of NATS. */
  readonly auth: SinkAuthSettings | undefined;
  /** Content of a credentials file: JWT and seed of a user. Never together with `auth`. */
  readonly credentials: Secret | undefined;
}

/** What is refused for good, and kept. */
export interface DeadLetterSettings {
  /** Of all sinks together; the oldest go first. */
  readonly bytesMax: number;
  readonly keepMs: number;
}
