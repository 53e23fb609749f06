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
