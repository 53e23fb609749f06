import { constants, createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { describeExcess } from '../../bzip2/index.ts';
import { ArchiveError } from '../reading/errors.ts';
import type { SourceReader } from './source-reader.ts';

/** Input is handed to the library in pieces of this size, which also bounds what a piece can expand to before it is metered. */
const PIECE_BYTES = 64 * 1024;
/** 8 MiB of history, the most that `zstd` uses without `--ultra`: the frame, not the reader, would else choose the memory. */
const ZSTD_WINDOW_LOG_MAX = 23;

type Inflater = Gunzip | ZstdDecompress;

const INFLATERS: Readonly<Record<'gzip' | 'zstd', () => Inflater>> = {
  gzip: () => createGunzip(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
};

/**
 * Decodes gzip or zstd with the runtime's library, whose work is done on its own threads. Members and frames that follow
 * each other are one output; zeros behind the last are padding. Bytes come out before their checksum has been seen.
 * @throws ArchiveError `truncated` after everything before the cut, `corrupt`, `unsupported`, `too-large`.
 */
export async function* inflate(
  reader: SourceReader,
  format: 'gzip' | 'zstd',
  limits: { readonly outputBytesMax: number; readonly ratioMax?: number | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  let frame = new Frame(INFLATERS[format]());
  let inputBytes = 0;
  let outputBytes = 0;
  let isPadding = false;
  try {
    for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
      let rest = chunk;
      while (rest.length > 0) {
        const piece = rest.subarray(0, PIECE_BYTES);
        if (isPadding) {
          checkPadding(piece, inputBytes);
          inputBytes += piece.length;
          rest = rest.subarray(piece.length);
          continue;
        }
        const before = frame.bytesTaken;
        const bit = inputBytes * 8;
        for await (const output of frame.write(piece, bit)) {
          outputBytes += output.length;
          checkOutput(outputBytes, inputBytes + piece.length, limits);
          yield output;
        }
        const taken = frame.bytesTaken - before;
        inputBytes += taken;
        rest = rest.subarray(taken);
        if (taken === piece.length) continue;
        // The library stops at the end of a frame and says so only by what it left.
        isPadding = rest[0] === 0;
        if (!isPadding && before === 0 && taken === 0) throw corrupt(bit);
        frame.close();
        if (!isPadding) frame = new Frame(INFLATERS[format]());
      }
    }
    if (!isPadding) await frame.end(inputBytes * 8);
  } finally {
    frame.close();
  }
}

/** Throws `too-large` when `outputBytes` from `inputBytes` are too many. */
export function checkOutput(...args: Parameters<typeof describeExcess>): void {
  const excess = describeExcess(...args);
  if (excess !== undefined) throw new ArchiveError('too-large', excess);
}

function checkPadding(bytes: Uint8Array, offset: number): void {
  const index = bytes.findIndex((byte) => byte !== 0);
  if (index >= 0) throw corrupt((offset + index) * 8);
}

function corrupt(bit: number, cause?: unknown): ArchiveError {
  return new ArchiveError('corrupt', 'What is here is not what the format allows', { bit, cause });
}

/** Drives one stream of the library by hand: its own iteration drops decoded bytes when the input ends too early. */
class Frame {
  readonly #stream: Inflater;
  #failure: unknown;
  #wake = Promise.withResolvers<void>();
  #isEnded = false;

  constructor(stream: Inflater) {
    this.#stream = stream;
    const wake = () => this.#wake.resolve();
    stream.on('readable', wake);
    stream.on('end', () => {
      this.#isEnded = true;
      wake();
    });
    stream.on('close', wake);
    stream.on('error', (error) => {
      this.#failure = error;
      wake();
    });
  }

  /** Input bytes that the library has used. */
  get bytesTaken(): number {
    return this.#stream.bytesWritten;
  }

  /** Yields what `piece` gives. `bit` is its place, for the error. */
  async *write(piece: Uint8Array, bit: number): AsyncGenerator<Uint8Array, void, undefined> {
    let isDone = false;
    this.#stream.write(piece, () => {
      isDone = true;
      this.#wake.resolve();
    });
    for (;;) {
      const output = this.#stream.read() as Uint8Array | null;
      if (output) yield output;
      else if (this.#failure) throw toArchiveError(this.#failure, bit);
      else if (isDone || this.#stream.destroyed) return;
      else await this.#sleep();
    }
  }

  /** Ends the input. @throws ArchiveError `truncated` when the frame does not end here. */
  async end(bit: number): Promise<void> {
    this.#stream.end();
    while (!this.#isEnded && !this.#failure && !this.#stream.destroyed) {
      if (this.#stream.read() === null) await this.#sleep();
    }
    if (this.#failure) throw toArchiveError(this.#failure, bit);
  }

  close(): void {
    this.#stream.destroy();
  }

  async #sleep(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers<void>();
  }
}

function toArchiveError(cause: unknown, bit: number): ArchiveError {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
  if (code === 'Z_BUF_ERROR') {
    return new ArchiveError('truncated', `The archive ends after ${bit / 8} bytes, before its end mark`, {
      bit,
      cause,
    });
  }
  if (code === 'ZSTD_error_frameParameter_windowTooLarge') {
    return new ArchiveError('unsupported', 'The zstd frame asks for more memory than is allowed', { bit, cause });
  }
  return corrupt(bit, cause);
}
