import type { Completion, FactsCommit, LogCommit } from '../model/index.ts';
import type { LinkVerdict } from './evidence/link-rule.ts';
import type { RuleMatch } from './matching/line-matcher.ts';
import type { KnownGap } from './tail/known-gaps.ts';

/** Headers of a response that matter for reading its body. */
export interface BodyFacts {
  /** Its entity tag, sent with the next request so that an unchanged file is not sent again. */
  readonly etag?: string | undefined;
  /** The router's own time, milliseconds since the Unix epoch. */
  readonly dateMs?: number | undefined;
  /** Its media type, as in `text/plain`: a hint at an error page. */
  readonly mediaType?: string | undefined;
}

/** Local and UTC time of a router in one response: both by the same clock, right or wrong. */
export interface RouterTime {
  /** Local time, as if it were UTC. Milliseconds since the Unix epoch. */
  readonly wallAsUtcMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly utcMs: number;
}

export interface ReadLogOptions {
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

/** Fact that a line made known; told when its record is safe. All but matches of rules are records of their own too. */
export type LineEvent =
  | ({ readonly type: 'log-rule-matched'; readonly component: string } & Readonly<RuleMatch>)
  /** A notice that a line was repeated so many times. */
  | { readonly type: 'log-repeat-found'; readonly component: string; readonly count: number }
  | {
      readonly type: 'log-clock-jumped';
      readonly component: string;
      readonly beforeUtcMs: number;
      readonly afterUtcMs: number;
    };

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
