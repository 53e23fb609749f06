/** Number of values in a piece: about a millisecond of copying between threads. */
const PIECE_VALUES = 2000;

/** A part of a list or map: a whole value, or a list or map whose parts follow in later pieces. */
type Entry =
  | { readonly key: string; readonly value: unknown }
  | { readonly key: string; readonly opens: number; readonly isList: boolean };

/** Some parts of one list or map. The first piece of a value opens number 0. */
export interface ValuePiece {
  /** Number of the list or map that they belong to. */
  readonly into: number;
  readonly entries: readonly Entry[];
}

/** Cuts a value of a parsed file into pieces, in the order in which {@link ValueBuilder} takes them. */
export function* cutValue(root: unknown): Generator<ValuePiece, void, undefined> {
  const pending: [number, object][] = [];
  let opened = 0;
  const toEntry = (key: string, value: unknown, size: number): Entry => {
    if (size < PIECE_VALUES || !isHolder(value)) return { key, value };
    pending.push([++opened, value]);
    return { key, opens: opened, isList: Array.isArray(value) };
  };
  yield { into: 0, entries: [toEntry('', root, countValues(root))] };
  for (let next = pending.shift(); next; next = pending.shift()) {
    const [into, holder] = next;
    let entries: Entry[] = [];
    let values = 0;
    for (const [key, value] of Object.entries(holder)) {
      const size = countValues(value);
      entries.push(toEntry(key, value, size));
      values += size;
      if (values < PIECE_VALUES) continue;
      yield { into, entries };
      [entries, values] = [[], 0];
    }
    if (entries.length > 0) yield { into, entries };
  }
}

/** Counts a value and those inside of it, no further than a piece holds. */
function countValues(root: unknown): number {
  let count = 0;
  const pending = [root];
  while (pending.length > 0 && count < PIECE_VALUES) {
    const value = pending.pop();
    count++;
    // Not spread into one call: a list may be longer than the arguments that a call can have.
    if (isHolder(value)) for (const part of Object.values(value)) pending.push(part);
  }
  return count + (pending.length > 0 ? PIECE_VALUES : 0);
}

/** True for lists and plain maps. Other objects, which YAML tags can create, stay whole. */
function isHolder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** Puts the pieces of a value together. */
export class ValueBuilder {
  /** Holds the value itself under the empty key. */
  readonly #root: Record<string, unknown> = {};
  readonly #opened: object[] = [this.#root];

  /** The value; complete when all pieces were added. */
  get value(): unknown {
    return this.#root[''];
  }

  add({ into, entries }: ValuePiece): void {
    const holder = this.#opened[into] ?? {};
    for (const entry of entries) {
      const value = 'opens' in entry ? open(entry.isList) : entry.value;
      if ('opens' in entry) this.#opened[entry.opens] = Object(value);
      if (Array.isArray(holder)) holder.push(value);
      // An assignment to `__proto__` would set the prototype instead.
      else Object.defineProperty(holder, entry.key, { value, writable: true, enumerable: true, configurable: true });
    }
  }
}

function open(isList: boolean): object {
  return isList ? [] : {};
}
