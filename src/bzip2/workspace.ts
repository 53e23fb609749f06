import { BitWindow } from './bit-window.ts';
import { BlockHeader } from './block-header.ts';
import { InverseTransform } from './inverse-transform.ts';
import { RunExpander } from './run-expander.ts';
import { SymbolReader } from './symbol-reader.ts';

/** Enough for a block header and for moving input in larger pieces. */
const WINDOW_BYTES = 128 * 1024;
/** Enough to go back to the start of a damaged block: its symbols take at most 2.25 MB, its header 40 KiB. */
const RESYNC_WINDOW_BYTES = 3 * 1024 * 1024;

/**
 * All memory needed for decoding, allocated once and reused for one archive after another: 21 MB, of which a typical
 * archive uses eight.
 */
export class Bzip2Workspace {
  readonly header = new BlockHeader();
  readonly symbols = new SymbolReader();
  readonly transform = new InverseTransform();
  readonly expander = new RunExpander();
  readonly #windows = new Map<number, BitWindow>();

  /** Opens an empty window, large enough to go back to the start of a block if `resync` is set. */
  openWindow(resync: boolean): BitWindow {
    const sizeBytes = resync ? RESYNC_WINDOW_BYTES : WINDOW_BYTES;
    const window = this.#windows.get(sizeBytes) ?? new BitWindow(sizeBytes);
    this.#windows.set(sizeBytes, window);
    window.reset();
    return window;
  }
}
