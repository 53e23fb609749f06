import type { SpoolCursor } from './contracts.ts';

/** A redelivery in progress: records that a sink has taken before and gets again. */
export interface ReplayPass extends SpoolCursor {
  /** True if records taken during the pass may be lost again, so that they are recorded as taken now. */
  readonly renews: boolean;
}

/** At a time, or up to a step later, a sink took records from a cursor on. */
interface Taken extends SpoolCursor {
  /** Wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/**
 * The cursor of a sink, the records taken within its `replay`, and the progress of a redelivery: in the tables of
 * `SinkCursors`, or as one message of the stream of a cluster. The times are wall times, because they outlive the process. They
 * are compared with the time of the last row, not with the clock: the loss of a receiver may be noticed long after it took its last
 * records.
 */
export interface SinkPlace {
  readonly cursor: SpoolCursor;
  readonly taken: readonly Taken[];
  readonly pass?: ReplayPass | undefined;
}

/**
 * Granularity of the recorded times as a share of `replay`, so that a sink has few of them however many batches it takes.
 */
const STEP_SHARE = 1 / 16;

/** Returns true if one cursor is before the other. */
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

/** Returns the place from which a redelivery begins; `undefined` if nothing is to be delivered again. */
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

/** Records that a sink has taken everything from `from` on, and removes rows that are too old. */
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
