import type { ListedLog, RotatedFile } from '../listing/listing.ts';
import type { Gap, GapEdge, OpenGap } from '../position/event-records.ts';
import type { FileFault, HeldEntry, LogFile, StreamState } from '../position/position.ts';

/** Lines of one file that were read and are not durable yet: how far they go, and nothing of their content. */
export interface ReadPiece {
  /** The file as it stands behind these lines; absent when it holds no line. */
  readonly file: LogFile | undefined;
  /** Stamp of a rotated file; absent for `current`. */
  readonly stamp: string | undefined;
  /** Context that the next reading of the log needs. */
  readonly stream: StreamState | undefined;
  /** The first line that became a record, even if that is kept back. */
  readonly first: GapEdge | undefined;
  /** Gaps in damaged parts; their records are among those of the lines. */
  readonly gaps: readonly Gap[];
  /** Gap for the lines that were skipped at the beginning of the file. */
  readonly skipped: Gap | undefined;
}

/**
 * An event of one log, as plain data:
 *
 * - `started`: first contact; files and lines that are not wanted are skipped.
 * - `listed`: the router lists these files. `unlisted`: known files that are missing in this listing are completed or lost.
 * - `file-began`: a file begins at this time; `mayRead` of the step answers if it may be read now.
 * - `file-unrelated`: a rotated file continues none of those that were begun.
 * - `lines-read`: lines of a file, which goes on. `file-ended`: the last lines of a rotated file.
 * - `current-opened`: lines of the file that is being written now. `current-replaced`: `current` is another file now.
 * - `file-failed`: a rotated file could not be read to its end. `file-unreadable`: it never can.
 * - `current-unreadable`: `current` holds no text.
 * - `time-passed`: files that were looked for long enough are lost.
 * - `history-deferred`: the rest of the history is read behind the live log.
 * - `skipping-ended`: lines written from now on are wanted.
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
      /** Gaps in damaged parts after the last line that was read. */
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
      readonly reason: 'too-large' | 'unsupported' | 'damaged' | 'binary';
      /** Bytes that are missing, where that is known. */
      readonly bytes?: number | undefined;
      /** The begun file that it is, where that is known. */
      readonly file?: LogFile | undefined;
      /** The whole lines before the fault. */
      readonly piece?: ReadPiece | undefined;
    }
  | { readonly type: 'current-unreadable'; readonly bytes: number }
  | {
      readonly type: 'zone-changed';
      /** Texts of zones. */
      readonly from: string;
      readonly to: string;
    };

/** One result of a step, in the order of the records. `lines`: the records of the lines that were read. */
export type Told =
  | { readonly type: 'lines' }
  /** A gap; `isInLines`: its record is among those of the lines. */
  | { readonly type: 'gap'; readonly gap: Gap; readonly uid: string; readonly isInLines?: boolean }
  /** The first line behind a gap that was told before. */
  | { readonly type: 'gap-ended'; readonly gap: OpenGap; readonly to: GapEdge }
  /** The record that was kept back. */
  | { readonly type: 'held'; readonly held: HeldEntry }
  | { readonly type: 'reset'; readonly reason: 'wiped' | 'replaced'; readonly from: GapEdge | undefined };
