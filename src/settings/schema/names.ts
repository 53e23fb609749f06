import { matchesGlob } from 'node:path';
import { closestMatch } from 'leven';
import { z } from 'zod';
import { type About, checked, parsed, TEXT_CHARS_MAX } from './values.ts';

/** Names become label values and file names, which end at 255 bytes. */
const NAME_CHARS_MAX = 128;
const FILE_PATTERNS_MAX = 100;

const NAME = `a name of letters, digits, ".", "_" and "-", at most ${NAME_CHARS_MAX} (a number needs quotes)`;

/** Schema of a name that is a label value and may be part of a file name. */
export function name(about: About) {
  return z
    .string({ error: NAME })
    .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]+$/, { error: NAME })
    .max(NAME_CHARS_MAX, { error: NAME })
    .meta({ kind: 'name', ...about });
}

/** Schema of a list of names that are defined elsewhere. */
export function nameList(about: About, most: number) {
  const list = `a list of at most ${most} names`;
  return z
    .array(name({ description: '' }), { error: list })
    .max(most, { error: list })
    .meta({ kind: 'list of names', ...about });
}

/** Schema of a map of at most `most` sets of keys, with names that the operator chooses. */
export function sets<Schema extends z.core.$ZodType>(description: string, schema: Schema, most: number) {
  return z
    .record(name({ description: '' }), schema, { error: 'a map of names, each with a map of keys' })
    .refine((map) => Object.keys(map).length <= most, { error: `at most ${most} names` })
    .meta({ description });
}

const PATTERNS = `a list of at most ${FILE_PATTERNS_MAX} paths or globs`;
const PATTERN = `a path, or a glob such as "routers/*.yaml"`;

/** Schema of paths, and globs of one folder level for each part. */
export function filePatterns(about: About) {
  const pattern = z
    .string({ error: PATTERN })
    .min(1, { error: PATTERN })
    .max(TEXT_CHARS_MAX, { error: PATTERN })
    .refine((value) => !value.includes('\0'), { error: PATTERN })
    // "**" could search the whole disk.
    .refine((value) => !value.includes('**'), {
      error: `a path or glob without "**"; write a "*" for each level of folders`,
    });
  return z
    .array(pattern, { error: PATTERNS })
    .max(FILE_PATTERNS_MAX, { error: PATTERNS })
    .meta({ kind: 'list of paths and globs', ...about });
}

/** Schema of a list of globs, `*` by default. With `words`, each glob must match one of them. */
export function globs(
  description: string,
  { examples: [one, other] = ['network', 'kernel'], words }: GlobOptions = {},
) {
  const list = `a list of globs such as "*" and "!${other}", at least one of them without "!"`;
  const item = `a glob such as "${one}" or "!${other}"`;
  const noWord = `a glob that fits one of ${words?.join(', ')}`;
  const glob = z
    .string({ error: item })
    .regex(/^!?[^!\s]+$/, { error: item, abort: true })
    .superRefine((value, context) => {
      const plain = value.replace(/^!/, '');
      if (!words || words.some((word) => matchesGlob(word, plain))) return;
      context.addIssue({ code: 'custom', message: noWord, params: { nearest: findNearestWord(plain, words) } });
    });
  return z
    .array(glob, { error: list })
    .refine((items) => items.some((it) => !it.startsWith('!')), { error: list })
    .meta({ description, kind: 'list of globs' });
}

interface GlobOptions {
  readonly examples?: readonly [string, string];
  readonly words?: readonly string[];
}

function findNearestWord(word: string, words: readonly string[]): string | undefined {
  const start = word.toLowerCase();
  const longer = start.length < 3 ? undefined : words.find((candidate) => candidate.startsWith(start));
  return longer ?? findNearest(word, words);
}

/** Schema of an IANA time zone. */
export function timeZone(about: About) {
  const message = 'a time zone of the IANA list, such as Europe/Berlin or UTC';
  return z
    .string({ error: message })
    .meta({ kind: 'name of a time zone', ...about })
    .superRefine((value, context) => {
      if (isTimeZone(value)) return;
      context.addIssue({ code: 'custom', message, params: { nearest: findNearestTimeZone(value) } });
    });
}

/** All zones without their aliases. A lookup is a thousand times faster than constructing a zone. */
const CANONICAL_ZONES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'));

/** An offset such as `+01:00` is no time zone. */
function isTimeZone(zone: string): boolean {
  if (CANONICAL_ZONES.has(zone)) return true;
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function findNearestTimeZone(zone: string): string | undefined {
  return findNearest(zone, [...CANONICAL_ZONES]);
}

/** Longest value of a label, which is stored with every series. */
export const LABEL_CHARS_MAX = 256;
/** It must fit into a panel of a dashboard. */
const METRIC_NAME_CHARS_MAX = 128;
const HELP_CHARS_MAX = 500;
/** Most labels of a metric; each is stored with every series. */
export const METRIC_LABELS_MAX = 16;

/** Labels with a meaning in the text format, or on every series of a router. */
const LABELS_RESERVED: ReadonlySet<string> = new Set(['router', 'le', 'quantile']);

const HELP = `a text of at most ${HELP_CHARS_MAX} characters`;

/** Schema of one or two sentences. Line breaks count as blanks. */
export function help(description: string) {
  return parsed({ description, kind: 'text' }, HELP, (value) => {
    const line = value.trim().replaceAll(/\s+/g, ' ');
    return line !== '' && line.length <= HELP_CHARS_MAX ? line : undefined;
  });
}

const LABEL_NAME = 'a label name of letters, digits and "_" that does not begin with a digit';

/** Schema of the name of a label of a metric or of a router. */
export const labelName = z
  .string({ error: LABEL_NAME })
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, { error: LABEL_NAME })
  .max(METRIC_NAME_CHARS_MAX, { error: `a label name of at most ${METRIC_NAME_CHARS_MAX} characters` })
  .refine((label) => !label.startsWith('__'), {
    error: 'a label name that does not begin with "__", which is reserved',
  })
  .refine((label) => !LABELS_RESERVED.has(label), { error: 'a label name that the exporter does not use itself' });

/** Schema of the name of a metric. */
export function metricName(description: string) {
  return checked(
    { description, kind: 'metric name' },
    'the name of a metric: letters, digits and "_", beginning with a letter',
    METRIC_NAME_CHARS_MAX,
    (value) => /^[a-zA-Z][a-zA-Z0-9_]*$/.test(value),
  );
}

const PREFIXES_RESERVED = ['router_exporter_', 'process_', 'nodejs_', 'go_', 'scrape_'];
/** Prometheus' own series of each target, which alerts everywhere query. */
const UP = 'up';
const SUFFIXES_RESERVED = ['_total', '_info', '_bucket', '_count', '_sum', '_created'];
const SUFFIXES: Readonly<Record<string, string>> = { counter: '_total', info: '_info' };

interface WrittenName {
  readonly name?: string | undefined;
  readonly type?: string | undefined;
}

/** Returns what is wrong with a metric name for its type; `undefined` if it is valid. */
export function findNameFault({ name: metric, type }: WrittenName): string | undefined {
  if (metric === undefined) return undefined;
  const prefix = PREFIXES_RESERVED.find((candidate) => metric.startsWith(candidate));
  if (prefix !== undefined) return `The names that begin with "${prefix}" belong to others; choose another one`;
  if (metric === UP) return 'The name "up" belongs to Prometheus; choose another one';
  if (type === undefined) return undefined;
  const suffix = SUFFIXES[type];
  if (suffix !== undefined) {
    return metric.endsWith(suffix) ? undefined : `The name of a metric of type "${type}" must end in "${suffix}"`;
  }
  const reserved = SUFFIXES_RESERVED.find((candidate) => metric.endsWith(candidate));
  return reserved && `The name of a metric of type "${type}" must not end in "${reserved}"`;
}

/** Returns the name of the family in OpenMetrics. */
export function toFamilyName({ name: metric, type }: { readonly name: string; readonly type: string }): string {
  if (type === 'counter') return metric.replace(/_total$/, '');
  return type === 'info' ? metric.replace(/_info$/, '') : metric;
}

/** At most a third of the letters may be wrong; with more, the suggestion is usually wrong. */
const LETTERS_PER_MISTAKE = 3;
const MISTAKES_MAX = 4;
/** The work grows with the product of both lengths. */
const WORD_CHARS_MAX = 64;

/** Finds the candidate of which `word` is probably a misspelling, ignoring case; `undefined` if none is near. */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > WORD_CHARS_MAX) return undefined;
  const byLowerCase = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  const lowerCase = word.toLowerCase();
  // Swapped letters count as two mistakes, and are the commonest one.
  const swapped = [...byLowerCase.keys()].find((candidate) => sortLetters(candidate) === sortLetters(lowerCase));
  const maxDistance = Math.min(MISTAKES_MAX, Math.max(1, Math.floor(word.length / LETTERS_PER_MISTAKE)));
  const match = swapped ?? closestMatch(lowerCase, [...byLowerCase.keys()], { maxDistance });
  return match === undefined ? undefined : byLowerCase.get(match);
}

function sortLetters(word: string): string {
  return word.split('').toSorted().join('');
}
