/**
 * Reasons why lines were lost: deleted to limit the number of files, replaced by a file with the same name, deleted after the
 * name was reused, or deleted with all logs.
 */
export type LogLoss = 'pruned' | 'overwritten' | 'removed' | 'reset';

/**
 * The lines of one `current` file, from its first line through its rotation, whatever files hold them. A plain file and
 * its archive hold the same generation; once neither exists, the lines are lost and remembered only here.
 */
export class LogGeneration {
  /** Counts the lives of `current` in one component, from 0. */
  readonly number: number;
  /** Wall time of the router when the first line was written. */
  readonly createdMs: number;
  /** Written bytes reach the file in blocks of this size until it is closed; 0 = at once. */
  readonly #blockBytes: number;
  #isClosed = false;
  /** Bytes from the start that were sent to a client. */
  servedBytes = 0;
  /** Set when the last file that held these lines is gone. */
  loss: LogLoss | undefined;
  #homes = 0;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(number: number, createdMs: number, blockBytes = 0) {
    this.#blockBytes = blockBytes;
    this.number = number;
    this.createdMs = createdMs;
  }

  /** Bytes written, in the file or not yet. */
  get length(): number {
    return this.#length;
  }

  /** Bytes in the file. */
  get flushedLength(): number {
    if (this.#isClosed || this.#blockBytes === 0) return this.#length;
    return this.#length - (this.#length % this.#blockBytes);
  }

  append(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
  }

  /** All bytes in the file; later lines do not change what was returned. */
  snapshot(): Buffer {
    return this.#join().subarray(0, this.flushedLength);
  }

  /** All bytes written, also those that are not in the file yet; later lines do not change what was returned. */
  written(): Buffer {
    return this.#join();
  }

  /** Closes the file: buffered lines are written. */
  close(): void {
    this.#isClosed = true;
  }

  /** Simulates a crash: buffered lines are lost. */
  crash(): void {
    this.#chunks = [this.snapshot()];
    this.#length = this.flushedLength;
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  addHome(): void {
    this.#homes += 1;
  }

  removeHome(loss: LogLoss): void {
    this.#homes -= 1;
    if (this.#homes === 0) this.loss = loss;
  }
}
