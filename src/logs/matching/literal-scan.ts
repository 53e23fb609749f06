import type { LiteralNeeds } from './literals.ts';

/** Bound of the automaton; patterns beyond it are tried on every line. Two bytes per state and class of characters. */
const STATES_MAX = 8000;
const ASCII = 128;
/** All that some upper or lower case folds to ASCII: RE2 takes these for `s` and `k`. */
const LONG_S = 0x17f;
const KELVIN = 0x212a;

/** One way to meet the needs of a pattern: numbers of literals, one of each list. */
type Alternative = readonly (readonly number[])[];

/**
 * Finds out which of many patterns can match a text, in one pass over it: an automaton (Aho-Corasick) over the literals
 * that their matches contain.
 */
export class LiteralScan {
  /** By pattern; `undefined` if its literals are not known: it can match anything. */
  readonly #needs: (readonly Alternative[] | undefined)[];
  readonly #classes = new Uint8Array(ASCII);
  readonly #next: Uint16Array;
  /** Literals that end in a state, by state. */
  readonly #ends: (readonly number[] | undefined)[];
  readonly #classCount: number;
  /** The pass in which a literal was seen last, by literal. */
  readonly #seenIn: Float64Array;
  #pass = 0;
  #hasSeen = false;

  /** `needs`: of every pattern; `undefined` for one that can match anything. */
  constructor(needs: readonly (LiteralNeeds | undefined)[]) {
    const trie = new Trie();
    this.#needs = needs.map((alternatives) => {
      const texts = alternatives?.flat(2) ?? [];
      if (!alternatives || !trie.hasRoomFor(texts)) return undefined;
      return alternatives.map((sets) => sets.map((set) => set.map((text) => trie.add(text))));
    });
    const chars = trie.chars;
    this.#classCount = chars.length + 1;
    for (const [index, char] of chars.entries()) {
      this.#classes[char.charCodeAt(0)] = index + 1;
      this.#classes[char.toUpperCase().charCodeAt(0)] = index + 1;
    }
    this.#ends = trie.ends;
    this.#next = trie.build(chars);
    this.#seenIn = new Float64Array(trie.literals);
  }

  /** Patterns whose literals are not known. */
  get unfiltered(): readonly number[] {
    return [...this.#needs.keys()].filter((pattern) => this.#needs[pattern] === undefined);
  }

  /** Reads a text. From here on {@link canMatch} is about it. */
  read(text: string): void {
    const pass = ++this.#pass;
    const next = this.#next;
    const classes = this.#classes;
    const count = this.#classCount;
    let row = 0;
    this.#hasSeen = false;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const to = next[row + (code < ASCII ? (classes[code] ?? 0) : this.#foldToClass(code))] ?? 0;
      row = to * count;
      const ends = this.#ends[to];
      if (ends === undefined) continue;
      this.#hasSeen = true;
      for (const literal of ends) this.#seenIn[literal] = pass;
    }
  }

  /** False if the pattern with this number cannot match the text that was read last. */
  canMatch(pattern: number): boolean {
    const alternatives = this.#needs[pattern];
    if (alternatives === undefined) return true;
    return this.#hasSeen && alternatives.some((sets) => sets.every((set) => set.some(this.#isSeen)));
  }

  readonly #isSeen = (literal: number): boolean => this.#seenIn[literal] === this.#pass;

  #foldToClass(code: number): number {
    const ascii = code === LONG_S ? 's' : code === KELVIN ? 'k' : '\0';
    return this.#classes[ascii.charCodeAt(0)] ?? 0;
  }
}

/** The literals as a tree of characters, which becomes the table of the automaton. */
class Trie {
  readonly #children: Map<string, number>[] = [new Map()];
  readonly #byText = new Map<string, number>();
  /** Literals that end in a state, by state; complete once the table is built. */
  readonly ends: (number[] | undefined)[] = [undefined];

  /** Number of literals. */
  get literals(): number {
    return this.#byText.size;
  }

  /** All characters of the literals. */
  get chars(): readonly string[] {
    return [...new Set(this.#children.flatMap((children) => [...children.keys()]))];
  }

  hasRoomFor(texts: readonly string[]): boolean {
    return this.#children.length + texts.reduce((sum, text) => sum + text.length, 0) <= STATES_MAX;
  }

  /** Adds a literal; returns its number. */
  add(text: string): number {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    let state = 0;
    for (const char of text) state = this.#child(state, char);
    const literal = this.#byText.size;
    this.#byText.set(text, literal);
    this.ends[state] = [literal];
    return literal;
  }

  #child(state: number, char: string): number {
    const children = this.#children[state];
    const known = children?.get(char);
    if (known !== undefined) return known;
    const created = this.#children.push(new Map()) - 1;
    this.ends.push(undefined);
    children?.set(char, created);
    return created;
  }

  /** Builds the table: the next state by state and class of characters, where class 0 is all that no literal has. */
  build(chars: readonly string[]): Uint16Array {
    const count = chars.length + 1;
    const next = new Uint16Array(this.#children.length * count);
    const fallbacks = new Uint16Array(this.#children.length);
    const queue = [0];
    for (let state = queue.shift(); state !== undefined; state = queue.shift()) {
      const fallback = fallbacks[state] ?? 0;
      const inherited = state === 0 ? undefined : this.ends[fallback];
      if (inherited) this.ends[state] = [...(this.ends[state] ?? []), ...inherited];
      for (const [index, char] of chars.entries()) {
        const child = this.#children[state]?.get(char);
        const elsewhere = state === 0 ? 0 : (next[fallback * count + index + 1] ?? 0);
        next[state * count + index + 1] = child ?? elsewhere;
        if (child === undefined) continue;
        fallbacks[child] = elsewhere;
        queue.push(child);
      }
    }
    return next;
  }
}
