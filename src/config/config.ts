import type { z } from 'zod';
import type { BackupSettings } from '../backup/index.ts';
import type { Secret } from '../base/index.ts';
import type { ClusterSettings } from '../cluster/index.ts';
import type { SinkSettings } from '../delivery/index.ts';
import type { SourceSettings } from '../inventory/index.ts';
import type { LogRuleSettings, LogSettings, RedactSettings } from '../logs/index.ts';
import type { LifecycleWish, RouterIdentity } from '../model/index.ts';
import type { ConnectionSettings, RouterProxy } from '../router/index.ts';
import type { ScheduleSettings } from '../schedule/index.ts';
import type { TlsSettings } from '../settings/index.ts';
import type { MetricFilter, ModuleDefinition, PollSettings } from '../status/index.ts';
import type { DeadLetterSettings, StorageSettings } from '../store/index.ts';
import type { FleetShards, WebSettings } from '../web/index.ts';
import type { routerKeysSchema } from './router-schema.ts';

/** The whole configuration: defaults applied, files read, paths absolute. Times are milliseconds, sizes bytes. */
export interface Config {
  readonly web: WebSettings;
  readonly storage: StorageSettings;
  readonly schedule: ScheduleSettings;
  readonly connections: ConnectionSettings;
  /** Routers of the main file, then those of each file in `router_files`. Empty only with `router_files`. */
  readonly routers: readonly RouterSettings[];
  /** All modules that there are, unfiltered, in the order of their definition; a router has some of them. */
  readonly modules: readonly ModuleDefinition[];
  /** The processes that share the fleet; `routers` are those of this one. Default: this process is the only one. */
  readonly shards?: FleetShards | undefined;
  /** The cluster that shares the routers; each replica knows all of them. Default: none. */
  readonly cluster?: ClusterSettings | undefined;
  /** Lists of routers from elsewhere; their routers are among `routers`. */
  readonly routerSources: readonly SourceSettings[];
  /** Absent: profiles are not backed up. */
  readonly backup: BackupSettings | undefined;
  /** Empty: logs are not read. */
  readonly sinks: readonly SinkSettings[];
  readonly deadLetters: DeadLetterSettings;
  /** Log rules, including the shipped ones if configured. Rules with the same name have the same type, help and labels. */
  readonly logRules: readonly LogRuleSettings[];
  /** Applied to every message in this order. */
  readonly redact: readonly RedactSettings[];
}

/** One router with everything that its groups and `defaults` contributed. */
export interface RouterSettings extends RouterIdentity {
  /** Names of its groups, in the order of their precedence. */
  readonly groups: readonly string[];
  /** Scheme, host, port and path prefix, normalised, without a slash at the end. */
  readonly url: string;
  /** Empty with `auth: bearer` and `none`, as is the password. */
  readonly username: string;
  /** Password of the account; empty with `auth: bearer` and `none`. */
  readonly password: Secret;
  /** Authentication of requests: tokens after a login, HTTP basic, a token of the configuration, or none. */
  readonly auth: RouterKeys['auth'];
  /** Token of `auth: bearer`; `undefined` with another one. */
  readonly bearerToken?: Secret | undefined;
  /** Headers of every request. Absent: none. */
  readonly headers?: Readonly<Record<string, Secret>> | undefined;
  /** Proxy on the way to it. Absent: none. */
  readonly proxy?: RouterProxy | undefined;
  /** Own address that connections to it come from. Absent: the system chooses it. */
  readonly sourceAddress?: string | undefined;
  /** Verification of the router's certificate, and the client certificate. */
  readonly tls: TlsSettings;
  /** IANA name; `undefined` when not configured. */
  readonly timezone: RouterKeys['timezone'];
  /** Intervals and time limits of polling. */
  readonly poll: PollSettings;
  /** Reading of its logs. */
  readonly logs: LogSettings;
  /** In the order of their definition. Routers with the same modules share one list, and all lists share the modules. */
  readonly modules: readonly ModuleDefinition[];
  /** Filter of their metrics; already applied to `modules`. */
  readonly metrics: MetricFilter;
  /** State of its life; `undefined` if the configuration names none. */
  readonly lifecycle?: LifecycleWish | undefined;
  /** Bytes per UTC day, both directions; 0: no budget. */
  readonly byteBudget: number;
  /** Share of it that is kept for status polls. */
  readonly byteBudgetStatusShare: number;
}

type RouterKeys = z.output<typeof routerKeysSchema>;
