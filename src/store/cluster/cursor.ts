import type { SpoolCursor } from '../contracts.ts';
import { isBefore } from '../sink-cursors.ts';

/** A redelivery in progress; `renews`: what is taken again counts as taken now. */
interface Pass extends SpoolCursor {
  readonly renews: boolean;
}

/** At a time, or up to a step later, a sink took records from a cursor on. */
interface Taken extends SpoolCursor {
  /** Wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/**
 * The cursor of a sink, the records taken within its `replay`, and the progress of a redelivery: as the tables of
 * `SinkCursors` hold, as one message. `batch` is the number of a message of the stream.
 */
export interface SinkPlace {
  readonly cursor: SpoolCursor;
  readonly taken: readonly Taken[];
  readonly pass?: Pass | undefined;
}

/** Granularity of the recorded times as a share of `replay`. */
const STEP_SHARE = 1 / 16;
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

/** Renders a place as the content of a message. */
export function renderPlace({ cursor, taken, pass }: SinkPlace): string {
  return JSON.stringify({
    version: 1,
    at: [cursor.batch, cursor.index],
    taken: taken.map(({ atMs, batch, index }) => [atMs, batch, index]),
    ...(pass && { pass: [pass.batch, pass.index, pass.renews ? 1 : 0] }),
  });
}

/** Reads what {@link renderPlace} wrote; `undefined` for anything else. */
export function parsePlace(text: string): SinkPlace | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { version, at, taken, pass } = Object(value) as Record<string, unknown>;
  const cursor = readNumbers(at, 2);
  if (version !== 1 || !cursor || !Array.isArray(taken)) return undefined;
  const rows = taken.map((row) => readNumbers(row, 3));
  const passed = pass === undefined ? undefined : readNumbers(pass, 3);
  if (rows.includes(undefined) || (pass !== undefined && !passed)) return undefined;
  const [batch = 0, index = 0] = cursor;
  return {
    cursor: { batch, index },
    taken: rows.flatMap((row) => (row ? [{ atMs: row[0] ?? 0, batch: row[1] ?? 0, index: row[2] ?? 0 }] : [])),
    pass: passed && { batch: passed[0] ?? 0, index: passed[1] ?? 0, renews: passed[2] === 1 },
  };
}

function readNumbers(value: unknown, count: number): readonly number[] | undefined {
  if (!Array.isArray(value) || value.length !== count) return undefined;
  const numbers: readonly unknown[] = value;
  const sound = numbers.filter((one): one is number => Number.isSafeInteger(one) && Math.abs(Number(one)) < NUMBER_MAX);
  return sound.length === count ? sound : undefined;
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
  const sinceMs = endedMs === undefined ? -NUMBER_MAX : endedMs - replayMs * (1 + STEP_SHARE);
  const taken = findEarliest(place.taken, Math.floor(sinceMs));
  const start = pass && !(taken && isBefore(taken, pass)) ? pass : taken;
  if (!start || !isBefore(start, cursor)) return undefined;
  const renews = endedMs === undefined || (pass?.renews ?? false);
  return { ...place, pass: { batch: start.batch, index: start.index, renews } };
}

/** Returns the first message that the sink may still need; without those that it might get again if `isTight`. */
export function floorOf({ cursor, taken, pass }: SinkPlace, isTight: boolean): number {
  const kept = isTight ? [] : taken.map(({ batch }) => batch);
  return Math.min(cursor.batch, ...kept, pass?.batch ?? cursor.batch);
}

/** Records that a sink has taken everything from `from` on, and removes rows that are too old. */
function recordTaken(taken: readonly Taken[], from: SpoolCursor, nowMs: number, replayMs: number): readonly Taken[] {
  if (replayMs <= 0) return [];
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
