/** A recurring task on one router. */
export interface Activity {
  /** Unique key: adding an activity with an existing key replaces that activity. */
  readonly key: string;
  /**
   * Name of the router. Activities with the same key never overlap, but for a poll
   * and a download, and the hash of the name fixes their offset within the
   * interval, which stays the same after a restart. Activities of a router that are due at the same time run one after
   * another, in the order in which they were added.
   */
  readonly serialKey: string;
  /** Interval in milliseconds. `Infinity`: the activity runs only when triggered. */
  readonly intervalMs: number;
  /**
   * Number of intervals between two runs, at least 1; default 1. Evaluated at every scheduled time, so a change takes
   * effect immediately. Combined with the back-off: the longer wait applies. Delays neither the first run nor a
   * triggered one.
   */
  readonly intervalMultiplier?: (() => number) | undefined;
  /**
   * True for polls. They need not wait for a download (another activity with the same `serialKey`) that runs, but may run beside it;
   * none starts while they run. Polls and downloads have places of their own. Default false.
   */
  readonly isPoll?: boolean | undefined;
  /**
   * Checked when a run is about to start: while true, nothing runs, triggered or not, and scheduled times are skipped.
   */
  readonly isPaused?: (() => boolean) | undefined;
  /**
   * Runs once. Resolves with whether the router did its part. A rejection is a bug in the program and is reported.
   * `signal` aborts when the activity is removed or the scheduler stops.
   */
  readonly run: (signal: AbortSignal, run: CurrentRun) => Promise<RunOutcome>;
}

/** Facts about the current run. */
export interface CurrentRun {
  /** Returns true if another activity with the same `serialKey` is waiting, so that a long run can yield. */
  readonly isAwaited: () => boolean;
  /**
   * True if the run was triggered (`Scheduler.trigger`) before it started: nothing may then be skipped because it is
   * not due yet.
   */
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
  /** True if the run was triggered before it started. */
  readonly isTriggered: boolean;
  /**
   * Delay of the start in milliseconds, including scheduled times that the previous run overran. `undefined` for a run
   * triggered ahead of its scheduled time.
   */
  readonly lagMs: number | undefined;
  readonly durationMs: number;
  /** The reason if `run` rejected. */
  readonly error?: unknown;
}
