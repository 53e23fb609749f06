import { isPlainObject } from '../../base/index.ts';

/** Tells whether a value that was read from JSON is a `T`. */
export type Guard<T> = (value: unknown) => value is T;

export const isText: Guard<string> = (value) => typeof value === 'string';
export const isFlag: Guard<boolean> = (value) => typeof value === 'boolean';
export const isNumber: Guard<number> = (value) => typeof value === 'number';
/** A whole number from 0 on. */
export const isCount: Guard<number> = (value): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Milliseconds before or behind the Unix epoch that a date can be made of. */
const DATE_MS_MAX = 8.64e15;
export const isMoment: Guard<number> = (value): value is number =>
  typeof value === 'number' && Math.abs(value) <= DATE_MS_MAX;

/** The value may be absent. */
export function optional<T>(guard: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || guard(value);
}

/** The value may be `null`. */
export function nullable<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

/** The value is of one type or the other. */
export function either<A, B>(first: Guard<A>, second: Guard<B>): Guard<A | B> {
  return (value): value is A | B => first(value) || second(value);
}

/** The value is one of these. */
export function oneOf<T>(values: readonly T[]): Guard<T> {
  return (value): value is T => values.some((one) => one === value);
}

/** A list of values of one type. */
export function listOf<T>(guard: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(guard);
}

/** An object whose values are of one type. */
export function mapOf<T>(guard: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> => isPlainObject(value) && Object.values(value).every(guard);
}

/** An object with these fields, and perhaps others. */
export function shape<T>(fields: { readonly [Key in keyof T]-?: Guard<T[Key]> }): Guard<T> {
  const entries: readonly [string, Guard<unknown>][] = Object.entries(fields);
  const keys = entries.map(([key]) => key);
  const guards = entries.map(([, guard]) => guard);
  return (value): value is T => {
    if (!isPlainObject(value)) return false;
    // A position has hundreds of fields and is read at each look: no closure, no pairs.
    for (let index = 0; index < keys.length; index++) {
      if (guards[index]?.(value[keys[index] ?? '']) !== true) return false;
    }
    return true;
  };
}
