import { z } from 'zod';
import { parseByteSize, parseDuration, renderDuration } from '../base/index.ts';
import { type About, codec, parsed } from './values.ts';

/** Shorter than a round trip to a router, so certainly a wrong unit. */
export const DURATION_MS_MIN = 100;
/** A week: longer waits would need timers that the runtime cannot set. */
export const DURATION_MS_MAX = 7 * 86_400_000;
/** A spool below this would be full after the first archive. */
export const SPOOL_BYTES_LEAST = 1024 ** 2;
/** Less would not pay for the logins of a day. */
export const BYTE_BUDGET_LEAST = 64 * 1024;

/** A Prometheus duration, to milliseconds. */
export function duration(about: About, leastMs: number = DURATION_MS_MIN, mostMs: number = DURATION_MS_MAX) {
  const parse = (value: string) => parseWithin(value, leastMs, mostMs);
  return parsed({ kind: 'duration', ...about }, describeDuration(leastMs, mostMs), parse, renderDuration);
}

/** A Prometheus duration, to milliseconds; 0, which needs no unit, is none at all. */
export function durationOrNone(about: About, leastMs: number, mostMs: number) {
  const expected = `${describeDuration(leastMs, mostMs)}, or 0`;
  const written = z.union([z.string(), z.literal(0)], { error: expected }).meta({ kind: 'duration', ...about });
  const parse = (value: string | 0) =>
    value === 0 || parseDuration(value) === 0 ? 0 : parseWithin(value, leastMs, mostMs);
  return codec(written, expected, parse, renderDuration);
}

function parseWithin(value: string, leastMs: number, mostMs: number): number | undefined {
  const durationMs = parseDuration(value);
  return durationMs !== undefined && durationMs >= leastMs && durationMs <= mostMs ? durationMs : undefined;
}

function describeDuration(leastMs: number, mostMs: number): string {
  const example = leastMs < 60_000 ? '30s or 1h30m' : '12h or 30d';
  return `a duration with its unit from ${renderDuration(leastMs)} to ${renderDuration(mostMs)}, such as ${example}`;
}

const SIZE = `a size of at least ${SPOOL_BYTES_LEAST / 1024 ** 2}MiB, such as 512MiB or 1GiB`;

/** The size of something on a disk, to bytes; a plain number is bytes. */
export function byteSize(about: About) {
  return size(about, SIZE, (bytes) => bytes >= SPOOL_BYTES_LEAST);
}

const BUDGET = `a size of at least ${BYTE_BUDGET_LEAST / 1024}KiB, such as 20MiB, or 0 for no budget`;

/** A byte budget, to bytes; 0 is no budget. */
export function byteBudget(about: About) {
  return size(about, BUDGET, (bytes) => bytes === 0 || bytes >= BYTE_BUDGET_LEAST);
}

/** A size between two bounds, to bytes; a plain number is bytes. Messages show an example. */
export function byteSizeWithin(about: About, least: number, most: number, example = '512KiB') {
  const expected = `a size from ${renderByteSize(least)} to ${renderByteSize(most)}, such as ${example}`;
  return size(about, expected, (bytes) => bytes >= least && bytes <= most);
}

/** Renders a size with the largest unit of which it is a whole number. */
export function renderByteSize(bytes: number): string {
  const [unit, unitBytes] = BINARY_UNITS.find(([, it]) => bytes >= it && bytes % it === 0) ?? ['B', 1];
  return `${bytes / unitBytes}${unit}`;
}

const BINARY_UNITS = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

function size(about: About, expected: string, isValid: (bytes: number) => boolean) {
  const written = z.union([z.string(), z.int()], { error: expected }).meta({ kind: 'size', ...about });
  const parse = (value: string | number) => {
    const bytes = parseByteSize(String(value));
    return bytes !== undefined && isValid(bytes) ? bytes : undefined;
  };
  return codec(written, expected, parse, renderByteSize);
}

/** A whole number; as text too, because the environment holds nothing else. */
export function wholeNumber(about: About, least: number, most: number) {
  const expected = `a whole number from ${least} to ${most}`;
  const error = { error: expected };
  const isInRange = (digits: string) => /^\d{1,9}$/.test(digits) && Number(digits) >= least && Number(digits) <= most;
  const digits = z.string().refine(isInRange, error);
  const written = z
    .union([z.int(error).min(least, error).max(most, error), digits], error)
    .meta({ kind: `number from ${least} to ${most}`, ...about });
  return codec(written, expected, Number, (value): string | number => value);
}
