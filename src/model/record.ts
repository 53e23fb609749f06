import type { Labels } from './sample.ts';

/** What is unusual about a record. */
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

export type Severity = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** How sure a gap is: a file known by name is gone, the chain of files is broken, or it merely cannot be proven whole. */
export type GapCertainty = 'certain' | 'likely' | 'possible';

/** One log line, or one synthetic event about a log, in the order of fields in which it is written as JSON. */
export interface LogRecord {
  /** UTC, RFC 3339 with nine decimals; absent when the line has no readable time and none came before it. */
  readonly timestamp?: string;
  /** When the agent downloaded the line: UTC, RFC 3339 with milliseconds. */
  readonly observed_timestamp: string;
  readonly router: string;
  /** Folder of the log file on the router. */
  readonly component: string;
  /** The word in the line's brackets. */
  readonly tag?: string;
  readonly severity?: Severity;
  readonly message: string;
  /** Identity of the line, equal in every re-reading. */
  readonly uid: string;
  /** Log file in which the line was first read, as the router lists it. */
  readonly file: string;
  /** Where the line starts in that file, in decompressed bytes. */
  readonly offset: number;
  readonly labels?: Labels;
  readonly flags?: readonly RecordFlag[];
  /** The untouched bytes as base64, when the message had to be changed to fit JSON. */
  readonly original?: string;
  /** Synthetic records only. */
  readonly event?: 'log.gap' | 'log.gap_end' | 'log.repeat' | 'log.reset' | 'log.clock_jump';
  readonly details?: Readonly<Record<string, string | number | null>>;
}
