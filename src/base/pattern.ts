import { RE2JS, RE2JSSyntaxException } from 're2js';
import { CodedError } from './errors.ts';

/**
 * `syntax`: the text is not a valid pattern; `size`: it is too long, or too large once its repetitions are expanded.
 */
export type PatternFailure = 'syntax' | 'size';

/** A pattern that cannot be compiled. The message is written for the author of the pattern. */
export class PatternError extends CodedError<PatternFailure> {
  override readonly name = 'PatternError';
}

/**
 * A pattern whose run time is linear in the length of the text, for any pattern and any text. Bound the text: the worst
 * pattern needs about a second for 64 KiB, a typical one a few milliseconds.
 */
export interface Pattern {
  readonly source: string;
  /** Names of the groups, in the order of the pattern. */
  readonly groups: readonly string[];
  /** Returns true if the pattern matches somewhere in the text. */
  test(text: string): boolean;
  /**
   * Returns the groups of the first match (`undefined` for groups that did not take part), or `undefined` if nothing
   * matches.
   */
  match(text: string): Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Replaces every non-empty match with `replacement`, taken literally. If finding all matches would take too long or
   * the result would exceed its limit, everything from that point to the end of the text is replaced by one
   * `replacement`.
   */
  replaceAll(text: string, replacement: string): string;
}

/** Several times the longest pattern that a person can read. */
const SOURCE_CHARS_MAX = 1000;
/**
 * Limit of the program size after repetitions are expanded: in the worst case a match executes this many steps per
 * character.
 */
const INSTRUCTIONS_MAX = 500;
/**
 * Limit of the steps for all matches in one text: a quarter of a second for typical patterns. For each match the
 * library may scan the rest of the text to its end, so the total time grows quadratically with the text.
 */
const REPLACE_STEPS_MAX = 32_000_000;
/** Limit of the result in characters, unless the text itself is longer. */
const RESULT_CHARS_MAX = 65_536;
/** Parts of a pattern quoted in a message are cut to this many characters. */
const QUOTE_CHARS_MAX = 32;

/** Compiles a pattern in RE2 syntax; named groups are `(?P<name>…)` or `(?<name>…)`. Throws {@link PatternError}. */
export function compilePattern(source: string): Pattern {
  const compiled = compile(source);
  const groups = Object.keys(compiled.namedGroups());
  return {
    source,
    groups,
    test: (text) => compiled.test(text),
    match(text) {
      // Most texts do not match, and testing that is fast.
      if (!compiled.test(text)) return undefined;
      const matcher = compiled.matcher(text);
      if (!matcher.find()) return undefined;
      return Object.fromEntries(groups.map((name) => [name, matcher.group(name) ?? undefined]));
    },
    replaceAll: (text, replacement) => replaceMatches(compiled, text, replacement),
  };
}

function compile(source: string): RE2JS {
  if (source.length > SOURCE_CHARS_MAX) {
    throw refuse('size', `A pattern has at most ${SOURCE_CHARS_MAX} characters, this one has ${source.length}`);
  }
  const compiled = parse(source);
  if (compiled.programSize() <= INSTRUCTIONS_MAX) return compiled;
  throw refuse('size', `${TOO_LARGE}, or make two patterns of it`);
}

function parse(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    throw refuse('syntax', explain(error.getDescription(), error.getPattern() ?? ''), error);
  }
}

function replaceMatches(compiled: RE2JS, text: string, replacement: string): string {
  if (!compiled.test(text)) return text;
  const matcher = compiled.matcher(text);
  const charsMax = Math.max(text.length, RESULT_CHARS_MAX);
  let stepsLeft = REPLACE_STEPS_MAX;
  let result = '';
  let end = 0;
  while (matcher.find()) {
    const start = matcher.start();
    if (matcher.end() > start) {
      result += text.slice(end, start) + replacement;
      end = matcher.end();
    }
    stepsLeft -= (text.length - start) * compiled.programSize();
    const isTooLong = result.length + (text.length - end) > charsMax;
    // The rest might contain what must not be shown.
    if (stepsLeft < 0 || isTooLong) return end === text.length ? result : result + replacement;
  }
  return result + text.slice(end);
}

function refuse(code: PatternFailure, message: string, cause?: unknown): PatternError {
  return new PatternError(code, message, { disposition: 'operator', cause });
}

const TOO_LARGE = 'The pattern is too large with its repetitions written out; repeat less';

/** Turns the library's error code into a message; `part` is the offending part of the pattern. */
function explain(found: string, part: string): string {
  const quoted = JSON.stringify(part.length > QUOTE_CHARS_MAX ? `${part.slice(0, QUOTE_CHARS_MAX)}…` : part);
  switch (found) {
    case 'missing closing )':
      return 'A "(" is never closed; write \\( for the character';
    case 'unexpected )':
      return 'A ")" has no "(" before it; write \\) for the character';
    case 'missing closing ]':
      return 'A "[" is never closed; write \\[ for the character';
    case 'missing argument to repetition operator':
      return `Nothing that ${quoted} could repeat stands before it; write \\${part.slice(0, 1)} for the character`;
    case 'invalid nested repetition operator':
      return `${quoted} repeats a repetition; put (?:…) around the first one`;
    case 'invalid repeat count':
      return `${quoted} is no count of repetitions from 0 to 1000, all of those around it together`;
    case 'trailing backslash at end of expression':
      return 'A "\\" stands at the end with nothing behind it; write \\\\ for the character';
    case 'invalid escape sequence':
      return /^\\[1-9]/.test(part)
        ? `${quoted} refers back to a group, which RE2 does not know`
        : `${quoted} is no escape of RE2`;
    case 'invalid character class range':
      return `${quoted} is no range and no class of characters`;
    case 'duplicate capture group name':
      return `Two groups have the name ${quoted}`;
    case 'invalid named capture':
      return /^\(\?<[=!]/.test(part)
        ? 'It looks behind itself ("(?<=" or "(?<!"), which RE2 does not know'
        : `${quoted} does not begin a named group; write (?P<name>…) with letters, digits and "_"`;
    case 'invalid or unsupported Perl syntax':
      return /^\(\?[=!]/.test(part)
        ? 'It looks ahead of itself ("(?=" or "(?!"), which RE2 does not know'
        : `${quoted} is nothing that RE2 knows`;
    case 'expression nests too deeply':
      return 'Its groups are nested too deeply';
    case 'expression too large':
      return TOO_LARGE;
    default:
      return `It is no pattern: ${found}`;
  }
}
