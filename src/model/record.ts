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

/** Syslog severities, least severe first. */
export type Severity = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** `certain`: a file known by name is gone; `likely`: the chain of files is broken; `possible`: completeness cannot be proven. */
export type GapCertainty = 'certain' | 'likely' | 'possible';

/** Events of a router. */
export const ROUTER_EVENTS = [
  'router.down',
  'router.up',
  'router.boot',
  'router.firmware',
  'router.serial',
  'router.config',
  'router.wan',
  'router.sim',
  'router.modem',
] as const;
/** Events about a log. */
export const LOG_EVENTS = ['log.gap', 'log.gap_end', 'log.repeat', 'log.reset', 'log.clock_jump'] as const;

/** One log line, or one synthetic event about a log. Fields in the order of the JSON. */
export interface LogRecord {
  /** UTC, RFC 3339 with nine decimals; absent if neither the line nor an earlier one has a readable time. */
  readonly timestamp?: string;
  /** Download time: UTC, RFC 3339 with milliseconds. */
  readonly observed_timestamp: string;
  readonly router: string;
  /** Folder of the log file on the router. */
  readonly component: string;
  /** The word in brackets in the line. */
  readonly tag?: string;
  readonly severity?: Severity;
  readonly message: string;
  /** Identity of the line: the same on every re-reading. */
  readonly uid: string;
  /** Log file in which the line was first read, as listed by the router. */
  readonly file: string;
  /** Offset in that file, in decompressed bytes. */
  readonly offset: number;
  readonly labels?: Labels;
  readonly flags?: readonly RecordFlag[];
  /** The original bytes as base64 if the message had to be changed to fit JSON. */
  readonly original?: string;
  /** Only in synthetic records. */
  readonly event?: (typeof LOG_EVENTS)[number];
  readonly details?: Readonly<Record<string, string | number | null>>;
}

/** One event of a router. */
export interface EventRecord
  extends Pick<LogRecord, 'observed_timestamp' | 'router' | 'message' | 'uid' | 'labels' | 'details'> {
  readonly event: (typeof ROUTER_EVENTS)[number];
}

/** A record as sinks get it. */
export type ShippedRecord =
  | LogRecord
  | (EventRecord & { readonly [K in Exclude<keyof LogRecord, keyof EventRecord>]?: undefined });
