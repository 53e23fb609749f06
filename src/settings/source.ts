import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Pair,
  type ParsedNode,
} from 'yaml';
import type { Aim, KeyPath, Locator, Position } from './fault.ts';

/** A parsed file: its value, and where each part of it stands. */
export class ConfigSource implements Locator {
  /** What the file says, before the environment is filled in. Aliased values are one object. */
  readonly value: unknown;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;

  constructor(document: Document.Parsed, lines: LineCounter, value: unknown) {
    this.value = value;
    this.#document = document;
    this.#lines = lines;
  }

  /** What stands at `path`; `undefined` when nothing does. */
  valueAt(path: KeyPath): unknown {
    let value = this.value;
    for (const step of path) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      value = Reflect.get(value, step);
    }
    return value;
  }

  /** Finds the deepest part of `path` that exists: a missing key is found at the map where it should stand. */
  locate(path: KeyPath, aim: Aim): Position {
    let node: unknown = this.#document.contents;
    let offset = toOffset(node) ?? 0;
    for (const [index, step] of path.entries()) {
      const holder = isAlias(node) ? node.resolve(this.#document) : node;
      if (isSeq(holder) && typeof step === 'number') {
        node = holder.items[step];
        offset = toOffset(node) ?? offset;
      } else {
        const pair = findPair(holder, step);
        if (!pair) break;
        node = pair.value;
        const keyOffset = toOffset(pair.key) ?? offset;
        const isKeyMeant = index === path.length - 1 && aim === 'key';
        offset = isKeyMeant || isEmpty(node) ? keyOffset : (toOffset(node) ?? keyOffset);
      }
    }
    return toPosition(this.#lines, offset);
  }
}

/** Converts an offset of the parser. */
export function toPosition(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  // The counter answers 0 before the first line is known, which is so in an empty file.
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** The pair that counts: of two with the same key the last, as the parser has it. */
function findPair(holder: unknown, key: string | number): Pair | undefined {
  if (!isMap(holder)) return undefined;
  return holder.items.findLast((pair) => isScalar(pair.key) && String(pair.key.value) === String(key));
}

function toOffset(node: unknown): number | undefined {
  return isNode(node) ? (node as ParsedNode).range?.[0] : undefined;
}

/** A key without a value, whose value has a place but nothing to see there. */
function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.range !== undefined && node.range !== null && node.range[0] === node.range[1];
}
