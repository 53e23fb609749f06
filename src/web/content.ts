import type { RouterDetail, RouterLogSummary, RouterSummary, SinkSummary, SpoolSummary } from './api-types.ts';

/** `text` is the Prometheus text format 0.0.4, `openmetrics` OpenMetrics 1.0.0. */
export type MetricsFormat = 'text' | 'openmetrics';

/**
 * Whose metrics are asked for: those of the agent and of all its routers, of the agent alone, or of one router. With
 * `modules`, of what routers say about themselves only what these modules make; what the agent knows is always there.
 */
export type MetricsScope =
  | { readonly kind: 'all'; readonly modules?: readonly string[] | undefined }
  | { readonly kind: 'agent' }
  | { readonly kind: 'router'; readonly router: string; readonly modules?: readonly string[] | undefined };

/** What became of a reload. Each fault is one line that names file, line and column; none of them holds a secret. */
export type ReloadResult = { readonly ok: true } | { readonly ok: false; readonly faults: readonly string[] };

/** One log of one router. */
export interface LogRow extends RouterLogSummary {
  readonly router: string;
}

/** What is served. Everything but {@link refresh} comes from memory, so that no request waits for a router. */
export interface WebContent {
  /**
   * The metrics in pieces of any size, made as the client takes them. What is thrown before the first 32 KiB is answered
   * with 500; later it ends the connection, so that a cut answer is not taken for a whole one.
   */
  renderMetrics(format: MetricsFormat, scope: MetricsScope): AsyncIterable<string> | Iterable<string>;
  hasRouter(name: string): boolean;
  /** Names of the modules of one router, or of any router. */
  listModules(router?: string): readonly string[];
  /**
   * Polls a router now, or joins the poll that is under way. Resolves when it has ended, also when the router is down;
   * when `signal` aborts nobody waits for it any more.
   */
  refresh(name: string, signal: AbortSignal): Promise<void>;
  /** Reads the configuration again: all of it or nothing. */
  reload(): Promise<ReloadResult>;
  /** Ends the agent in good order. The answer has been sent when this is called. */
  quit(): void;
  /** All routers. The order on pages is by name, whatever it is here. */
  listRouters(): readonly RouterSummary[];
  describeRouter(name: string): RouterDetail | undefined;
  /** The logs of all routers, in any order. */
  listLogs(): readonly LogRow[];
  /** What runs but for the routers, as YAML without secrets. */
  renderConfig(): string;
  /** What runs of one router, as YAML without secrets. */
  renderRouterConfig(name: string): string | undefined;
  listSinks(): readonly SinkSummary[];
  describeSpool(): SpoolSummary;
  /** Whether the configuration is loaded and the state is open. */
  isReady(): boolean;
  /** Told what prevented an answer. A client that went away is no such thing. */
  onFailed(cause: unknown): void;
}
