import { Bzip2Decoder, type Bzip2End, Bzip2Error, type Bzip2Limits, Bzip2Workspace } from '../../bzip2/index.ts';
import { ArchiveError } from '../reading/errors.ts';
import type { FileReading, ReadingItem, ReadingResult } from '../reading/file-reading.ts';
import { isCompressed, isText, SNIFF_BYTES, sniffFormat } from '../reading/text.ts';
import { checkOutput, inflate } from './inflate.ts';
import { SourceReader } from './source-reader.ts';

/** Compressed layers: an archive, and the transfer encoding around it, or another archive in it. */
const LAYERS_MAX = 2;
/** A layer of bzip2 may be larger than what it holds: by a share when it is random, by headers when it is tiny. */
const LAYER_BYTES_MIN = 64 * 1024;
const LAYER_SHARE = 1.02;
/** Decoded bytes are passed on in pieces of at most this size, so that whoever works through one lets others in between two. */
const PIECE_BYTES = 96 * 1024;

/** Bytes behind the end of an archive that belong to none. */
export interface Trailing {
  readonly bytes: number;
  readonly isText: boolean;
}

/** What was found out about a file on the way. */
interface Findings {
  /** Compressed layers so far. */
  layers: number;
  /** Bytes behind the end of a compressed layer whose checksums are right. */
  trailing: Trailing | undefined;
}

/** Memory of the decoder that nobody uses: two at most, because of {@link LAYERS_MAX}. */
const spare: Bzip2Workspace[] = [];

/**
 * Decodes one file of whatever format its first bytes show; a file of no known format is text and passes unchanged. Yields chunks
 * that are valid until the next item is asked for, in order, and damage between them; returns what follows the end of the archive.
 * Closes the reader whatever happens.
 *
 * bzip2 is verified block by block before its bytes come out; gzip and zstd only at the end of each member or frame,
 * so their last bytes may be wrong when `corrupt` follows.
 *
 * When the source itself fails, what can be decoded of the bytes received is yielded first, then its error is thrown.
 *
 * @throws ArchiveError after the good part has been yielded; the reason of the reader's signal when aborted.
 */
export async function* decode(
  reader: SourceReader,
  limits: Bzip2Limits,
): AsyncGenerator<ReadingItem, Trailing | undefined, undefined> {
  const found: Findings = { layers: 0, trailing: undefined };
  yield* decodeLayer(reader, limits, found);
  return found.trailing;
}

/** Decodes what `reader` gives, and the layers inside; closes it. Adds what it finds to `found`. */
async function* decodeLayer(
  reader: SourceReader,
  limits: Bzip2Limits,
  found: Findings,
): AsyncGenerator<ReadingItem, void, undefined> {
  try {
    yield* decodeByFormat(reader, limits, found);
    reader.throwFailure();
  } catch (error) {
    // An archive is cut because its source failed: the source's own error says more.
    if (error instanceof ArchiveError && error.code === 'truncated') reader.throwFailure();
    throw error;
  } finally {
    await reader.close();
  }
}

async function* decodeByFormat(
  reader: SourceReader,
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
  const inner = new SourceReader(inflate(reader, format, { outputBytesMax: layerBytesMax, ratioMax }));
  yield* decodeLayer(inner, limits, found);
}

async function identify(reader: SourceReader) {
  const sniffed = sniffFormat(await reader.peek(SNIFF_BYTES));
  if (sniffed.kind === 'format') return sniffed.format;
  if (sniffed.kind === 'truncated') {
    throw new ArchiveError('truncated', 'The file ends inside the mark of a compressed format', { bit: 0 });
  }
  throw new ArchiveError('unsupported', `The file is compressed with ${sniffed.name}, which is not supported`, {
    bit: 0,
  });
}

async function* decodeBzip2(
  reader: SourceReader,
  limits: Bzip2Limits,
  found: Findings,
): AsyncGenerator<ReadingItem, void, undefined> {
  await using layer = readBlocks(reader, limits);
  const noteEnd = ({ trailing }: Bzip2End): void => {
    if (trailing) found.trailing = { bytes: trailing.bytes, isText: isText(trailing.head) };
  };
  const first = await layer.next();
  // Damage, the end, or text: nothing is compressed in it.
  if (first.done === true) noteEnd(first.value);
  else if (first.value instanceof Uint8Array && isCompressed(first.value)) {
    const inner = new SourceReader(bytesOf(first.value, layer, noteEnd));
    yield* decodeLayer(inner, limits, found);
  } else {
    yield first.value;
    noteEnd(yield* layer);
  }
}

/** The blocks of one layer of bzip2, in pieces. */
async function* readBlocks(
  reader: SourceReader,
  limits: Bzip2Limits,
): AsyncGenerator<ReadingItem, Bzip2End, undefined> {
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
  } catch (error) {
    if (!(error instanceof Bzip2Error)) throw error;
    throw new ArchiveError(error.code, error.message, { bit: error.bit });
  } finally {
    spare.push(workspace);
  }
}

/** The bytes of a layer that another one is in, copied, because that keeps some: nothing can be found in it behind damage. */
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
    if (!(value instanceof Uint8Array)) throw new ArchiveError('corrupt', 'The archive around another one is damaged');
    yield new Uint8Array(value);
  }
}

async function* passText(reader: SourceReader, limits: Bzip2Limits): AsyncGenerator<Uint8Array, void, undefined> {
  let outputBytes = 0;
  for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
    outputBytes += chunk.length;
    checkOutput(outputBytes, outputBytes, limits);
    yield chunk;
  }
}

/** Has `reading` read the file whose bytes come from a reader. Resolves with what was found out about the file. */
export async function readDecoded(
  reader: SourceReader,
  limits: Bzip2Limits,
  reading: FileReading,
): Promise<{ readonly result: ReadingResult; readonly trailing: Trailing | undefined }> {
  let trailing: Trailing | undefined;
  async function* body(): AsyncGenerator<ReadingItem, void, undefined> {
    trailing = yield* decode(reader, limits);
    // Nothing is rotated before it has a line, and a compressed file has bytes even when it holds none: it is yet to grow.
    if (reader.bytesRead === 0) throw new ArchiveError('truncated', 'The rotated file is empty', { bit: 0 });
  }
  return { result: await reading.read(body()), trailing };
}
