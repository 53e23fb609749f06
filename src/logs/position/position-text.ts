import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { isPlainObject } from '../../base/index.ts';
import type { RecordFlag, Severity } from '../../model/index.ts';
import type { ClockState } from '../time/log-clock.ts';
import { type GapEdge, isGapReason, type KnownGap, type OpenGap, type Track } from './event-records.ts';
import type { PrefixProof } from './identity.ts';
import type {
  BrokenLink,
  FileFault,
  HeldEntry,
  LogFile,
  LogPosition,
  Pending,
  SequenceEnd,
  StreamState,
  UnreadFile,
} from './position.ts';

/** Tells whether a value that was read from JSON is a `T`. */
type Guard<T> = (value: unknown) => value is T;

const isString: Guard<string> = (value) => typeof value === 'string';
const isFlag: Guard<boolean> = (value) => typeof value === 'boolean';
const isNumber: Guard<number> = (value) => typeof value === 'number';
/** A whole number from 0 on. */
const isCount: Guard<number> = (value): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Milliseconds before or behind the Unix epoch that a date can be made of. */
const DATE_MS_MAX = 8.64e15;
const isMoment: Guard<number> = (value): value is number => typeof value === 'number' && Math.abs(value) <= DATE_MS_MAX;

/** The value may be absent. */
function optional<T>(guard: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || guard(value);
}

/** The value may be `null`. */
function nullable<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

/** The value is of one type or the other. */
function either<A, B>(first: Guard<A>, second: Guard<B>): Guard<A | B> {
  return (value): value is A | B => first(value) || second(value);
}

/** The value is one of these. */
function oneOf<T>(values: readonly T[]): Guard<T> {
  return (value): value is T => values.some((one) => one === value);
}

/** A list of values of one type. */
function listOf<T>(guard: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(guard);
}

/** An object whose values are of one type. */
function mapOf<T>(guard: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> => isPlainObject(value) && Object.values(value).every(guard);
}

/** An object with these fields, and perhaps others. */
function shape<T>(fields: { readonly [Key in keyof T]-?: Guard<T[Key]> }): Guard<T> {
  const entries: readonly [string, Guard<unknown>][] = Object.entries(fields);
  const keys = entries.map(([key]) => key);
  const guards = entries.map(([, guard]) => guard);
  return (value): value is T => {
    if (!isPlainObject(value)) return false;
    // A position has hundreds of fields and is read at each look: no closure, no pairs.
    for (let index = 0; index < keys.length; index++) {
      if (guards[index]?.(value[keys[index] ?? '']) !== true) return false;
    }
    return true;
  };
}

/**
 * A longer text is packed: the record that waits for its continuation may have 256 KiB, each byte of which may take six, and the
 * engine of a cluster takes messages of one MiB. Characters.
 */
const PACKED_CHARS_MIN = 64 * 1024;
/** Stands before a packed text, which begins like no JSON. */
const PACKED = 'deflate:';
const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;

const isEdge: Guard<GapEdge> = shape<GapEdge>({ uid: isString, utcMs: optional(isMoment) });
const isTrack: Guard<Track> = oneOf(['live', 'backfill', 'late']);

const isFile: Guard<LogFile> = shape<LogFile>({
  key: isString,
  gen: isCount,
  isUntimed: optional(isFlag),
  off: isCount,
  proof: shape<PrefixProof>({ base: isCount, baseSha: isString, sha: isString }),
  firstUtcMs: optional(isMoment),
  lastUtcMs: optional(isMoment),
  shownMs: optional(isMoment),
  lastStart: isCount,
  tornAt: listOf(isCount),
  pace: optional(shape({ lines: isCount, spanMs: isNumber, recentMs: isNumber })),
  follows: optional(isString),
  recovered: optional(shape({ block: isCount, offset: isNumber })),
  damageToldBit: optional(isCount),
});

const isHeld: Guard<HeldEntry> = shape<HeldEntry>({
  uid: isString,
  file: isString,
  start: isCount,
  end: isCount,
  observedMs: isMoment,
  timestamp: optional(isString),
  utcMs: optional(isMoment),
  tag: optional(isString),
  severity: optional((value): value is Severity => isString(value)),
  message: isString,
  flags: listOf((value): value is RecordFlag => isString(value)),
  lines: isCount,
  needsOriginal: isFlag,
  original: optional(isString),
  details: optional(mapOf(nullable(either(isString, isNumber)))),
});

const isStream: Guard<StreamState> = shape<StreamState>({
  held: optional(isHeld),
  joins: isFlag,
  lastUid: optional(isString),
  clock: shape<ClockState>({
    lastUtcMs: optional(isMoment),
    unsyncedBelowMs: optional(isMoment),
    isAhead: isFlag,
    epoch: isCount,
  }),
  order: optional(oneOf(['dmy', 'mdy'])),
  isBuffered: isFlag,
});

const isPosition: Guard<LogPosition> = shape<LogPosition>({
  version: oneOf([4]),
  open: optional(isFile),
  pending: listOf(
    shape<Pending>({
      file: isFile,
      sinceMs: isMoment,
      isOvertaken: isFlag,
      isRotated: isFlag,
      isPassed: isFlag,
      to: optional(nullable(isEdge)),
    }),
  ),
  lost: listOf(isFile),
  waiting: mapOf(
    shape<UnreadFile>({
      sinceMs: isMoment,
      attempts: isCount,
      fault: optional(oneOf<FileFault>(['gone', 'cut', 'corrupt', 'refused'])),
      notBeforeMs: isNumber,
      isBackfill: isFlag,
      to: optional(nullable(isEdge)),
    }),
  ),
  completed: mapOf(nullable(isFile)),
  sequenceEnd: optional(
    shape<SequenceEnd>({
      stamp: isString,
      edge: optional(isEdge),
      distanceMs: optional(isNumber),
      isWatched: optional(isFlag),
    }),
  ),
  brokenLinks: listOf(
    shape<BrokenLink>({
      after: isString,
      from: optional(isEdge),
      sinceMs: isMoment,
      to: optional(isEdge),
      track: optional(isTrack),
      beginsUtcMs: optional(isMoment),
      isWatched: optional(isFlag),
      isVague: optional(isFlag),
    }),
  ),
  gens: mapOf(isCount),
  skipBeforeUtcMs: optional(isNumber),
  isWiped: isFlag,
  openGaps: listOf(shape<OpenGap>({ uid: isString, file: isString, offset: isNumber, track: optional(isTrack) })),
  liveFrom: optional(nullable(isEdge)),
  zone: isString,
  stream: isStream,
});

/** Tells whether a stored value is a gap as it is remembered for the pages. */
export const isKnownGap: Guard<KnownGap> = shape<KnownGap>({
  uid: isString,
  component: isString,
  // Another number would end the rendering of a page.
  foundMs: isMoment,
  certainty: oneOf(['certain', 'likely', 'possible']),
  reason: isGapReason,
  bytesMin: optional(isCount),
  untilUtcMs: optional(isMoment),
});

/** A position as text, with a checksum: a position that a damaged disk has changed would be worse than none. */
export function renderPosition(position: LogPosition): string {
  const json = JSON.stringify(position);
  const text = json.length < PACKED_CHARS_MIN ? json : `${PACKED}${deflateRawSync(json).toString('base64')}`;
  return `${text}\n${crc32(text).toString(16)}`;
}

/** Undoes the packing of a long text. */
function unpack(text: string): string {
  if (!text.startsWith(PACKED)) return text;
  const bytes = Buffer.from(text.slice(PACKED.length), 'base64');
  return inflateRawSync(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
}

/**
 * Reads back what {@link renderPosition} wrote, in this version. Anything else gives `undefined`: then the log is read from its start,
 * with the same uids as before.
 */
export function parsePosition(text: string): LogPosition | undefined {
  const end = text.lastIndexOf('\n');
  const body = text.slice(0, end);
  if (end < 0 || crc32(body).toString(16) !== text.slice(end + 1)) return undefined;
  try {
    const value: unknown = JSON.parse(unpack(body));
    return isPosition(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
