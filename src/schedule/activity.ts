/** A recurring task on one router. */
export interface Activity {
  /** Unique key: adding an activity with an existing key replaces that activity. */
  readonly key: string;
  /**
   * Name of the router. Activities with the same key never overlap, except a poll and a download; those due at the same
   * time run in the order in which they were added. The hash of the name fixes their offset within the interval, so it
   * survives a restart.
   */
  readonly serialKey: string;
  /** Interval in milliseconds. `Infinity`: the activity runs only when triggered. */
  readonly intervalMs: number;
  /**
   * Number of intervals between two runs, at least 1; default 1. Evaluated at every scheduled time. Combined with the
   * back-off: the longer wait applies. Delays neither the first run nor a triggered one.
   */
  readonly intervalMultiplier?: (() => number) | undefined;
  /**
   * True for polls: they may run concurrently with a download (another activity with the same `serialKey`) that is
   * under way; no download starts while they run. Polls and downloads have separate slots. Default false.
   */
  readonly isPoll?: boolean | undefined;
  /** Checked before each run: while true, nothing runs, triggered or not, and scheduled times are skipped. */
  readonly isPaused?: (() => boolean) | undefined;
  /**
   * Runs once; resolves with `failed` if the router did not respond as expected. A rejection is a bug and is reported.
   * `signal` aborts when the activity is removed or the scheduler stops.
   */
  readonly run: (signal: AbortSignal, run: CurrentRun) => Promise<RunOutcome>;
}

/** Facts about the current run. */
export interface CurrentRun {
  /** Returns true if another activity with the same `serialKey` is waiting, so that a long run can yield. */
  readonly isAwaited: () => boolean;
  /** True if the run was triggered before it started: it must not skip what is not due yet. */
  readonly isTriggered: boolean;
}

/** Result of one run; after `failed` the next one waits longer. */
export type RunOutcome = 'done' | 'failed';

/** Outcome of a triggered run; `gone` if the activity does not exist or was removed. */
export type TriggerOutcome = RunOutcome | 'gone';

/** One run that has ended. */
export interface RunEnded {
  readonly type: 'run-ended';
  readonly key: string;
  readonly outcome: RunOutcome;
  readonly isTriggered: boolean;
  /**
   * Delay of the start in milliseconds, including scheduled times that the previous run overran. `undefined` for a run
   * triggered ahead of its scheduled time.
   */
  readonly lagMs: number | undefined;
  readonly durationMs: number;
  readonly error?: unknown;
}
