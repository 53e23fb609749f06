import type { Clock } from '../../base/index.ts';
import type {
  Completion,
  FactsCommit,
  LifecyclePause,
  LogCommit,
  RecordLines,
  RouterIdentity,
} from '../../model/index.ts';
import type { ArchivePool } from '../archive/archive-pool.ts';
import type { RouterTime } from '../listing/learnt-zone.ts';
import type { LinkVerdict } from '../listing/link-rule.ts';
import type { KnownGap } from '../position/position.ts';
import type { LineEvent } from '../records/record-batch.ts';
import type { LineMatcher } from '../rules/line-matcher.ts';
import type { LogStart } from '../rules/settings.ts';
import type { Zone } from '../time/zone.ts';
import type { FollowMemory } from './memory.ts';

/** Response headers needed to read the body. */
export interface BodyFacts {
  /** Sent with the next request, so that an unchanged file is not sent again. */
  readonly etag?: string | undefined;
  readonly dateMs?: number | undefined;
  /** Media type such as `text/plain`, which helps to detect error pages. */
  readonly mediaType?: string | undefined;
}

interface ReadLogOptions {
  /** First byte to send. A router without range support sends the whole file. */
  readonly start?: number | undefined;
  /** Entity tag for `If-None-Match`: the router answers 304 if the file still has it. */
  readonly unlessEtag?: string | undefined;
}

/**
 * Access to the log files of one router. Rejects with `RouterReadError`: `status` holds the HTTP status (304: not changed,
 * 404: no such file, 206 or 416: another range than requested); `isAnswered` is true if only this request failed.
 */
export interface LogSource {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
  /** `start`: offset of the first byte of the body. */
  readLog<T>(
    name: string,
    signal: AbortSignal,
    consume: (body: AsyncIterable<Uint8Array>, start?: number, facts?: BodyFacts) => Promise<T>,
    options?: ReadLogOptions,
  ): Promise<T>;
}

/** Durable store of records, positions and facts. */
export interface RecordLog {
  readPositions(router: string): ReadonlyMap<string, string>;
  /** Returns the facts about a router; `undefined` if nothing is stored. */
  readFacts(router: string): string | undefined;
  /** Stores all `commits` or none. Throws or rejects with disposition `hold-back` if the store is full. */
  commit(...commits: (LogCommit | FactsCommit)[]): Completion;
  /** Removes the positions of logs. Absent: the store does not keep positions for long. */
  forgetLogs?(router: string, components: readonly string[]): Completion;
}

/** Log and uid of the record of an event. */
type OfRecord = Pick<KnownGap, 'component' | 'uid'>;

/** An event reported while the logs of a router are read. */
export type LogEvent =
  | LineEvent
  /** Logs that are no longer listed and were forgotten, because the router listed more names than the limit. */
  | { readonly type: 'logs-forgotten'; readonly components: readonly string[] }
  | { readonly type: 'logs-listed'; readonly archives: ReadonlyMap<string, number>; readonly unknown: number }
  | {
      readonly type: 'log-read';
      readonly component: string;
      readonly lines: number;
      readonly bytes: number;
      readonly unparsed: number;
      /** Lines about requests of this program. */
      readonly own: number;
      /** NUL bytes removed from lines. */
      readonly nulBytes: number;
      readonly newestUtcMs: number | undefined;
    }
  /** The log was read to its end, and no older file is outstanding. */
  | { readonly type: 'log-caught-up'; readonly component: string; readonly isWaitingForLineEnd: boolean }
  | ({ readonly type: 'log-gap-found' } & KnownGap)
  /** One record `log.gap_end`: the first line after a gap was read. */
  | ({
      readonly type: 'log-gap-ended';
      readonly gapUid: string;
      /** Time of that line, if it has one. Milliseconds since the Unix epoch. */
      readonly untilUtcMs: number | undefined;
    } & OfRecord)
  | ({ readonly type: 'log-reset'; readonly reason: 'wiped' | 'replaced' } & OfRecord)
  /** Time until the router deletes unread lines at the current growth; `undefined` if the log does not grow. */
  | {
      readonly type: 'log-retention';
      readonly component: string;
      readonly msToLoss: number | undefined;
      /** When a missing rotated file becomes a gap; absent if none is missing. Milliseconds since the Unix epoch. */
      readonly gapAtMs?: number | undefined;
    }
  /** Lines written just now have times of a zone other than the configured one. */
  | { readonly type: 'log-zone-mismatched'; readonly offByMs: number }
  /**
   * The UTC offset of the log lines, learnt from the router's clock or from rotations because no zone is configured.
   * Reported when it becomes known or changes. `zone`: the IANA zone that matches, if one was found.
   */
  | { readonly type: 'log-zone-learnt'; readonly offsetMs: number; readonly zone: string | undefined }
  /** Whether files begin in the second in which the previous one ends. Reported at the start and on changes. */
  | ({ readonly type: 'log-links-judged' } & LinkVerdict)
  /** A rotated file is incomplete, probably because the router is still compressing it. */
  | { readonly type: 'archive-unfinished'; readonly component: string; readonly file: string; readonly cause: unknown }
  /** Binary bytes after the end of a complete archive, which are ignored. */
  | {
      readonly type: 'archive-trailing-ignored';
      readonly component: string;
      readonly file: string;
      readonly bytes: number;
    }
  | { readonly type: 'log-failed'; readonly component: string; readonly file: string; readonly cause: unknown };

/** Options of one run over the logs of one router. */
export interface FollowOptions {
  /** Router whose logs are read. */
  readonly router: RouterIdentity;
  /** Lists and downloads the log files. */
  readonly source: LogSource;
  /** Stores records and positions. */
  readonly records: RecordLog;
  /**
   * Called with the records of a step before they are stored, because the store may release their memory. The returned
   * function is called after the commit. Default: none.
   */
  readonly onStoring?: ((lines: RecordLines) => () => void) | undefined;
  /** Threads that decompress rotated files. */
  readonly archives: ArchivePool;
  /** Clock for time limits and the time of observation. */
  readonly clock: Clock;
  /** The configured zone. If it has no name, the zone is learnt from the router. */
  readonly zone: Zone;
  /**
   * Requests the local time and the UTC time of the router, to learn the zone before the first line; `undefined` if the
   * router does not report both. Rejects like {@link LogSource}. Absent: the zone is learnt from the log files alone.
   */
  readonly readTime?: ((signal: AbortSignal) => Promise<RouterTime | undefined>) | undefined;
  /** Called for every event of reading. */
  readonly report: (event: LogEvent) => void;
  /** Default: all. */
  readonly start?: LogStart | undefined;
  /** Maximum history read before new lines, and maximum history read in one run. Bytes of log text. */
  readonly historyBytesMax?: number | undefined;
  /** True if no run follows: no lines are held back for a later run. */
  readonly isOnlyRun?: boolean | undefined;
  /** The last pause of the router. Files deleted in it are gaps with reason `paused`. Default: none. */
  readonly pause?: LifecyclePause | undefined;
  /** State of earlier runs of this process. */
  readonly memory?: FollowMemory | undefined;
  /** Firmware version, if known. Range support is tested again for each version. */
  readonly firmware?: string | undefined;
  /** Serial number, if known. Another number means another device. */
  readonly serial?: string | undefined;
  /**
   * Requests the serial number when known files are missing; `undefined` if the router does not report it. Rejects like
   * {@link LogSource}. Absent: only `serial` shows that the device was replaced.
   */
  readonly readSerial?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Redaction and log rules. Default: none. */
  readonly matcher?: LineMatcher | undefined;
  /** Returns true if the log of a component is read. */
  readonly isWanted: (component: string) => boolean;
  /** Called between two logs. True ends the run: the rest is read in the next one. */
  readonly shouldYield?: (() => boolean) | undefined;
}
