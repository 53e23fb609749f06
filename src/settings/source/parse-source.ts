import {
  type Document,
  type ErrorCode,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import { describeKind } from '../schema/secret-keys.ts';
import { type ConfigFault, FAULTS_MAX, type KeyPath, renderKeyPath } from './fault.ts';
import { listPositions, type PositionTable, toOffset, toPosition } from './positions.ts';

/** Expansion of one value by aliases. Use `defaults` to share settings. */
const YAML_ALIASES_MAX = 50;
/** In one file. The parser's own protection takes time in the third power of this number. */
const YAML_ALIAS_NODES_MAX = 200;
/** The deepest key of the schema is at 8. */
export const YAML_DEPTH_MAX = 16;
export const TOO_DEEP = `The values are nested more than ${YAML_DEPTH_MAX} deep`;
/** With aliases expanded: about forty for each of 25,000 routers. */
export const YAML_VALUES_MAX = 1_000_000;
/**
 * Block list items of a file, counted before composing: a few MB of short ones take 2 GB and ten seconds. Enough for
 * the 50,000 routers of a source with seven items each.
 */
export const YAML_ITEMS_MAX = 400_000;
/** Brackets alone take a thousand times their size: 32 MB for this many characters. */
const HARMLESS_CHARS_MAX = 32 * 1024;
const YAML_SYNTAX_FAULTS_MAX = 10;

const UNQUOTED_REFERENCE = 'Inside "{ }" and "[ ]", a text with "${" needs quotes, as in "${NAME}"';

const DUPLICATES_MAX = 100;

export interface ParsedText {
  readonly content?: {
    readonly value: unknown;
    readonly positions: PositionTable;
  };
  readonly faults: readonly ConfigFault[];
}

export interface RootKind {
  readonly kind: 'map' | 'list';
  readonly expected: string;
  readonly ifEmpty: string;
  /**
   * Key that each list item must have. After {@link FAULTS_MAX} items without it, the rest is dropped unchecked.
   * Default: all items are kept.
   */
  readonly itemKey?: string | undefined;
}

/** `file` is only for the faults. Never throws. */
export function parseSource(file: string, text: string, root: RootKind): ParsedText {
  const lines = new LineCounter();
  const refuse = (offset: number, message: string, path: KeyPath = []): ConfigFault => ({
    file,
    ...toPosition(lines.lineStarts, offset),
    keyPath: renderKeyPath(path),
    message,
  });
  const bulk = findBulk(text);
  if (bulk) return { faults: [refuse(0, bulk)] };
  let document: Document.Parsed;
  // Without stacks: each takes 40 µs, and there may be as many errors as characters.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      stringKeys: true,
      // The parser compares every key with all before it: minutes for a large map. See findDuplicates().
      uniqueKeys: false,
      logLevel: 'error',
    });
  } catch {
    return { faults: [refuse(0, YAML_MESSAGES.IMPOSSIBLE)] };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const syntax = [...document.errors, ...document.warnings];
  const duplicates = findDuplicates(document).map(({ offset, path }) =>
    refuse(offset, YAML_MESSAGES.DUPLICATE_KEY, path),
  );
  if (syntax.length > 0) {
    const problems = keepFirstPerLine(syntax, lines);
    const brace = problems[0]?.pos[0] ?? 0;
    if (brace > 0 && text.startsWith('${', brace - 1)) return { faults: [refuse(brace - 1, UNQUOTED_REFERENCE)] };
    const faults = problems.map((problem) => refuse(problem.pos[0], renderProblem(problem, document, lines)));
    return { faults: [...faults, ...duplicates] };
  }
  const alias = findAliases(document);
  if (alias.unknown !== undefined) {
    return { faults: [...duplicates, refuse(alias.unknown, 'No anchor (&name) of this name stands before the alias')] };
  }
  if (alias.excess !== undefined) {
    const message = `The file holds more than ${YAML_ALIAS_NODES_MAX} aliases (*name); share settings through "defaults"`;
    return { faults: [...duplicates, refuse(alias.excess, message)] };
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: YAML_ALIASES_MAX });
  } catch {
    const message = `Aliases (*name) repeat a value more than ${YAML_ALIASES_MAX} times; share settings through "defaults"`;
    return { faults: [...duplicates, refuse(alias.first ?? 0, message)] };
  }
  if (value === null || value === undefined) {
    return { faults: [refuse(0, `The file is empty; ${root.ifEmpty}`)] };
  }
  if (root.kind === 'map' ? !isMap(document.contents) : !isSeq(document.contents)) {
    return { faults: [refuse(0, `Expected ${root.expected}; found ${describeKind(value)}`)] };
  }
  const { values, depth } = measure(value, YAML_VALUES_MAX);
  if (values > YAML_VALUES_MAX || depth > YAML_DEPTH_MAX) {
    const excess = depth > YAML_DEPTH_MAX ? TOO_DEEP : `The file holds more than ${YAML_VALUES_MAX} values`;
    return { faults: [...duplicates, refuse(alias.first ?? 0, excess)] };
  }
  return { content: { value: cutList(value, root), positions: listPositions(document, lines) }, faults: duplicates };
}

/** Composing takes hundreds of bytes for each indicator, so they are counted first. */
function findBulk(text: string): string | undefined {
  if (text.length <= HARMLESS_CHARS_MAX) return undefined;
  const counts = { '-': 0, ',': 0, ':': 0, '?': 0, ']': 0, '}': 0, '&': 0, '!': 0 };
  let depth = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === '[' || lexeme === '{') depth++;
    if (lexeme === ']' || lexeme === '}') depth = Math.max(0, depth - 1);
    if (depth > YAML_DEPTH_MAX + 1) return TOO_DEEP;
    // An anchor or tag includes its name.
    const mark = lexeme[0] === '&' || lexeme[0] === '!' ? lexeme[0] : lexeme;
    if (!Object.hasOwn(counts, mark)) continue;
    const count = ++counts[mark as keyof typeof counts];
    if (lexeme === '-' && count > YAML_ITEMS_MAX) {
      return `The file holds more than ${YAML_ITEMS_MAX} items of lists; divide it into several files`;
    }
    if (count > YAML_VALUES_MAX) {
      return `The file holds more than ${YAML_VALUES_MAX} values; divide it into several files`;
    }
  }
  return undefined;
}

function cutList(list: unknown, { itemKey }: RootKind): unknown {
  if (itemKey === undefined || !Array.isArray(list)) return list;
  let lacking = 0;
  const end = list.findIndex((item) => !Object.hasOwn(Object(item), itemKey) && ++lacking > FAULTS_MAX);
  // Includes the last one, so that `FaultList.end` can point at it.
  return end < 0 ? list : list.slice(0, end + 1);
}

function keepFirstPerLine(problems: readonly YAMLError[], lines: LineCounter): YAMLError[] {
  const perLine = new Map<number, YAMLError>();
  for (const problem of problems.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const { line } = toPosition(lines.lineStarts, problem.pos[0]);
    if (!perLine.has(line)) perLine.set(line, problem);
  }
  return [...perLine.values()].slice(0, YAML_SYNTAX_FAULTS_MAX);
}

function findDuplicates(document: Document.Parsed): { readonly offset: number; readonly path: KeyPath }[] {
  const duplicates: { offset: number; path: KeyPath }[] = [];
  visit(document, {
    Map(_, map, ancestors) {
      const known = new Set<string>();
      for (const pair of map.items) {
        if (!isScalar(pair.key)) continue;
        const key = String(pair.key.value);
        const isFirst = !known.has(key);
        known.add(key);
        if (isFirst || duplicates.length >= DUPLICATES_MAX) continue;
        duplicates.push({ offset: toOffset(pair.key) ?? 0, path: [...toPath([...ancestors, map]), key] });
      }
    },
  });
  return duplicates;
}

function toPath(chain: readonly unknown[]): KeyPath {
  return chain.flatMap((node, index): (string | number)[] => {
    if (isPair(node)) return isScalar(node.key) ? [String(node.key.value)] : [];
    const next = chain[index + 1];
    return isSeq(node) && next !== undefined ? [node.items.indexOf(next)] : [];
  });
}

/** Offsets of the first alias, the first without an anchor before it, and the first beyond the limit. */
function findAliases(document: Document.Parsed): { first?: number; unknown?: number; excess?: number } {
  const anchors = new Set<string>();
  const result: { first?: number; unknown?: number; excess?: number } = {};
  let count = 0;
  visit(document, {
    Alias(_, alias) {
      const offset = alias.range?.[0] ?? 0;
      result.first ??= offset;
      if (!anchors.has(alias.source)) result.unknown ??= offset;
      if (++count > YAML_ALIAS_NODES_MAX) result.excess ??= offset;
    },
    Value(_, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor);
    },
  });
  return result;
}

/**
 * Counts values and depth, up to the limits. The parser's limit on aliases misses those that repeat empty values or
 * themselves, so measure YAML before anything else walks it.
 */
export function measure(root: unknown, valuesMax: number): { readonly values: number; readonly depth: number } {
  let values = 0;
  let deepest = 0;
  const pending = [{ value: root, depth: 0 }];
  for (let next = pending.pop(); next && values <= valuesMax && deepest <= YAML_DEPTH_MAX; next = pending.pop()) {
    values++;
    deepest = Math.max(deepest, next.depth);
    if (typeof next.value !== 'object' || next.value === null) continue;
    for (const value of Object.values(next.value)) pending.push({ value, depth: next.depth + 1 });
  }
  return { values, depth: deepest };
}

/** The parser reports an unclosed quote at the end of its text; the message names where it begins. */
function renderProblem({ code, pos: [end] }: YAMLError, document: Document, lines: LineCounter): string {
  let start: number | undefined;
  if (code === 'MISSING_CHAR') {
    visit(document, {
      Scalar(_key, { type = '', range }) {
        if (type.startsWith('QUOTE_') && range?.[1] === end) [start] = range;
      },
    });
  }
  return start === undefined
    ? YAML_MESSAGES[code]
    : `A closing quote is missing; the text in quotes begins on line ${lines.linePos(start).line}`;
}

/** The parser's own messages may quote the line, and with it a password. */
const YAML_MESSAGES: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'An alias (*name) cannot carry an anchor or a tag',
  BAD_ALIAS: 'The name of an anchor (&name) or alias (*name) is missing or not valid',
  BAD_COLLECTION_TYPE: 'The tag does not fit the value that follows; remove the tag',
  BAD_DIRECTIVE: 'The directive (a line that begins with "%") is not known; remove the line',
  BAD_DQ_ESCAPE: 'The escape after "\\" is not known; use single quotes to keep a backslash as it is',
  BAD_INDENT: 'The indentation does not fit the lines above, or a bracket is not closed',
  BAD_PROP_ORDER: 'Anchors and tags must stand directly before their value',
  BAD_SCALAR_START: 'A value cannot begin with this character; put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'A second colon or list on the same line, which needs quotes or a line of its own, or the indentation of the next line is too large',
  BLOCK_IN_FLOW: 'Indented lines cannot stand inside "[ ]" or "{ }"',
  DUPLICATE_KEY: 'The key stands more than once in the same map; keep one of them',
  IMPOSSIBLE: 'This cannot be read as YAML',
  KEY_OVER_1024_CHARS: 'A key is longer than 1024 characters; is a colon or a quote missing?',
  MISSING_CHAR:
    'A colon with a space after it, a comma, a bracket or a closing quote is missing here, or the indentation of the line is wrong',
  MULTILINE_IMPLICIT_KEY: 'A key must be followed by a colon and a space on the same line',
  MULTIPLE_ANCHORS: 'A value can have one anchor only',
  MULTIPLE_DOCS: 'The file holds more than one YAML document; remove this line and merge what follows',
  MULTIPLE_TAGS: 'A value can have one tag only',
  NON_STRING_KEY: 'A key must be plain text',
  RESOURCE_EXHAUSTION: 'The values are nested too deeply',
  TAB_AS_INDENT: 'A tab cannot indent YAML; use spaces',
  TAG_RESOLVE_FAILED: 'The tag (a word that begins with "!") is not known here; remove it, or put the value in quotes',
  UNEXPECTED_TOKEN: 'This does not fit here; is a quote or a bracket missing, or one too many?',
};
