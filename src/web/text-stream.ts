import { createGzip, type Gzip } from 'node:zlib';
import { untilAborted } from '../base/index.ts';

/** Compression and limits of a body. */
export interface TextStreamOptions {
  /** The text in pieces of any size, read only as fast as the client reads. */
  readonly chunks: AsyncIterable<string> | Iterable<string>;
  /** True to compress the stream with gzip. */
  readonly isGzip: boolean;
  /** Aborts the stream. */
  readonly signal: AbortSignal;
  /** Called when the stream fails after it has started; `fail` passes the error to the reader. */
  readonly onFailed: (cause: unknown, fail: () => void) => void;
  /** Called once, however the stream ends. */
  readonly onClosed: () => void;
}

/** Small chunks are joined to pieces of this many characters: each piece costs a write or a compressor run, and a turn of the event loop. */
const PIECE_CHARS = 1024 * 1024;
/** The fastest level: metrics are so repetitive that higher levels gain little and take several times as long. */
const GZIP_LEVEL = 1;
/** Longest encoding of a character of a text in UTF-8. */
const UTF8_BYTES_MAX = 3;
/** Room for what one piece is compressed to. */
const GZIP_BYTES = 128 * 1024;

/**
 * Opens a stream of text that is produced, and compressed, only as fast as it is read. Its first piece is ready when this
 * resolves; errors until then are thrown.
 */
export async function openTextStream(options: TextStreamOptions): Promise<ReadableStream<Uint8Array>> {
  const { chunks, isGzip, signal, onFailed, onClosed } = options;
  const pieces = joinChunks(chunks);
  let output: AsyncIterator<Uint8Array> | undefined;
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    // Not awaited: a source that hangs must not block the close.
    for (const iterator of [output, pieces]) void iterator?.return?.(undefined).catch(() => {});
    onClosed();
  };
  try {
    const first = await untilAborted(pieces.next(), signal);
    const all = continueFrom(first, pieces);
    output = isGzip ? compress(all) : encode(all);
  } catch (cause) {
    close();
    throw cause;
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await untilAborted(output.next(), signal);
          if (!done) return controller.enqueue(value);
          close();
          controller.close();
        } catch (cause) {
          const isCancelled = !isOpen;
          close();
          if (!isCancelled) onFailed(cause, () => controller.error(cause));
        }
      },
      cancel: close,
    },
    // Produce nothing before it is requested.
    { highWaterMark: 0 },
  );
}

async function* joinChunks(chunks: TextStreamOptions['chunks']): AsyncGenerator<string, undefined> {
  let joined = '';
  // What is handed on is not held here: these texts are the greatest part of what a busy agent has to collect.
  const take = () => {
    const taken = joined;
    joined = '';
    return taken;
  };
  for await (const chunk of chunks) {
    joined += chunk;
    if (joined.length >= PIECE_CHARS) yield take();
  }
  if (joined !== '') yield take();
}

async function* continueFrom(
  first: IteratorResult<string, undefined>,
  rest: AsyncGenerator<string, undefined>,
): AsyncGenerator<string, undefined> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

async function* encode(pieces: AsyncGenerator<string, undefined>): AsyncGenerator<Uint8Array, undefined> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

async function* compress(pieces: AsyncGenerator<string, undefined>): AsyncGenerator<Uint8Array, undefined> {
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: GZIP_BYTES });
  // Its reader below gets an error of the source.
  feed(gzip, pieces).catch((cause: Error) => gzip.destroy(cause));
  for await (const piece of gzip) yield piece as Buffer;
}

/**
 * Writes pieces to a compressor, each when the one before is compressed, so that all of them take one piece of memory: new
 * memory for each would be hundreds of MiB for a scrape of a large fleet, and make V8 collect its whole heap again and again.
 */
async function feed(gzip: Gzip, pieces: AsyncGenerator<string, undefined>): Promise<void> {
  let memory = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytesMax = UTF8_BYTES_MAX * piece.length;
    if (memory.length < bytesMax) memory = Buffer.allocUnsafeSlow(bytesMax);
    const bytes = memory.subarray(0, memory.write(piece));
    await new Promise<void>((resolve, reject) => {
      gzip.write(bytes, (cause) => (cause ? reject(cause) : resolve()));
    });
  }
  gzip.end();
}
