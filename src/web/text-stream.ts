import { createGzip, type Gzip } from 'node:zlib';
import { untilAborted } from '../base/index.ts';

interface TextStreamOptions {
  /** Text in pieces of any size, read only as fast as the client reads. */
  readonly chunks: AsyncIterable<string> | Iterable<string>;
  readonly isGzip: boolean;
  readonly signal: AbortSignal;
  /** Called when the stream fails after it has started; `fail` passes the error to the reader. */
  readonly onFailed: (cause: unknown, fail: () => void) => void;
  /** Called once, however the stream ends. */
  readonly onClosed: () => void;
}

/** Size of joined chunks: each piece costs a write or a compressor run, and an event-loop iteration. */
const PIECE_BYTES = 1024 * 1024;
/** The first piece is small, because most texts are short; the following ones grow. */
const FIRST_BYTES = 64 * 1024;
const GROWTH = 4;
/** Metrics are so repetitive that higher levels gain little and take several times as long. */
const GZIP_LEVEL = 1;
/** Longest UTF-8 encoding of a UTF-16 code unit. */
const UTF8_BYTES_MAX = 3;
/** Fits one compressed piece. */
const GZIP_BYTES = 128 * 1024;

/** Opens a stream that produces text only as fast as it is read. Resolves with its first piece ready; throws errors until then. */
export async function openTextStream(options: TextStreamOptions): Promise<ReadableStream<Uint8Array>> {
  const { chunks, isGzip, signal, onFailed, onClosed } = options;
  const pieces = encode(chunks, isGzip);
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
    output = isGzip ? compress(all) : all;
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

/**
 * Joins chunks to pieces of bytes. `isReused`: a piece is valid until the next but one is requested, so that all take two pieces of
 * memory; allocating each would take hundreds of MiB for a scrape of a large fleet and cause many full garbage collections.
 */
async function* encode(
  chunks: TextStreamOptions['chunks'],
  isReused: boolean,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  let memory = Buffer.alloc(0);
  let other = memory;
  let used = 0;
  for await (const chunk of chunks) {
    const bytesMax = UTF8_BYTES_MAX * chunk.length;
    if (used + bytesMax > memory.length) {
      if (used > 0) yield memory.subarray(0, used);
      const usual = memory.length === 0 ? FIRST_BYTES : Math.min(PIECE_BYTES, GROWTH * memory.length);
      const bytes = Math.max(usual, bytesMax);
      const next = isReused && other.length >= bytes ? other : Buffer.allocUnsafeSlow(bytes);
      [memory, other] = [next, memory];
      used = 0;
    }
    used += memory.write(chunk, used);
  }
  if (used > 0) yield memory.subarray(0, used);
}

async function* continueFrom(
  first: IteratorResult<Uint8Array<ArrayBuffer>, undefined>,
  rest: AsyncGenerator<Uint8Array<ArrayBuffer>, undefined>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

async function* compress(pieces: AsyncGenerator<Uint8Array, undefined>): AsyncGenerator<Uint8Array, undefined> {
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: GZIP_BYTES });
  // The reader below gets an error of the source.
  feed(gzip, pieces).catch((cause: Error) => gzip.destroy(cause));
  for await (const piece of gzip) yield piece as Buffer;
}

/** The compressor has its own thread: the next piece is encoded while one is compressed. */
async function feed(gzip: Gzip, pieces: AsyncGenerator<Uint8Array, undefined>): Promise<void> {
  let compressed = Promise.resolve();
  for await (const bytes of pieces) {
    await compressed;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    gzip.write(bytes, (cause) => (cause ? reject(cause) : resolve()));
    compressed = promise;
    // Awaited with the next piece, or ended with the compressor.
    promise.catch(() => {});
  }
  gzip.end();
}
