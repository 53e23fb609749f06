import { ArchiveError } from '../../reading/errors.ts';

/** Zero bytes after the data, so that a loop may read slightly past the end and check afterwards. */
const SLACK_BYTES = 256;

const NOTHING = new Uint8Array(0);

/** A fixed-size window on the compressed input, read bit by bit, most significant bit first. */
export class BitWindow {
  /** The bytes, then {@link SLACK_BYTES} zeros once the input has ended. */
  readonly bytes: Uint8Array;
  bit = 0;
  length = 0;
  ended = false;
  #start = 0;
  #rest: Uint8Array = NOTHING;

  constructor(sizeBytes: number) {
    this.bytes = new Uint8Array(sizeBytes + SLACK_BYTES);
  }

  reset(): void {
    this.bit = 0;
    this.length = 0;
    this.ended = false;
    this.#start = 0;
    this.#rest = NOTHING;
    this.bytes.fill(0, 0, SLACK_BYTES);
  }

  /** Adds the next input. Call only after {@link fill} found no more; the chunk is kept by reference until then. */
  push(chunk: Uint8Array): void {
    this.#rest = chunk;
  }

  end(): void {
    this.ended = true;
  }

  get hasRest(): boolean {
    return this.#rest.length > 0;
  }

  get isComplete(): boolean {
    return this.ended && this.#rest.length === 0;
  }

  get position(): number {
    return this.#start * 8 + this.bit;
  }

  get endPosition(): number {
    return (this.#start + this.length) * 8;
  }

  /** Unread bits in the window; negative if a loop has read past the end. */
  get bitsLeft(): number {
    return this.length * 8 - this.bit;
  }

  toLocal(position: number): number {
    return position - this.#start * 8;
  }

  /** Moves input into the window, discarding bytes before `keepFrom` if needed. Returns false if nothing was moved. */
  fill(keepFrom: number = this.position): boolean {
    if (this.#rest.length === 0) return false;
    const size = this.bytes.length - SLACK_BYTES;
    // Moving the kept bytes only when the window is full keeps the cost per byte constant, however small the chunks.
    if (this.length + this.#rest.length > size) this.#discardBefore(Math.floor(keepFrom / 8) - this.#start);
    const taken = Math.min(this.#rest.length, size - this.length);
    this.bytes.set(this.#rest.subarray(0, taken), this.length);
    this.length += taken;
    this.#rest = this.#rest.subarray(taken);
    this.bytes.fill(0, this.length, this.length + SLACK_BYTES);
    return taken > 0;
  }

  /** Reads up to 24 bits. @throws ArchiveError `truncated` if the input ends before. */
  readBits(count: number): number {
    const value = this.peekBits(this.bit, count);
    this.bit += count;
    if (this.bit > this.length * 8) throw this.truncated();
    return value;
  }

  /** Returns up to 24 bits at `bit` in the window without advancing; zeros after the end. */
  peekBits(bit: number, count: number): number {
    const { bytes } = this;
    const at = bit >>> 3;
    const word =
      ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
    return (word << (bit & 7)) >>> (32 - count);
  }

  readUint32(): number {
    return this.readBits(16) * 0x10000 + this.readBits(16);
  }

  truncated(): ArchiveError {
    const bit = this.endPosition;
    return new ArchiveError('truncated', `The archive ends after ${bit / 8} bytes, before its end mark`, { bit });
  }

  #discardBefore(count: number): void {
    if (count <= 0) return;
    this.bytes.copyWithin(0, count, this.length);
    this.#start += count;
    this.length -= count;
    this.bit -= count * 8;
  }
}
