import type { Labels } from './sample.ts';

/** Peculiarities of a record. */
export type RecordFlag =
  | 'zone_assumed'
  | 'fold'
  | 'hole'
  | 'unsynced'
  | 'remapped'
  | 'clock_uncertain'
  | 'truncated'
  | 'nul'
  | 'lossy'
  | 'device_scrambled'
  | 'glued'
  | 'recovered'
  | 'late'
  | 'out_of_order'
  | 'backfill'
  | 'self'
  | 'unparsed'
  | 'partial';

/** Severities of a log line, from the least to the most severe: those of syslog. */
export type Severity = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/**
 * Certainty of a gap. `certain`: a file known by name is gone; `likely`: the chain of files is broken; `possible`:
 * completeness cannot be proven.
 */
export type GapCertainty = 'certain' | 'likely' | 'possible';

/** One log line, or one synthetic event about a log. The fields are in the order in which they are written as JSON. */
export interface LogRecord {
  /** UTC, RFC 3339 with nine decimals; absent if the line has no readable time and no earlier line had one. */
  readonly timestamp?: string;
  /** Time at which the agent downloaded the line: UTC, RFC 3339 with milliseconds. */
  readonly observed_timestamp: string;
  readonly router: string;
  /** Folder of the log file on the router. */
  readonly component: string;
  /** The word in brackets in the line. */
  readonly tag?: string;
  readonly severity?: Severity;
  readonly message: string;
  /** Identity of the line; the same whenever the line is read again. */
  readonly uid: string;
  /** Log file in which the line was first read, as listed by the router. */
  readonly file: string;
  /** Offset of the line in that file, in decompressed bytes. */
  readonly offset: number;
  readonly labels?: Labels;
  readonly flags?: readonly RecordFlag[];
  /** The original bytes as base64 if the message had to be changed to fit JSON. */
  readonly original?: string;
  /** Kind of event; only in synthetic records. */
  readonly event?: 'log.gap' | 'log.gap_end' | 'log.repeat' | 'log.reset' | 'log.clock_jump';
  readonly details?: Readonly<Record<string, string | number | null>>;
}
