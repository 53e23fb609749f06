import type { Worker } from 'node:worker_threads';
import { type Clock, createSystemClock } from '../../base/index.ts';
import type { Bzip2Limits } from '../../bzip2/index.ts';
import type { Scan, ScanOptions } from '../file-scan.ts';
import { ArchiveError } from './archive-error.ts';
import type { ArchiveEnd, ArchiveFormat, ArchiveItem } from './archive-item.ts';
import { ArchiveScan } from './archive-scan.ts';
import { ArchiveThread, startArchiveWorker } from './archive-thread.ts';
import { inflate } from './inflate.ts';
import { checkOutput } from './output-meter.ts';
import { type ScanThread, startScanWorker } from './remote-scan.ts';
import { ResourcePool } from './resource-pool.ts';
import { SNIFF_BYTES, sniffFormat } from './sniff.ts';
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
/** Compressed layers: an archive, and the transfer encoding around it. */
const LAYERS_MAX = 2;
/** A layer of bzip2 may be larger than what it holds: by a share when it is random, by headers when it is tiny. */
const LAYER_BYTES_MIN = 64 * 1024;
const LAYER_SHARE = 1.02;

/** Totals of a layer that was read to its end. */
type Totals = Omit<ArchiveEnd, 'kind' | 'formats' | 'inputBytes'>;

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
  readonly #scanThreads: readonly ScanThread[];
  readonly #freeScanThreads: ResourcePool<ScanThread>;
  readonly #inlineBytesMax: number;

  constructor(options: ArchivePoolOptions, { decoder = startArchiveWorker, scanner = startScanWorker }: ThreadStarts) {
    const { workers, clock = createSystemClock(), stallMsMax, inlineBytesMax = INLINE_BYTES_MAX } = options;
    const count = { length: workers };
    this.#inlineBytesMax = inlineBytesMax;
    this.#threads = Array.from(
      count,
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
    this.#freeThreads = new ResourcePool(this.#threads);
  }

  async *decode(
    source: AsyncIterable<Uint8Array>,
    options: DecodeOptions,
  ): AsyncGenerator<ArchiveItem, void, undefined> {
    const formats: ArchiveFormat[] = [];
    const reader = new SourceReader(source, options.signal);
    const totals = yield* this.#decodeLayer(reader, options, formats);
    yield { kind: 'end', formats, inputBytes: reader.bytesRead, ...totals };
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
    this.#freeScanThreads.close(error);
    await Promise.all([...this.#threads, ...this.#scanThreads].map((thread) => thread.close(error)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Decodes what `reader` gives, and the layers inside; closes it. Adds what it finds to `formats`. */
  async *#decodeLayer(
    reader: SourceReader,
    options: DecodeOptions,
    formats: ArchiveFormat[],
  ): AsyncGenerator<ArchiveItem, Totals, undefined> {
    try {
      const totals = yield* this.#decodeByFormat(reader, options, formats);
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
    formats: ArchiveFormat[],
  ): AsyncGenerator<ArchiveItem, Totals, undefined> {
    const format = await identify(reader);
    if (format === 'text') {
      if (formats.length === 0) formats.push(format);
      return yield* passText(reader, options);
    }
    if (formats.length === LAYERS_MAX) {
      throw new ArchiveError('unsupported', `The file is compressed more than ${LAYERS_MAX} times`);
    }
    formats.push(format);
    if (format === 'bzip2') return yield* this.#decodeBzip2(reader, options);
    const { outputBytesMax, ratioMax, signal } = options;
    const layerBytesMax = Math.ceil(outputBytesMax * LAYER_SHARE) + LAYER_BYTES_MIN;
    const inner = new SourceReader(inflate(reader, format, { outputBytesMax: layerBytesMax, ratioMax }), signal);
    return yield* this.#decodeLayer(inner, options, formats);
  }

  async *#decodeBzip2(reader: SourceReader, options: DecodeOptions): AsyncGenerator<ArchiveItem, Totals, undefined> {
    // Each thread takes a tenth of a second to start: side by side, and while the file is still on its way.
    this.#freeThreads.next?.prepare();
    const { length } = await reader.peek(GATHER_BYTES);
    const isLong = length * TEXT_RATIO_MIN > this.#inlineBytesMax;
    if (isLong && options.isScanned === true) this.#freeScanThreads.next?.prepare();
    const thread = await this.#freeThreads.acquire(options.signal);
    try {
      const { kind: _, ...totals } = yield* thread.decode(reader, options, options.signal);
      return totals;
    } finally {
      this.#freeThreads.release(thread);
    }
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
