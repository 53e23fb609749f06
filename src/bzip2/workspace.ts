import { BitWindow } from './bit-window.ts';
import { BlockHeader } from './block-header.ts';
import { InverseTransform } from './inverse-transform.ts';
import { RunExpander } from './run-expander.ts';
import { SymbolReader } from './symbol-reader.ts';

/** Enough for a block header and for moving input in larger pieces. */
const WINDOW_BYTES = 128 * 1024;
/** To go back to where a damaged block starts: its symbols take at most 2.25 MB, its header 40 KiB. */
const RESYNC_WINDOW_BYTES = 3 * 1024 * 1024;

/**
 * Everything that decoding needs memory for, allocated once and used for one archive after the other: 21 MB, of which
 * a usual archive touches eight.
 */
export class Bzip2Workspace {
  readonly header = new BlockHeader();
  readonly symbols = new SymbolReader();
  readonly transform = new InverseTransform();
  readonly expander = new RunExpander();
  readonly #windows = new Map<number, BitWindow>();

  /** An empty window, large enough to go back to the start of a block when that is asked for. */
  openWindow(resync: boolean): BitWindow {
    const sizeBytes = resync ? RESYNC_WINDOW_BYTES : WINDOW_BYTES;
    const window = this.#windows.get(sizeBytes) ?? new BitWindow(sizeBytes);
    this.#windows.set(sizeBytes, window);
    window.reset();
    return window;
  }
}
