import { Bzip2Error } from './bzip2-error.ts';

/** Zero bytes kept behind the data, so that a loop may read a little past the end and look afterwards whether it did. */
export const SLACK_BYTES = 256;

const NOTHING = new Uint8Array(0);

/**
 * The part of the compressed input that is being worked on: bytes in one buffer, read bit by bit, most significant
 * first. Its size is fixed; what has been read makes room for what comes.
 */
export class BitWindow {
  /** The bytes, then {@link SLACK_BYTES} zeros once the input has ended. */
  readonly bytes: Uint8Array;
  /** Position of the next bit in `bytes`. */
  bit = 0;
  /** How many of `bytes` are input. */
  length = 0;
  /** No input will follow what has been pushed. */
  ended = false;
  /** Where `bytes` starts in the whole input, in bytes. */
  #start = 0;
  #rest: Uint8Array = NOTHING;

  constructor(sizeBytes: number) {
    this.bytes = new Uint8Array(sizeBytes + SLACK_BYTES);
  }

  /** Forgets everything, for another input. */
  reset(): void {
    this.bit = 0;
    this.length = 0;
    this.ended = false;
    this.#start = 0;
    this.#rest = NOTHING;
    this.bytes.fill(0, 0, SLACK_BYTES);
  }

  /** Hands over the next input. To be called only when {@link fill} found nothing more; kept by reference until then. */
  push(chunk: Uint8Array): void {
    this.#rest = chunk;
  }

  end(): void {
    this.ended = true;
  }

  /** Whether input that was pushed still waits for room. */
  get hasRest(): boolean {
    return this.#rest.length > 0;
  }

  /** All input has been pushed and stands in the window. */
  get isComplete(): boolean {
    return this.ended && this.#rest.length === 0;
  }

  /** Position of the next bit in the whole input. */
  get position(): number {
    return this.#start * 8 + this.bit;
  }

  /** Position behind the last bit in the window. */
  get endPosition(): number {
    return (this.#start + this.length) * 8;
  }

  /** Bits in the window that are not read yet; negative when a loop has read past the end. */
  get bitsLeft(): number {
    return this.length * 8 - this.bit;
  }

  /** Position in the window of a position in the whole input. */
  toLocal(position: number): number {
    return position - this.#start * 8;
  }

  /**
   * Moves input into the window, giving up bytes before the position `keepFrom` in the whole input when room is needed.
   * False when nothing could be moved.
   */
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

  /** Reads up to 24 bits. @throws Bzip2Error `truncated` when the input ends before. */
  readBits(count: number): number {
    const value = this.peekBits(this.bit, count);
    this.bit += count;
    if (this.bit > this.length * 8) throw this.truncated();
    return value;
  }

  /** Up to 24 bits at `bit` in the window, without reading on; zeros behind the end. */
  peekBits(bit: number, count: number): number {
    const { bytes } = this;
    const at = bit >>> 3;
    const word =
      ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
    return (word << (bit & 7)) >>> (32 - count);
  }

  /** The 32 bits next, as an unsigned number. */
  readUint32(): number {
    return this.readBits(16) * 0x10000 + this.readBits(16);
  }

  truncated(): Bzip2Error {
    const bit = this.endPosition;
    return new Bzip2Error('truncated', `The archive ends after ${bit / 8} bytes, before its end mark`, { bit });
  }

  #discardBefore(count: number): void {
    if (count <= 0) return;
    this.bytes.copyWithin(0, count, this.length);
    this.#start += count;
    this.length -= count;
    this.bit -= count * 8;
  }
}
