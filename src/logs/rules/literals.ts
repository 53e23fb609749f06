/**
 * Texts required by a pattern: every match meets at least one alternative. An alternative is a list of sets, and is met
 * if the line contains one text of every set. All texts are lower-case ASCII.
 */
export type LiteralNeeds = readonly LiteralAlternative[];
type LiteralAlternative = readonly (readonly string[])[];

/** Shortest literal: nearly every line contains some shorter one. Characters. */
const LITERAL_CHARS_MIN = 2;
/** Longer literals only cost states. Characters. */
const LITERAL_CHARS_MAX = 24;
const EXACT_MAX = 64;
const ALTERNATIVES_MAX = 24;
const CLASS_CHARS_MAX = 10;
/** Deeper than real patterns; RE2 allows more. */
const DEPTH_MAX = 100;

/** `exact`: all texts that the part matches, if few. */
interface Part {
  readonly exact?: readonly string[];
  readonly needs: LiteralNeeds;
}

const NO_NEEDS: LiteralNeeds = [[]];
const ANYTHING: Part = { needs: NO_NEEDS };
const NOTHING: Part = { exact: [''], needs: NO_NEEDS };

/**
 * Finds texts that every match of a pattern contains; `undefined` if there are none or the syntax is not supported.
 * `source`: a valid pattern of RE2. Case is ignored.
 */
export function findLiterals(source: string): LiteralNeeds | undefined {
  const parser = new PatternParser(source);
  const needs = parser.parse();
  return needs?.some((alternative) => alternative.length === 0) ? undefined : needs;
}

class PatternParser {
  readonly #source: string;
  #at = 0;
  #isKnown = true;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): LiteralNeeds | undefined {
    const part = this.#parseAlternatives(0);
    return this.#isKnown && this.#at === this.#source.length ? needsOf(part) : undefined;
  }

  #parseAlternatives(depth: number): Part {
    if (depth > DEPTH_MAX) this.#isKnown = false;
    const parts = [this.#parseSequence(depth)];
    while (this.#isKnown && this.#take('|')) parts.push(this.#parseSequence(depth));
    return join(parts);
  }

  #parseSequence(depth: number): Part {
    const parts: Part[] = [];
    while (this.#isKnown && this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '')) {
      parts.push(this.#parseRepetition(this.#parseAtom(depth)));
    }
    return concatenate(parts);
  }

  #parseRepetition(atom: Part): Part {
    let part = atom;
    for (;;) {
      if (this.#take('*')) part = ANYTHING;
      else if (this.#take('+')) part = { needs: needsOf(part) };
      else if (this.#take('?')) part = part.exact ? join([NOTHING, part]) : ANYTHING;
      else {
        const [whole, min, comma] = /^\{(\d+)(,\d*)?\}/.exec(this.#rest(12)) ?? [];
        if (whole === undefined) return part;
        this.#at += whole.length;
        if (Number(min) === 0) part = ANYTHING;
        else if (Number(min) > 1 || comma !== undefined) part = { needs: needsOf(part) };
      }
    }
  }

  #parseAtom(depth: number): Part {
    const char = this.#next();
    if (char === '(') return this.#parseGroup(depth);
    if (char === '[') return this.#parseClass();
    if (char === '.') return ANYTHING;
    if (char === '^' || char === '$') return NOTHING;
    if (char === '\\') return this.#parseEscape();
    return toLiteral(char);
  }

  #parseGroup(depth: number): Part {
    const [head, flags, end] = /^\?(?:P?<\w+>|([imsU-]*)([:)]))/.exec(this.#rest(80)) ?? [];
    if (head === undefined && this.#source[this.#at] === '?') this.#isKnown = false;
    this.#at += head?.length ?? 0;
    // Case is ignored anyway, and the other flags change no literal.
    if (flags !== undefined && end === ')') return NOTHING;
    const part = this.#parseAlternatives(depth + 1);
    if (!this.#take(')')) this.#isKnown = false;
    return part;
  }

  #parseEscape(): Part {
    const char = this.#next();
    if ('bBAz'.includes(char)) return NOTHING;
    if ('dDsSwWC'.includes(char)) return ANYTHING;
    // Letters and digits are escapes; other characters are literal.
    if (/\w/.test(char)) this.#isKnown = false;
    return toLiteral(char);
  }

  #parseClass(): Part {
    // A leading bracket is a character of the class.
    const [whole, isNegated, body = ''] = /^(\^?)(\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*)\]/s.exec(this.#rest()) ?? [];
    if (whole === undefined) {
      this.#isKnown = false;
      return ANYTHING;
    }
    this.#at += whole.length;
    // Only digits are expanded, not other ranges, escapes and named classes.
    if (body === '0-9' && isNegated === '') return { exact: '0123456789'.split(''), needs: NO_NEEDS };
    const isPlain = isNegated === '' && body.length <= CLASS_CHARS_MAX && !/[\\[]|.-./.test(body);
    return isPlain ? join(body.split('').map(toLiteral)) : ANYTHING;
  }

  #next(): string {
    const char = this.#source[this.#at++];
    if (char === undefined) this.#isKnown = false;
    return char ?? '';
  }

  #take(char: string): boolean {
    if (this.#source[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #rest(chars: number = this.#source.length): string {
    return this.#source.slice(this.#at, this.#at + chars);
  }
}

function toLiteral(char: string): Part {
  // Other letters have more than two cases.
  return char >= ' ' && char <= '~' ? { exact: [char.toLowerCase()], needs: NO_NEEDS } : ANYTHING;
}

function join(parts: readonly Part[]): Part {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  const exact = parts.flatMap((part) => part.exact ?? []);
  if (exact.length <= EXACT_MAX && parts.every((part) => part.exact)) return { exact, needs: NO_NEEDS };
  const needs = parts.flatMap(needsOf);
  return { needs: needs.length <= ALTERNATIVES_MAX ? needs : NO_NEEDS };
}

function concatenate(parts: readonly Part[]): Part {
  let exact: readonly string[] = [''];
  let needs = NO_NEEDS;
  let isExact = true;
  for (const part of parts) {
    const longer = part.exact && cross(exact, part.exact);
    if (longer) {
      exact = longer;
      continue;
    }
    needs = and(and(needs, needsOf({ exact, needs: NO_NEEDS })), part.exact ? NO_NEEDS : part.needs);
    exact = part.exact ?? [''];
    isExact = false;
  }
  return isExact ? { exact, needs: NO_NEEDS } : { needs: and(needs, needsOf({ exact, needs: NO_NEEDS })) };
}

/** Returns `undefined` if the product is too large. */
function cross(heads: readonly string[], tails: readonly string[]): readonly string[] | undefined {
  if (heads.length * tails.length > EXACT_MAX) return undefined;
  const texts = heads.flatMap((head) => tails.map((tail) => head + tail));
  return texts.every((text) => text.length <= LITERAL_CHARS_MAX) ? texts : undefined;
}

function needsOf({ exact, needs }: Part): LiteralNeeds {
  if (!exact) return needs;
  if (exact.some((text) => text.length < LITERAL_CHARS_MIN)) return NO_NEEDS;
  const texts = [...new Set(exact)];
  // A text that contains another one of the set adds nothing.
  return [[texts.filter((text) => !texts.some((other) => other !== text && text.includes(other)))]];
}

function and(one: LiteralNeeds, other: LiteralNeeds): LiteralNeeds {
  if (one.length * other.length > ALTERNATIVES_MAX) return one.some((way) => way.length === 0) ? other : one;
  return one.flatMap((head) => other.map((tail) => [...head, ...tail]));
}

/** Maximum states of the automaton. Patterns beyond it run on every line. */
const STATES_MAX = 8000;
const ASCII = 128;
const BYTES = 256;
/** The characters outside ASCII that RE2 matches with `s` and `k` if case is ignored. */
const LONG_S = 0x17f;
const KELVIN = 0x212a;

/**
 * Finds the patterns that can match a text, in one pass: an Aho-Corasick automaton over their literals. A literal
 * belongs to sets, a set to one alternative, an alternative to one pattern. A pattern can match once all sets of one
 * alternative are met.
 */
export class LiteralScan {
  readonly #isFiltered: readonly boolean[];
  readonly #classes = new Uint8Array(ASCII);
  readonly #byteClasses = new Uint8Array(BYTES);
  readonly #next: Uint16Array;
  /** Rows of the table have 2^shift columns. */
  readonly #shift: number;
  readonly #firstEnd: number;
  /** State after a byte that is not plain: the last one. */
  readonly #stop: number;
  /** Sets of the literals ending in a state, from {@link #firstEnd} on. */
  readonly #setsOfEnd: readonly (readonly number[])[];
  readonly #alternativeOf: readonly number[];
  readonly #sizes: readonly number[];
  readonly #patternOf: readonly number[];
  /** Passes in which sets, alternatives and patterns were last met. */
  readonly #setPass: Float64Array;
  readonly #alternativePass: Float64Array;
  readonly #patternPass: Float64Array;
  readonly #met: Uint8Array;
  #pass = 0;
  #metPass = 0;
  /** `needs`: of each pattern; `undefined` for one that can match anything. */
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
   * Scans plain bytes (printable ASCII that JSON does not escape) and returns the place of the first other byte. {@link
   * canMatch} then applies to them.
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

  /** Returns true if a pattern has literals. Others can match any text. */
  isFiltered(pattern: number): boolean {
    return this.#isFiltered[pattern] ?? false;
  }

  /** Returns false if no pattern from `from` to before `to` can match the scanned text. */
  canMatchAny(from: number, to: number): boolean {
    for (let pattern = from; pattern < to; pattern++) if (this.canMatch(pattern)) return true;
    return false;
  }

  /** False if the scanned text contains no literal. */
  get hasMet(): boolean {
    return this.#metPass === this.#pass;
  }

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

/** Returns true for printable ASCII that JSON does not escape. */
export function isPlainByte(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
}

interface Table {
  /** By state and character class. Class 0: characters in no literal. */
  readonly next: Uint16Array;
  readonly shift: number;
  readonly firstEnd: number;
  readonly stop: number;
  readonly setsOfEnd: readonly (readonly number[])[];
}

class Trie {
  readonly #children: Map<string, number>[] = [new Map()];
  /** Sets of the literals ending in a state; complete after `build`. */
  readonly #ends: Set<number>[] = [new Set()];

  get chars(): readonly string[] {
    return [...new Set(this.#children.flatMap((children) => [...children.keys()]))];
  }

  hasRoomFor(texts: readonly string[]): boolean {
    return this.#children.length + texts.reduce((sum, text) => sum + text.length, 0) <= STATES_MAX;
  }

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
    // One extra column for characters in no literal, one for bytes that are not plain.
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

  /** Moves the states in which literals end to the end, so that one comparison detects them. */
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
