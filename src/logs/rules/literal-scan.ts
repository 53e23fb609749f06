import type { LiteralNeeds } from './literals.ts';

/** Bound of the automaton; patterns beyond it are tried on every line. Two bytes per state and class of characters. */
const STATES_MAX = 8000;
const ASCII = 128;
const BYTES = 256;
/** The two characters outside ASCII that RE2 takes for an ASCII letter (`s` and `k`) where case is ignored. */
const LONG_S = 0x17f;
const KELVIN = 0x212a;

/**
 * Finds out which of many patterns can match a text, in one pass over it: an automaton (Aho-Corasick) over the literals
 * that their matches contain. A literal belongs to sets, a set to one alternative, an alternative to one pattern; a
 * pattern can match once all sets of one alternative have been met.
 */
export class LiteralScan {
  readonly #isFiltered: readonly boolean[];
  readonly #classes = new Uint8Array(ASCII);
  /** The same for bytes; what is not plain has a class of its own. */
  readonly #byteClasses = new Uint8Array(BYTES);
  readonly #next: Uint16Array;
  /** A row of the table has 2 to the power of this many columns. */
  readonly #shift: number;
  /** From this state on, literals end. */
  readonly #firstEnd: number;
  /** The state behind a byte that is not plain: the last one. */
  readonly #stop: number;
  /** Sets of the literals that end in a state, from {@link #firstEnd} on. */
  readonly #setsOfEnd: readonly (readonly number[])[];
  readonly #alternativeOf: readonly number[];
  /** Number of sets by alternative. */
  readonly #sizes: readonly number[];
  readonly #patternOf: readonly number[];
  /** The passes in which sets, alternatives and patterns were met last. */
  readonly #setPass: Float64Array;
  readonly #alternativePass: Float64Array;
  readonly #patternPass: Float64Array;
  /** Sets that were met in {@link #alternativePass}. */
  readonly #met: Uint8Array;
  #pass = 0;
  /** The pass in which a literal was met last. */
  #metPass = 0;
  /** `needs`: of every pattern; `undefined` for one that can match anything. */
  constructor(needs: readonly (LiteralNeeds | undefined)[]) {
    const trie = new Trie();
    const alternativeOf: number[] = [];
    const sizes: number[] = [];
    const patternOf: number[] = [];
    this.#isFiltered = needs.map((alternatives, pattern) => {
      if (!alternatives || !trie.hasRoomFor(alternatives.flat(2))) return false;
      for (const sets of alternatives) {
        const alternative = sizes.push(sets.length) - 1;
        patternOf.push(pattern);
        for (const set of sets) {
          const number = alternativeOf.push(alternative) - 1;
          for (const text of set) trie.add(text, number);
        }
      }
      return true;
    });
    const chars = trie.chars;
    for (const [index, char] of chars.entries()) {
      this.#classes[char.charCodeAt(0)] = index + 1;
      this.#classes[char.toUpperCase().charCodeAt(0)] = index + 1;
    }
    for (const byte of this.#byteClasses.keys()) {
      this.#byteClasses[byte] = isPlainByte(byte) ? (this.#classes[byte] ?? 0) : chars.length + 1;
    }
    const table = trie.build(chars);
    this.#next = table.next;
    this.#shift = table.shift;
    this.#firstEnd = table.firstEnd;
    this.#setsOfEnd = table.setsOfEnd;
    this.#stop = table.stop;
    this.#alternativeOf = alternativeOf;
    this.#sizes = sizes;
    this.#patternOf = patternOf;
    this.#setPass = new Float64Array(alternativeOf.length);
    this.#alternativePass = new Float64Array(sizes.length);
    this.#met = new Uint8Array(sizes.length);
    this.#patternPass = new Float64Array(needs.length);
  }

  /** Reads a text. From here on {@link canMatch} is about it. */
  read(text: string): void {
    this.#pass++;
    const next = this.#next;
    const classes = this.#classes;
    const shift = this.#shift;
    const firstEnd = this.#firstEnd;
    const { length } = text;
    let state = 0;
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at);
      const column = code < ASCII ? (classes[code] ?? 0) : this.#foldToClass(code);
      state = next[(state << shift) | column] ?? 0;
      if (state >= firstEnd) this.#meet(this.#setsOfEnd[state - firstEnd] ?? []);
    }
  }

  /**
   * Reads the plain bytes from a place on: printable ASCII that JSON does not escape. Returns the place of the first other
   * byte, or the length of `bytes`. From here on {@link canMatch} is about them.
   */
  readPlain(bytes: Uint8Array, from: number): number {
    this.#pass++;
    const next = this.#next;
    const classes = this.#byteClasses;
    const shift = this.#shift;
    const firstEnd = this.#firstEnd;
    const { length } = bytes;
    let state = 0;
    let at = from;
    for (; at < length; at++) {
      state = next[(state << shift) | (classes[bytes[at] as number] as number)] as number;
      if (state < firstEnd) continue;
      if (state === this.#stop) break;
      this.#meet(this.#setsOfEnd[state - firstEnd] ?? []);
    }
    return at;
  }

  /** True if a pattern has literals; otherwise it can match any text. */
  isFiltered(pattern: number): boolean {
    return this.#isFiltered[pattern] ?? false;
  }

  /** False if no pattern from `from` on and before `to` can match the text that was read last. */
  canMatchAny(from: number, to: number): boolean {
    for (let pattern = from; pattern < to; pattern++) if (this.canMatch(pattern)) return true;
    return false;
  }

  /** False if the text that was read last holds no literal at all. */
  get hasMet(): boolean {
    return this.#metPass === this.#pass;
  }

  /** False if the pattern with this number cannot match the text that was read last. */
  canMatch(pattern: number): boolean {
    return this.#patternPass[pattern] === this.#pass || !this.#isFiltered[pattern];
  }

  #meet(sets: readonly number[]): void {
    const pass = this.#pass;
    this.#metPass = pass;
    for (const set of sets) {
      if (this.#setPass[set] === pass) continue;
      this.#setPass[set] = pass;
      const alternative = this.#alternativeOf[set] ?? 0;
      const met = this.#alternativePass[alternative] === pass ? (this.#met[alternative] ?? 0) + 1 : 1;
      this.#alternativePass[alternative] = pass;
      this.#met[alternative] = met;
      if (met === this.#sizes[alternative]) this.#patternPass[this.#patternOf[alternative] ?? 0] = pass;
    }
  }

  #foldToClass(code: number): number {
    const ascii = code === LONG_S ? 's' : code === KELVIN ? 'k' : '\0';
    return this.#classes[ascii.charCodeAt(0)] ?? 0;
  }
}

/** True if a byte is printable ASCII that JSON does not escape. */
export function isPlainByte(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
}

/** Table of the automaton. */
interface Table {
  /** Next state, by state and class of characters; class 0 is all that no literal has. */
  readonly next: Uint16Array;
  readonly shift: number;
  readonly firstEnd: number;
  readonly stop: number;
  readonly setsOfEnd: readonly (readonly number[])[];
}

/** The literals as a tree of characters, which becomes the table of the automaton. */
class Trie {
  readonly #children: Map<string, number>[] = [new Map()];
  /** Sets of the literals that end in a state, by state; complete once the table is built. */
  readonly #ends: Set<number>[] = [new Set()];

  /** All characters of the literals. */
  get chars(): readonly string[] {
    return [...new Set(this.#children.flatMap((children) => [...children.keys()]))];
  }

  hasRoomFor(texts: readonly string[]): boolean {
    return this.#children.length + texts.reduce((sum, text) => sum + text.length, 0) <= STATES_MAX;
  }

  /** Adds a literal of a set. */
  add(text: string, set: number): void {
    let state = 0;
    for (const char of text) state = this.#child(state, char);
    this.#ends[state]?.add(set);
  }

  #child(state: number, char: string): number {
    const children = this.#children[state];
    const known = children?.get(char);
    if (known !== undefined) return known;
    const created = this.#children.push(new Map()) - 1;
    this.#ends.push(new Set());
    children?.set(char, created);
    return created;
  }

  build(chars: readonly string[]): Table {
    // One column for all characters that no literal has, and one for bytes that are not plain.
    const shift = Math.ceil(Math.log2(chars.length + 2));
    const table = new Uint16Array(this.#children.length << shift);
    const fallbacks = new Uint16Array(this.#children.length);
    const queue = [0];
    for (const state of queue) {
      const fallback = fallbacks[state] ?? 0;
      if (state !== 0) for (const set of this.#ends[fallback] ?? []) this.#ends[state]?.add(set);
      for (const [index, char] of chars.entries()) {
        const child = this.#children[state]?.get(char);
        const elsewhere = state === 0 ? 0 : (table[(fallback << shift) | (index + 1)] ?? 0);
        table[(state << shift) | (index + 1)] = child ?? elsewhere;
        if (child === undefined) continue;
        fallbacks[child] = elsewhere;
        queue.push(child);
      }
    }
    return this.#renumber(table, shift, chars.length + 1);
  }

  /** Puts the states in which literals end behind all others, so that one comparison tells them. */
  #renumber(table: Uint16Array, shift: number, stopColumn: number): Table {
    const isEnd = this.#ends.map((sets) => sets.size > 0);
    const states = [...isEnd.keys()];
    const order = [...states.filter((state) => !isEnd[state]), ...states.filter((state) => isEnd[state])];
    const numbers = new Uint16Array(order.length);
    for (const [number, state] of order.entries()) numbers[state] = number;
    const next = new Uint16Array(table.length);
    for (const [number, state] of order.entries()) {
      const row = table.subarray(state << shift, (state + 1) << shift);
      for (const [column, to] of row.entries()) next[(number << shift) | column] = numbers[to] ?? 0;
      next[(number << shift) | stopColumn] = order.length;
    }
    const ends = order.filter((state) => isEnd[state]);
    const setsOfEnd = ends.map((state) => [...(this.#ends[state] ?? [])]);
    return { next, shift, firstEnd: order.length - ends.length, stop: order.length, setsOfEnd };
  }
}
