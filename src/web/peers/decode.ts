import { isPlainObject } from '../../base/index.ts';

/** Reads a value that another process sent; `undefined` when it is not what is expected. Never throws. */
export type Decode<T> = (value: unknown) => T | undefined;

/** Longer texts are cut: a line of a log has up to 64 KiB. Characters. */
const TEXT_CHARS_MAX = 80_000;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/** A text. */
export const text: Decode<string> = (value) =>
  typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX).toWellFormed() : undefined;

/** A time, RFC 3339 in UTC. */
export const moment: Decode<string> = (value) =>
  typeof value === 'string' && MOMENT.test(value) && Number.isFinite(Date.parse(value)) ? value : undefined;

/** A finite number. */
export const number: Decode<number> = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** True, or anything else for false. */
export const flag: Decode<boolean> = (value) => value === true;

/** One of some words. */
export function oneOf<T extends string>(words: readonly T[]): Decode<T> {
  return (value) => words.find((word) => word === value);
}

/** Decodes with `decode`; null for anything else. */
export function orNull<T>(decode: Decode<T>): Decode<T | null> {
  return (value) => decode(value) ?? null;
}

/** Decodes with `decode`; `instead` for anything else. */
export function or<T>(decode: Decode<T>, instead: T): Decode<T> {
  return (value) => decode(value) ?? instead;
}

/** The items that `decode` reads, of the first `max`. */
export function listOf<T>(decode: Decode<T>, max: number): Decode<readonly T[]> {
  return (value) =>
    Array.isArray(value)
      ? value
          .slice(0, max)
          .map((item) => decode(item))
          .filter((item) => item !== undefined)
      : undefined;
}

/** An object with these fields, all of which can be read; others are dropped. */
export function fields<T extends object>(shape: { readonly [Key in keyof T]-?: Decode<T[Key]> }): Decode<T> {
  const entries = Object.entries<Decode<unknown>>(shape);
  return (value) => {
    if (!isPlainObject(value)) return undefined;
    const result: Record<string, unknown> = {};
    for (const [name, decode] of entries) {
      const field = decode(Object.hasOwn(value, name) ? value[name] : undefined);
      if (field === undefined) return undefined;
      result[name] = field;
    }
    return result as T;
  };
}
