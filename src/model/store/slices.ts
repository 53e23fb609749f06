import { LineRanges, type LineTable } from '../../base/index.ts';
import type { Slice, SliceBounds, SpoolCursor } from './contracts.ts';

interface Batch {
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  readonly records: number;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly committedMs: number;
}

interface BatchSource<B extends Batch> {
  /** In ascending order, from the batch where the slice begins or an earlier one. */
  readonly batches: Iterable<B>;
  /** True if no other batches exist: a redelivery whose batches are gone is over. */
  readonly isComplete: boolean;
  /** Limit of unwanted batches skipped by one slice. */
  readonly skippedMax: number;
  /** Returns the lines of a wanted batch; `undefined` ends the slice before it. */
  readonly linesOf: (batch: B) => { readonly lines: LineTable | undefined } | undefined;
  /** Called for records without a line, which the slice omits. */
  readonly onMissing?: ((batch: B, records: number) => void) | undefined;
}

/** Line ends of a longer batch are not searched for merely to fill a slice that is half full. Bytes. */
const LONG_BYTES = 256 * 1024;

/** Collects the next records from `cursor`, or those of the redelivery `pass` up to it; `undefined` if there is nothing to pass. */
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
    const { seq: number } = one;
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

/** Adds the lines that fit, at least one to an empty slice. Returns the first that does not fit. */
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

/** A redelivery in progress. */
export interface ReplayPass extends SpoolCursor {
  /** True if records accepted during the pass may be lost again, so that they are recorded as accepted now. */
  readonly renews: boolean;
}

/** At `atMs`, or up to a step later, a sink accepted records from this cursor on. */
interface Taken extends SpoolCursor {
  /** Wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/**
 * The cursor of a sink, the records accepted within its `replay`, and the progress of a redelivery. Times are wall times, because they
 * outlive the process. They are compared with the time of the last row, not with the clock: the loss of a receiver may be noticed long
 * after it accepted its last records.
 */
export interface SinkPlace {
  readonly cursor: SpoolCursor;
  readonly taken: readonly Taken[];
  readonly pass?: ReplayPass | undefined;
}

/** Granularity of the recorded times as a share of `replay`: bounds the number of rows. */
const STEP_SHARE = 1 / 16;

/** Returns true if `one` is an earlier position than `other`. */
export function isBefore(one: SpoolCursor, other: SpoolCursor): boolean {
  return one.batch < other.batch || (one.batch === other.batch && one.index < other.index);
}

/** Returns the place after records up to `next` are settled; `undefined` if it does not move. */
export function advancePlace(
  place: SinkPlace,
  next: SpoolCursor,
  { nowMs, replayMs }: { readonly nowMs: number; readonly replayMs: number },
): SinkPlace | undefined {
  const { cursor, pass } = place;
  if (pass) {
    if (!isBefore(pass, next)) return undefined;
    const taken = pass.renews ? recordTaken(place.taken, pass, nowMs, replayMs) : place.taken;
    return { cursor, taken, pass: isBefore(next, cursor) ? { ...next, renews: pass.renews } : undefined };
  }
  if (!isBefore(cursor, next)) return undefined;
  return { cursor: next, taken: recordTaken(place.taken, cursor, nowMs, replayMs) };
}

/** Returns the place from which a redelivery begins; `undefined` if nothing is to be redelivered. */
export function beginPass(place: SinkPlace, endedMs: number | undefined, replayMs: number): SinkPlace | undefined {
  const { cursor, pass } = place;
  if (replayMs <= 0) return undefined;
  const sinceMs = endedMs === undefined ? Number.MIN_SAFE_INTEGER : endedMs - replayMs * (1 + STEP_SHARE);
  const taken = findEarliest(place.taken, Math.floor(sinceMs));
  const start = pass && !(taken && isBefore(taken, pass)) ? pass : taken;
  if (!start || !isBefore(start, cursor)) return undefined;
  const renews = endedMs === undefined || (pass?.renews ?? false);
  return { ...place, pass: { batch: start.batch, index: start.index, renews } };
}

/** Records that a sink accepted everything from `from` on, and removes rows that are too old. */
function recordTaken(taken: readonly Taken[], from: SpoolCursor, nowMs: number, replayMs: number): readonly Taken[] {
  if (replayMs <= 0) return taken.length === 0 ? taken : [];
  const atMs = Math.floor(nowMs);
  const stepMs = replayMs * STEP_SHARE;
  // After the clock was set back, rows lie in the future and would be kept until the clock catches up.
  const recent = findEarliest(taken, atMs - stepMs);
  const isCovered = recent && !isBefore(from, recent);
  if (isCovered && !taken.some((one) => one.atMs > atMs)) return taken;
  const { batch, index } = isCovered ? recent : from;
  const left = taken.filter((one) => one.atMs <= atMs - stepMs && one.atMs > atMs - replayMs - stepMs);
  return [...left, { atMs, batch, index }];
}

function findEarliest(taken: readonly Taken[], sinceMs: number): SpoolCursor | undefined {
  let earliest: SpoolCursor | undefined;
  for (const { atMs, batch, index } of taken) {
    if (atMs > sinceMs && (!earliest || isBefore({ batch, index }, earliest))) earliest = { batch, index };
  }
  return earliest;
}
