import type { RecordLines } from '../../model/index.ts';
import type { LogLine, RecordQuery } from '../../web/index.ts';
import { readLastLines } from './last-lines.ts';
import { toLogLine } from './recent-records.ts';
import { createRecordMatcher } from './record-filter.ts';

/** Lines of one commit that are passed on: the last ones. A commit of an archive has thousands. */
const COMMIT_LINES_MAX = 200;

/** Called with new lines that fit, oldest first, and with how many lines of the same commit were not looked at. */
export type LineListener = (lines: readonly LogLine[], skipped: number) => void;

interface Follower {
  readonly query: RecordQuery;
  readonly isWanted: (line: LogLine) => boolean;
  readonly listener: LineListener;
}

/** Passes lines on to those who follow the logs, at the moment when they were stored. Costs nothing without followers. */
export class LineFeed {
  readonly #followers = new Set<Follower>();

  /** Calls `listener` for new lines that fit a query; returns the function that ends it. */
  follow(query: RecordQuery, listener: LineListener): () => void {
    const follower = { query, isWanted: createRecordMatcher(query), listener };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /**
   * Reads records that are about to be stored for a router, if anybody follows it; returns the function that passes them on once
   * they are stored. Their memory is valid during this call only.
   */
  prepare(router: string, records: RecordLines): () => void {
    const followers = [...this.#followers].filter(({ query }) => query.router === undefined || query.router === router);
    if (followers.length === 0 || records.length === 0) return () => {};
    const lines = readLastLines(records, COMMIT_LINES_MAX).map((text) => toLogLine(text, router));
    const skipped = records.length - lines.length;
    return () => {
      for (const follower of followers) {
        const wanted = lines.filter(follower.isWanted);
        if (this.#followers.has(follower) && wanted.length + skipped > 0) follower.listener(wanted, skipped);
      }
    };
  }
}
