import { LineRanges, type LineTable } from '../base/index.ts';
import type { Slice, SliceBounds } from '../model/index.ts';
import type { SpoolCursor } from './contracts.ts';
import { isBefore } from './sink-place.ts';

/** The records of one step of one log. */
interface Batch {
  readonly router: string;
  readonly component: string;
  /** Number of records. */
  readonly records: number;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly committedMs: number;
}

/** The batches of a store, as the sinks get them. */
export interface BatchSource<B extends Batch> {
  /** From the one where the slice begins, or an earlier one; in ascending order. */
  readonly batches: Iterable<B>;
  /** True if no other batches exist: a redelivery whose batches are gone is over. */
  readonly isComplete: boolean;
  /** Unwanted batches that one slice skips at most. */
  readonly skippedMax: number;
  /** Returns the number of a batch, which a cursor names. */
  readonly numberOf: (batch: B) => number;
  /** Returns the lines of a wanted batch; `undefined` ends the slice in front of it. */
  readonly linesOf: (batch: B) => { readonly lines: LineTable | undefined } | undefined;
  /** Called for records that have no line, which the slice leaves out. */
  readonly onMissing?: ((batch: B, records: number) => void) | undefined;
}

/** Where lines end in a longer batch is not looked for, if that is not known yet, only to fill a slice that is half full. Bytes. */
const LONG_BYTES = 256 * 1024;

/**
 * Collects the next records of a sink whose cursor is at `cursor`; with `pass`, those of a redelivery up to there. Returns
 * `undefined` if there is nothing to pass.
 */
export function collectSlice<B extends Batch>(
  source: BatchSource<B>,
  { cursor, pass }: { readonly cursor: SpoolCursor; readonly pass?: SpoolCursor | undefined },
  bounds: SliceBounds,
): Slice<SpoolCursor> | undefined {
  // A redelivery ends where new records start, so that a slice holds only one kind.
  const end = pass ? cursor : undefined;
  let { batch, index } = pass ?? cursor;
  const { recordsMax, bytesMax, isWanted } = bounds;
  const lines = new LineRanges();
  let oldestMs = 0;
  let skipped = 0;
  let batchesSkipped = 0;
  let hasMissing = false;
  const toSlice = (isFull: boolean): Slice<SpoolCursor> => {
    const next = { batch, index };
    return { lines, next, oldestMs, isFull, skipped, isRepeat: end !== undefined };
  };
  for (const one of source.batches) {
    const number = source.numberOf(one);
    if (number < batch) continue;
    if (number !== batch) [batch, index] = [number, 0];
    if (end && !isBefore({ batch, index }, end)) break;
    const stop = end && number === end.batch ? end.index : one.records;
    if (isWanted(one.router, one.component)) {
      const content = source.linesOf(one);
      if (!content) return toSlice(true);
      const table = content.lines;
      const available = Math.min(stop, table?.length ?? 0);
      if (table && index < available) {
        if (lines.length === 0) oldestMs = one.committedMs;
        index = addLines(lines, { table, from: index, to: available }, bounds);
        if (index < available) return toSlice(true);
      }
      if (index < stop) {
        hasMissing = true;
        source.onMissing?.(one, stop - index);
      }
    } else {
      if (batchesSkipped++ === source.skippedMax) return toSlice(true);
      skipped += stop - index;
    }
    [batch, index] = [number + 1, 0];
  }
  if (end && (source.isComplete || !isBefore({ batch, index }, end))) [batch, index] = [end.batch, end.index];
  else if (lines.length === 0 && skipped === 0 && !hasMissing) return undefined;
  return toSlice(lines.length >= recordsMax || lines.bytes >= bytesMax);
}

/** Adds the lines of a range that fit, one at least to none. Returns the first one that does not fit. */
function addLines(
  lines: LineRanges,
  { table, from, to }: { readonly table: LineTable; readonly from: number; readonly to: number },
  { recordsMax, bytesMax }: SliceBounds,
): number {
  const isEmpty = lines.length === 0;
  const recordsLeft = recordsMax - lines.length;
  const bytesLeft = bytesMax - lines.bytes;
  if (to - from <= recordsLeft && table.bytesOf(from, to) <= bytesLeft) {
    lines.add(table, from, to);
    return to;
  }
  const isHalfFull = recordsLeft * 2 <= recordsMax || bytesLeft * 2 <= bytesMax;
  if (!isEmpty && isHalfFull && !table.isMeasured && table.memory.length > LONG_BYTES) return from;
  let end = isEmpty ? from + 1 : from;
  for (let bytes = table.bytesOf(from, end); end < to && end - from < recordsLeft; end++) {
    bytes += table.bytesOf(end, end + 1);
    if (bytes > bytesLeft) break;
  }
  lines.add(table, from, end);
  return end;
}
