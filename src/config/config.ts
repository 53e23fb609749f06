import type { z } from 'zod';
import type { BackupSettings } from '../backup/index.ts';
import type { Secret } from '../base/index.ts';
import type { ConnectionSettings, RouterClientOptions } from '../client/index.ts';
import type { ClusterSettings } from '../cluster/index.ts';
import type { SourceSettings } from '../inventory/index.ts';
import type { LogRuleSettings, LogSettings, RedactSettings } from '../logs/index.ts';
import type { LifecycleWish, RouterIdentity } from '../model/index.ts';
import { toProxy } from '../net/index.ts';
import type { ScheduleSettings } from '../schedule/index.ts';
import {
  areSameSettings,
  type ClientTls,
  type Filled,
  listLeaves,
  revealTls,
  type Settled,
  type TlsSettings,
  toComparable,
} from '../settings/index.ts';
import type { SinkSettings } from '../sinks/index.ts';
import type { ExpectedValue, FirmwareVersion, MetricFilter, ModuleDefinition, PollSettings } from '../status/index.ts';
import type { DeadLetterSettings, StorageSettings } from '../store/index.ts';
import type { FleetShards, WebSettings } from '../web/index.ts';
import type { ConfigOrigins } from './origins.ts';
import { type routerKeysSchema, routerSchema } from './router-schema.ts';

/** The whole configuration: defaults applied, files read, paths absolute. Times are milliseconds, sizes bytes. */
export interface Config {
  readonly web: WebSettings;
  readonly storage: StorageSettings;
  readonly schedule: ScheduleSettings;
  readonly connections: ConnectionSettings;
  /**
   * Routers of the main file, of `router_files`, then of sources; with shards, only those of this process. May be
   * empty.
   */
  readonly routers: readonly RouterSettings[];
  /** All modules, unfiltered, in the order of their definition. Each router has some of them. */
  readonly modules: readonly ModuleDefinition[];
  /** Firmware versions that the operator has listed. Default: none. */
  readonly firmware_versions?: readonly FirmwareVersion[] | undefined;
  /** Processes that share the fleet; `routers` are those of this one. Default: one process. */
  readonly shards?: FleetShards | undefined;
  /** Cluster that shares the routers; each replica loads all of them. Default: none. */
  readonly cluster?: ClusterSettings | undefined;
  /** Lists of routers from other systems; their routers are among `routers`. */
  readonly router_sources: readonly SourceSettings[];
  /** Absent: profiles are not backed up. */
  readonly backup: BackupSettings | undefined;
  /** Empty: logs are not read. */
  readonly sinks: readonly SinkSettings[];
  readonly dead_letters: DeadLetterSettings;
  /** Log rules, including the shipped ones if configured. Rules with the same name have the same type, help and labels. */
  readonly log_rules: readonly LogRuleSettings[];
  /** Applied to every message, in this order. */
  readonly redact: readonly RedactSettings[];
  /** Where each key is written. */
  readonly origins: ConfigOrigins;
}

type RouterKeys = Settled<Filled<z.output<typeof routerKeysSchema>>>;

type Merged = 'username' | 'password' | 'proxy' | 'tls' | 'labels' | 'poll' | 'logs' | 'modules' | 'metrics' | 'expect';

/** One router, merged with its groups and `defaults`, with secrets and the content of files. */
export interface RouterSettings extends RouterIdentity, Omit<RouterKeys, Merged> {
  /** Scheme, host, port and path prefix, normalised, without a trailing slash. */
  readonly url: string;
  /** Names of its groups, in the order of their precedence. */
  readonly groups: readonly string[];
  /** Empty with `auth: bearer` and `none`, as is the password. */
  readonly username: string;
  /** Password of the account. */
  readonly password: Secret;
  /** Proxy between agent and router. Absent: none. */
  readonly proxy?: Exclude<RouterKeys['proxy'], 'none'>;
  /** Verification of the router's certificate, and client certificate. */
  readonly tls: TlsSettings;
  /** Intervals and time limits of its polls. */
  readonly poll: PollSettings;
  /** How its logs are read. */
  readonly logs: LogSettings;
  /** In the order of their definition. Routers with the same modules share one list. */
  readonly modules: readonly ModuleDefinition[];
  /** Filter of its metrics; already applied to `modules`. */
  readonly metrics: MetricFilter;
  /** Expected values of its configuration. */
  readonly expect: readonly ExpectedValue[];
}

/** Returns the state that the configuration sets for a router; `undefined` if none. */
export function toLifecycleWish({
  state,
  state_until: untilMs,
}: Pick<RouterSettings, 'state' | 'state_until'>): LifecycleWish | undefined {
  return state && { state, untilMs };
}

type ConfiguredOptions = Omit<
  RouterClientOptions,
  'clock' | 'report' | 'onBody' | 'downloadMsMax' | 'beforePiece' | 'connectionLimit' | 'lookup' | 'tls'
> & {
  /** Verification of the certificate. */
  readonly tls: ClientTls;
};

/** Returns the client options of a router. */
export function toClientOptions(settings: RouterSettings): ConfiguredOptions {
  const { url, username, password, auth, headers, proxy, poll } = settings;
  return {
    url,
    username,
    password,
    auth,
    bearerToken: settings.bearer_token,
    headers,
    proxy: toProxy(proxy, 'router'),
    sourceAddress: settings.source_address,
    tls: revealTls(settings.tls),
    requestTimeoutMs: poll.timeout,
    connectTimeoutMs: poll.connect_timeout,
  };
}

/** Lists the secrets in requests to a router and from it. */
export function listRequestSecrets({ password, headers, proxy, ...more }: RouterSettings): readonly Secret[] {
  const secrets = [password, more.bearer_token, more.notify_token, proxy?.password, ...Object.values(headers ?? {})];
  return secrets.filter((one) => one !== undefined);
}

/**
 * Lists the keys of a router that differ between two settings, sorted, such as `poll.interval`. Values are omitted,
 * because they may be secrets. A changed file or module with the same name counts.
 */
export function listChangedKeys(before: RouterSettings, after: RouterSettings): readonly string[] {
  const [old, next] = [listLeaves(routerSchema, before), listLeaves(routerSchema, after)];
  const names = [...new Set([...old.keys(), ...next.keys()])];
  return names.filter((name) => !isSameSetting(old.get(name), next.get(name))).toSorted();
}

/** Routers share lists of modules, which are long. */
const texts = new WeakMap<object, string>();

function isSameSetting(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return areSameSettings(a, b);
  const [one, other] = [a, b].map((list) => {
    const text = texts.get(list) ?? JSON.stringify(toComparable(list));
    texts.set(list, text);
    return text;
  });
  return one === other;
}
