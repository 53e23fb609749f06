import type { MappingFaultReason } from '../mapping/family-collector.ts';
import type { ValueForm } from '../module-settings/module-schema.ts';
import { type DateContext, parseDateText } from './parse-date-text.ts';
import {
  type DeclaredUnit,
  findUnit,
  parseDurationText,
  parseFraction,
  parseList,
  parseQuantity,
  toBaseUnit,
} from './quantities.ts';

interface ValueFormat {
  readonly form: ValueForm | undefined;
  readonly unit: DeclaredUnit | undefined;
  /** Number of the selected part, from 1. */
  readonly part: number;
}

const PERCENT = { times: 1, per: 100 };

/**
 * A number, or the reason why there is none. `no_value`: a known text without a value, which is not a fault. `other_form`: a value of
 * another known form than the metric reads, which is a fault unless another metric reads it.
 */
export type ValueReading = number | 'no_value' | MappingFaultReason;

type Reader = (text: string, format: ValueFormat, context: DateContext) => ValueReading | undefined;

const READERS: Readonly<Record<ValueForm, Reader>> = {
  number: (text, { unit }) => readNumber(parseQuantity(text), unit),
  hexadecimal: (text) => (/^(0x)?[0-9a-f]{1,16}$/i.test(text) ? Number.parseInt(text, 16) : undefined),
  percentage: readPercentage,
  duration: (text, { unit }) => parseDurationText(text) ?? readTime(parseQuantity(text), unit),
  date: readDate,
  clock_offset(text, _format, context) {
    const date = parseDateText(text, context);
    // The accuracy of the clock needs a known zone and a time of day.
    if (!date?.hasTime || date.isZoneAssumed) return date && 'no_value';
    return (date.utcMs - context.readAtMs) / 1000;
  },
  list: (text, { part }) => readPart(parseList(text), part),
  fraction(text, { unit, part }) {
    const numbers = parseFraction(text);
    return numbers && (readNumber(numbers[part - 1], unit) ?? 'other_form');
  },
};

/** Tried in this order when no form is declared. */
const ANY: readonly Reader[] = [READERS.number, readPercentage, parseDurationText, readDate];

/**
 * Reads the number in a text, in base units. Without a form, the form is detected; with a form or a unit, a value of another known form
 * is `other_form`.
 */
export function readValue(text: string, format: ValueFormat, context: DateContext): ValueReading {
  const plain = text.replaceAll(/\s+/g, ' ').replaceAll('\u2212', '-').trim();
  for (const read of chooseReaders(format)) {
    const reading = read(plain, format, context);
    if (reading !== undefined) return typeof reading === 'number' && !Number.isFinite(reading) ? 'not_finite' : reading;
  }
  if (hasForm(format) && isKnownForm(plain)) return 'other_form';
  return parseQuantity(plain) ? 'unknown_unit' : 'unknown_form';
}

/** Returns true if a text is a value of any form, with a known unit if it has one. */
export function isKnownForm(text: string): boolean {
  const quantity = parseQuantity(text);
  if (quantity && (quantity.unit === '' || findUnit(quantity.unit))) return true;
  const anyTime = { readAtMs: 0, zone: undefined };
  return [parseDurationText, parseList, parseFraction].some((parse) => parse(text)) || !!parseDateText(text, anyTime);
}

function hasForm({ form, unit }: ValueFormat): boolean {
  return form !== undefined || unit !== undefined;
}

function chooseReaders({ form, unit }: ValueFormat): readonly Reader[] {
  if (form !== undefined) return [READERS[form]];
  if (unit === undefined) return ANY;
  return unit.dimension === 's' ? [READERS.number, parseDurationText] : [READERS.number];
}

function readNumber(quantity: ReturnType<typeof parseQuantity>, unit: DeclaredUnit | undefined): number | undefined {
  if (!quantity) return undefined;
  if (unit) return unit.convert(quantity.value, quantity.unit);
  return quantity.unit === '' ? quantity.value : undefined;
}

function readPercentage(text: string): number | undefined {
  const quantity = parseQuantity(text);
  return quantity?.unit === '%' ? toBaseUnit(quantity.value, PERCENT) : undefined;
}

/** Without a declared unit, a bare number is seconds. */
function readTime(quantity: ReturnType<typeof parseQuantity>, unit: DeclaredUnit | undefined): number | undefined {
  if (quantity?.unit !== '') return undefined;
  return unit?.dimension === 's' ? unit.convert(quantity.value, '') : quantity.value;
}

function readDate(text: string, _format: ValueFormat, context: DateContext): number | undefined {
  const date = parseDateText(text, context);
  return date && date.utcMs / 1000;
}

function readPart(numbers: readonly number[] | undefined, part: number): ValueReading | undefined {
  return numbers && (numbers[part - 1] ?? 'other_form');
}
