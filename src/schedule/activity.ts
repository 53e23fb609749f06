/** Something that is done to one router again and again. */
export interface Activity {
  /** Unique among the activities that are there: adding one with the key of another replaces that. */
  readonly key: string;
  /**
   * The router. Activities of one lane never overlap, and its hash fixes their place within the interval, the same after
   * every restart: what is due for a router at the same time is done in the order of adding, in one go.
   */
  readonly lane: string;
  /** `Infinity`: turns come only when they are asked for. */
  readonly intervalMs: number;
  /**
   * How many intervals lie between two turns, at least 1; default 1. Asked at every place on the grid, so that it acts
   * at once when it changes. Back-off counts as well: the larger wait holds. Holds back neither the first turn nor one
   * that was asked for.
   */
  readonly stretch?: (() => number) | undefined;
  /** Asked when a turn is about to begin: while true there is none, asked for or not, and places on the grid pass. */
  readonly isPaused?: (() => boolean) | undefined;
  /**
   * One turn. Resolves with whether the router did its part. A rejection is a fault of the program: it is reported.
   * `signal` aborts when the activity is removed or the scheduler stops.
   */
  readonly run: (signal: AbortSignal, turn: Turn) => Promise<TurnOutcome>;
}

/** What a turn may want to know about itself. */
export interface Turn {
  /** Whether another activity of the lane waits, so that a long turn can make way. */
  readonly isAwaited: () => boolean;
  /** Whether it was asked for (`Scheduler.trigger`) before it began: then nothing may be left out because it is not yet due. */
  readonly isTriggered: boolean;
}

export type TurnOutcome = 'done' | 'failed';

/** How a turn ended that was asked for; `gone` when there is no such activity (any more). */
export type TriggerOutcome = TurnOutcome | 'gone';

export interface TurnEnded {
  readonly type: 'turn-ended';
  readonly key: string;
  readonly outcome: TurnOutcome;
  /** Whether it was asked for before it began. */
  readonly isTriggered: boolean;
  /**
   * How late the turn began; places on the grid that the turn before it ran over count. `undefined` for a turn that was
   * asked for ahead of its place. Milliseconds.
   */
  readonly lagMs: number | undefined;
  readonly durationMs: number;
  /** What the turn rejected with, if it did. */
  readonly error?: unknown;
}
