import { z } from 'zod';
import { parseByteSize, parseDuration, renderDuration } from '../base/index.ts';
import { BYTE_BUDGET_LEAST, DURATION_MS_MAX, DURATION_MS_MIN, SPOOL_BYTES_LEAST } from './defaults.ts';
import { type About, parsed } from './schema-values.ts';

const DURATION = `a duration with its unit from ${renderDuration(DURATION_MS_MIN)} to ${renderDuration(DURATION_MS_MAX)}, such as 30s or 1h30m`;

/** A Prometheus duration, to milliseconds. */
export function duration(about: About) {
  return parsed({ kind: 'duration', ...about }, DURATION, (value) => {
    const durationMs = parseDuration(value);
    return durationMs !== undefined && durationMs >= DURATION_MS_MIN && durationMs <= DURATION_MS_MAX
      ? durationMs
      : undefined;
  });
}

const SIZE = `a size of at least ${SPOOL_BYTES_LEAST / 1024 ** 2}MiB, such as 512MiB or 1GiB`;

/** The size of something on a disk, to bytes; a plain number is bytes. */
export function byteSize(about: About) {
  return size(about, SIZE, (bytes) => bytes >= SPOOL_BYTES_LEAST);
}

const BUDGET = `a size of at least ${BYTE_BUDGET_LEAST / 1024}KiB, such as 20MiB, or 0 for no budget`;

/** What may be spent, to bytes; 0 is no bound. */
export function byteBudget(about: About) {
  return size(about, BUDGET, (bytes) => bytes === 0 || bytes >= BYTE_BUDGET_LEAST);
}

function size(about: About, expected: string, isValid: (bytes: number) => boolean) {
  return z
    .union([z.string(), z.int()], { error: expected })
    .meta({ kind: 'size', ...about })
    .transform((value, context) => {
      const bytes = parseByteSize(String(value));
      if (bytes !== undefined && isValid(bytes)) return bytes;
      context.issues.push({ code: 'custom', message: expected, input: value });
      return z.NEVER;
    });
}

/** A whole number; as text too, because the environment holds nothing else. */
export function wholeNumber(about: About, least: number, most: number) {
  const expected = `a whole number from ${least} to ${most}`;
  const error = { error: expected };
  const isInRange = (digits: string) => /^\d{1,9}$/.test(digits) && Number(digits) >= least && Number(digits) <= most;
  return z
    .union([z.int(error).min(least, error).max(most, error), z.string().refine(isInRange, error)], error)
    .meta({ kind: `number from ${least} to ${most}`, ...about })
    .transform(Number);
}
