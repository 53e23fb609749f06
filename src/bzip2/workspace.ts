import { BitWindow } from './bit-window.ts';
import { BlockHeader } from './block-header.ts';
import { InverseTransform, PlainLoops } from './inverse-transform.ts';
import { PlainTextLoops, RunExpander, type TextLoops } from './run-expander.ts';
import { type BlockSymbols, SymbolReader } from './symbol-reader.ts';
import { WasmBlock } from './wasm-block.ts';

/** Enough for a block header and for moving input in larger pieces. */
const WINDOW_BYTES = 128 * 1024;
/** Enough to go back to the start of a damaged block: its symbols take at most 2.25 MB, its header 40 KiB. */
const RESYNC_WINDOW_BYTES = 3 * 1024 * 1024;

/**
 * All memory needed for decoding, allocated once and reused for one archive after another: 30 MB, of which a typical
 * archive uses twelve.
 */
export class Bzip2Workspace {
  readonly header = new BlockHeader();
  readonly symbols: BlockSymbols;
  readonly transform: InverseTransform;
  readonly textLoops: TextLoops;
  readonly expander: RunExpander;
  readonly #windows = new Map<number, BitWindow>();
  /** Memory of all windows; `undefined` if each has its own. */
  readonly #input: Uint8Array | undefined;

  /** `loops`: whether the long loops run in WebAssembly. Default: they do. */
  constructor(loops: 'wasm' | 'plain' = 'wasm') {
    if (loops === 'wasm') {
      const block = new WasmBlock();
      this.symbols = block;
      this.textLoops = block;
      this.transform = new InverseTransform(block);
      this.#input = block.input;
    } else {
      const reader = new SymbolReader();
      this.symbols = reader;
      this.textLoops = new PlainTextLoops();
      this.transform = new InverseTransform(new PlainLoops(reader));
    }
    this.expander = new RunExpander(this.textLoops);
  }

  /** Opens an empty window, large enough to go back to the start of a block if `resync` is set. */
  openWindow(resync: boolean): BitWindow {
    const sizeBytes = resync ? RESYNC_WINDOW_BYTES : WINDOW_BYTES;
    const window = this.#windows.get(sizeBytes) ?? new BitWindow(sizeBytes, this.#input);
    this.#windows.set(sizeBytes, window);
    window.reset();
    return window;
  }
}
