/**
 * Texts that a pattern cannot match without: alternatives, of which every match meets at least one. An alternative is a
 * list of sets, and meeting it means that the line contains one text of every set. All texts are ASCII in lower case.
 */
export type LiteralNeeds = readonly LiteralAlternative[];
/** One way to meet the needs of a pattern: a text of every set. */
type LiteralAlternative = readonly (readonly string[])[];

/** Minimum length of a literal: nearly every line contains some shorter text. Characters. */
const LITERAL_CHARS_MIN = 2;
/** Bound of a longer text's length: more says little more, and costs states. Characters. */
const LITERAL_CHARS_MAX = 24;
/** Bound of the texts that a part of a pattern stands for, written out. */
const EXACT_MAX = 64;
const ALTERNATIVES_MAX = 24;
/** Characters of a class that are written out. */
const CLASS_CHARS_MAX = 10;
/** The groups of a pattern do not nest deeper in practice; the parser of RE2 stops later. */
const DEPTH_MAX = 100;

/** Part of a pattern. `exact`: all texts that it matches, if these are few. */
interface Part {
  readonly exact?: readonly string[];
  readonly needs: LiteralNeeds;
}

const NO_NEEDS: LiteralNeeds = [[]];
const ANYTHING: Part = { needs: NO_NEEDS };
const NOTHING: Part = { exact: [''], needs: NO_NEEDS };

/**
 * Finds the texts that every match of a pattern contains; `undefined` if there are none, or if the pattern uses syntax
 * that is not known here. `source` is a valid pattern of RE2. Upper and lower case are the same.
 */
export function findLiterals(source: string): LiteralNeeds | undefined {
  const parser = new PatternParser(source);
  const needs = parser.parse();
  return needs?.some((alternative) => alternative.length === 0) ? undefined : needs;
}

/** Reads as much of RE2's syntax as it takes to find literals. */
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
    // Flags for the rest of the group: case is the same here in any case, and the others change no literal.
    if (flags !== undefined && end === ')') return NOTHING;
    const part = this.#parseAlternatives(depth + 1);
    if (!this.#take(')')) this.#isKnown = false;
    return part;
  }

  #parseEscape(): Part {
    const char = this.#next();
    if ('bBAz'.includes(char)) return NOTHING;
    if ('dDsSwWC'.includes(char)) return ANYTHING;
    // Letters and digits have a meaning, and any other character stands for itself.
    if (/\w/.test(char)) this.#isKnown = false;
    return toLiteral(char);
  }

  #parseClass(): Part {
    // A bracket that comes first is a character of the class.
    const [whole, isNegated, body = ''] = /^(\^?)(\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*)\]/s.exec(this.#rest()) ?? [];
    if (whole === undefined) {
      this.#isKnown = false;
      return ANYTHING;
    }
    this.#at += whole.length;
    // Ranges, escapes and named classes are not written out, but for digits.
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

/** One part or the other. */
function join(parts: readonly Part[]): Part {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  const exact = parts.flatMap((part) => part.exact ?? []);
  if (exact.length <= EXACT_MAX && parts.every((part) => part.exact)) return { exact, needs: NO_NEEDS };
  const needs = parts.flatMap(needsOf);
  return { needs: needs.length <= ALTERNATIVES_MAX ? needs : NO_NEEDS };
}

/** One part behind the other. */
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

/** Every text of `heads` with every text of `tails`; `undefined` if that is too much. */
function cross(heads: readonly string[], tails: readonly string[]): readonly string[] | undefined {
  if (heads.length * tails.length > EXACT_MAX) return undefined;
  const texts = heads.flatMap((head) => tails.map((tail) => head + tail));
  return texts.every((text) => text.length <= LITERAL_CHARS_MAX) ? texts : undefined;
}

function needsOf({ exact, needs }: Part): LiteralNeeds {
  if (!exact) return needs;
  if (exact.some((text) => text.length < LITERAL_CHARS_MIN)) return NO_NEEDS;
  const texts = [...new Set(exact)];
  // Where a part of a text suffices, the whole says nothing more.
  return [[texts.filter((text) => !texts.some((other) => other !== text && text.includes(other)))]];
}

function and(one: LiteralNeeds, other: LiteralNeeds): LiteralNeeds {
  if (one.length * other.length > ALTERNATIVES_MAX) return one.some((way) => way.length === 0) ? other : one;
  return one.flatMap((head) => other.map((tail) => [...head, ...tail]));
}
