import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type ParsedNode,
} from 'yaml';
import type { Aim, KeyPath, Locator, Position } from './fault.ts';

/** Positions of all values of a file, transferable between threads without copying. */
export interface PositionTable {
  /** {@link COLUMNS} numbers for each value, in the order of the file. */
  readonly nodes: Int32Array<ArrayBuffer>;
  /** Offset of the first character of each line. */
  readonly lineStarts: Int32Array<ArrayBuffer>;
}

const KIND = { scalar: 0, empty: 1, map: 2, list: 3, alias: 4 } as const;
/** Offsets are in UTF-16 units; -1: none. */
const COLUMN = {
  kind: 0,
  /** Row after the last value inside this one. */
  end: 1,
  keyHash: 2,
  keyOffset: 3,
  offset: 4,
  /** Of an alias: row of the repeated value. */
  target: 5,
} as const;
const COLUMNS = Object.keys(COLUMN).length;

export function listPositions(document: Document.Parsed, lines: LineCounter): PositionTable {
  const rows: number[] = [];
  const rowOf = new Map<unknown, number>();
  const add = (node: unknown, key: unknown): void => {
    const row = rows.length / COLUMNS;
    const target = isAlias(node) ? rowOf.get(node.resolve(document)) : undefined;
    const keyHash = isScalar(key) ? hashKey(String(key.value)) : 0;
    rows.push(kindOf(node), 0, keyHash, toOffset(key) ?? -1, toOffset(node) ?? -1, target ?? -1);
    rowOf.set(node, row);
    if (isSeq(node)) for (const item of node.items) add(item, undefined);
    if (isMap(node)) for (const { key: itsKey, value } of node.items) if (isScalar(itsKey)) add(value, itsKey);
    rows[row * COLUMNS + COLUMN.end] = rows.length / COLUMNS;
  };
  add(document.contents, undefined);
  return { nodes: Int32Array.from(rows), lineStarts: Int32Array.from(lines.lineStarts) };
}

function kindOf(node: unknown): number {
  if (isMap(node)) return KIND.map;
  if (isSeq(node)) return KIND.list;
  if (isAlias(node)) return KIND.alias;
  return isEmpty(node) ? KIND.empty : KIND.scalar;
}

function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.range !== undefined && node.range !== null && node.range[0] === node.range[1];
}

export function toOffset(node: unknown): number | undefined {
  return isNode(node) ? (node as Node as ParsedNode).range?.[0] : undefined;
}

/** FNV-1a. A collision in one map would only give a wrong position. */
function hashKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash | 0;
}

const MARKED_ITEMS = 256;
const LARGE_MAP_ROWS = 20_000;

export class ConfigSource implements Locator {
  /** Before the environment is substituted. */
  readonly value: unknown;
  readonly #table: PositionTable;
  /** Index of maps that were searched: row by hash of the key. */
  readonly #inner = new Map<number, ReadonlyMap<number, number>>();
  /** Index of lists that were searched: row of every 256th item, as far as needed. */
  readonly #marks = new Map<number, number[]>();

  constructor({ value, positions }: { readonly value: unknown; readonly positions: PositionTable }) {
    this.value = value;
    this.#table = positions;
  }

  valueAt(path: KeyPath): unknown {
    let value = this.value;
    for (const step of path) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      value = Reflect.get(value, step);
    }
    return value;
  }

  /** Finds the deepest part of `path` that exists: of a missing key, its map. */
  locate(path: KeyPath, aim: Aim): Position {
    let row = 0;
    let offset = Math.max(0, this.#read(row, COLUMN.offset));
    for (const [index, step] of path.entries()) {
      const holder = this.#read(row, COLUMN.kind) === KIND.alias ? this.#read(row, COLUMN.target) : row;
      const kind = this.#read(holder, COLUMN.kind);
      const isItem = kind === KIND.list && typeof step === 'number';
      if (!isItem && kind !== KIND.map) break;
      const inner = isItem ? this.#findItem(holder, step) : this.#findValue(holder, hashKey(String(step)));
      if (inner === undefined) break;
      row = inner;
      const own = this.#read(row, COLUMN.offset);
      if (isItem) {
        offset = own < 0 ? offset : own;
        continue;
      }
      const keyOffset = this.#read(row, COLUMN.keyOffset);
      const isKeyMeant = index === path.length - 1 && aim === 'key';
      offset = isKeyMeant || own < 0 || this.#read(row, COLUMN.kind) === KIND.empty ? keyOffset : own;
    }
    return toPosition(this.#table.lineStarts, offset);
  }

  #findItem(list: number, index: number): number | undefined {
    const marks = this.#marks.get(list) ?? [list + 1];
    this.#marks.set(list, marks);
    const mark = Math.min(marks.length - 1, Math.floor(index / MARKED_ITEMS));
    const end = this.#read(list, COLUMN.end);
    let row = marks[mark] ?? end;
    for (let number = mark * MARKED_ITEMS; row < end && number < index; ) {
      row = this.#read(row, COLUMN.end);
      number++;
      if (number === marks.length * MARKED_ITEMS) marks.push(row);
    }
    return row < end ? row : undefined;
  }

  /** Returns the last of duplicate keys, as the parser does. */
  #findValue(map: number, keyHash: number): number | undefined {
    const end = this.#read(map, COLUMN.end);
    const known = this.#inner.get(map);
    if (known) return known.get(keyHash);
    const isLarge = end - map > LARGE_MAP_ROWS;
    const inner = new Map<number, number>();
    for (let next = map + 1; next < end; next = this.#read(next, COLUMN.end)) {
      const hash = this.#read(next, COLUMN.keyHash);
      if (!isLarge || hash === keyHash) inner.set(hash, next);
    }
    // Indexing takes longer than a few searches, and no valid map is so large.
    if (!isLarge) this.#inner.set(map, inner);
    return inner.get(keyHash);
  }

  #read(row: number, column: number): number {
    return this.#table.nodes[row * COLUMNS + column] ?? -1;
  }
}

export function toPosition(lineStarts: ArrayLike<number>, offset: number): Position {
  let [low, high] = [0, lineStarts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((lineStarts[middle] ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return { line: Math.max(1, low), column: offset - (lineStarts[low - 1] ?? 0) + 1 };
}
