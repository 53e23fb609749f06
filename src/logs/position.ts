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
  /** Files that were given up or are no longer listed; should one turn up, it is not read from its start. Newest last. */
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
    const value: unknown = JSON.parse(text);
    return isPosition(value) ? { ...createPosition(), ...value } : undefined;
  } catch {
    return undefined;
  }
}

function isPosition(value: unknown): value is LogPosition {
  return (
    isObject(value) &&
    value['version'] === 1 &&
    isAbsentOr(value['open'], isInstance) &&
    isListOf(value['pending'], isPending) &&
    isListOf(value['lost'], isInstance) &&
    isMapOf(value['waiting'], isWaiting) &&
    isMapOf(value['completed'], isInstance) &&
    isAbsentOr(value['lastStamp'], isText) &&
    isListOf(value['brokenLinks'], isBrokenLink) &&
    typeof value['hasHistory'] === 'boolean'
  );
}

function isInstance(value: unknown): boolean {
  return (
    isObject(value) &&
    isText(value['key']) &&
    isCount(value['gen']) &&
    isCount(value['off']) &&
    isText(value['prefixSha']) &&
    isAbsentOr(value['firstUtcMs'], isMoment) &&
    isAbsentOr(value['lastUtcMs'], isMoment) &&
    isCount(value['lastStart'])
  );
}

function isPending(value: unknown): boolean {
  return (
    isObject(value) &&
    isInstance(value['instance']) &&
    isMoment(value['sinceMs']) &&
    typeof value['isOvertaken'] === 'boolean'
  );
}

function isWaiting(value: unknown): boolean {
  return isObject(value) && isMoment(value['sinceMs']) && isCount(value['attempts']);
}

function isBrokenLink(value: unknown): boolean {
  return isObject(value) && isText(value['after']) && isMoment(value['sinceMs']);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}

function isMapOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return isObject(value) && Object.values(value).every(isEntry);
}

function isAbsentOr(value: unknown, isPresent: (value: unknown) => boolean): boolean {
  return value === undefined || isPresent(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A number of milliseconds that a date can be made of. */
function isMoment(value: unknown): boolean {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}
