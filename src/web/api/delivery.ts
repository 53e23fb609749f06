/** Sinks, the spool and dead letters. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

/** The spool, in which records wait for the sinks: part of `GET /api/v1/sinks`. */
export interface SpoolSummary {
  /** Records waiting for at least one sink. */
  readonly records: number;
  /** Size on disk, compressed. */
  readonly bytes: number;
  /** Configured maximum size. */
  readonly bytesMax: number;
  /** Time until it is full if it goes on growing as in the last ten minutes; null when it does not grow. */
  readonly secondsToFull: number | null;
  /** True while log reading of all routers is paused because the spool or its disk is full. */
  readonly isHeldBack: boolean;
  /** Names of the routers whose log reading is paused because their records take as much of the spool as is free. */
  readonly routersHeldBack: readonly string[];
}

/** One entry of `GET /api/v1/sinks`, which answers `{"sinks": [...], "spool": {...}}`. */
export interface SinkSummary {
  /** The configured name: label `sink`. */
  readonly name: string;
  /** The configured type, such as `loki`. */
  readonly type: string;
  /** `unknown`: no delivery yet. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Start of this state; null when not known. */
  readonly since: string | null;
  /** Time since when the agent has this sink; null when not known. */
  readonly startedAt: string | null;
  /** Records delivered since the agent started. */
  readonly recordsDelivered: number;
  /** Records delivered per second, over the last minute. */
  readonly recordsPerSecond: number;
  /** Records that the sink has not acknowledged yet. */
  readonly recordsWaiting: number;
  /** Age of the oldest record that it has not acknowledged yet; 0 when there is none. */
  readonly lagSeconds: number;
  /** Records that the sink rejected permanently. */
  readonly deadLetters: number;
  /** Time of the last successful delivery; null before the first. */
  readonly lastSuccess: string | null;
  /** Error message of the last delivery; null when it succeeded. */
  readonly error: string | null;
  /** Its reason as in `router_exporter_sink_failures_total`, such as `protocol_error`; null without one. */
  readonly reason: string | null;
  /** The last error and its time, also when deliveries succeed again; null without one since the agent started. */
  readonly lastFailure: { readonly at: string; readonly error: string } | null;
}

/** A record that a sink rejected permanently. */
export interface LetterSummary {
  /** Number of the letter, as in `router-exporter dead-letters list`. */
  readonly id: number;
  /** Name of the sink. */
  readonly sink: string;
  /** Time of the rejection. */
  readonly at: string;
  /** Name of the router; empty if the record does not contain it. */
  readonly router: string;
  /** Name of the log; empty if the record does not contain it. */
  readonly component: string;
  /** Timestamp of the record; null if it has none. */
  readonly timestamp: string | null;
  /** Status or code of the rejection; null if the record was not sent. */
  readonly code: string | null;
  /** Error text of the sink, or the rule that applies. */
  readonly reason: string;
  /** True if it is marked to be tried again. */
  readonly isReplayed: boolean;
}

/** A dead letter with its record. */
export interface LetterDetail extends LetterSummary {
  /** The record as stored: one JSON object. */
  readonly record: string;
}

/** One dead letter; `undefined` when there is none of its number. `fault`: why it cannot be read now. */
export type FoundLetter = LetterDetail | { readonly fault: string } | undefined;

/** Some of the dead letters, newest first. */
export interface LetterPage {
  /** The letters. */
  readonly letters: readonly LetterSummary[];
  /** True if there are older ones. */
  readonly hasMore: boolean;
  /** Number of letters by sink, in the order of names; sinks without any are left out. */
  readonly counts: readonly (readonly [sink: string, letters: number])[];
  /** Why they cannot be read; null when they can. */
  readonly fault: string | null;
}
