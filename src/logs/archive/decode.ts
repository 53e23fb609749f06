import { constants, createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { ArchiveError } from '../reading/errors.ts';
import type { FileReading, ReadingItem, ReadingResult } from '../reading/file-reading.ts';
import { isCompressed, isText, SNIFF_BYTES, sniffFormat } from '../reading/text.ts';
import { Bzip2Decoder, type Bzip2Limits, checkOutput } from './bzip2/decoder.ts';
import { type Bzip2End, Bzip2Workspace } from './bzip2/stream-parser.ts';
import { ChunkReader } from './chunk-reader.ts';

/** An archive, and a transfer encoding or another archive around it. */
const LAYERS_MAX = 2;
/** A bzip2 layer may be larger than its content: by a share for random data, by headers for tiny data. */
const LAYER_BYTES_MIN = 64 * 1024;
const LAYER_SHARE = 1.02;
/** Maximum size of yielded pieces, so that the consumer can yield to the event loop in between. */
const PIECE_BYTES = 96 * 1024;

/** Bytes after the end of an archive. */
export interface Trailing {
  readonly bytes: number;
  readonly isText: boolean;
}

interface Findings {
  layers: number;
  trailing: Trailing | undefined;
}

/** Reused workspaces: at most two, because of {@link LAYERS_MAX}. */
const spare: Bzip2Workspace[] = [];

/**
 * Decodes one file, whose format is detected by content; unknown formats pass as text. Yields chunks, valid until the
 * next item is requested, and marks of damage; returns the bytes after the end of the archive. Always closes the
 * reader.
 *
 * bzip2 is verified block by block before its bytes are yielded; gzip and zstd only at the end of each member or frame,
 * so the last bytes may be wrong if `corrupt` follows. If the source fails, everything decodable is yielded first.
 *
 * @throws ArchiveError after the readable part; the reason of the reader's signal.
 */
export async function* decode(
  reader: ChunkReader,
  limits: Bzip2Limits,
): AsyncGenerator<ReadingItem, Trailing | undefined, undefined> {
  const found: Findings = { layers: 0, trailing: undefined };
  yield* decodeLayer(reader, limits, found);
  return found.trailing;
}

async function* decodeLayer(
  reader: ChunkReader,
  limits: Bzip2Limits,
  found: Findings,
): AsyncGenerator<ReadingItem, void, undefined> {
  try {
    yield* decodeByFormat(reader, limits, found);
    reader.throwFailure();
  } catch (error) {
    // If the source failed, its own error is more precise.
    if (error instanceof ArchiveError && error.code === 'truncated') reader.throwFailure();
    throw error;
  } finally {
    await reader.close();
  }
}

async function* decodeByFormat(
  reader: ChunkReader,
  limits: Bzip2Limits,
  found: Findings,
): AsyncGenerator<ReadingItem, void, undefined> {
  const format = await identify(reader);
  if (format === 'text') {
    yield* passText(reader, limits);
    return;
  }
  if (found.layers === LAYERS_MAX) {
    throw new ArchiveError('unsupported', `The file is compressed more than ${LAYERS_MAX} times`);
  }
  found.layers++;
  if (format === 'bzip2') {
    yield* decodeBzip2(reader, limits, found);
    return;
  }
  const { outputBytesMax, ratioMax } = limits;
  const layerBytesMax = Math.ceil(outputBytesMax * LAYER_SHARE) + LAYER_BYTES_MIN;
  const inner = new ChunkReader(inflate(reader, format, { outputBytesMax: layerBytesMax, ratioMax }));
  yield* decodeLayer(inner, limits, found);
}

async function identify(reader: ChunkReader) {
  const sniffed = sniffFormat(await reader.peek(SNIFF_BYTES));
  if (sniffed.kind === 'format') return sniffed.format;
  if (sniffed.kind === 'truncated') {
    throw new ArchiveError('truncated', 'The file ends inside the signature of a compressed format', { bit: 0 });
  }
  throw new ArchiveError('unsupported', `The file is compressed with ${sniffed.name}, which is not supported`, {
    bit: 0,
  });
}

async function* decodeBzip2(
  reader: ChunkReader,
  limits: Bzip2Limits,
  found: Findings,
): AsyncGenerator<ReadingItem, void, undefined> {
  await using layer = readBlocks(reader, limits);
  const recordEnd = ({ trailing }: Bzip2End): void => {
    if (trailing) found.trailing = { bytes: trailing.bytes, isText: isText(trailing.head) };
  };
  const first = await layer.next();
  // Damage, the end, or text: there is no inner layer.
  if (first.done === true) recordEnd(first.value);
  else if (first.value instanceof Uint8Array && isCompressed(first.value)) {
    const inner = new ChunkReader(bytesOf(first.value, layer, recordEnd));
    yield* decodeLayer(inner, limits, found);
  } else {
    yield first.value;
    recordEnd(yield* layer);
  }
}

async function* readBlocks(reader: ChunkReader, limits: Bzip2Limits): AsyncGenerator<ReadingItem, Bzip2End, undefined> {
  const workspace = spare.pop() ?? new Bzip2Workspace();
  try {
    const decoder = new Bzip2Decoder(limits, workspace);
    for (;;) {
      const item = decoder.read();
      if (item instanceof Uint8Array) {
        for (let from = 0; from < item.length; from += PIECE_BYTES) yield item.subarray(from, from + PIECE_BYTES);
      } else if (item?.kind === 'end') return item;
      else if (item) yield item;
      else {
        const chunk = await reader.read();
        if (chunk) decoder.push(chunk);
        else decoder.end();
      }
    }
  } finally {
    spare.push(workspace);
  }
}

/** Bytes are copied because the reader keeps some. Damage cannot be skipped within an inner archive. */
async function* bytesOf(
  first: Uint8Array,
  rest: AsyncGenerator<ReadingItem, Bzip2End, undefined>,
  onEnd: (end: Bzip2End) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield new Uint8Array(first);
  for (;;) {
    const { done, value } = await rest.next();
    if (done) {
      onEnd(value);
      return;
    }
    if (!(value instanceof Uint8Array)) throw new ArchiveError('corrupt', 'The outer archive is damaged');
    yield new Uint8Array(value);
  }
}

async function* passText(reader: ChunkReader, limits: Bzip2Limits): AsyncGenerator<Uint8Array, void, undefined> {
  let outputBytes = 0;
  for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
    outputBytes += chunk.length;
    checkOutput(outputBytes, outputBytes, limits);
    yield chunk;
  }
}

/** Decodes the bytes of a reader into a reading. */
export async function readDecoded(
  reader: ChunkReader,
  limits: Bzip2Limits,
  reading: FileReading,
): Promise<{ readonly result: ReadingResult; readonly trailing: Trailing | undefined }> {
  let trailing: Trailing | undefined;
  async function* body(): AsyncGenerator<ReadingItem, void, undefined> {
    trailing = yield* decode(reader, limits);
    // A rotated file has at least one line, and archives are never empty, so the file is still being written.
    if (reader.bytesRead === 0) throw new ArchiveError('truncated', 'The rotated file is empty', { bit: 0 });
  }
  return { result: await reading.read(body()), trailing };
}

/** Input per call of the library, which bounds the output before it is checked. */
const INPUT_BYTES = 64 * 1024;
/** 8 MiB of history, the maximum of `zstd` without `--ultra`. Otherwise the frame would choose the memory. */
const ZSTD_WINDOW_LOG_MAX = 23;

type Inflater = Gunzip | ZstdDecompress;

const INFLATERS: Readonly<Record<'gzip' | 'zstd', () => Inflater>> = {
  gzip: () => createGunzip(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
};

/**
 * Decodes gzip or zstd with `node:zlib`, which works on its own threads. Consecutive members and frames are one output;
 * trailing zeros are padding. Bytes are yielded before their checksum is verified.
 *
 * @throws ArchiveError `truncated` after everything before the cut, `corrupt`, `unsupported`, `too-large`.
 */
async function* inflate(
  reader: ChunkReader,
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
        const piece = rest.subarray(0, INPUT_BYTES);
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
        // The library stops at the end of a frame and shows that only by unused input.
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

function checkPadding(bytes: Uint8Array, offset: number): void {
  const index = bytes.findIndex((byte) => byte !== 0);
  if (index >= 0) throw corrupt((offset + index) * 8);
}

function corrupt(bit: number, cause?: unknown): ArchiveError {
  return new ArchiveError('corrupt', 'The data does not match the format', { bit, cause });
}

/** Drives a `node:zlib` stream manually, because its iterator drops decoded bytes if the input ends early. */
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

  get bytesTaken(): number {
    return this.#stream.bytesWritten;
  }

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

  /** @throws ArchiveError `truncated` if the frame does not end here. */
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
    return new ArchiveError('unsupported', 'The zstd frame needs more memory than allowed', { bit, cause });
  }
  return corrupt(bit, cause);
}
