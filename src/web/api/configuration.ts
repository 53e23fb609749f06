/** The configuration and its reloads. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

/** Answer to `POST /-/reload?dry_run=1`: what a reload would change. Of each kind, the first 100 routers are listed. */
export interface PlanSummary {
  /** Routers of this process. */
  readonly routers: {
    /** Number of routers after the reload. */
    readonly total: number;
    /** New ones. */
    readonly added: { readonly count: number; readonly names: readonly string[] };
    /** Those of which keys differ, with these keys: `poll.interval`. */
    readonly changed: {
      readonly count: number;
      readonly routers: readonly { readonly name: string; readonly keys: readonly string[] }[];
    };
    /** Those that are not configured any more. */
    readonly removed: { readonly count: number; readonly names: readonly string[] };
    /** Number of routers whose session would end and begin anew: changed ones, or all, if something for all of them changes. */
    readonly reconnected: number;
  };
  /** Other sections that differ. */
  readonly sections: readonly string[];
  /** Keys that differ and that only a restart applies. */
  readonly needsRestart: readonly string[];
}

/** The changes that a reload would make, or the faults that prevent it. */
export type TrialResult =
  | { readonly ok: true; readonly plan: PlanSummary }
  | { readonly ok: false; readonly faults: readonly string[] };

/** The running configuration, its last reload, and the sources of its routers. */
export interface ConfigurationSummary {
  /** Time since which it runs. */
  readonly loadedAt: string;
  /** The last reload since the agent started; null without one. Without faults it succeeded. */
  readonly lastReload: { readonly at: string; readonly faults: readonly string[] } | null;
  /**
   * Result of a trial reload, made when a file of the configuration last changed. `unchanged`: none has changed
   * since it was loaded; null: its files are not watched.
   */
  readonly pending: { readonly at: string; readonly result: TrialResult } | 'unchanged' | null;
  /** Warnings about it, as `router-exporter check` prints them. */
  readonly warnings: readonly string[];
  /** Sources of its routers, in the order of the configuration. */
  readonly sources: readonly SourceSummary[];
}

/** One source of routers. */
export interface SourceSummary {
  /** The configured name: label `source`. */
  readonly name: string;
  /** Result of the last reading; `unknown` before the first one has ended. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Time of the last reading that succeeded; null before the first. */
  readonly lastSuccess: string | null;
  /** Why it could not be read, or why its answer is not used; null without an error. */
  readonly error: string | null;
  /** Number of its routers in the configuration. */
  readonly routers: number;
  /** Number of routers in its answer that are not used. */
  readonly refused: number;
  /** Reasons for some of them. */
  readonly refusals: readonly string[];
  /** Routers that a newer answer lacks, of how many: it is not used until that is confirmed. Null without such an answer. */
  readonly held: { readonly missing: number; readonly of: number } | null;
}
