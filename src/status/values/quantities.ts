/** `times` and `per` multiply and divide a number; both are exact, so that no digit is lost. */
interface Unit {
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

const UNITS = new Map<string, Unit>();
/** Only unambiguous spellings: not `mv`, which could be milli or mega. */
const UNITS_ANY_CASE = new Map<string, Unit | undefined>();

function add(spelling: string, unit: Unit): void {
  UNITS.set(spelling, unit);
  // `b` can be bits or bytes; only `B` for bytes and `bps` for bits are unambiguous.
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

/** Converts a number to the base unit without adding digits: 10.23 mA is 0.01023 A. */
export function toBaseUnit(value: number, { times, per }: Pick<Unit, 'times' | 'per'>): number {
  const result = (value * times) / per;
  // A whole number has no error that the factors could enlarge.
  return Number.isInteger(value) || times === per ? result : dropRoundingError(result);
}

/** Significant decimal digits of a double. */
const EXACT_DIGITS = 15;

/** 0.01023, not 0.010230000000000001. */
function dropRoundingError(result: number): number {
  return Number(result.toPrecision(EXACT_DIGITS));
}

/** Dimension of an unknown declared unit: its text matches only itself. */
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

  /** Converts a number to base units; `unit`: the text after it, empty for the declared unit. Returns `undefined` for another unit. */
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

interface Quantity {
  /** Not finite if the text has more digits than a number can hold. */
  readonly value: number;
  readonly unit: string;
}

const HEXADECIMAL = /^[+-]?0[xX][\da-fA-F]+$/;
const DECIMAL = String.raw`[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`;
const WHOLE_DECIMAL = new RegExp(`^${DECIMAL}$`);
const QUANTITY = new RegExp(String.raw`^(${DECIMAL}) ?([\p{L}%°℃][\p{L}\p{N}%°/. ]{0,15})?$`, 'u');
/** More than any real list has. */
const LIST_MAX = 64;

function parseDecimal(text: string): number | undefined {
  return WHOLE_DECIMAL.test(text) ? Number(text) : undefined;
}

/** Parses `12`, `-1.5e3`, `0x1F`, `23.75 V`, `12%`; `undefined` if the text is not a number with an optional unit. */
export function parseQuantity(text: string): Quantity | undefined {
  if (HEXADECIMAL.test(text)) {
    const digits = text.replace(/^[+-]/, '');
    return { value: text.startsWith('-') ? -Number(digits) : Number(digits), unit: '' };
  }
  const [, number, unit = ''] = QUANTITY.exec(text) ?? [];
  return number === undefined ? undefined : { value: Number(number), unit: unit.trimEnd() };
}

/** Parses two or more numbers separated by spaces or commas. In `0,12 0,10` the commas are decimal ones, so it is not a list. */
export function parseList(text: string): readonly number[] | undefined {
  const separator = /[,;]/.test(text) ? / ?[,;] ?/ : / /;
  const numbers = text.split(separator, LIST_MAX + 1).map(parseDecimal);
  const isList = numbers.length >= 2 && numbers.length <= LIST_MAX;
  return isList && numbers.every((number) => number !== undefined) ? numbers : undefined;
}

/** Parses `120 / 256 MB`: a first number without a unit has the unit of the second. */
export function parseFraction(text: string): readonly [Quantity, Quantity] | undefined {
  for (let slash = text.indexOf('/'); slash >= 0; slash = text.indexOf('/', slash + 1)) {
    const [first, second] = [parseQuantity(text.slice(0, slash).trim()), parseQuantity(text.slice(slash + 1).trim())];
    if (first && second) return [first.unit === '' ? { ...first, unit: second.unit } : first, second];
  }
  return undefined;
}

/** `hh:mm` or `hh:mm:ss`, optionally preceded by a number of days. */
const CLOCK = /^(?:(\d{1,7}) )?(\d{1,7}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?$/;
const PART = /(\d{1,15}(?:\.\d{1,9})?) ?([a-zµμ]{1,7})(?:(?: ?, ?| )(?:and )?|(?=\d)|$)/y;
/** Weeks, days, hours, minutes, seconds and smaller units. */
const PARTS_MAX = 8;

/**
 * Parses the duration formats of devices into seconds: `3 days, 04:05`, `3 04:05:06`, `04:05:06`, `1d 2h 3m 4s`, `2d20h12m20s`, `3600 s`.
 * A clock with two parts is hours and minutes. A bare number is not a duration.
 */
export function parseDurationText(text: string): number | undefined {
  const lower = text.toLowerCase();
  let seconds = 0;
  let at = 0;
  for (let count = 0; count < PARTS_MAX && at < lower.length; count++) {
    PART.lastIndex = at;
    const [whole, number, name = ''] = PART.exec(lower) ?? [];
    const unit = findUnit(name);
    if (whole === undefined || unit?.dimension !== 's') break;
    seconds += toBaseUnit(Number(number), unit);
    at += whole.length;
  }
  if (at === lower.length) return at === 0 ? undefined : dropRoundingError(seconds);
  const clock = parseClock(lower.slice(at));
  return clock === undefined ? undefined : dropRoundingError(seconds + clock);
}

function parseClock(text: string): number | undefined {
  const [whole, days = '0', hours, minutes, seconds = '0', fraction = '0'] = CLOCK.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return Number(days) * 86_400 + Number(hours) * 3600 + Number(minutes) * 60 + Number(`${seconds}.${fraction}`);
}
