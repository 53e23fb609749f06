import { dropRoundingError, findUnit, toBaseUnit } from './units.ts';

/** A number and the unit after it. */
export interface Quantity {
  /** Not finite if the text has more digits than a number can hold. */
  readonly value: number;
  /** Empty if there is none. */
  readonly unit: string;
}

const HEXADECIMAL = /^[+-]?0[xX][\da-fA-F]+$/;
const DECIMAL = String.raw`[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`;
const WHOLE_DECIMAL = new RegExp(`^${DECIMAL}$`);
const QUANTITY = new RegExp(String.raw`^(${DECIMAL}) ?([\p{L}%°℃][\p{L}\p{N}%°/. ]{0,15})?$`, 'u');
/** More numbers than any real list has. */
const LIST_MAX = 64;

/** Parses a decimal number, with optional sign and exponent; `undefined` if the text is not one. */
export function parseDecimal(text: string): number | undefined {
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

/** Parses two or more numbers separated by spaces or commas. */
export function parseList(text: string): readonly number[] | undefined {
  const numbers = text.split(/ ?[,;] ?| /, LIST_MAX + 1).map(parseDecimal);
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
 * Parses the duration formats of devices into seconds: `3 days, 04:05`, `3 04:05:06`, `04:05:06`, `1d 2h 3m 4s`,
 * `2d20h12m20s`, `3600 s`. A clock with two parts is hours and minutes. A bare number is not a duration.
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
