import { BlockHeader } from './block-header.ts';
import { InverseTransform } from './inverse-transform.ts';
import { RunExpander } from './run-expander.ts';
import { SymbolReader } from './symbol-reader.ts';

/**
 * Everything that decoding needs memory for, allocated once and used for one archive after the other: 21 MB, of which
 * a usual archive touches eight.
 */
export class Bzip2Workspace {
  readonly header = new BlockHeader();
  readonly symbols = new SymbolReader();
  readonly transform = new InverseTransform();
  readonly expander = new RunExpander();
}
