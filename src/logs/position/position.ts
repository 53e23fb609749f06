import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { isPlainObject } from '../../base/index.ts';
import type { RecordFlag, Severity } from '../../model/index.ts';
import type { ClockState } from '../time/log-clock.ts';
import { type GapEdge, isGapReason, type OpenGap, type Track } from './gap.ts';
import { createUidPrefix, EMPTY_PROOF, type PrefixProof, type RecoveredBlock, renderUid } from './identity.ts';

type Guard<T> = (value: unknown) => value is T;
/** The type checked by a guard, so that the stored form is described once. */
type Stored<G> = G extends Guard<infer T> ? T : never;
type Fields = Readonly<Record<string, Guard<unknown>>>;
type Shape<F extends Fields> = {
  readonly [Key in keyof F as undefined extends Stored<F[Key]> ? never : Key]: Stored<F[Key]>;
} & {
  readonly [Key in keyof F as undefined extends Stored<F[Key]> ? Key : never]?: Stored<F[Key]>;
};

const isString: Guard<string> = (value) => typeof value === 'string';
const isFlag: Guard<boolean> = (value) => typeof value === 'boolean';
const isNumber: Guard<number> = (value) => typeof value === 'number';
const isCount: Guard<number> = (value): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Range of `Date`. Milliseconds around the Unix epoch. */
const DATE_MS_MAX = 8.64e15;
const isMoment: Guard<number> = (value): value is number => typeof value === 'number' && Math.abs(value) <= DATE_MS_MAX;

function optional<T>(guard: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || guard(value);
}

function nullable<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

function either<A, B>(first: Guard<A>, second: Guard<B>): Guard<A | B> {
  return (value): value is A | B => first(value) || second(value);
}

function oneOf<const T>(values: readonly T[]): Guard<T> {
  return (value): value is T => values.some((one) => one === value);
}

function listOf<T>(guard: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(guard);
}

function mapOf<T>(guard: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> => isPlainObject(value) && Object.values(value).every(guard);
}

/** Unknown fields are allowed. */
function shape<F extends Fields>(fields: F): Guard<Shape<F>> {
  const keys = Object.keys(fields);
  const guards = Object.values(fields);
  return (value): value is Shape<F> => {
    if (!isPlainObject(value)) return false;
    // A position has hundreds of fields and is checked in every run, so no closures or pairs here.
    for (let index = 0; index < keys.length; index++) {
      if (guards[index]?.(value[keys[index] ?? '']) !== true) return false;
    }
    return true;
  };
}

const isEdge: Guard<GapEdge> = shape({ uid: isString, utcMs: optional(isMoment) });
const isTrack: Guard<Track> = oneOf(['live', 'backfill', 'late']);
const isProof: Guard<PrefixProof> = shape({ base: isCount, baseSha: isString, sha: isString });
const isRecovered: Guard<RecoveredBlock> = shape({ block: isCount, offset: isNumber });
const isOpenGap: Guard<OpenGap> = shape({ uid: isString, file: isString, offset: isNumber, track: optional(isTrack) });

const isFile = shape({
  key: isString,
  gen: isCount,
  /** True if the first line has no time: other files may begin with the same line. Default: false. */
  isUntimed: optional(isFlag),
  off: isCount,
  proof: isProof,
  /** Time of the first line with a time, by the router's clock. */
  firstUtcMs: optional(isMoment),
  /** Time of the newest line, by the router's clock. */
  lastUtcMs: optional(isMoment),
  /** Time in the record of that line. */
  shownMs: optional(isMoment),
  lastStart: isCount,
  /** Offsets at which the file was seen to end within the line after `off`. */
  tornAt: listOf(isCount),
  /** Line frequency, if counted from the first line on. */
  pace: optional(shape({ lines: isCount, spanMs: isNumber, recentMs: isNumber })),
  /** Stamp of the previous file, if the log was followed from that file into this one. */
  follows: optional(isString),
  /** The archive block after the last damage before `lastStart`, from which uids are counted. */
  recovered: optional(isRecovered),
  /** Damage before this bit of the archive was already reported. Default: none. */
  damageToldBit: optional(isCount),
});
/** A log file read in part: identity (`key`, `gen`), offset, and context for the next lines. Its name may change. */
export type LogFile = Stored<typeof isFile>;

/** A log file that is advanced line by line. */
export type LogFileDraft = { -readonly [Key in keyof Omit<LogFile, 'pace'>]: LogFile[Key] } & {
  pace?: { -readonly [Key in keyof NonNullable<LogFile['pace']>]: number } | undefined;
};

export function copyFile(file: LogFile): LogFileDraft {
  return { ...file, pace: file.pace && { ...file.pace } };
}

const isPending = shape({
  file: isFile,
  /** Wall time at which it was first missed. */
  sinceMs: isMoment,
  /** True if lines of a newer file were emitted before its rest. */
  isOvertaken: isFlag,
  isRotated: isFlag,
  /** True if a newer file was read that the router compresses after this one. */
  isPassed: isFlag,
  to: optional(nullable(isEdge)),
});
/** A file whose rest was not found yet. */
export type Pending = Stored<typeof isPending>;

const isFileFault = oneOf(['gone', 'cut', 'corrupt', 'refused']);
/** Why the last read of a listed file failed. */
export type FileFault = Stored<typeof isFileFault>;

const isUnread = shape({
  /** Wall time at which it was first listed or first failed. */
  sinceMs: isMoment,
  /** Failed reads in a row with the same fault. */
  attempts: isCount,
  fault: optional(isFileFault),
  /** Wall time before which it is not retried. */
  notBeforeMs: isNumber,
  /** True for history at first contact, which is read after new lines. */
  isBackfill: isFlag,
  /** First line read after this file; `null` if there may be one that is not known. */
  to: optional(nullable(isEdge)),
});
/** A listed rotated file that is not completely read. */
export type UnreadFile = Stored<typeof isUnread>;

const isBrokenLink = shape({
  after: isString,
  from: optional(isEdge),
  sinceMs: isMoment,
  to: optional(isEdge),
  /** Track of the file before the break. Default: `live`. */
  track: optional(isTrack),
  /** Start of the file after the break, if that is in the order of the log. */
  beginsUtcMs: optional(isMoment),
  /** True if the log was followed into the file before the break. */
  isWatched: optional(isFlag),
  /** True if first lines prove nothing: only files deleted meanwhile may be missing. */
  isVague: optional(isFlag),
});
/**
 * A rotation after which the next file does not begin in the second of the previous file's name. A file between them is
 * missing, or the router's clock was set.
 */
export type BrokenLink = Stored<typeof isBrokenLink>;

const isSequenceEnd = shape({
  stamp: isString,
  edge: optional(isEdge),
  /** Mean distance of its lines, if counted. Milliseconds. */
  distanceMs: optional(isNumber),
  /** True if it was seen as `current`, or the log was followed into it. */
  isWatched: optional(isFlag),
});
/** The last completely read file in the order of the log. */
export type SequenceEnd = Stored<typeof isSequenceEnd>;

const isHeld = shape({
  uid: isString,
  file: isString,
  start: isCount,
  /** Byte after its last line, line end included. */
  end: isCount,
  observedMs: isMoment,
  /** RFC 3339; absent if it has no time, or none yet. */
  timestamp: optional(isString),
  /** Time of the line, if the router's clock was right. */
  utcMs: optional(isMoment),
  tag: optional(isString),
  severity: optional((value): value is Severity => isString(value)),
  message: isString,
  flags: listOf((value): value is RecordFlag => isString(value)),
  lines: isCount,
  /** True if the message differs from the bytes, so that the record includes `original`. */
  needsOriginal: isFlag,
  /** Unchanged lines in base64; absent if too long or redacted. */
  original: optional(isString),
  details: optional(mapOf(nullable(either(isString, isNumber)))),
});
/** A record held back until the next read, because continuation lines may follow. */
export type HeldEntry = Stored<typeof isHeld>;

const isStream = shape({
  /** The last record, if the log is known to have continuation lines. */
  held: optional(isHeld),
  /** True once a continuation line was seen. */
  joins: isFlag,
  lastUid: optional(isString),
  clock: shape({
    lastUtcMs: optional(isMoment),
    unsyncedBelowMs: optional(isMoment),
    isAhead: isFlag,
    epoch: isCount,
  }),
  /** Order of day and month, learnt from ambiguous dates. */
  order: optional(oneOf(['dmy', 'mdy'])),
  /** True once the log ended within a line or block: its writer buffers, so lines arrive late. */
  isBuffered: isFlag,
});
/** Context of the next line of a log, also across files. */
export type StreamState = Stored<typeof isStream>;

const isPosition = shape({
  version: oneOf([4]),
  open: optional(isFile),
  pending: listOf(isPending),
  /** Files that are lost or no longer listed, newest last. If one reappears, it is not read from its start. */
  lost: listOf(isFile),
  waiting: mapOf(isUnread),
  /** Completely read rotated files by stamp while they are listed; `null` if only the name is kept. */
  completed: mapOf(nullable(isFile)),
  sequenceEnd: optional(isSequenceEnd),
  brokenLinks: listOf(isBrokenLink),
  /** Next generation of files that begin alike and are no longer remembered. */
  gens: mapOf(isCount),
  /** Until `current` was first read, older lines than this are skipped. Milliseconds since the Unix epoch. */
  skipBeforeUtcMs: optional(isNumber),
  isWiped: isFlag,
  /** Gaps reported without their end, oldest first. */
  openGaps: listOf(isOpenGap),
  /** First new line, which ends the last gap of history read later. `null` until it is read. */
  liveFrom: optional(nullable(isEdge)),
  /** Text of the zone of the times here. */
  zone: isString,
  stream: isStream,
});
/**
 * The position of one log (one component of one router). A log is a sequence of files, each in one of these states:
 *
 * ```
 *                     ┌── still `current`, grown: its new lines are read ──┐
 *   (first seen) ──▶ open ◀────────────────────────────────────────────────┘
 *        │            │
 *        │            ├── `current` is another file ──▶ pending ──┬── found rotated, read to its end ──▶ completed
 *        │            │                                           ├── not found for 15 minutes, or a
 *        │            │                                           │   younger file is there ──▶ lost, with a gap
 *        │            └── all files of the log are gone ──────────┴──▶ lost, with a gap and a reset
 *        │
 *        └── rotated: waiting ──┬── read to its end ──▶ completed ── no longer listed ──▶ lost, without a gap
 *                 ▲    │        ├── not listed any more, or 404 three times ──▶ lost, with a gap
 *                 └────┘        ├── unfinished for 15 minutes ──▶ completed, with a gap
 *               tried again     └── damaged three times ──▶ completed, with a gap for each damaged stretch
 * ```
 */
export type LogPosition = Stored<typeof isPosition>;

export const isKnownGap = shape({
  uid: isString,
  component: isString,
  /** Time of detection by the agent's clock. Milliseconds since the Unix epoch. */
  foundMs: isMoment,
  certainty: oneOf(['certain', 'likely', 'possible']),
  reason: isGapReason,
  /** Minimum of missing bytes, if known. */
  bytesMin: optional(isCount),
  /** Time of the first line after the gap, if known. Milliseconds since the Unix epoch. */
  untilUtcMs: optional(isMoment),
});
/** A reported gap, remembered for the pages. */
export type KnownGap = Stored<typeof isKnownGap>;

/** Returns the position of a log that was never read. `zone`: text of the zone in use. */
export function createPosition(zone: string): LogPosition {
  return {
    version: 4,
    open: undefined,
    pending: [],
    lost: [],
    waiting: {},
    completed: {},
    sequenceEnd: undefined,
    brokenLinks: [],
    gens: {},
    skipBeforeUtcMs: undefined,
    isWiped: false,
    openGaps: [],
    liveFrom: undefined,
    zone,
    stream: createStreamState(),
  };
}

/** Returns a file of which nothing was read. */
export function createFile(key: string, gen: number, isUntimed = false): LogFile {
  return {
    key,
    gen,
    ...(isUntimed && { isUntimed }),
    off: 0,
    proof: EMPTY_PROOF,
    firstUtcMs: undefined,
    lastUtcMs: undefined,
    shownMs: undefined,
    lastStart: 0,
    tornAt: [],
  };
}

/** Returns the last line read of a file, the start of a gap there; `undefined` if nothing was read. */
export function toLastEdge(router: string, component: string, file: LogFile): GapEdge | undefined {
  const { off, lastStart, lastUtcMs, recovered } = file;
  if (off === 0) return undefined;
  return { uid: renderUid(createUidPrefix(router, component, file), lastStart, recovered), utcMs: lastUtcMs };
}

export function createStreamState(): StreamState {
  return {
    held: undefined,
    joins: false,
    lastUid: undefined,
    clock: { lastUtcMs: undefined, unsyncedBelowMs: undefined, isAhead: false, epoch: 0 },
    order: undefined,
    isBuffered: false,
  };
}

export type StreamDraft = { -readonly [Key in keyof Omit<StreamState, 'clock'>]: StreamState[Key] } & {
  readonly clock: ClockState;
};

export function copyStreamState(state: StreamState): StreamDraft {
  return { ...state, clock: { ...state.clock } };
}

/**
 * Longer texts are compressed: a held record may have 256 KiB with 6 bytes per character as JSON, and NATS limits
 * messages to 1 MiB. Characters.
 */
const PACKED_CHARS_MIN = 64 * 1024;
const PACKED = 'deflate:';
const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;

/** Renders a position with a checksum: a position damaged on disk would be worse than none. */
export function renderPosition(position: LogPosition): string {
  const json = JSON.stringify(position);
  const text = json.length < PACKED_CHARS_MIN ? json : `${PACKED}${deflateRawSync(json).toString('base64')}`;
  return renderChecked(text);
}

export function renderChecked(text: string): string {
  return `${text}\n${crc32(text).toString(16)}`;
}

/** Returns the text without its checksum; `undefined` if the checksum does not match. */
export function parseChecked(checked: string): string | undefined {
  const end = checked.lastIndexOf('\n');
  const text = checked.slice(0, end);
  return end < 0 || crc32(text).toString(16) !== checked.slice(end + 1) ? undefined : text;
}

function unpack(text: string): string {
  if (!text.startsWith(PACKED)) return text;
  const bytes = Buffer.from(text.slice(PACKED.length), 'base64');
  return inflateRawSync(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
}

/**
 * Parses the text of {@link renderPosition}. Otherwise `undefined`: the log is read from its start, with the same uids.
 */
export function parsePosition(text: string): LogPosition | undefined {
  const body = parseChecked(text);
  if (body === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(unpack(body));
    return isPosition(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
