import type { z } from 'zod';
import type { BackupSettings } from '../backup/index.ts';
import type { Secret } from '../base/index.ts';
import type { ClusterSettings } from '../cluster/index.ts';
import type { SinkSettings } from '../delivery/index.ts';
import type { SourceSettings } from '../inventory/index.ts';
import type { LogRuleSettings, LogSettings, RedactSettings } from '../logs/index.ts';
import type { LifecycleWish, RouterIdentity } from '../model/index.ts';
import type { ConnectionSettings } from '../router/index.ts';
import type { ScheduleSettings } from '../schedule/index.ts';
import type { Filled, Settled, TlsSettings } from '../settings/index.ts';
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
  readonly router_sources: readonly SourceSettings[];
  /** Absent: profiles are not backed up. */
  readonly backup: BackupSettings | undefined;
  /** Empty: logs are not read. */
  readonly sinks: readonly SinkSettings[];
  readonly dead_letters: DeadLetterSettings;
  /** Log rules, including the shipped ones if configured. Rules with the same name have the same type, help and labels. */
  readonly log_rules: readonly LogRuleSettings[];
  /** Applied to every message in this order. */
  readonly redact: readonly RedactSettings[];
}

type RouterKeys = Settled<Filled<z.output<typeof routerKeysSchema>>>;

/** Keys that the settings always have, or have in another form. */
type Merged = 'username' | 'password' | 'proxy' | 'tls' | 'labels' | 'poll' | 'logs' | 'modules' | 'metrics';

/** One router with everything that its groups and `defaults` contributed: its keys, with secrets and the content of files. */
export interface RouterSettings extends RouterIdentity, Omit<RouterKeys, Merged> {
  /** Scheme, host, port and path prefix, normalised, without a slash at the end. */
  readonly url: string;
  /** Names of its groups, in the order of their precedence. */
  readonly groups: readonly string[];
  /** Empty with `auth: bearer` and `none`, as is the password. */
  readonly username: string;
  /** Password of the account. */
  readonly password: Secret;
  /** Proxy on the way to it. Absent: none. */
  readonly proxy?: Exclude<RouterKeys['proxy'], 'none'>;
  /** Verification of the router's certificate, and the client certificate. */
  readonly tls: TlsSettings;
  /** Intervals and time limits of polling. */
  readonly poll: PollSettings;
  /** Reading of its logs. */
  readonly logs: LogSettings;
  /** In the order of their definition. Routers with the same modules share one list, and all lists share the modules. */
  readonly modules: readonly ModuleDefinition[];
  /** Filter of their metrics; already applied to `modules`. */
  readonly metrics: MetricFilter;
}

/** Returns the state that the configuration wants of a router; `undefined`: it names none. */
export function toLifecycleWish({
  state,
  state_until: untilMs,
}: Pick<RouterSettings, 'state' | 'state_until'>): LifecycleWish | undefined {
  return state && { state, untilMs };
}
