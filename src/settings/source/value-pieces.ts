/** Values in a piece: about 0.5 ms of copying between threads, and few objects to collect at once. */
const PIECE_VALUES = 1000;
/** So many characters take as long as one value. */
const CHARS_PER_VALUE = 500;

/** A list or map in a piece, whose parts are in later pieces. */
interface Opened {
  readonly at: number;
  readonly number: number;
  readonly isList: boolean;
}

/** Parts of one list or map. The first piece opens number 0. */
export interface ValuePiece {
  /** Number of the list or map that they belong to. */
  readonly into: number;
  readonly keys: readonly string[];
  readonly values: readonly unknown[];
  readonly opened: readonly Opened[];
}

/** Yields pieces in the order in which {@link ValueBuilder} takes them. */
export function* cutValue(root: unknown): Generator<ValuePiece, void, undefined> {
  const pending: [number, object][] = [[0, { '': root }]];
  let count = 0;
  for (let next = pending.shift(); next; next = pending.shift()) {
    const [into, holder] = next;
    const isMap = !Array.isArray(holder);
    let piece = openPiece(into);
    let size = 0;
    for (const [key, value] of Object.entries(holder)) {
      const valueSize = countValues(value);
      const isOpened = valueSize >= PIECE_VALUES && isHolder(value);
      if (isOpened) {
        pending.push([++count, value]);
        piece.opened.push({ at: piece.values.length, number: count, isList: Array.isArray(value) });
      }
      if (isMap) piece.keys.push(key);
      piece.values.push(isOpened ? undefined : value);
      size += isOpened ? 1 : valueSize;
      if (size < PIECE_VALUES) continue;
      yield piece;
      piece = openPiece(into);
      size = 0;
    }
    if (piece.values.length > 0) yield piece;
  }
}

function openPiece(into: number) {
  const [keys, values, opened]: [string[], unknown[], Opened[]] = [[], [], []];
  return { into, keys, values, opened };
}

function countValues(root: unknown): number {
  let count = 0;
  const pending = [root];
  while (pending.length > 0 && count < PIECE_VALUES) {
    const value = pending.pop();
    count += typeof value === 'string' ? 1 + Math.floor(value.length / CHARS_PER_VALUE) : 1;
    // Not spread into one call: a list may be longer than the arguments that a call can have.
    if (isHolder(value)) for (const part of Object.values(value)) pending.push(part);
  }
  return count + (pending.length > 0 ? PIECE_VALUES : 0);
}

function isHolder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

export class ValueBuilder {
  readonly #root: Record<string, unknown> = {};
  readonly #opened: object[] = [this.#root];

  get value(): unknown {
    return this.#root[''];
  }

  add({ into, keys, values, opened }: ValuePiece): void {
    const holder = this.#opened[into] ?? {};
    let next = 0;
    for (const [index, whole] of values.entries()) {
      let value = whole;
      const part = opened[next];
      if (part?.at === index) {
        value = part.isList ? [] : {};
        this.#opened[part.number] = value as object;
        next++;
      }
      if (Array.isArray(holder)) holder.push(value);
      // An assignment to `__proto__` would set the prototype instead.
      else
        Object.defineProperty(holder, keys[index] ?? '', {
          value,
          writable: true,
          enumerable: true,
          configurable: true,
        });
    }
  }
}
