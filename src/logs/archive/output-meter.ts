import { ArchiveError } from './archive-error.ts';

/** Output to which the ratio does not apply: honest logs of one repeated line compress very well. */
export const RATIO_FREE_BYTES = 1024 * 1024;

/** Why `outputBytes` from `inputBytes` are too many; `undefined` when they are not. */
export function describeExcess(
  outputBytes: number,
  inputBytes: number,
  limits: { readonly outputBytesMax: number; readonly ratioMax?: number | undefined },
): string | undefined {
  const { outputBytesMax, ratioMax } = limits;
  if (outputBytes > outputBytesMax) return `The archive holds more than the ${outputBytesMax} bytes allowed`;
  if (ratioMax === undefined || outputBytes <= RATIO_FREE_BYTES + ratioMax * inputBytes) return undefined;
  return `The archive expands more than ${ratioMax} times`;
}

/** Throws `too-large` when `outputBytes` from `inputBytes` are too many. */
export function checkOutput(...args: Parameters<typeof describeExcess>): void {
  const excess = describeExcess(...args);
  if (excess !== undefined) throw new ArchiveError('too-large', excess);
}
