import { decodeObject, parseJson } from '../../base/index.ts';
import type { SinkPlace } from '../sink-place.ts';

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
  const { version, at, taken, pass } = decodeObject(parseJson(text)) ?? {};
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

/** Returns the first message that the sink may still need; without those that it might get again if `isTight`. */
export function floorOf({ cursor, taken, pass }: SinkPlace, isTight: boolean): number {
  const kept = isTight ? [] : taken.map(({ batch }) => batch);
  return Math.min(cursor.batch, ...kept, pass?.batch ?? cursor.batch);
}
