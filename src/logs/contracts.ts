import type { GapCertainty } from '../model/index.ts';

/**
 * A router's log files. Errors carry `status` when the router answered with one (404: no such file) and `isAnswered`
 * when it is well and only this request failed.
 */
export interface LogSource {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
  readLog<T>(name: string, signal: AbortSignal, consume: (body: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T>;
}

/** Where records and positions become durable. */
export interface RecordLog {
  /** Positions by component. */
  readPositions(router: string): ReadonlyMap<string, string>;
  /** Stores both or neither; throws with disposition `hold-back` when there is no room. */
  commit(commit: { router: string; component: string; position: string; lines: readonly string[] }): void;
}

/** What happened while a router's logs were read. */
export type LogEvent =
  | { readonly type: 'logs-listed'; readonly archives: ReadonlyMap<string, number>; readonly unknown: number }
  | {
      readonly type: 'log-read';
      readonly component: string;
      readonly lines: number;
      readonly bytes: number;
      readonly unparsed: number;
      /** UTC of the newest line, milliseconds since the Unix epoch. */
      readonly newestUtcMs: number | undefined;
    }
  /** The log was read to its present end, and nothing older is outstanding. */
  | { readonly type: 'log-caught-up'; readonly component: string }
  | {
      readonly type: 'log-gap-found';
      readonly component: string;
      readonly certainty: GapCertainty;
      readonly reason: string;
    }
  /** A rotated file is not whole yet, most likely because the router is still compressing it. */
  | { readonly type: 'archive-unfinished'; readonly component: string; readonly file: string; readonly cause: unknown }
  | { readonly type: 'log-failed'; readonly component: string; readonly file: string; readonly cause: unknown };
