import type { RecordFlag, Severity } from '../../model/index.ts';
import type { Pace } from '../listing/link-rule.ts';
import type { ClockState } from '../time/log-clock.ts';
import type { DateOrder } from '../time/stamp.ts';
import type { GapEdge, OpenGap, Track } from './event-records.ts';
import { createUidPrefix, EMPTY_PROOF, type PrefixProof, type RecoveredBlock, renderUid } from './identity.ts';

/**
 * One log file that has been read in part: its identity (`key` and `gen`), how far it was read, and what the lines after
 * that need from the ones before. The file may meanwhile be listed under another name.
 */
export interface LogFile {
  readonly key: string;
  readonly gen: number;
  /** True if its first line has no time: other files may begin with the same one. Default false. */
  readonly isUntimed?: boolean | undefined;
  /** Bytes read, decompressed; always the end of a line. */
  readonly off: number;
  /** Proof over the bytes before `off` that a file is this one. */
  readonly proof: PrefixProof;
  /** UTC of the first line that has a time, as the router's clock had it. */
  readonly firstUtcMs: number | undefined;
  /** UTC of the newest line read, as the router's clock had it. */
  readonly lastUtcMs: number | undefined;
  /** The time that was shown for that line. */
  readonly shownMs: number | undefined;
  /** Start of the last record: that of its first line. */
  readonly lastStart: number;
  /** Offsets at which the file was seen to end within the line after `off`. */
  readonly tornAt: readonly number[];
  /** Frequency of its lines, if they were counted from the first one on. */
  readonly pace?: Readonly<Pace> | undefined;
  /** The stamp of the file before it, if the log was followed from that one into this one. */
  readonly follows?: string | undefined;
  /** The archive's block behind the last damage before `lastStart`, from which uids count. */
  readonly recovered?: RecoveredBlock | undefined;
  /** Damage before this bit of the archive has been told. Default: none. */
  readonly damageToldBit?: number | undefined;
}

/** A log file that a reading advances line by line. */
export type LogFileDraft = { -readonly [Key in keyof Omit<LogFile, 'pace'>]: LogFile[Key] } & {
  pace?: Pace | undefined;
};

/** Returns a copy that can change without changing `file`; of a draft, the file as it stands now. */
export function copyFile(file: LogFile): LogFileDraft {
  return { ...file, pace: file.pace && { ...file.pace } };
}

/** A file whose rest has not been found yet. */
export interface Pending {
  readonly file: LogFile;
  /** Wall time at which it was first looked for in vain. */
  readonly sinceMs: number;
  /** True if lines of a newer file were shipped before its own rest. */
  readonly isOvertaken: boolean;
  /** True if it was begun as a rotated file. */
  readonly isRotated: boolean;
  /** True if a newer file was seen whole that the router would have compressed after this one. */
  readonly isPassed: boolean;
  /** The first line that was read behind its rest; `null` when there was one and it was not noted. */
  readonly to?: GapEdge | null | undefined;
}

/** Why a listed file could not be read the last time. */
export type FileFault = 'gone' | 'cut' | 'corrupt' | 'refused';

/** A rotated file that is listed and not read to its end. */
export interface UnreadFile {
  /** Wall time at which it was first listed, or first read in vain. */
  readonly sinceMs: number;
  /** Readings that ended before the file did. */
  readonly attempts: number;
  readonly fault: FileFault | undefined;
  /** Wall time before which it is not tried again. */
  readonly notBeforeMs: number;
  /** Part of the history at first contact, to be read behind what is new. */
  readonly isBackfill: boolean;
  /** The first line that was read behind this file; `null` when there may have been one that was not noted. */
  readonly to?: GapEdge | null | undefined;
}

/**
 * A rotation after which the next file did not begin: its first line should fall in the second that is the name of the
 * file before it. Something between them is missing, or the router's clock was set.
 */
export interface BrokenLink {
  /** The stamp of the rotated file before the break. */
  readonly after: string;
  /** Its last line. */
  readonly from: GapEdge | undefined;
  /** Wall time at which the break was first seen. */
  readonly sinceMs: number;
  /** The first line that was read behind the break. */
  readonly to?: GapEdge | undefined;
  /** Track of the file before the break. Default: `live`. */
  readonly track?: Track | undefined;
  /** UTC at which the file behind the break begins, where that is one in the order of the log. */
  readonly beginsUtcMs?: number | undefined;
  /** True if the log was followed into the file before the break. */
  readonly isWatched?: boolean | undefined;
  /** True if first lines prove nothing, and only files deleted meanwhile may be missing. */
  readonly isVague?: boolean | undefined;
}

/** The last file that was read to its end in the order of the log. */
export interface SequenceEnd {
  readonly stamp: string;
  readonly edge: GapEdge | undefined;
  /** The mean distance of its lines, as far as they were counted. Milliseconds. */
  readonly distanceMs?: number | undefined;
  /** True if it was seen as `current`, or the log was followed into it from one that was. */
  readonly isWatched?: boolean | undefined;
}

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
export interface LogPosition {
  readonly version: 4;
  /** The file that was last seen as `current`. */
  readonly open: LogFile | undefined;
  /** Oldest first. */
  readonly pending: readonly Pending[];
  /** Files that were given up or are no longer listed; should one run up, it is not read from its start. Newest last. */
  readonly lost: readonly LogFile[];
  readonly waiting: Readonly<Record<string, UnreadFile>>;
  /** Rotated files that are done with, by stamp, for as long as they are listed; `null` when only the name is kept. */
  readonly completed: Readonly<Record<string, LogFile | null>>;
  readonly sequenceEnd: SequenceEnd | undefined;
  readonly brokenLinks: readonly BrokenLink[];
  /** The next generation of files that begin alike and are remembered nowhere else. */
  readonly gens: Readonly<Record<string, number>>;
  /** Until `current` was first read: lines from before this are not wanted. */
  readonly skipBeforeUtcMs: number | undefined;
  /** True if the router has deleted all rotated files at once. */
  readonly isWiped: boolean;
  /** Gaps whose end is still to be told, the oldest first. */
  readonly openGaps: readonly OpenGap[];
  /**
   * The first line of what is new, where history is read behind it: there the last gap of that history ends. `null` until
   * that line is read.
   */
  readonly liveFrom: GapEdge | null | undefined;
  /** The text of the zone with which the times here were placed. */
  readonly zone: string;
  readonly stream: StreamState;
}

/** The position of a log that has never been read. `zone`: the text of the zone in use. */
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

/** A file of which nothing was read yet. */
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

/** The last line that was read of a file: the edge of a gap that begins there. `undefined` when nothing was read of it. */
export function toLastEdge(router: string, component: string, file: LogFile): GapEdge | undefined {
  const { off, lastStart, lastUtcMs, recovered } = file;
  if (off === 0) return undefined;
  return { uid: renderUid(createUidPrefix(router, component, file), lastStart, recovered), utcMs: lastUtcMs };
}

/** A record of lines that waits for lines without a time that continue it, as it is kept between two readings. */
export interface HeldEntry {
  readonly uid: string;
  /** As the router lists it. */
  readonly file: string;
  /** First byte in the file, decompressed. */
  readonly start: number;
  /** The byte behind its last line, line end included. */
  readonly end: number;
  readonly observedMs: number;
  /** RFC 3339; `undefined` when it has no time yet, or never gets one. */
  readonly timestamp: string | undefined;
  /** Its time, where the router's clock was right. */
  readonly utcMs?: number | undefined;
  readonly tag: string | undefined;
  readonly severity: Severity | undefined;
  readonly message: string;
  readonly flags: readonly RecordFlag[];
  /** Lines joined to one. */
  readonly lines: number;
  /** True if the message differs from the text of the bytes, which are then part of the record. */
  readonly needsOriginal: boolean;
  /** The untouched lines in base64; `undefined` when they are too long to be kept or hold what must not be shown. */
  readonly original: string | undefined;
  readonly details: Readonly<Record<string, string | number | null>> | undefined;
}

/** Context that the next line of a log needs from the previous ones, also across files. */
export interface StreamState {
  /** The last record, when the log is known to have lines that continue others: the next line may continue it. */
  readonly held: HeldEntry | undefined;
  /** True once a line that continues another was seen. */
  readonly joins: boolean;
  /** Uid of the last line with a time. */
  readonly lastUid: string | undefined;
  readonly clock: Readonly<ClockState>;
  /** Learnt from the lines, when their dates could be read in two ways. */
  readonly order: DateOrder | undefined;
  /** True once the log was seen to end within a line or a block: its lines reach the file long after they were written. */
  readonly isBuffered: boolean;
}

/** The state of a log of which nothing was read. */
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

/** A stream state that a reading changes line by line. */
export type StreamDraft = { -readonly [Key in keyof Omit<StreamState, 'clock'>]: StreamState[Key] } & {
  readonly clock: ClockState;
};

/** Returns a copy that can change without changing `state`. */
export function copyStreamState(state: StreamState): StreamDraft {
  return { ...state, clock: { ...state.clock } };
}
