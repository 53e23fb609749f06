import { pipeline, Readable, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { CodedError, type CodedErrorOptions } from '../base/index.ts';
import { sanitizeErrorText } from './error-codes.ts';

/**
 * - `unknown`: the answer has a content coding that is not supported.
 * - `invalid`: the body is not in the coding that the header names.
 */
export class ContentCodingError extends CodedError<'unknown' | 'invalid'> {
  override readonly name = 'ContentCodingError';
}

/** Servers apply one coding; each further layer multiplies the work. */
const LAYERS_MAX = 2;
/** Bytes by which the data between two layers may exceed the output: a few kilobytes can decode for hours to nothing. */
const BETWEEN_BYTES_MAX = 1 << 20;
/** Window of zstd that a decoder has to support (RFC 8878): 8 MiB. */
const ZSTD_WINDOW_LOG = 23;

/** Decoders by coding; `first` is the first byte of the body. */
const DECODERS: ReadonlyMap<string, (first: number) => Transform> = new Map<string, (first: number) => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  // Some servers leave out the zlib header, whose first byte ends with 8.
  ['deflate', (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })],
]);

/** Returns true if the header `Content-Encoding` names a coding other than `identity`. */
export function isCoded(header: string | readonly string[] | undefined): boolean {
  return listCodings(header).length > 0;
}

/**
 * Decodes a body by its header `Content-Encoding`. The reader must bound the result; leaving it early closes the body. Throws
 * {@link ContentCodingError} and the errors of the body.
 */
export async function* decodeContent(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  header: string | readonly string[] | undefined,
): AsyncGenerator<Uint8Array> {
  const codings = listCodings(header);
  let pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array> = body;
  if (codings.length > LAYERS_MAX) throw fail('unknown', header);
  let outputBytes = 0;
  const bounded = async function* (between: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const piece of between) {
      bytes += piece.length;
      if (bytes > outputBytes + BETWEEN_BYTES_MAX) throw fail('invalid', header);
      yield piece;
    }
  };
  for (const [index, coding] of codings.toReversed().entries()) {
    const create = DECODERS.get(coding);
    if (!create) throw fail('unknown', header);
    const layer = decodeLayer(pieces, create, header);
    pieces = index < codings.length - 1 ? bounded(layer) : layer;
  }
  for await (const piece of pieces) {
    outputBytes += piece.length;
    yield piece;
  }
}

async function* decodeLayer(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  create: (first: number) => Transform,
  header: string | readonly string[] | undefined,
): AsyncGenerator<Uint8Array> {
  let fault: { readonly cause: unknown } | undefined;
  const watched = async function* () {
    try {
      yield* pieces;
    } catch (cause) {
      fault = { cause };
      throw cause;
    }
  };
  const source = Readable.from(watched(), { objectMode: false });
  try {
    const first = await readFirst(source);
    // An empty body needs no decoding; some servers send one with an error status.
    if (first === undefined) return;
    const decoder = create(first);
    pipeline(source, decoder, () => {});
    for await (const piece of decoder) yield piece as Uint8Array;
  } catch (cause) {
    throw fault ? fault.cause : fail('invalid', header, cause);
  } finally {
    source.destroy();
    // Closes the connection when the reader leaves early, even while the next piece is pending.
    if (pieces instanceof Readable) pieces.destroy();
  }
}

/** Returns the first byte without consuming it; `undefined` if the body is empty. */
async function readFirst(source: Readable): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  source.once('error', reject);
  source.once('end', resolve);
  source.once('readable', resolve);
  await promise;
  source.off('error', reject);
  source.off('end', resolve);
  const piece = source.read() as Buffer | null;
  if (piece !== null) source.unshift(piece);
  return piece?.[0];
}

function listCodings(header: string | readonly string[] | undefined): readonly string[] {
  const names = String(header ?? '')
    .toLowerCase()
    .split(',');
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity');
}

/** Maximum length of a header value in a message. Characters. */
const SHOWN_LENGTH_MAX = 80;

/** Renders a response header for a message, truncated and without control characters. */
export function renderHeader(name: string, value: string | readonly string[] | undefined): string {
  if (value === undefined) return `no ${name}`;
  const text = sanitizeErrorText(String(value));
  return `${name} ${JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)}`;
}

function fail(
  code: 'unknown' | 'invalid',
  header: string | readonly string[] | undefined,
  cause?: unknown,
): ContentCodingError {
  const shown = renderHeader('Content-Encoding', header);
  const options: CodedErrorOptions = {
    disposition: 'retry',
    hint: 'The agent asks for answers without a coding: see what a proxy or the server does to them',
    cause,
  };
  return code === 'unknown'
    ? new ContentCodingError(code, `The answer has ${shown}, which is not supported`, options)
    : new ContentCodingError(code, `The answer has ${shown}, but its body is not encoded so`, options);
}
