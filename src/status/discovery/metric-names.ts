import type { FamilyDescription, MetricType } from '../../model/index.ts';
import { toFamilyName } from '../../settings/index.ts';

/** Of a metric or label in a module. */
const NAME_LENGTH_MAX = 128;
/** Leaves room for a suffix that makes a name unique. */
const STEM_LENGTH_MAX = NAME_LENGTH_MAX - 40;
/** Suffixes reserved by OpenMetrics and Prometheus. */
const SUFFIX_RESERVED = /_(?:total|info|bucket|count|sum|created)$/;
const SUFFIXES: Readonly<Partial<Record<MetricType, string>>> = { counter: '_total', info: '_info' };
const LABELS_RESERVED = ['router', 'le', 'quantile'];

const DIRECTIONS: Readonly<Record<string, string>> = { rx: 'receive', tx: 'transmit' };
const COUNTED: ReadonlySet<string> = new Set([
  'bytes',
  'collisions',
  'discards',
  'drops',
  'errors',
  'frames',
  'octets',
  'overruns',
  'packets',
  'retransmits',
]);
/** Values with these words are sizes, rates or limits, not counts. */
const NOT_COUNTED: ReadonlySet<string> = new Set([
  'avail',
  'available',
  'free',
  'limit',
  'max',
  'min',
  'per',
  'rate',
  'size',
  'speed',
  'used',
]);

/** Converts a name to snake case, with ASCII letters and digits only. */
export function toSnakeCase(text: string): string {
  return text
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

/** A longer text is not a field name. */
const SPLIT_LENGTH_MAX = 256;

/** Returns the words of a name in lower case: `IMEI`, `macAddress`, `ip-address_2`. */
export function splitWords(name: string): readonly string[] {
  return name
    .slice(0, SPLIT_LENGTH_MAX)
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '');
}

/** Returns true if the field's name suggests a counter: `bytes_rx`, `rx_errors`. */
export function isCounterName(field: string): boolean {
  const words = toSnakeCase(field).split('_');
  return words.some((word) => COUNTED.has(word)) && !words.some((word) => NOT_COUNTED.has(word));
}

/** Converts a field's name to the end of a metric name. For a counter, the direction is spelled out and the counted unit comes last. */
export function toFieldWords(field: string, type: MetricType): string {
  if (type !== 'counter') return toSnakeCase(field);
  const words = toSnakeCase(field)
    .split('_')
    .filter((word) => word !== 'total');
  const counted = words.findLast((word) => COUNTED.has(word));
  const rest = words.filter((word) => word !== counted).map((word) => DIRECTIONS[word] ?? word);
  return [...rest, ...(counted === undefined ? [] : [counted])].join('_');
}

/** Assigns metric names that no other family has. */
export class MetricNames {
  /** Compared as in OpenMetrics. */
  readonly #taken: Set<string>;

  constructor(families: Iterable<FamilyDescription>) {
    this.#taken = new Set([...families].map(toFamilyName));
  }

  /** Returns an unused name in snake case; inserts `rowSet` before the field's words if the name is already used. */
  take(type: MetricType, parts: { resource: string; rowSet: string; field: string; unit: string }): string {
    const { resource, rowSet, field, unit } = parts;
    const stem = join(['router', resource, field]);
    const stems = [stem, ...(rowSet === '' ? [] : [join(['router', resource, rowSet, field])])];
    for (let count = 2; ; count++) {
      for (const candidate of stems) {
        const name = complete(candidate, unit, type);
        const family = toFamilyName({ name, type });
        if (this.#taken.has(family)) continue;
        this.#taken.add(family);
        return name;
      }
      stems.splice(0, stems.length, `${stem}_${count}`);
    }
  }
}

/** Assigns label names within one resource without duplicates. */
export class LabelNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set([...LABELS_RESERVED, ...taken]);
  }

  take(field: string): string {
    const snake = toSnakeCase(field).slice(0, STEM_LENGTH_MAX);
    const stem = /^[a-z]/.test(snake) ? snake : `field_${snake}`;
    let name = stem;
    for (let count = 1; this.#taken.has(name); count++) name = count === 1 ? `${stem}_field` : `${stem}_field_${count}`;
    this.#taken.add(name);
    return name;
  }
}

function complete(stem: string, unit: string, type: MetricType): string {
  const words = unit === '' || stem.endsWith(`_${unit}`) ? stem : `${stem}_${unit}`;
  // This prefix is reserved for the agent itself.
  const own = words.replace(/^router_exporter(?=_|$)/, 'router_status_exporter');
  const suffix = SUFFIXES[type];
  if (suffix !== undefined) return own.replace(SUFFIX_RESERVED, '') + suffix;
  return SUFFIX_RESERVED.test(own) ? `${own}_value` : own;
}

/** Without repeating a word. */
function join(parts: readonly string[]): string {
  const words = parts.flatMap((part) => part.split('_')).filter((word) => word !== '');
  return words
    .filter((word, index) => word !== words[index - 1])
    .join('_')
    .slice(0, STEM_LENGTH_MAX)
    .replace(/_+$/, '');
}
