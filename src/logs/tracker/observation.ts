import type { HeldEntry } from '../entry.ts';
import type { Gap, GapEdge, OpenGap, Track } from '../event-records.ts';
import type { ListedLog, RotatedFile } from '../names.ts';
import type { FileFault, LogFile, StreamState } from '../position/position.ts';

/** Lines of one file that were read and are not durable yet: how far they go, and nothing of their content. */
export interface ReadPiece {
  /** The file as it stands behind these lines; absent when it holds no line. */
  readonly file: LogFile | undefined;
  /** Stamp of a rotated file; absent for `current`. */
  readonly stamp: string | undefined;
  /** What the next reading of the log needs. */
  readonly stream: StreamState | undefined;
  /** The first line that became a record, even if that is kept back. */
  readonly first: GapEdge | undefined;
  /** Whether one of the lines has a time. */
  readonly hasTimes: boolean;
  /** What damage took; the records of these gaps are among those of the lines. */
  readonly gaps: readonly Gap[];
  /** What was passed over at the beginning of the file. */
  readonly skipped: Gap | undefined;
}

/**
 * What happened to one log, as plain data:
 *
 * - `started`: first contact; what is not wanted is skipped.
 * - `listed`: the router lists these files. `unlisted`: what is missing in this listing is done with or lost.
 * - `file-began`: a file begins at this time; the step says whether it may be read now.
 * - `file-unrelated`: a rotated file continues none of those that were begun.
 * - `lines-read`: lines of a file, which goes on. `file-ended`: the last lines of a rotated file.
 * - `current-opened`: lines of the file that is being written now. `current-replaced`: `current` is another file now.
 * - `file-failed`: a rotated file could not be read to its end. `file-unreadable`: it never can.
 * - `time-passed`: what has been looked for long enough counts as lost.
 * - `history-deferred`: the rest of the history is read behind the live log.
 * - `skipping-ended`: what is written from now on is wanted.
 * - `held-released`: no line continues the record that was kept back.
 * - `zone-changed`: the times of the position are placed with the zone that is in use now.
 * - `wiped`: the router has deleted everything. `replaced`: another device answers.
 */
export type Observation =
  | {
      readonly type: 'started';
      readonly skipped: readonly RotatedFile[];
      readonly skipBeforeUtcMs: number | undefined;
    }
  | { readonly type: 'listed' | 'unlisted' | 'time-passed'; readonly listed: ListedLog }
  | { readonly type: 'history-deferred'; readonly listed: ListedLog }
  | { readonly type: 'file-began'; readonly firstWallAsUtcMs: number; readonly stamp?: string | undefined }
  | { readonly type: 'file-unrelated'; readonly stamp: string; readonly firstWallAsUtcMs: number | undefined }
  | { readonly type: 'lines-read' | 'current-opened'; readonly piece: ReadPiece }
  | {
      readonly type: 'file-ended';
      readonly stamp: string;
      readonly piece: ReadPiece;
      /** What damage took behind the last line that was read. */
      readonly damage: readonly Gap[];
    }
  | { readonly type: 'current-replaced' | 'skipping-ended' | 'held-released' | 'wiped' | 'replaced' }
  | {
      readonly type: 'file-failed';
      readonly stamp: string;
      readonly fault: FileFault;
      /** The whole lines before the fault. */
      readonly piece?: ReadPiece | undefined;
    }
  | {
      readonly type: 'file-unreadable';
      readonly rotated: RotatedFile;
      readonly reason: 'too-large' | 'unsupported';
      /** The whole lines before the fault. */
      readonly piece?: ReadPiece | undefined;
    }
  | {
      readonly type: 'zone-changed';
      /** Texts of zones. */
      readonly from: string;
      readonly to: string;
    };

/** What a step tells. `lines`: here stand the records of the lines that were read. */
export type Told =
  | { readonly type: 'lines'; readonly track: Track }
  /** A gap; `isInLines`: its record is among those of the lines. */
  | { readonly type: 'gap'; readonly gap: Gap; readonly uid: string; readonly isInLines?: boolean }
  /** The first line behind a gap that was told before. */
  | { readonly type: 'gap-ended'; readonly gap: OpenGap; readonly to: GapEdge }
  /** The record that was kept back. */
  | { readonly type: 'held'; readonly held: HeldEntry }
  | { readonly type: 'reset'; readonly reason: 'wiped' | 'replaced'; readonly from: GapEdge | undefined };
