/**
 * bzip2: a streaming decoder in plain TypeScript that continues after damage.
 *
 * Owns: the format, its checksums, the search for intact blocks after a damaged one, limits for hostile input.
 * Does not own: threads, other formats, what damage means to the reader. Imports nothing, as if it were a package.
 * Start reading at: decoder.ts.
 */
export { Bzip2Error } from './bzip2-error.ts';
export type { BlockLost, BlockRecovered, Bzip2End } from './bzip2-item.ts';
export { Bzip2Decoder } from './decoder.ts';
export { type Bzip2Limits, describeExcess } from './limits.ts';
export { Bzip2Workspace } from './workspace.ts';
