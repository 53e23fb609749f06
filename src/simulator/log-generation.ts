/** How lines went away: deleted to keep few files, replaced by a file of the same name, or deleted by a name reused. */
export type LogLoss = 'pruned' | 'overwritten' | 'removed';

/**
 * The lines of one life of `current`, from its first line to its rotation and beyond, whatever files hold them.
 * A plain file and its archive are two homes of one generation; without a home it is lost, and remembered here only.
 */
export class LogGeneration {
  /** Counts the lives of `current` in one component, from 0. */
  readonly number: number;
  /** Wall time of the router when the first line was written. */
  readonly createdMs: number;
  /** Bytes from the start that some client has been sent. */
  servedBytes = 0;
  /** Set when the last file that held these lines is gone. */
  loss: LogLoss | undefined;
  #homes = 0;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(number: number, createdMs: number) {
    this.number = number;
    this.createdMs = createdMs;
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
  }

  /** All bytes so far; later lines do not change what was returned. */
  snapshot(): Buffer {
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
