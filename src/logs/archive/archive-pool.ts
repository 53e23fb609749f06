import type { Worker } from 'node:worker_threads';
import { type Clock, createSystemClock } from '../../base/index.ts';
import type { Bzip2Limits } from '../../bzip2/index.ts';
import type { Scan, ScanOptions } from '../file-scan.ts';
import { ArchiveError } from './archive-error.ts';
import type { ArchiveEnd, ArchiveFormat, ArchiveItem, ArchiveMarker, Trailing } from './archive-item.ts';
import { ArchiveScan } from './archive-scan.ts';
import { ArchiveThread, startArchiveWorker } from './archive-thread.ts';
import { inflate } from './inflate.ts';
import { checkOutput } from './output-meter.ts';
import { type ScanThread, startScanWorker } from './remote-scan.ts';
import { ResourcePool } from './resource-pool.ts';
import { isText, SNIFF_BYTES, sniffFormat } from './sniff.ts';
import { SourceReader } from './source-reader.ts';
import { WorkerThread } from './worker-thread.ts';

/** Number of workers and their limits. */
export interface ArchivePoolOptions {
  /** Most files decoded at the same time, one thread each; threads start when first needed, or when somebody prepares for it. */
  readonly workers: number;
  /** For the watch over threads that stop answering. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** A thread that owes an answer for this many milliseconds is replaced, and its file fails. Default: 60 s. */
  readonly stallMsMax?: number | undefined;
  /** Archives with no more text are read on the main thread, like all text from the network. Default: 256 KiB. */
  readonly inlineBytesMax?: number | undefined;
}

/** Limits of one decoding. */
export interface DecodeOptions extends Bzip2Limits {
  /** True if the text goes to {@link ArchivePool.scan}, whose thread then starts while the file is still on its way. */
  readonly isScanned?: boolean | undefined;
  /** Ends the decoding with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Decodes log files off the event loop. */
export interface ArchivePool extends AsyncDisposable {
  /**
   * Decodes one file of whatever format its first bytes show; a file of no known format is text and passes unchanged.
   * Yields chunks that the reader may keep unless it passes them to {@link ArchivePool.scan}, in order, and at last one {@link ArchiveEnd}. The source is read no faster
   * than the result is taken, and its iterator is closed whatever happens.
   *
   * bzip2 is verified block by block before its bytes come out; gzip and zstd only at the end of each member or frame,
   * so their last bytes may be wrong when `corrupt` follows.
   *
   * When the source itself fails, what can be decoded of the bytes received is yielded first, then its error is thrown.
   *
   * @throws ArchiveError after the good part has been yielded; the signal's reason when aborted.
   */
  decode(source: AsyncIterable<Uint8Array>, options: DecodeOptions): AsyncGenerator<ArchiveItem, void, undefined>;
  /** Starts the threads for one archive, which take a tenth of a second: when one is about to be asked for. */
  prepare(): void;
  /** Creates the reading of one decoded file: in a thread, or on this one if there is little to read. */
  scan(options: ScanOptions, signal?: AbortSignal): Scan;
  /** Stops all threads; decodings under way fail with `closed`. Idempotent. */
  close(): Promise<void>;
}

/** Longest wait for a step of a few hundred milliseconds, on a machine that is very busy. */
const STALL_MS_MAX = 60_000;
/** The same where lines are read: the worst of many patterns may take a second for a line. */
const SCAN_STALL_MS_MAX = 600_000;
/** A thread takes some tens of MB. It ends when it has had nothing to do for this long. Milliseconds. */
const IDLE_MS_MAX = 60_000;
/** Below this, the way to a thread and back takes longer than the lines. Bytes of text. */
const INLINE_BYTES_MAX = 256 * 1024;
/** Compressed bytes gathered before a thread is asked for, so that a slow source of a usual log file does not occupy one. */
const GATHER_BYTES = 256 * 1024;
/** A log compresses to half of its size at least. */
const TEXT_RATIO_MIN = 2;
/** Compressed layers: an archive, and the transfer encoding around it, or another archive in it. */
const LAYERS_MAX = 2;
/** A layer of bzip2 may be larger than what it holds: by a share when it is random, by headers when it is tiny. */
const LAYER_BYTES_MIN = 64 * 1024;
const LAYER_SHARE = 1.02;

/** Totals of a layer that was read to its end. */
type Totals = Omit<ArchiveEnd, 'kind' | 'formats' | 'inputBytes' | 'trailing'>;

/** What was found out about a file on the way. */
interface Findings {
  /** The layers so far, outermost first. */
  readonly formats: ArchiveFormat[];
  trailing: Trailing | undefined;
}

/** Ways to start threads, for tests that break them. */
export interface ThreadStarts {
  /** Starts a thread that decodes. */
  readonly decoder?: (() => Worker) | undefined;
  /** Starts a thread that reads lines. */
  readonly scanner?: (() => Worker) | undefined;
}

/** Opens a pool; no thread runs before the first compressed file, unless somebody prepares for it. */
export function openArchivePool(options: ArchivePoolOptions, starts: ThreadStarts = {}): ArchivePool {
  return new WorkerPool(options, starts);
}

class WorkerPool implements ArchivePool {
  readonly #threads: ArchiveThread[];
  readonly #freeThreads: ResourcePool<ArchiveThread>;
  /** For archives in archives, whose outer layer keeps a thread meanwhile: as many, so that none waits for itself. */
  readonly #freeInnerThreads: ResourcePool<ArchiveThread>;
  readonly #scanThreads: readonly ScanThread[];
  readonly #freeScanThreads: ResourcePool<ScanThread>;
  readonly #inlineBytesMax: number;

  constructor(options: ArchivePoolOptions, { decoder = startArchiveWorker, scanner = startScanWorker }: ThreadStarts) {
    const { workers, clock = createSystemClock(), stallMsMax, inlineBytesMax = INLINE_BYTES_MAX } = options;
    const count = { length: workers };
    this.#inlineBytesMax = inlineBytesMax;
    this.#threads = Array.from(
      { length: 2 * workers },
      () =>
        new ArchiveThread({
          clock,
          stallMsMax: stallMsMax ?? STALL_MS_MAX,
          idleMsMax: IDLE_MS_MAX,
          startWorker: decoder,
        }),
    );
    const scanOptions = {
      clock,
      stallMsMax: stallMsMax ?? SCAN_STALL_MS_MAX,
      idleMsMax: IDLE_MS_MAX,
      startWorker: scanner,
      task: 'read the archive',
    };
    this.#scanThreads = Array.from(count, (): ScanThread => new WorkerThread(scanOptions));
    this.#freeScanThreads = new ResourcePool(this.#scanThreads);
    this.#freeThreads = new ResourcePool(this.#threads.slice(0, workers));
    this.#freeInnerThreads = new ResourcePool(this.#threads.slice(workers));
  }

  async *decode(
    source: AsyncIterable<Uint8Array>,
    options: DecodeOptions,
  ): AsyncGenerator<ArchiveItem, void, undefined> {
    const found: Findings = { formats: [], trailing: undefined };
    const reader = new SourceReader(source, options.signal);
    const totals = yield* this.#decodeLayer(reader, options, found);
    yield { kind: 'end', ...found, inputBytes: reader.bytesRead, ...totals };
  }

  prepare(): void {
    try {
      this.#freeThreads.next?.prepare();
      this.#freeScanThreads.next?.prepare();
    } catch {
      // The first archive tries again, and tells why it cannot be read.
    }
  }

  scan(options: ScanOptions, signal?: AbortSignal): Scan {
    return new ArchiveScan(options, { threads: this.#freeScanThreads, inlineBytesMax: this.#inlineBytesMax, signal });
  }

  async close(): Promise<void> {
    const error = new ArchiveError('closed', 'The pool of archive decoders was closed');
    this.#freeThreads.close(error);
    this.#freeInnerThreads.close(error);
    this.#freeScanThreads.close(error);
    await Promise.all([...this.#threads, ...this.#scanThreads].map((thread) => thread.close(error)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Decodes what `reader` gives, and the layers inside; closes it. Adds what it finds to `found`. */
  async *#decodeLayer(
    reader: SourceReader,
    options: DecodeOptions,
    found: Findings,
  ): AsyncGenerator<ArchiveItem, Totals, undefined> {
    try {
      const totals = yield* this.#decodeByFormat(reader, options, found);
      reader.throwFailure();
      return totals;
    } catch (error) {
      // An archive is cut because its source failed: the source's own error says more.
      if (error instanceof ArchiveError && error.code === 'truncated') reader.throwFailure();
      throw error;
    } finally {
      await reader.close();
    }
  }

  async *#decodeByFormat(
    reader: SourceReader,
    options: DecodeOptions,
    found: Findings,
  ): AsyncGenerator<ArchiveItem, Totals, undefined> {
    const { formats } = found;
    const format = await identify(reader);
    if (format === 'text') {
      if (formats.length === 0) formats.push(format);
      return yield* passText(reader, options);
    }
    if (formats.length === LAYERS_MAX) {
      throw new ArchiveError('unsupported', `The file is compressed more than ${LAYERS_MAX} times`);
    }
    formats.push(format);
    if (format === 'bzip2') return yield* this.#decodeBzip2(reader, options, found);
    const { outputBytesMax, ratioMax, signal } = options;
    const layerBytesMax = Math.ceil(outputBytesMax * LAYER_SHARE) + LAYER_BYTES_MIN;
    const inner = new SourceReader(inflate(reader, format, { outputBytesMax: layerBytesMax, ratioMax }), signal);
    return yield* this.#decodeLayer(inner, options, found);
  }

  async *#decodeBzip2(
    reader: SourceReader,
    options: DecodeOptions,
    found: Findings,
  ): AsyncGenerator<ArchiveItem, Totals, undefined> {
    const isInner = found.formats.filter((format) => format === 'bzip2').length > 1;
    const threads = isInner ? this.#freeInnerThreads : this.#freeThreads;
    // Each thread takes a tenth of a second to start: side by side, and while the file is still on its way.
    threads.next?.prepare();
    const { length } = await reader.peek(GATHER_BYTES);
    const isLong = length * TEXT_RATIO_MIN > this.#inlineBytesMax;
    if (isLong && options.isScanned === true) this.#freeScanThreads.next?.prepare();
    const thread = await threads.acquire(options.signal);
    try {
      await using layer = openLayer(thread.decode(reader, options, options.signal), found);
      const first = await layer.next();
      // Damage, the end, or text: nothing is compressed in it.
      if (first.done === true) return first.value;
      if (!(first.value instanceof Uint8Array) || !isCompressed(first.value)) {
        yield first.value;
        return yield* layer;
      }
      const inner = new SourceReader(bytesOf(first.value, layer), options.signal);
      return yield* this.#decodeLayer(inner, options, found);
    } finally {
      threads.release(thread);
    }
  }
}

/** The items of one layer of bzip2; notes what follows its end. */
async function* openLayer(
  items: ReturnType<ArchiveThread['decode']>,
  found: Findings,
): AsyncGenerator<Uint8Array | ArchiveMarker, Totals, undefined> {
  const { kind: _, trailing, ...totals } = yield* items;
  if (trailing) found.trailing = { bytes: trailing.bytes, isText: isText(trailing.head) };
  return totals;
}

/** True if the first bytes of a decoded layer are those of another one. */
function isCompressed(head: Uint8Array): boolean {
  const sniffed = sniffFormat(head.subarray(0, SNIFF_BYTES));
  return sniffed.kind === 'unsupported' || (sniffed.kind === 'format' && sniffed.format !== 'text');
}

/** The bytes of a layer that another one is in: nothing can be found in it behind damage. */
async function* bytesOf(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array | ArchiveMarker>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield first;
  for await (const item of rest) {
    if (item instanceof Uint8Array) yield item;
    else throw new ArchiveError('corrupt', 'The archive around another one is damaged');
  }
}

async function identify(reader: SourceReader): Promise<ArchiveFormat> {
  const sniffed = sniffFormat(await reader.peek(SNIFF_BYTES));
  if (sniffed.kind === 'format') return sniffed.format;
  if (sniffed.kind === 'truncated') {
    throw new ArchiveError('truncated', 'The file ends inside the mark of a compressed format', { bit: 0 });
  }
  throw new ArchiveError('unsupported', `The file is compressed with ${sniffed.name}, which is not supported`, {
    bit: 0,
  });
}

async function* passText(reader: SourceReader, limits: Bzip2Limits): AsyncGenerator<Uint8Array, Totals, undefined> {
  let outputBytes = 0;
  for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
    outputBytes += chunk.length;
    checkOutput(outputBytes, outputBytes, limits);
    yield chunk;
  }
  return { outputBytes, blocks: 0, blocksLost: 0, paddingBytes: 0 };
}
