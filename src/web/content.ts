import type { Secret } from '../base/index.ts';
import type { LifecycleWish } from '../model/index.ts';
import type { ConfigurationSummary, TrialResult } from './api/configuration.ts';
import type { FoundLetter, LetterPage, SinkSummary, SpoolSummary } from './api/delivery.ts';
import type { LogLine, LogRow, RecordPage } from './api/logs.ts';
import type { FleetMinute, RunSummary } from './api/process.ts';
import type { RouterDetail } from './api/router-detail.ts';
import type { LifecycleSummary, RouterSummary } from './api/routers.ts';

/** `text` is the Prometheus text format 0.0.4, `openmetrics` OpenMetrics 1.0.0. */
export type MetricsFormat = 'text' | 'openmetrics';

/**
 * The metrics a request asks for: of the agent and all its routers, of the agent alone, or of one router. `modules`
 * limits the metrics read from routers to those modules; the agent's own metrics about routers are always included.
 */
export type MetricsScope =
  | { readonly kind: 'all'; readonly modules?: readonly string[] | undefined }
  | { readonly kind: 'agent' }
  | { readonly kind: 'router'; readonly router: string; readonly modules?: readonly string[] | undefined };

/** The result of a reload. Each fault is one line with file, line and column, and contains no secret. */
export type ReloadResult = { readonly ok: true } | { readonly ok: false; readonly faults: readonly string[] };

/** Result of a request for a state of life. */
export type StateResult =
  | { readonly ok: true; readonly lifecycle: LifecycleSummary }
  /** `unknown`: no such router. `configured`: the configuration names a state. `store`: it cannot be stored now. */
  | { readonly ok: false; readonly reason: 'unknown' | 'configured' | 'store' };

/** Selects lines of logs. */
export interface RecordQuery {
  /** Name of the router; `undefined` = of all routers. */
  readonly router?: string | undefined;
  /** Components, one of which is wanted; empty = all. */
  readonly components: readonly string[];
  /** Severities, one of which is wanted; `none` stands for lines without one; empty = all. */
  readonly severities: readonly string[];
  /** Words that all occur in the line, whatever their case. */
  readonly search: string;
  /** Value of `next` of the page before, of one router; `undefined` = the newest. */
  readonly before?: string | undefined;
  /** Number of records wanted. */
  readonly limit: number;
}

/** A router that another process of the fleet polls. */
export interface ForeignRouter {
  readonly name: string;
  readonly url: string;
  /** Its configured labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** State that the configuration names; one that was requested is known to its process alone. Default: none. */
  readonly lifecycle?: LifecycleWish | undefined;
  /** Index of its process. */
  readonly shard: number;
}

/** A cluster as a replica sees it. */
export interface ClusterSummary {
  readonly name: string;
  /** Name of this replica. */
  readonly replica: string;
  /** Number of its members. */
  readonly members: number;
  /** Replicas whose leases ended without a word, and when (ISO 8601). */
  readonly missing: readonly { readonly replica: string; readonly since: string }[];
  /** True while this replica has a lease. */
  readonly isLeaseHeld: boolean;
  /** True while the engine cannot be reached. */
  readonly isEngineAway: boolean;
  /** True if the members know different routers. */
  readonly areListsDifferent: boolean;
}

/** The processes that share a fleet, from the view of one of them. */
export interface FleetShards {
  /** Index of this process, from 0. */
  readonly index: number;
  /** Number of processes. */
  readonly total: number;
  /**
   * Base URL of each process by its index, without a slash at the end; `undefined` for one that has none, empty if they are not
   * configured.
   */
  readonly peers: readonly (string | undefined)[];
  /** Names of the replicas of a cluster by their index. Default: processes have no names. */
  readonly names?: readonly string[] | undefined;
  /** The cluster, if the processes are its replicas. */
  readonly cluster?: ClusterSummary | undefined;
  /** Bearer token that the other processes accept; `undefined` when they are asked without one. */
  readonly token?: Secret | undefined;
  /** The routers of the other processes, by name. */
  readonly others: ReadonlyMap<string, ForeignRouter>;
}

/**
 * The content that the server shows. Everything but {@link refresh} comes from memory or from the store, so no request waits
 * for a router.
 */
export interface WebContent {
  /**
   * Renders metrics in chunks of any size, as fast as the client reads them. Errors before the first 32 KiB lead to a 500;
   * later ones abort the connection, so that a truncated response is not mistaken for a complete one.
   */
  renderMetrics(format: MetricsFormat, scope: MetricsScope): AsyncIterable<string> | Iterable<string>;
  /** True when a router of this name is configured. */
  hasRouter(name: string): boolean;
  /** The processes that share the fleet; `undefined` when this one is the only one. */
  describeShards(): FleetShards | undefined;
  /** Names of all modules that there are, also of those that no router of this process has. */
  listModules(): readonly string[];
  /**
   * Polls a router now, or joins the poll in progress. Resolves when the poll has ended, even if the router is down, or
   * when `signal` aborts. Resolves without a poll when the known values are young enough, or when the byte budget of the
   * router cannot afford one.
   */
  refresh(name: string, signal: AbortSignal): Promise<void>;
  /** Reads the configuration again: all of it or nothing. */
  reload(acceptedSource?: string): Promise<ReloadResult>;
  /** Reads the configuration as a reload does, and says what would change. Changes nothing. */
  tryReload(): Promise<TrialResult>;
  /** Gives a router a state of life. Nothing changes unless the result is `ok`. */
  setRouterState(name: string, wish: LifecycleWish): Promise<StateResult>;
  /** Shuts the agent down gracefully. Called after the response has been sent. */
  quit(): void;
  /** All routers, in any order; pages sort them by name. Each is described when it is its turn, so that pages can take breaks. */
  listRouters(): Iterable<RouterSummary>;
  /** One of them; `undefined` when it is not configured. */
  findRouter(name: string): RouterSummary | undefined;
  /** Names of all routers, in any order. */
  listNames(): readonly string[];
  /** The number of routers per state, minute by minute; the last entry is now. */
  listFleetMinutes(): Promise<readonly FleetMinute[]>;
  /** `ListedRouter.availability` of a router; empty when it is not configured. */
  describeAvailability(name: string): string;
  /** Everything known about one router; `undefined` when it is not configured. */
  describeRouter(name: string): RouterDetail | undefined;
  /** Address of a Grafana with the dashboards, without a slash at its end; `undefined` without one. */
  findGrafana(): string | undefined;
  /** Returns the last lines that fit a query, newest first. Read from the store, with breaks. */
  readRecords(query: RecordQuery): Promise<RecordPage>;
  /**
   * Calls `listener` with lines that fit a query when they are stored, oldest first, and with how many others of the same
   * commit were left out; returns the function that ends it.
   */
  followRecords(query: RecordQuery, listener: (lines: readonly LogLine[], skipped: number) => void): () => void;
  /** Number of gaps in the logs of the routers of this process since the agent started. */
  countGaps(): number;
  /** The logs of all routers, in any order. */
  listLogs(): Iterable<LogRow>;
  /** The running configuration without the routers, as YAML without secrets. */
  renderConfig(): string;
  /** The running configuration of one router, as YAML without secrets; `undefined` when it is not configured. */
  renderRouterConfig(name: string): string | undefined;
  /** Warnings about the configuration, its last reload, and the sources of its routers. */
  describeConfiguration(): ConfigurationSummary;
  /** All sinks, in the order of the configuration. */
  listSinks(): readonly SinkSummary[];
  /** Dead letters of one sink or of all, newest first: at most `limit`, and only those before the letter `before`. */
  listLetters(selection: {
    readonly sink: string | undefined;
    readonly limit: number;
    readonly before: number | undefined;
  }): LetterPage | Promise<LetterPage>;
  /** One dead letter; `undefined` when there is none of this number. `fault`: why it cannot be read now. */
  findLetter(id: number): FoundLetter | Promise<FoundLetter>;
  /** The fill level of the spool. */
  describeSpool(): SpoolSummary;
  /** Returns the numbers of runs in progress and waiting. */
  describeRuns(): RunSummary;
  /** Why the agent is not ready; `undefined` when the configuration is loaded and the state database can be written. */
  findUnreadiness(): string | undefined;
  /** Called with the error that prevented a response. Disconnected clients are not reported. */
  onFailed(cause: unknown): void;
}
