import { RE2JS, RE2JSSyntaxException } from 're2js';
import { CodedError } from './errors.ts';

/** `syntax`: it is no pattern; `size`: it is longer, or means more, than is allowed. */
export type PatternFailure = 'syntax' | 'size';

/** What is wrong with a pattern. The message is a sentence for the person who wrote it. */
export class PatternError extends CodedError<PatternFailure> {
  override readonly name = 'PatternError';
}

/**
 * A pattern that needs time in proportion to the text, whatever pattern and text are. Texts should have a bound: 64 KiB
 * take the worst pattern about a second, and a usual one a few milliseconds.
 */
export interface Pattern {
  readonly source: string;
  /** Names of its groups, in the order in which they stand. */
  readonly groups: readonly string[];
  /** The groups of the first match, `undefined` for those that took no part; `undefined` when nothing matches. */
  match(text: string): Readonly<Record<string, string | undefined>> | undefined;
  /**
   * The text with `replacement`, as it is written, for every match; an empty match is none. A text in which finding them
   * all would take too long, or that would grow beyond a bound, is replaced as a whole from there to its end.
   */
  replaceAll(text: string, replacement: string): string;
}

/** Several times the longest pattern that a person can read. */
const SOURCE_CHARS_MAX = 1000;
/** Steps that a pattern may have when its repetitions are written out: the worst match needs as many for each character. */
const INSTRUCTIONS_MAX = 500;
/**
 * Steps for all matches in one text, a quarter of a second for usual patterns. The library looks again at the rest of the text for each
 * match, up to its end perhaps, which makes the time for all of them grow with the square of the text.
 */
const REPLACE_STEPS_MAX = 32_000_000;
/** A result may grow to this many characters, or to the length of its text. */
const RESULT_CHARS_MAX = 65_536;
/** Parts of a pattern in a message are cut here. */
const QUOTE_CHARS_MAX = 32;

/** Compiles a pattern in the syntax of RE2: groups are named as in `(?P<name>…)` or `(?<name>…)`. Throws {@link PatternError}. */
export function compilePattern(source: string): Pattern {
  const compiled = compile(source);
  const groups = Object.keys(compiled.namedGroups());
  return {
    source,
    groups,
    match(text) {
      // Most texts do not match, and that is soon known.
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
    // What is left could hold what must not be seen.
    if (stepsLeft < 0 || isTooLong) return end === text.length ? result : result + replacement;
  }
  return result + text.slice(end);
}

function refuse(code: PatternFailure, message: string, cause?: unknown): PatternError {
  return new PatternError(code, message, { disposition: 'operator', cause });
}

const TOO_LARGE = 'The pattern is too large with its repetitions written out; repeat less';

/** Says in words what the library has found, and `part` is where. */
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
