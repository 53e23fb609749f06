import type { MetricType } from '../../model/index.ts';
import type { ValueForm } from '../module-settings/module-schema.ts';
import { parseDateText } from '../values/parse-date-text.ts';
import { findUnit, parseDurationText, parseFraction, parseList, parseQuantity } from '../values/quantities.ts';
import { isCounterName, splitWords, toFieldWords, toSnakeCase } from './metric-names.ts';

/** A metric proposed for a field, without its name. */
export interface FieldMetric {
  readonly type: MetricType;
  /** The field's part of the name, in snake case. */
  readonly words: string;
  /** Unit or meaning of 1 in the name; may be empty. */
  readonly suffix: string;
  /** Meaning of the number, appended to the help; empty if it is the unchanged field. */
  readonly meaning: string;
  readonly keys: ValueKeys;
}

/** The keys of a metric for reading its value, as in a module file. */
interface ValueKeys {
  readonly value?: string;
  readonly form?: ValueForm | undefined;
  readonly part?: number;
  readonly unit?: string;
  readonly map?: Readonly<Record<string, number>>;
  readonly states?: readonly string[];
  readonly null_values?: readonly string[];
}

interface Proposal {
  readonly suffix: string;
  readonly meaning: string;
  readonly keys: ValueKeys;
  /** Numbers in a text. Default: one. */
  readonly parts?: number;
}

const NUMBER: Proposal = { suffix: '', meaning: '', keys: {} };
const DURATION: Proposal = { suffix: 'seconds', meaning: 'in seconds', keys: { form: 'duration' } };
const DATE: Proposal = { suffix: 'timestamp_seconds', meaning: 'as Unix seconds', keys: { form: 'date' } };
const PERCENTAGE: Proposal = { suffix: 'ratio', meaning: 'as a ratio', keys: { form: 'percentage' } };

/** Texts for yes and no: `suffix` is the meaning of 1. */
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

/** Names of base units, following the conventions of Prometheus. */
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
/** More numbers in one text have no meaningful names. */
const PARTS_MAX = 4;
const KINDS_MAX = 2;

/** Fields with these words may consist of digits but are not numbers. */
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

/**
 * Proposes the metrics of a field from its different non-empty texts. Returns an empty list for texts that cannot become a number,
 * several metrics if each reads some of the texts or a part of each text, `undefined` if there is no usable text.
 */
export function proposeMetrics(name: string, texts: readonly string[]): readonly FieldMetric[] | undefined {
  if (texts.every((text) => NULL_WORD.test(text))) return undefined;
  const names = splitWords(name);
  if (names.some((word) => TEXT_WORDS.has(word)) || TEXT_WORDS_LAST.has(names.at(-1) ?? '')) return [];
  const gauge = { type: 'gauge', words: toFieldWords(name, 'gauge') } as const;
  const flag = FLAGS.find(({ map }) => texts.every((text) => Object.hasOwn(map, text.toLowerCase())));
  if (flag) {
    const { suffix, map } = flag;
    return [{ ...gauge, suffix, meaning: `1 is ${Object.keys(map)[0]}`, keys: { value: name, map } }];
  }
  const nulls = texts.filter((text) => NULL_WORD.test(text));
  const numbers = proposeNumbers(texts.filter((text) => !nulls.includes(text)));
  if (!numbers) {
    const states = findStates(texts);
    const meaning = '1 for the state that applies';
    return states ? [{ ...gauge, type: 'stateset', suffix: '', meaning, keys: { value: name, states } }] : [];
  }
  const nullKeys = nulls.length > 0 ? { null_values: [...new Set(['', '---', ...nulls])] } : {};
  return numbers.flatMap((proposal): FieldMetric[] => {
    const { suffix, meaning, parts, keys } = proposal;
    const isCounter = proposal === NUMBER && isCounterName(name) && texts.every((text) => /^(?:\d+|\D+)$/.test(text));
    const type = isCounter ? 'counter' : 'gauge';
    const words = toFieldWords(name, type);
    if (parts === undefined) return [{ type, words, suffix, meaning, keys: { value: name, ...keys, ...nullKeys } }];
    const { form, ...rest } = keys;
    return Array.from({ length: parts }, (_none, index) => ({
      ...{ type, words: `${words}_${index + 1}`, suffix, meaning: `number ${index + 1}` },
      keys: { value: name, form, part: index + 1, ...rest, ...nullKeys },
    }));
  });
}

/** `undefined` if a text has no number, or there are too many kinds. */
function proposeNumbers(texts: readonly string[]): readonly Proposal[] | undefined {
  const kinds = new Map<string, Proposal>();
  for (const text of texts) {
    const proposal = proposeNumber(text);
    if (!proposal) return undefined;
    const key = JSON.stringify([proposal.keys, proposal.suffix]);
    const known = kinds.get(key);
    kinds.set(key, known && (known.parts ?? 1) < (proposal.parts ?? 1) ? known : proposal);
  }
  // A bare number has the unit of the others.
  const hasUnits = [...kinds.values()].some((proposal) => proposal !== NUMBER);
  const proposals = [...kinds.values()].filter((proposal) => proposal !== NUMBER || !hasUnits);
  // A value with another unit is left to another metric only if that unit is known.
  const isOwn = ({ keys: { form, unit } }: Proposal) =>
    (unit !== undefined || form === 'fraction') && !findUnit(unit ?? '');
  return proposals.length > KINDS_MAX || (proposals.length > 1 && proposals.some(isOwn)) ? undefined : proposals;
}

function proposeNumber(text: string): Proposal | undefined {
  const plain = text.replaceAll(/\s+/g, ' ').replaceAll('\u2212', '-');
  const quantity = parseQuantity(plain);
  if (quantity?.unit === '') return /^0\d/.test(plain) ? undefined : NUMBER;
  if (quantity) return proposeUnit(quantity.unit);
  if (parseDurationText(plain) !== undefined) return DURATION;
  if (parseDateText(plain, { readAtMs: 0, zone: undefined })) return DATE;
  const list = parseList(plain);
  if (list) return list.length <= PARTS_MAX ? { ...NUMBER, keys: { form: 'list' }, parts: list.length } : undefined;
  const unit = parseFraction(plain)?.[0].unit;
  if (unit === undefined) return undefined;
  if (unit === '') return { ...NUMBER, keys: { form: 'fraction' }, parts: 2 };
  const proposal = proposeUnit(unit);
  return proposal?.keys.unit === undefined
    ? undefined
    : { ...proposal, keys: { form: 'fraction', ...proposal.keys }, parts: 2 };
}

function proposeUnit(text: string): Proposal | undefined {
  if (text === '%') return PERCENTAGE;
  const dimension = findUnit(text)?.dimension;
  if (dimension === 's') return DURATION;
  const suffix = SUFFIXES.get(dimension ?? '');
  if (dimension !== undefined && suffix !== undefined)
    return { suffix, meaning: `in ${dimension}`, keys: { unit: dimension } };
  return OWN_UNIT.test(text) ? { suffix: toSnakeCase(text), meaning: `in ${text}`, keys: { unit: text } } : undefined;
}

/** `undefined` if the texts are not states. */
function findStates(texts: readonly string[]): readonly string[] | undefined {
  const isStates =
    texts.length <= STATES_MAX && texts.every((text) => text.length <= STATE_LENGTH_MAX && STATE.test(text));
  if (!isStates) return undefined;
  // Any other text becomes `unknown`, and case is ignored.
  const states = new Map(texts.map((text) => [text.toLowerCase(), text]));
  states.delete('unknown');
  return [...states.values()];
}
