import { LineCondenser, type LineRun, packBytes, packCondensed } from '../../base/index.ts';
import type { GivenBytes } from '../../model/index.ts';

/** Room for the records of one poll, and what a batch at its bound takes. Bytes. */
const BYTES_MIN = 16 * 1024;
/** From here on, memory grows by an eighth and in these steps. Bytes. */
const STEP_BYTES = 256 * 1024;
const GROWTH = 9 / 8;
/** Memory that is given back is kept for the next batches: so much, of no more than this. */
const KEPT_BUFFERS_MAX = 4;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;
/** UTF-8 has no more for a code unit of a string. */
const UTF8_BYTES_MAX = 3;
const LINE_FEED = 0x0a;
/** Records are given away with their memory if that is no more than so many times as large; else they are copied. */
const SHARE_GIVEN = 2;

const EMPTY = Buffer.alloc(0);
const kept: Buffer[] = [];
let createMemory = (size: number): Buffer => Buffer.allocUnsafeSlow(size);
/** Size of the memory of the last batch if that was long, where the next one will be as long. Bytes. */
let lastSize: number | undefined;

/**
 * From here on, memory of records is shared memory. For threads whose records another thread keeps for a while: memory that
 * is handed over counts as new in the heap on each side each time, which has the whole heap searched for garbage.
 */
export function shareMemory(): void {
  createMemory = (size) => Buffer.from(new SharedArrayBuffer(size));
  lastSize = 0;
}

/** Keeps memory for later batches, if there is not enough of it yet. */
export function keepMemory(memory: Buffer): void {
  if (memory.length > 0 && memory.length <= KEPT_BYTES_MAX && kept.length < KEPT_BUFFERS_MAX) kept.push(memory);
}

/** Twice as much each time at first, then a little more: what is kept for sinks should not be half empty. */
function toSize(needed: number): number {
  if (needed > STEP_BYTES) return Math.ceil((needed * GROWTH) / STEP_BYTES) * STEP_BYTES;
  return Math.max(BYTES_MIN, 2 ** Math.ceil(Math.log2(needed)));
}

/** Gives memory to later batches, here or in the thread that it came from. */
function giveBack(memory: Buffer, onRelease: ((memory: ArrayBufferLike) => void) | undefined): void {
  if (onRelease) onRelease(memory.buffer);
  else keepMemory(memory);
}

/**
 * Rendered records one behind the other, as bytes in UTF-8 with a line feed between two. Bytes because a record is of
 * long pieces that are those of the record before: copying them is several times as fast as joining strings. The memory
 * is used again once {@link release} has given it back.
 */
export class RecordBuffer {
  #memory: Buffer = EMPTY;
  /** End of the last record. */
  #end = 0;
  #length = 0;
  #packed: Uint8Array | undefined;
  /** True if somebody else keeps the memory, so that it is not used again. */
  #isGiven = false;
  #onRelease: ((memory: ArrayBufferLike) => void) | undefined;
  /** Condenses the records that are alike; absent if they are not to be. */
  #condenser: LineCondenser | undefined;
  /** Start of the records that are not condensed. */
  #condensedTo = 0;

  /** `isCondensed`: true if {@link pack} will be called, and is to leave out what records have in common. */
  constructor(isCondensed = false) {
    if (isCondensed) this.#condenser = new LineCondenser();
  }

  /** Records that another thread has rendered: in the first `bytes` of `memory`, which goes to `onRelease` afterwards. */
  static of(
    memory: Uint8Array,
    about: {
      readonly bytes: number;
      readonly length: number;
      readonly packed: Uint8Array | undefined;
      readonly onRelease: (memory: ArrayBufferLike) => void;
    },
  ): RecordBuffer {
    const records = new RecordBuffer();
    records.#memory = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
    records.#end = about.bytes;
    records.#length = about.length;
    records.#packed = about.packed;
    records.#onRelease = about.onRelease;
    return records;
  }

  /** Number of records. */
  get length(): number {
    return this.#length;
  }

  /** All records. Valid until the buffer is written to or released. */
  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#end);
  }

  /** All records as they are stored, if another thread has packed them. */
  get packed(): Uint8Array | undefined {
    return this.#packed;
  }

  /** The records as strings. */
  *[Symbol.iterator](): Generator<string, void, undefined> {
    if (this.#length > 0) yield* this.#memory.toString('utf8', 0, this.#end).split('\n');
  }

  /** Adds a rendered record, which holds no line feed, because JSON escapes it. */
  push(record: string): void {
    const memory = this.reserve(record.length * UTF8_BYTES_MAX);
    this.commit(this.start + memory.write(record, this.start, 'utf8'));
  }

  /** Adds rendered records that have a line feed between two. `run`: the same, as they are condensed. */
  append(records: Uint8Array, run: LineRun): void {
    const memory = this.reserve(records.length);
    this.#condenseRest();
    memory.set(records, this.start);
    this.commit(this.start + records.length);
    this.#length += run.count - 1;
    this.#condenser?.addRun(run);
    this.#condensedTo = this.#end + 1;
  }

  #condenseRest(): void {
    if (this.#condensedTo < this.#end) this.#condenser?.addPlain(this.#memory.subarray(this.#condensedTo, this.#end));
  }

  /** Packs all records. Nothing may be added afterwards. */
  pack(): Uint8Array<ArrayBuffer> {
    if (!this.#condenser || this.#condensedTo === 0) return packBytes(this.bytes);
    this.#condenseRest();
    return packCondensed(this.#condenser.finish());
  }

  /** Memory with room for a record of `bytes` at {@link start}; whoever has written it there calls {@link commit}. */
  reserve(bytes: number): Buffer {
    const needed = this.#end + 1 + bytes;
    if (needed > this.#memory.length) this.#grow(needed);
    return this.#memory;
  }

  /** Start of the next record. */
  get start(): number {
    return this.#length > 0 ? this.#end + 1 : 0;
  }

  /** Adds the record that was written from {@link start} to `end`. */
  commit(end: number): void {
    if (this.#length > 0) this.#memory[this.#end] = LINE_FEED;
    this.#packed = undefined;
    this.#end = end;
    this.#length++;
  }

  /** Empties the buffer and gives its memory to later ones: {@link bytes} of before are not valid any more. */
  release(): void {
    const isGiven = this.#isGiven;
    const onRelease = this.#onRelease;
    const memory = this.detach();
    if (!isGiven) giveBack(memory, onRelease);
  }

  /** Gives all records to somebody who keeps them: after this, nothing may be added before {@link release}. */
  giveAway(): GivenBytes {
    const memory = this.#memory;
    const bytes = memory.subarray(0, this.#end);
    // Otherwise a few records would keep the room of many.
    if (bytes.length * SHARE_GIVEN < memory.length) {
      return { bytes: Buffer.from(new Uint8Array(bytes).buffer), free: () => {} };
    }
    this.#isGiven = true;
    const onRelease = this.#onRelease;
    return { bytes, free: () => giveBack(memory, onRelease) };
  }

  /** Empties the buffer and gives its memory away, with the records at its beginning. */
  detach(): Buffer {
    const memory = this.#memory;
    this.#memory = EMPTY;
    this.#end = 0;
    this.#length = 0;
    this.#packed = undefined;
    this.#condenser = this.#condenser && new LineCondenser();
    this.#condensedTo = 0;
    this.#isGiven = false;
    if (lastSize !== undefined) lastSize = memory.length > STEP_BYTES ? Math.min(memory.length, KEPT_BYTES_MAX) : 0;
    return memory.length > 0 ? memory : Buffer.allocUnsafeSlow(0);
  }

  #grow(needed: number): void {
    const spare = this.#memory.length === 0 ? kept.pop() : undefined;
    if (spare && spare.length >= needed) {
      this.#memory = spare;
      return;
    }
    // The first of several batches grows step by step, which has new memory filled again and again.
    const least = this.#memory.length === 0 ? (lastSize ?? 0) : 0;
    const memory = createMemory(Math.max(toSize(needed), least));
    this.#memory.copy(memory, 0, 0, this.#end);
    this.#memory = memory;
  }
}
