/**
 * The dimension of a unit, and the factors by which a number is multiplied and divided; both are exact, so that no
 * digit is lost.
 */
export interface Unit {
  readonly dimension: string;
  readonly times: number;
  readonly per: number;
}

const SMALL: readonly (readonly [string, number])[] = [
  ['n', 1e9],
  ['u', 1e6],
  ['µ', 1e6],
  ['μ', 1e6],
  ['m', 1e3],
];
const LARGE: readonly (readonly [string, number])[] = [
  ['k', 1e3],
  ['K', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['P', 1e15],
];
const BINARY: readonly (readonly [string, number])[] = [
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
];

/** All known spellings. */
const UNITS = new Map<string, Unit>();
/** Units ignoring case, for unambiguous spellings: not `mv`, which could be milli or mega. */
const UNITS_ANY_CASE = new Map<string, Unit | undefined>();

function add(spelling: string, unit: Unit): void {
  UNITS.set(spelling, unit);
  // Some write `b` for bits and some for bytes; only `B` for bytes and `bps` for bits are unambiguous.
  if (/^B|[kKMGTPi]B|bps$/.test(spelling)) return;
  const key = spelling.toLowerCase();
  const known = UNITS_ANY_CASE.get(key);
  const isClear = !UNITS_ANY_CASE.has(key) || (known?.times === unit.times && known.per === unit.per);
  UNITS_ANY_CASE.set(key, isClear ? unit : undefined);
}

for (const [symbol, word] of [
  ['V', 'volt'],
  ['A', 'ampere'],
  ['W', 'watt'],
  ['Hz', 'hertz'],
]) {
  const dimension = symbol ?? '';
  for (const spelling of [dimension, word ?? '', `${word}s`]) add(spelling, { dimension, times: 1, per: 1 });
  for (const [prefix, per] of SMALL) add(`${prefix}${symbol}`, { dimension, times: 1, per });
  for (const [prefix, times] of LARGE) add(`${prefix}${symbol}`, { dimension, times, per: 1 });
}
for (const spelling of ['dBm', 'dB']) add(spelling, { dimension: spelling, times: 1, per: 1 });
for (const spelling of ['°C', '° C', '℃', 'C', 'degC', 'celsius']) add(spelling, { dimension: '°C', times: 1, per: 1 });
add('%', { dimension: '%', times: 1, per: 100 });
for (const [spellings, per] of [
  [['B', 'byte', 'bytes'], 1],
  [['bit', 'bits'], 8],
] as const) {
  for (const spelling of spellings) {
    for (const [prefix, times] of [['', 1] as const, ...LARGE, ...BINARY]) {
      add(`${prefix}${spelling}`, { dimension: 'B', times, per });
      add(`${prefix}${spelling}/s`, { dimension: 'B/s', times, per });
    }
  }
}
for (const [prefix, times] of [['', 1] as const, ...LARGE]) add(`${prefix}bps`, { dimension: 'B/s', times, per: 8 });
for (const [spellings, times, per] of [
  [['ns'], 1, 1e9],
  [['us', 'µs', 'μs'], 1, 1e6],
  [['ms', 'msec'], 1, 1e3],
  [['s', 'sec', 'secs', 'second', 'seconds'], 1, 1],
  [['m', 'min', 'mins', 'minute', 'minutes'], 60, 1],
  [['h', 'hr', 'hrs', 'hour', 'hours'], 3600, 1],
  [['d', 'day', 'days'], 86_400, 1],
  [['w', 'week', 'weeks'], 7 * 86_400, 1],
] as const) {
  for (const spelling of spellings) add(spelling, { dimension: 's', times, per });
}

/** Returns the unit for a text, exact or else ignoring case; `undefined` if it is unknown. */
export function findUnit(text: string): Unit | undefined {
  return UNITS.get(text) ?? UNITS_ANY_CASE.get(text.toLowerCase());
}

/** Converts a number to its unit's base unit without adding digits: 10.23 mA is 0.01023 A. */
export function toBaseUnit(value: number, { times, per }: Pick<Unit, 'times' | 'per'>): number {
  const result = (value * times) / per;
  // A whole number has no error that the factors could enlarge.
  return Number.isInteger(value) || times === per ? result : dropRoundingError(result);
}

/** Decimal digits that a calculation with doubles preserves. */
const EXACT_DIGITS = 15;

/** Rounds away the error of binary fractions: 0.01023, not 0.010230000000000001. */
export function dropRoundingError(result: number): number {
  return Number(result.toPrecision(EXACT_DIGITS));
}

/** Dimension of a declared unit that is in no list: its text matches only itself. */
const OWN = 'own';

/** Decimal prefixes read as binary ones, as in `MB` of memory. */
const BINARY_OF_LARGE: ReadonlyMap<number, number> = new Map(
  [1e3, 1e6, 1e9, 1e12, 1e15].map((times, index) => [times, 1024 ** (index + 1)]),
);

/** The unit declared by a metric. */
export class DeclaredUnit {
  /** `s`, `%`, `V`, … */
  readonly dimension: string;
  readonly #text: string;
  readonly #unit: Unit;
  /** Bits are not converted to bytes if the declared unit is one of bits. */
  readonly #base: number;
  readonly #hasBinaryPrefixes: boolean;

  /** `hasBinaryPrefixes`: `kB`, `MB`, … are powers of 1024. */
  constructor(text: string, hasBinaryPrefixes = false) {
    this.#hasBinaryPrefixes = hasBinaryPrefixes;
    this.#text = text.trim();
    this.#unit = findUnit(this.#text) ?? { dimension: OWN, times: 1, per: 1 };
    this.dimension = this.#unit.dimension;
    this.#base = this.dimension.startsWith('B') ? this.#unit.per : 1;
  }

  /**
   * Converts a number to base units; `unit` is the text after it, empty for the declared unit. Returns `undefined` for
   * another unit.
   */
  convert(value: number, unit: string): number | undefined {
    const found = unit === '' ? this.#unit : this.#find(unit);
    if (!found) return undefined;
    const times = (this.#hasBinaryPrefixes && BINARY_OF_LARGE.get(found.times)) || found.times;
    return toBaseUnit(value, { times: times * this.#base, per: found.per });
  }

  #find(unit: string): Unit | undefined {
    if (this.dimension !== OWN) {
      const found = findUnit(unit);
      return found?.dimension === this.dimension ? found : undefined;
    }
    if (unit.toLowerCase() === this.#text.toLowerCase()) return this.#unit;
    const prefix = unit.slice(0, -this.#text.length);
    if (`${prefix}${this.#text}` !== unit) return undefined;
    const per = SMALL.find(([name]) => name === prefix)?.[1] ?? 1;
    const times = [...LARGE, ...BINARY].find(([name]) => name === prefix)?.[1] ?? 1;
    return per === times ? undefined : { dimension: OWN, times, per };
  }
}
