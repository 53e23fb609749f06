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
import type { KnownGap } from '../position/event-records.ts';
import type { LineEvent } from '../records/record-batch.ts';
import type { LineMatcher } from '../rules/line-matcher.ts';
import type { LogStart } from '../rules/settings.ts';
import type { Zone } from '../time/zone.ts';
import type { FollowMemory } from './memory.ts';

/** Headers of a response that matter for reading its body. */
export interface BodyFacts {
  /** Its entity tag, sent with the next request so that an unchanged file is not sent again. */
  readonly etag?: string | undefined;
  /** The router's own time, milliseconds since the Unix epoch. */
  readonly dateMs?: number | undefined;
  /** Its media type, as in `text/plain`: a hint at an error page. */
  readonly mediaType?: string | undefined;
}

interface ReadLogOptions {
  /** First byte that is wanted. A router without ranges sends the whole file. */
  readonly start?: number | undefined;
  /** Wanted only if the file has another entity tag; a router that agrees answers 304. */
  readonly unlessEtag?: string | undefined;
}

/**
 * A router's log files. It throws `SourceError`, with `status` when the router answered with one (304: not changed, 404: no
 * such file, 206 or 416: not the range that was asked for), and `isAnswered` when it is well and only this request failed.
 */
export interface LogSource {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
  /** `start` given to `consume` is the place of the body's first byte. */
  readLog<T>(
    name: string,
    signal: AbortSignal,
    consume: (body: AsyncIterable<Uint8Array>, start?: number, facts?: BodyFacts) => Promise<T>,
    options?: ReadLogOptions,
  ): Promise<T>;
}

/** Durable storage of records, positions and facts. */
export interface RecordLog {
  /** Returns the positions of a router's logs by component. */
  readPositions(router: string): ReadonlyMap<string, string>;
  /** Returns the facts about a router as a whole; `undefined` when nothing is stored. */
  readFacts(router: string): string | undefined;
  /** Stores all of `commits` or nothing; throws or rejects with disposition `hold-back` when there is no room. */
  commit(...commits: (LogCommit | FactsCommit)[]): Completion;
  /** Forgets the positions of logs. Absent: positions are not kept for long. */
  forgetLogs?(router: string, components: readonly string[]): Completion;
}

/** An event of reading a router's logs. */
export type LogEvent =
  | LineEvent
  /** Logs that the router lists no longer, because it has listed more than are remembered. */
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
      /** NUL bytes that were cut out of lines. */
      readonly nulBytes: number;
      /** UTC of the newest line, milliseconds since the Unix epoch. */
      readonly newestUtcMs: number | undefined;
    }
  /** The log was read to its present end, and nothing older is outstanding. */
  | { readonly type: 'log-caught-up'; readonly component: string; readonly isWaitingForLineEnd: boolean }
  /** One record `log.gap`. */
  | ({ readonly type: 'log-gap-found' } & KnownGap)
  /** One record `log.gap_end`: the first line behind a gap was read. */
  | {
      readonly type: 'log-gap-ended';
      readonly component: string;
      readonly gapUid: string;
      /** Time of that line, as far as it has one. Milliseconds since the Unix epoch. */
      readonly untilUtcMs: number | undefined;
    }
  /** One record `log.reset`. */
  | { readonly type: 'log-reset'; readonly component: string; readonly reason: 'wiped' | 'replaced' }
  /** Time until the router deletes unread lines at the rate at which the log grows; `undefined` when it does not grow. */
  | {
      readonly type: 'log-retention';
      readonly component: string;
      readonly msToLoss: number | undefined;
      /** When a file that was rotated away becomes a gap unless it is found; absent when none is looked for. Unix time in ms. */
      readonly gapAtMs?: number | undefined;
    }
  /** Lines that were just written are stamped as if in another zone than the one that is in use. */
  | { readonly type: 'log-zone-doubted'; readonly offByMs: number }
  /**
   * The UTC offset of the router's log lines where no zone is configured, from its own time or its rotations; told when it
   * becomes known or changes. `zone`: the IANA zone that explains it, when one is found.
   */
  | { readonly type: 'log-zone-learnt'; readonly offsetMs: number; readonly zone: string | undefined }
  /**
   * Evidence from rotations of how files follow each other: if a file begins in the second in which the one before it ends.
   * Reported when it becomes known or changes, and at the start.
   */
  | ({ readonly type: 'log-links-judged' } & LinkVerdict)
  /** A rotated file is not whole yet, most likely because the router is still compressing it. */
  | { readonly type: 'archive-unfinished'; readonly component: string; readonly file: string; readonly cause: unknown }
  /** Bytes that are no text stand behind the end of a whole archive. They are ignored. */
  | {
      readonly type: 'archive-trailing-ignored';
      readonly component: string;
      readonly file: string;
      readonly bytes: number;
    }
  | { readonly type: 'log-failed'; readonly component: string; readonly file: string; readonly cause: unknown };

/** What the reading of one router's logs in one run needs. */
export interface FollowOptions {
  /** Router whose logs are read. */
  readonly router: RouterIdentity;
  /** Lists and downloads the log files. */
  readonly source: LogSource;
  /** Stores records and positions. */
  readonly records: RecordLog;
  /**
   * Called with the records of each step of a log before they are stored, because a sink may be done with their memory before the
   * store has answered; what it returns is called once they are stored. Default: nothing is.
   */
  readonly onStoring?: ((lines: RecordLines) => () => void) | undefined;
  /** Threads that decompress rotated files. */
  readonly archives: ArchivePool;
  /** Clock for time limits and the time of observation. */
  readonly clock: Clock;
  /** As configured; one without a name is learnt. */
  readonly zone: Zone;
  /**
   * Asks the router for its local time and its UTC time, to learn the zone before the first line; `undefined` when it does
   * not tell both. Errors as those of a {@link LogSource}. Absent: the zone is learnt from log files alone.
   */
  readonly readTime?: ((signal: AbortSignal) => Promise<RouterTime | undefined>) | undefined;
  /** Called for every event of reading. */
  readonly report: (event: LogEvent) => void;
  /** Default: all. */
  readonly start?: LogStart | undefined;
  /** More history than this is read behind what is new, and no more than this of it in one run. Bytes of log text. */
  readonly historyBytesMax?: number | undefined;
  /** True if no later run follows: nothing is kept back for lines that a later run might bring. */
  readonly isOnlyRun?: boolean | undefined;
  /** The last time in which the router was not asked: what it deleted meanwhile is a gap of that. Default: none. */
  readonly pause?: LifecyclePause | undefined;
  /** State of earlier runs of this process. */
  readonly memory?: FollowMemory | undefined;
  /** Firmware version, when it is known: what the router can do is tried out once for each. */
  readonly firmware?: string | undefined;
  /** Serial number, when it is known: another one means another router. */
  readonly serial?: string | undefined;
  /**
   * Asks the router for its serial number, when its files are not those that are known: `undefined` when it does not tell. Errors as
   * those of a {@link LogSource}. Absent: it is the same router as long as `serial` does not say otherwise.
   */
  readonly readSerial?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Redaction and log rules. Default: none. */
  readonly matcher?: LineMatcher | undefined;
  /** Returns true if a component's log is wanted. */
  readonly isWanted: (component: string) => boolean;
  /** Called between two logs: true leaves the rest to the next run, because the router has something else to do. */
  readonly shouldYield?: (() => boolean) | undefined;
}
