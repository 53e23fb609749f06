/** Bounds of one decoding. */
export interface Bzip2Limits {
  /** Most decoded bytes; the first byte beyond fails with `too-large`. */
  readonly outputBytesMax: number;
  /**
   * Most decoded bytes per compressed byte, above a first 1 MiB that is always allowed because honest logs of one
   * repeated line compress very well. Holds for each compressed layer. Default: unlimited.
   */
  readonly ratioMax?: number | undefined;
  /**
   * Go on behind a damaged bzip2 block at the next one that can be found, instead of failing with `corrupt`. Costs
   * 3 MB of memory and no time as long as nothing is damaged. Default: false.
   */
  readonly resync?: boolean | undefined;
}

/** Output to which the ratio does not apply: honest logs of one repeated line compress very well. */
const RATIO_FREE_BYTES = 1024 * 1024;

/** Why `outputBytes` from `inputBytes` are too many; `undefined` when they are not. */
export function describeExcess(outputBytes: number, inputBytes: number, limits: Bzip2Limits): string | undefined {
  const { outputBytesMax, ratioMax } = limits;
  if (outputBytes > outputBytesMax) return `The archive holds more than the ${outputBytesMax} bytes allowed`;
  if (ratioMax === undefined || outputBytes <= RATIO_FREE_BYTES + ratioMax * inputBytes) return undefined;
  return `The archive expands more than ${ratioMax} times`;
}
