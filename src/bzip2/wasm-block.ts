import type { BitWindow } from './bit-window.ts';
import { type BlockHeader, corruptAt } from './block-header.ts';
import { instantiate, type WasmExports } from './block-wasm.ts';
import type { Bzip2Error } from './bzip2-error.ts';
import { CRC_TABLES } from './crc.ts';
import { LANE_BYTES, LANES, type TransformLoops } from './inverse-transform.ts';
import { EXPANDED_BYTES, type TextLoops } from './run-expander.ts';
import { BLOCK_BYTES_MAX, type BlockSymbols, FRONT_PLACES, GROUP_BITS_MAX, MOVE_MASKS } from './symbol-reader.ts';

/** Faults that the loop over the symbols finds, by what it returns. */
const FAULTS = {
  NO_SELECTOR: 'The block has more symbols than selectors',
  NO_CODE: 'A Huffman code is not assigned',
  RUN_TOO_LONG: 'A run is longer than the block',
  BLOCK_TOO_LONG: 'The block is longer than its level allows',
} as const;

/** The long loops of the decoder in WebAssembly (assembly/bzip2-block.ts), and the memory that they share. */
export class WasmBlock implements BlockSymbols, TransformLoops, TextLoops {
  /** For the window on the input. */
  readonly input: Uint8Array;
  readonly chain: Int32Array;
  readonly strands: Uint8Array;
  readonly text: Uint8Array;
  readonly expanded: Uint8Array;
  readonly positions: Int32Array;
  readonly offsets: Int32Array;
  readonly #wasm: WasmExports = instantiate();
  readonly #bytes: Uint8Array;
  readonly #reasons: ReadonlyMap<number, string>;
  #lengthMax = 0;

  constructor() {
    const wasm = this.#wasm;
    const { buffer } = wasm.memory;
    this.#bytes = new Uint8Array(buffer);
    this.input = this.#bytes.subarray(wasm.INPUT.value);
    this.chain = new Int32Array(buffer, wasm.CHAIN.value, BLOCK_BYTES_MAX + 1);
    this.strands = new Uint8Array(buffer, wasm.STRANDS.value, LANES * LANE_BYTES);
    this.text = new Uint8Array(buffer, wasm.TEXT.value, BLOCK_BYTES_MAX);
    this.expanded = new Uint8Array(buffer, wasm.EXPANDED.value, EXPANDED_BYTES);
    this.positions = new Int32Array(buffer, wasm.POSITIONS.value, LANES);
    this.offsets = new Int32Array(buffer, wasm.OFFSETS.value, LANES);
    new Int32Array(buffer, wasm.MASKS.value, FRONT_PLACES * 4).set(MOVE_MASKS);
    new Int32Array(buffer, wasm.CRC_TABLES.value, CRC_TABLES.length).set(CRC_TABLES);
    this.#reasons = new Map(
      Object.entries(FAULTS).map(([name, text]) => [wasm[name as keyof typeof FAULTS].value, text]),
    );
  }

  get length(): number {
    return this.#wasm.columnBytes.value;
  }

  start(header: BlockHeader, lengthMax: number): void {
    const wasm = this.#wasm;
    this.#lengthMax = lengthMax;
    this.#bytes.set(header.bytesUsed, wasm.RECENT.value);
    wasm.columnBytes.value = 0;
    wasm.runs.value = 0;
    wasm.group.value = 0;
    wasm.run.value = 0;
    wasm.weight.value = 1;
    this.#bytes.set(header.selectors.subarray(0, header.selectorCount), wasm.SELECTORS.value);
    const { buffer } = this.#bytes;
    for (const [index, { look, limits, offsets, symbols }] of header.tables.entries()) {
      const at = wasm.TABLES.value + index * wasm.TABLE_BYTES.value;
      new Uint16Array(buffer, at, look.length).set(look);
      new Int32Array(buffer, at + wasm.TABLE_LIMITS.value, limits.length).set(limits);
      new Int32Array(buffer, at + wasm.TABLE_OFFSETS.value, offsets.length).set(offsets);
      new Uint16Array(buffer, at + wasm.TABLE_SYMBOLS.value, symbols.length).set(symbols);
    }
  }

  resume(window: BitWindow, header: BlockHeader): boolean {
    const wasm = this.#wasm;
    wasm.bit.value = window.bit;
    const { isComplete } = window;
    const lastStartBit = window.length * 8 - (isComplete ? 0 : GROUP_BITS_MAX);
    const outcome = wasm.readSymbols(lastStartBit, this.#lengthMax, header.selectorCount, header.symbolCount - 1);
    window.bit = wasm.bit.value;
    const reason = this.#reasons.get(outcome);
    if (reason !== undefined) throw failAt(window, reason);
    const isRead = outcome === wasm.BLOCK_READ.value;
    if (isRead ? window.bitsLeft < 0 : isComplete) throw window.truncated();
    return isRead;
  }

  buildChain(): void {
    this.#wasm.buildChain();
  }

  followLanes(stepsLeft: number): number {
    return this.#wasm.followLanes(stepsLeft);
  }

  findRunEnd({ length }: Uint8Array, from: number): number {
    return this.#wasm.findRunEnd(from, length);
  }

  updateCrc(sum: number, length: number): number {
    return this.#wasm.updateCrc(sum, length);
  }
}

function failAt(window: BitWindow, reason: string): Bzip2Error {
  // After the end of the input there are zeros; what they decode to is not evidence of damage.
  return window.bitsLeft < 0 ? window.truncated() : corruptAt(window, reason);
}
