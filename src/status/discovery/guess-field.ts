import { parseDateText } from '../values/parse-date-text.ts';
import { findUnit, parseDurationText, parseFraction, parseList, parseQuantity } from '../values/quantities.ts';
import { splitWords } from './metric-names.ts';

/** Guessed meaning of a field. `label`: a text that cannot become a number. */
export type Guess =
  | { readonly kind: 'number' | 'percentage' | 'duration' | 'date' | 'label' }
  /** `suffix` is the base unit in the metric's name. */
  | { readonly kind: 'unit'; readonly unit: string; readonly suffix: string }
  | { readonly kind: 'list'; readonly parts: number }
  | { readonly kind: 'fraction'; readonly unit: string | undefined; readonly suffix: string }
  /** `suffix` is the meaning of 1. */
  | { readonly kind: 'flag'; readonly map: Readonly<Record<string, number>>; readonly suffix: string }
  | { readonly kind: 'states'; readonly states: readonly string[] };

/** Guessed meaning of the values of one field. */
export interface FieldGuess {
  /** One guess, or several that each cover a part of the values. */
  readonly guesses: readonly Guess[];
  /** Texts among numbers that mean "none", as written. */
  readonly nullValues: readonly string[];
}

/** Texts for yes and no, the meaning of 1, and the numbers. */
const FLAGS: readonly { readonly suffix: string; readonly map: Readonly<Record<string, number>> }[] = [
  { suffix: 'on', map: { on: 1, off: 0 } },
  { suffix: 'up', map: { up: 1, down: 0 } },
  { suffix: '', map: { yes: 1, no: 0 } },
  { suffix: '', map: { true: 1, false: 0 } },
  { suffix: 'high', map: { high: 1, low: 0 } },
  { suffix: 'closed', map: { closed: 1, open: 0 } },
  { suffix: 'enabled', map: { enabled: 1, disabled: 0 } },
  { suffix: 'active', map: { active: 1, inactive: 0 } },
];

/** Base units and their names, following the conventions of Prometheus. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ['V', 'volts'],
  ['A', 'amperes'],
  ['W', 'watts'],
  ['Hz', 'hertz'],
  ['dBm', 'dbm'],
  ['dB', 'db'],
  ['°C', 'celsius'],
  ['B', 'bytes'],
  ['B/s', 'bytes_per_second'],
]);

const NULL_WORD = /^(?:-+|n\/?a|none|unknown|not available[a-z ]{0,40})$/i;
/** One word or a few words without characters that are special in the configuration file. */
const STATE = /^[a-z]+(?:[ _-][a-z]+){0,4}$/i;
const STATE_LENGTH_MAX = 40;
/** More different texts than this are not states. */
const STATES_MAX = 12;
const OWN_UNIT = /^\p{L}[\p{L}\p{N}/%]{0,14}$/u;
/** Maximum number of numbers in one text: more have no meaningful names. */
const PARTS_MAX = 4;
const KINDS_MAX = 2;

/** Names of fields that consist of digits but are not numbers. */
const TEXT_WORDS: ReadonlySet<string> = new Set([
  'build',
  'firmware',
  'hardware',
  'hash',
  'manufacturer',
  'model',
  'revision',
  'vendor',
  'version',
]);
const TEXT_WORDS_LAST: ReadonlySet<string> = new Set(
  [
    'band',
    'chain',
    'code',
    'feature',
    'features',
    'id',
    'if',
    'interface',
    'label',
    'name',
    'net',
    'number',
    'operator',
  ].concat(['port', 'provider', 'slot', 'technology', 'title', 'type', 'wan']),
);

/** Guesses the meaning of a field from its different non-empty texts; `undefined` if there is nothing to go by. */
export function guessField(name: string, texts: readonly string[]): FieldGuess | undefined {
  if (texts.every((text) => NULL_WORD.test(text))) return undefined;
  const words = splitWords(name);
  if (words.some((word) => TEXT_WORDS.has(word)) || TEXT_WORDS_LAST.has(words.at(-1) ?? ''))
    return just({ kind: 'label' });
  const flag = FLAGS.find(({ map }) => texts.every((text) => Object.hasOwn(map, text.toLowerCase())));
  if (flag) return just({ kind: 'flag', ...flag });
  return guessNumbers(texts) ?? just(guessText(texts));
}

const just = (guess: Guess): FieldGuess => ({ guesses: [guess], nullValues: [] });

/** Returns `undefined` if a text is neither a number nor a word for "none". */
function guessNumbers(texts: readonly string[]): FieldGuess | undefined {
  const nullValues = texts.filter((text) => NULL_WORD.test(text));
  const kinds = new Map<string, Guess>();
  for (const text of texts) {
    if (nullValues.includes(text)) continue;
    const guess = guessNumber(text);
    if (!guess) return undefined;
    const key = JSON.stringify({ ...guess, parts: undefined });
    const known = kinds.get(key);
    kinds.set(key, known && 'parts' in known && 'parts' in guess && known.parts < guess.parts ? known : guess);
  }
  // A bare number has the unit of the others.
  const hasUnits = [...kinds.values()].some(({ kind }) => kind !== 'number');
  const guesses = [...kinds.values()].filter(({ kind }) => kind !== 'number' || !hasUnits);
  // A value with another unit is left to another metric only if that unit is known.
  const isShared = guesses.length > 1 && guesses.some((guess) => 'unit' in guess && !findUnit(guess.unit ?? ''));
  return guesses.length > KINDS_MAX || isShared ? undefined : { guesses, nullValues };
}

function guessNumber(text: string): Guess | undefined {
  const plain = text.replaceAll(/\s+/g, ' ').replaceAll('\u2212', '-');
  const quantity = parseQuantity(plain);
  if (quantity?.unit === '') return /^0\d/.test(plain) ? undefined : { kind: 'number' };
  if (quantity) return guessUnit(quantity.unit);
  if (parseDurationText(plain) !== undefined) return { kind: 'duration' };
  if (parseDateText(plain, { readAtMs: 0, zone: undefined })) return { kind: 'date' };
  const list = parseList(plain);
  if (list) return list.length <= PARTS_MAX ? { kind: 'list', parts: list.length } : undefined;
  const fraction = parseFraction(plain);
  return fraction && guessFraction(fraction[0].unit);
}

function guessFraction(unit: string): Guess | undefined {
  if (unit === '') return { kind: 'fraction', unit: undefined, suffix: '' };
  const guess = guessUnit(unit);
  return guess?.kind === 'unit' ? { ...guess, kind: 'fraction' } : undefined;
}

function guessUnit(text: string): Guess | undefined {
  if (text === '%') return { kind: 'percentage' };
  const dimension = findUnit(text)?.dimension;
  if (dimension === 's') return { kind: 'duration' };
  const suffix = SUFFIXES.get(dimension ?? '');
  if (dimension !== undefined && suffix !== undefined) return { kind: 'unit', unit: dimension, suffix };
  return OWN_UNIT.test(text) ? { kind: 'unit', unit: text, suffix: text } : undefined;
}

function guessText(texts: readonly string[]): Guess {
  const isStates =
    texts.length <= STATES_MAX && texts.every((text) => text.length <= STATE_LENGTH_MAX && STATE.test(text));
  if (!isStates) return { kind: 'label' };
  // Any other text becomes `unknown`, and case is ignored.
  const states = new Map(texts.map((text) => [text.toLowerCase(), text]));
  states.delete('unknown');
  return { kind: 'states', states: [...states.values()] };
}
