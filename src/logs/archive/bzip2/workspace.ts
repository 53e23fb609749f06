import { BlockHeader } from './block-header.ts';
import { createChain, Lane, LANES_MAX } from './inverse-transform.ts';
import { RunExpander } from './run-expander.ts';
import { SymbolReader } from './symbol-reader.ts';

/**
 * Everything that decoding needs memory for, allocated once and used for one archive after the other: about 14 MB for
 * archives of one block, 38 MB once four blocks have been decoded side by side.
 */
export class Bzip2Workspace {
  readonly header = new BlockHeader();
  readonly symbols = new SymbolReader();
  readonly chain = createChain();
  readonly expander = new RunExpander();
  readonly #lanes: Lane[] = [];

  /** The lane with that number, from 0, below {@link LANES_MAX}. */
  lane(index: number): Lane {
    const lane = this.#lanes[index] ?? new Lane();
    this.#lanes[index] = lane;
    return lane;
  }
}

export { LANES_MAX };
