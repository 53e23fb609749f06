import { matchesGlob } from 'node:path';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { CodedError } from './errors.ts';

/** `syntax`: not a valid pattern; `size`: too long, or too large once its repetitions are expanded. */
type PatternFailure = 'syntax' | 'size';

/** A pattern that cannot be compiled. The message is for the author of the pattern. */
export class PatternError extends CodedError<PatternFailure> {
  override readonly name = 'PatternError';
}

/** A pattern with a run time linear in the length of the text: up to a second for 64 KiB, typically a few milliseconds. */
export interface Pattern {
  readonly source: string;
  readonly groups: readonly string[];
  test(text: string): boolean;
  /** Returns the named groups of the first match (`undefined` for those that did not take part), or `undefined` without a match. */
  match(text: string): Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Replaces every non-empty match with `replacement`, taken literally. If that would take too long or the result would exceed its limit,
   * one `replacement` stands for the rest of the text.
   */
  replaceAll(text: string, replacement: string): string;
}

/** Several times the longest readable pattern. */
const SOURCE_CHARS_MAX = 1000;
/** Program size after repetitions are expanded: in the worst case a match takes this many steps per character. */
const INSTRUCTIONS_MAX = 500;
/** Steps for all matches in one text, about 0.25 s: each match may scan to the end of the text, so the time grows quadratically. */
const REPLACE_STEPS_MAX = 32_000_000;
/** Result in characters, unless the text itself is longer. */
const RESULT_CHARS_MAX = 65_536;
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
    throw refuse('size', `The pattern has ${source.length} characters; the limit is ${SOURCE_CHARS_MAX}`);
  }
  const compiled = parse(source);
  if (compiled.programSize() <= INSTRUCTIONS_MAX) return compiled;
  throw refuse('size', `${TOO_LARGE}, or split it into two patterns`);
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
      return `${quoted} has nothing before it to repeat; write \\${part.slice(0, 1)} for the character`;
    case 'invalid nested repetition operator':
      return `${quoted} repeats a repetition; put (?:…) around the first one`;
    case 'invalid repeat count':
      return `${quoted} is not a valid repeat count: at most 1000, multiplied by those around it`;
    case 'trailing backslash at end of expression':
      return 'A "\\" at the end escapes nothing; write \\\\ for the character';
    case 'invalid escape sequence':
      return /^\\[1-9]/.test(part)
        ? `${quoted} is a back-reference, which RE2 does not support`
        : `${quoted} is not an escape sequence of RE2`;
    case 'invalid character class range':
      return `${quoted} is not a valid range or character class`;
    case 'duplicate capture group name':
      return `Two groups have the name ${quoted}`;
    case 'invalid named capture':
      return /^\(\?<[=!]/.test(part)
        ? 'RE2 does not support lookbehind: "(?<=" or "(?<!"'
        : `${quoted} is not a valid named group; write (?P<name>…) with letters, digits and "_"`;
    case 'invalid or unsupported Perl syntax':
      return /^\(\?[=!]/.test(part)
        ? 'RE2 does not support lookahead: "(?=" or "(?!"'
        : `${quoted} is not supported by RE2`;
    case 'expression nests too deeply':
      return 'Groups are nested too deeply';
    case 'expression too large':
      return TOO_LARGE;
    default:
      return `Invalid pattern: ${found}`;
  }
}

const SPECIAL = /[[\](){}\\/]/;

/** Returns true if globs select a name; a leading `!` excludes. */
export function isSelected(name: string, globs: readonly string[]): boolean {
  // `matchesGlob` takes seconds for six stars and a name chosen by a hostile router.
  const isMatch = (glob: string) => (SPECIAL.test(glob) ? matchesGlob(name, glob) : matchesStars(name, glob));
  return (
    globs.some((glob) => !glob.startsWith('!') && isMatch(glob)) &&
    !globs.some((glob) => glob.startsWith('!') && isMatch(glob.slice(1)))
  );
}

/** Returns true if a glob (`*` any characters, `?` one) matches a whole text, in a time at most proportional to both lengths. */
export function matchesStars(text: string, glob: string): boolean {
  let [at, next] = [0, 0];
  let star: { readonly next: number; at: number } | undefined;
  while (at < text.length) {
    const wanted = glob[next];
    if (wanted === '*') {
      star = { next: next + 1, at };
      next++;
    } else if (wanted !== undefined && (wanted === '?' || wanted === text[at])) {
      at++;
      next++;
    } else if (star) {
      // The last star takes one more character; earlier ones never need to.
      at = ++star.at;
      next = star.next;
    } else return false;
  }
  while (glob[next] === '*') next++;
  return next === glob.length;
}
