import type { GapEdge, Lane, OpenGap } from './event-records.ts';
import { createUidPrefix, renderRecoveredUid, renderUid } from './identity.ts';
import type { Pace } from './link-rule.ts';
import { EMPTY_PROOF, type PrefixProof } from './prefix-proof.ts';
import { createStreamState, type StreamState } from './stream-state.ts';

/**
 * One log file that has been read in part: its identity, how far it was read, and what the lines after that need from
 * the ones before. The file may meanwhile be listed under another name.
 */
export interface Instance {
  readonly key: string;
  readonly gen: number;
  /** Bytes read, decompressed; always the end of a line. */
  off: number;
  /** Of the bytes before `off`: that a file is this one. */
  proof: PrefixProof | LegacyProof;
  /** UTC of the first line that has a time, as the router's clock had it. */
  firstUtcMs: number | undefined;
  /** UTC of the newest line read, as the router's clock had it. */
  lastUtcMs: number | undefined;
  /** The time that was shown for that line. */
  shownMs: number | undefined;
  /** Start of the last record: that of its first line. */
  lastStart: number;
  /** Where the file was seen to end within the line behind `off`. */
  tornAt: number[];
  /** How often its lines come, as far as it was counted from its first line on. */
  pace?: Pace | undefined;
  /** The stamp of the file before it, if the log was followed from that one into this one. */
  follows?: string | undefined;
  /** The archive's block behind the last damage before `lastStart`, from which uids count. */
  recovered?: RecoveredBlock | undefined;
  /** Damage before this bit of the archive has been told. Default: none. */
  damageToldBit?: number | undefined;
}

/** A block of an archive that was read behind damage. */
export interface RecoveredBlock {
  readonly block: number;
  /** Where its first byte stands among those that were decoded. */
  readonly offset: number;
}

/** SHA-256 over the whole prefix, as hex: what version 1 of the position had. */
export interface LegacyProof {
  readonly plainSha: string;
}

/** A file whose rest has not been found yet. */
export interface Pending {
  readonly instance: Instance;
  /** Wall time at which it was first looked for in vain. */
  readonly sinceMs: number;
  /** Whether lines of a newer file have been shipped before its own rest. */
  isOvertaken: boolean;
  /** Whether it was begun as a rotated file. */
  readonly isRotated: boolean;
  /** Whether a newer file was seen whole that a router would only have compressed after this one. */
  isPassed: boolean;
  /** The first line that was read behind its rest; `null` when there was one and it was not noted. */
  to?: GapEdge | null | undefined;
}

/** Why a listed file could not be read the last time. */
export type FileFault = 'gone' | 'cut' | 'corrupt' | 'refused';

/** A rotated file that is listed and not read to its end. */
export interface Waiting {
  /** Wall time at which it was first listed. */
  readonly sinceMs: number;
  /** Readings that ended before the file did. */
  attempts: number;
  fault: FileFault | undefined;
  /** Wall time before which it is not tried again. */
  notBeforeMs: number;
  /** Part of the history at first contact, to be read behind what is new. */
  isBackfill: boolean;
  /** The first line that was read behind this file; `null` when there may have been one that was not noted. */
  to?: GapEdge | null | undefined;
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
  to?: GapEdge | undefined;
  /** Where the file before the break stands. Default: `live`. */
  readonly lane?: Lane | undefined;
  /** UTC at which the file behind the break begins, where that is one in the order of the log. */
  readonly beginsUtcMs?: number | undefined;
  /** Whether the log was followed into the file before the break. */
  readonly isWatched?: boolean | undefined;
  /** Whether first lines prove nothing, and there may only have been something that was deleted meanwhile. */
  readonly isVague?: boolean | undefined;
}

/** The last file that was read to its end in the order of the log. */
export interface ChainEnd {
  readonly stamp: string;
  readonly edge: GapEdge | undefined;
  /** The mean distance of its lines, as far as they were counted. Milliseconds. */
  readonly distanceMs?: number | undefined;
  /** Whether it was seen as `current`, or the log was followed into it from one that was. */
  readonly isWatched?: boolean | undefined;
}

/**
 * Where one log (one component of one router) stands. A log is a chain of files, each in one of these states:
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
  readonly version: 2;
  /** The file that was last seen as `current`. */
  open: Instance | undefined;
  /** Oldest first. */
  pending: Pending[];
  /** Files that were given up or are no longer listed; should one turn up, it is not read from its start. Newest last. */
  lost: Instance[];
  waiting: Record<string, Waiting>;
  /** Rotated files that are done with, by stamp, for as long as they are listed; `null` when only the name is kept. */
  completed: Record<string, Instance | null>;
  chainEnd: ChainEnd | undefined;
  brokenLinks: BrokenLink[];
  /** The next generation of files that begin alike and are remembered nowhere else. */
  gens: Record<string, number>;
  /** Whether a line with a time stamp has ever been read: then a body without any is no log. */
  hasHistory: boolean;
  /** Until `current` was first read: lines from before this are not wanted. */
  skipBeforeUtcMs: number | undefined;
  /** Whether the router has deleted all rotated files at once. */
  isWiped: boolean;
  /** Gaps whose end is still to be told, the oldest first. */
  openGaps: OpenGap[];
  /**
   * The first line of what is new, where history is read behind it: there the last gap of that history ends. `null` until
   * that line is read.
   */
  liveFrom: GapEdge | null | undefined;
  /** The text of the zone with which the times here were placed; absent in positions of versions that did not note it. */
  zone?: string | undefined;
  stream: StreamState;
}

/** The position of a log that has never been read. */
export function createPosition(): LogPosition {
  return {
    version: 2,
    open: undefined,
    pending: [],
    lost: [],
    waiting: {},
    completed: {},
    chainEnd: undefined,
    brokenLinks: [],
    gens: {},
    hasHistory: false,
    skipBeforeUtcMs: undefined,
    isWiped: false,
    openGaps: [],
    liveFrom: undefined,
    stream: createStreamState(),
  };
}

/** A file of which nothing was read yet. */
export function createInstance(key: string, gen: number): Instance {
  return {
    key,
    gen,
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
export function toLastEdge(router: string, component: string, instance: Instance): GapEdge | undefined {
  const { off, lastStart, lastUtcMs, recovered } = instance;
  if (off === 0) return undefined;
  const prefix = createUidPrefix(router, component, instance);
  const uid = recovered
    ? renderRecoveredUid(prefix, recovered.block, lastStart - recovered.offset)
    : renderUid(prefix, lastStart);
  return { uid, utcMs: lastUtcMs };
}
