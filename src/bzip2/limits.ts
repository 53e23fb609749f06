/** Limits of one decoding. */
export interface Bzip2Limits {
  /** Maximum number of decoded bytes; the first byte beyond fails with `too-large`. */
  readonly outputBytesMax: number;
  /**
   * Maximum number of decoded bytes per compressed byte, not applied to the first 1 MiB, because real logs of one
   * repeated line compress very well. Applies to each compressed layer. Default: unlimited.
   */
  readonly ratioMax?: number | undefined;
  /**
   * Continue after a damaged bzip2 block at the next block that can be found, instead of failing with `corrupt`. Costs
   * 3 MB of memory and no time as long as nothing is damaged. Default: false.
   */
  readonly resync?: boolean | undefined;
}

/** Output to which the ratio does not apply: real logs of one repeated line compress very well. */
const RATIO_FREE_BYTES = 1024 * 1024;

/** Returns why `outputBytes` from `inputBytes` exceed the limits; `undefined` if they do not. */
export function describeExcess(outputBytes: number, inputBytes: number, limits: Bzip2Limits): string | undefined {
  const { outputBytesMax, ratioMax } = limits;
  if (outputBytes > outputBytesMax) return `The archive holds more than the ${outputBytesMax} bytes allowed`;
  if (ratioMax === undefined || outputBytes <= RATIO_FREE_BYTES + ratioMax * inputBytes) return undefined;
  return `The archive expands more than ${ratioMax} times`;
}
