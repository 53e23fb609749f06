import { isDeepStrictEqual } from 'node:util';
import { Secret } from '../base/index.ts';

/**
 * Copies settings for a comparison or a digest, and for nothing else: secrets are in clear text. One that can be read again is the
 * same secret, whatever its value is now. Keys without a value are left out, and the others are in alphabetical order: it depends on
 * the layers that they come from.
 */
export function toComparable(value: unknown): unknown {
  if (value instanceof Secret) return value.source ? { source: value.source.id } : { secret: value.reveal() };
  if (value instanceof Map || value instanceof Set) return [...value].map(toComparable);
  if (Array.isArray(value)) return value.map(toComparable);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, toComparable(one)]),
  );
}

/** Returns true if two settings are the same, secrets included. */
export function areSameSettings(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toComparable(a), toComparable(b));
}
