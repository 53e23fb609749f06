import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
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
const PIECE_CHARS = 256 * 1024;
/** The fastest level: metrics are so repetitive that higher levels gain little and take several times as long. */
const GZIP_LEVEL = 1;
/** Room for what one piece is compressed to. */
const GZIP_BYTES = 128 * 1024;

/**
 * Opens a stream of text that is produced, and compressed, only as fast as it is read. Its first piece is ready when this
 * resolves; errors until then are thrown.
 */
export async function openTextStream(options: TextStreamOptions): Promise<ReadableStream<Uint8Array>> {
  const { chunks, isGzip, signal, onFailed, onClosed } = options;
  const pieces = joinChunks(chunks);
  let output: AsyncIterator<Uint8Array> = pieces;
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    // Not awaited: a source that hangs must not block the close.
    for (const iterator of new Set([output, pieces])) void iterator.return?.(undefined).catch(() => {});
    onClosed();
  };
  try {
    const first = await untilAborted(pieces.next(), signal);
    const rest = continueFrom(first, pieces);
    output = isGzip ? compress(rest) : rest;
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

async function* joinChunks(chunks: TextStreamOptions['chunks']): AsyncGenerator<Buffer, undefined> {
  let joined = '';
  for await (const chunk of chunks) {
    joined += chunk;
    if (joined.length < PIECE_CHARS) continue;
    yield Buffer.from(joined);
    joined = '';
  }
  if (joined !== '') yield Buffer.from(joined);
}

async function* continueFrom(
  first: IteratorResult<Buffer, undefined>,
  rest: AsyncGenerator<Buffer, undefined>,
): AsyncGenerator<Buffer, undefined> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

async function* compress(pieces: AsyncGenerator<Buffer, undefined>): AsyncGenerator<Uint8Array, undefined> {
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: GZIP_BYTES });
  // An error of the source destroys the compressor, through which it reaches the reader below.
  pipeline(Readable.from(pieces, { highWaterMark: 1 }), gzip, () => {});
  for await (const piece of gzip) yield piece as Buffer;
}
