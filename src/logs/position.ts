/**
 * One log file that has been read in part: its identity, how far it was read, and what the lines after that need from
 * the ones before. The file may meanwhile be listed under another name.
 */
export interface Instance {
  readonly key: string;
  readonly gen: number;
  /** Bytes read, decompressed; always the end of a line. */
  off: number;
  /** SHA-256 of the bytes before `off`, as hex: the proof that a file is this one. */
  prefixSha: string;
  /** The first line's time to the second, as text. */
  firstStamp: string | undefined;
  /** UTC of the first line that has a time. */
  firstUtcMs: number | undefined;
  /** UTC of the newest line read. */
  lastUtcMs: number | undefined;
  /** Start of the last line read. */
  lastStart: number;
}

/** A file whose rest has not been found yet. */
export interface Pending {
  readonly instance: Instance;
  /** Wall time at which it was first looked for in vain. */
  readonly sinceMs: number;
  /** Whether lines of a newer file have been shipped before its own rest. */
  isOvertaken: boolean;
}

/** A rotated file that is listed and not read to its end. */
export interface Waiting {
  /** Wall time at which it was first listed. */
  readonly sinceMs: number;
  /** Readings that ended before the file did. */
  attempts: number;
}

/**
 * A rotation after which the next file did not begin: its first line should fall in the second that is the name of the
 * file before it. Something between them is missing, or the router's clock was set.
 */
export interface BrokenLink {
  /** The rotated file before the break. */
  readonly after: string;
  /** Wall time at which the break was first seen. */
  readonly sinceMs: number;
}

/**
 * Where one log (one component of one router) stands. A log is a chain of files, each in one of these states:
 *
 * ```
 *   (new) ──▶ open ── no longer `current` ──▶ pending ── found rotated, read to its end ──▶ completed
 *              │                                 │
 *              └── found rotated, read ──▶ completed      └── not found for 15 minutes ──▶ given up, with a gap
 * ```
 */
export interface LogPosition {
  readonly version: 1;
  /** The file that was last seen as `current`. */
  open: Instance | undefined;
  /** Oldest first. */
  pending: Pending[];
  /** Files that were given up; should the rest of one turn up after all, it is not read from its start. Newest last. */
  lost: Instance[];
  waiting: Record<string, Waiting>;
  /** Rotated files that were read to their end, by stamp, for as long as they are listed. */
  completed: Record<string, Instance>;
  /** The newest rotated file that was ever read to its end. */
  lastStamp: string | undefined;
  brokenLinks: BrokenLink[];
  /** Whether a line with a time stamp has ever been read: then a body without any is no log. */
  hasHistory: boolean;
}

/** The position of a log that has never been read. */
export function createPosition(): LogPosition {
  return {
    version: 1,
    open: undefined,
    pending: [],
    lost: [],
    waiting: {},
    completed: {},
    lastStamp: undefined,
    brokenLinks: [],
    hasHistory: false,
  };
}

export function renderPosition(position: LogPosition): string {
  return JSON.stringify(position);
}

/**
 * Reads back what {@link renderPosition} wrote. Anything else gives `undefined`: then the log is read from its start,
 * with the same uids as before.
 */
export function parsePosition(text: string): LogPosition | undefined {
  try {
    const value = JSON.parse(text) as Partial<LogPosition> | null;
    const isWhole =
      value?.version === 1 &&
      Array.isArray(value.pending) &&
      Array.isArray(value.lost) &&
      Array.isArray(value.brokenLinks) &&
      typeof value.waiting === 'object' &&
      typeof value.completed === 'object';
    return isWhole ? { ...createPosition(), ...value } : undefined;
  } catch {
    return undefined;
  }
}
