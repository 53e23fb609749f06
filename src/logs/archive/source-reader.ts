import { AheadReader } from './ahead-reader.ts';

/** Reads the bytes of a file chunk by chunk, none of them empty. */
export class SourceReader extends AheadReader<Uint8Array> {
  /** Bytes taken from the source, looked at or not. */
  bytesRead = 0;

  /** Gathers at least `count` bytes, or all there are, and returns them as one chunk; {@link read} gives them again. */
  async peek(count: number): Promise<Uint8Array> {
    let length = this.ahead.reduce((sum, chunk) => sum + chunk.length, 0);
    while (length < count) {
      const chunk = await this.pull();
      if (!chunk) break;
      this.ahead.push(chunk);
      length += chunk.length;
    }
    const [first, ...rest] = this.ahead;
    if (!first) return new Uint8Array(0);
    if (rest.length > 0) this.ahead = [Buffer.concat(this.ahead)];
    return this.ahead[0] ?? first;
  }

  protected override async pull(): Promise<Uint8Array | undefined> {
    let chunk = await super.pull();
    while (chunk?.length === 0) chunk = await super.pull();
    this.bytesRead += chunk?.length ?? 0;
    return chunk;
  }
}
