/** The configuration and its reloads. Part of the JSON of `/api/v1/`, in the units of routers.ts. */

/** Answer to `POST /-/reload?dry_run=1`: what a reload would change. Of each kind, the first 100 routers are listed. */
export interface PlanSummary {
  readonly routers: {
    readonly total: number;
    readonly added: { readonly count: number; readonly names: readonly string[] };
    /** With the keys that differ, such as `poll.interval`. */
    readonly changed: {
      readonly count: number;
      readonly routers: readonly { readonly name: string; readonly keys: readonly string[] }[];
    };
    readonly removed: { readonly count: number; readonly names: readonly string[] };
    /** Sessions that would be restarted: of changed routers, or of all if a common setting changes. */
    readonly reconnected: number;
  };
  readonly sections: readonly string[];
  /** Keys that differ and need a restart. */
  readonly needsRestart: readonly string[];
}

/** The changes that a reload would make, or the faults that prevent it. */
export type TrialResult =
  | { readonly ok: true; readonly plan: PlanSummary }
  | { readonly ok: false; readonly faults: readonly string[] };

/** The running configuration, its last reload, and the sources of its routers. */
export interface ConfigurationSummary {
  readonly loadedAt: string;
  /** The last reload since the agent started; null without one. No faults: it succeeded. */
  readonly lastReload: { readonly at: string; readonly faults: readonly string[] } | null;
  /** Trial reload of the last file change; `unchanged`: no file has changed since loading; null: files are not watched. */
  readonly pending: { readonly at: string; readonly result: TrialResult } | 'unchanged' | null;
  /** As `router-exporter check` prints them. */
  readonly warnings: readonly string[];
  readonly sources: readonly SourceSummary[];
}

/** A source of routers. */
export interface SourceSummary {
  readonly name: string;
  /** Result of the last read; `unknown` before the first one has ended. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Null before the first success. */
  readonly lastSuccess: string | null;
  /** Why it could not be read, or why its answer is not used; null without an error. */
  readonly error: string | null;
  readonly routers: number;
  /** Routers in its answer that are not used. */
  readonly refused: number;
  readonly refusals: readonly string[];
  /** Routers missing in a newer answer, which is not used until confirmed; null without such an answer. */
  readonly held: { readonly missing: number; readonly of: number } | null;
}
