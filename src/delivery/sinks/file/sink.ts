import { type ByteLine, type Clock, LineRanges, toPieces, untilAborted } from '../../../base/index.ts';
import type { BatchBounds, DeliveryReport, PreflightFinding, Sink, SinkOptions } from '../../contracts.ts';
import { type RecordFormat, renderLines } from '../../formats/format.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import type { SettingsOf } from '../define-sink.ts';
import { FileArchive } from './archive.ts';
import { FILE_MODE, FileLock, LogFile } from './log.ts';
import { checkFileTarget, checkFileWritable, toFileError } from './preflight.ts';
import type { fileSchema } from './schema.ts';

/** Options of a file sink. `keep` 0 = all files. Default format: `native`. */
interface FileSinkOptions
  extends SinkOptions,
    Pick<SettingsOf<typeof fileSchema>, 'path' | 'keep' | 'compress' | 'fsync'> {
  /** Size at which the file is rotated. Bytes. */
  readonly bytesMax: number;
  /** Age at which the file is rotated; 0 = at no age. Milliseconds. */
  readonly ageMs: number;
  readonly clock: Clock;
}

/** Minimum size of the end of the file to search for records written but not acknowledged before a crash. Bytes. */
const TAIL_BYTES_MIN = 4 * 1024 * 1024;
/** Assumed maximum ratio of a record in another format to the stored one. */
const GROWTH = 4;

/**
 * Creates a sink that appends one record per line to a file, rotated by size and age to `<path>.<UTC time>` and `….gz`.
 *
 * A record is accepted once the system has its bytes, with `fsync: batch` once they are on disk. A crash before the
 * acknowledgement duplicates no record: the sink finds the last records at the end of the file. A failed write leaves no
 * part of the batch.
 */
export function createFileSink(options: FileSinkOptions): Sink {
  return new FileSink(options);
}

class FileSink implements Sink {
  readonly name: string;
  readonly batch: BatchBounds;
  readonly timeoutMs: number;
  /** Of records as they are stored: other formats are made of each. */
  readonly deliverLines: Sink['deliverLines'];
  readonly #options: FileSinkOptions;
  readonly #format: RecordFormat;
  readonly #archive: FileArchive;
  #file: LogFile | undefined;
  #claiming: Promise<FileLock | undefined> | undefined;
  /** Lines that may be delivered again; `undefined` after the first batch without duplicates. */
  #known: ReadonlySet<string> | undefined;
  /** Failed or abandoned deliveries: after each, the content must be read from the file again. */
  #doubts = 0;
  /** Number of {@link #doubts} when the file was opened. */
  #doubtsAtOpening = 0;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: FileSinkOptions) {
    const { name, batch, timeoutMs, format = 'native', path, keep, compress } = options;
    this.name = name;
    this.batch = batch;
    this.timeoutMs = timeoutMs;
    this.#options = options;
    this.#format = format;
    if (format === 'native') this.deliverLines = (lines, signal) => this.#run(() => lines, signal);
    this.#archive = new FileArchive({ path, keep, compress, fileMode: FILE_MODE });
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    return await this.#run(() => renderLines(records, this.#format), signal);
  }

  async #run(render: () => readonly ByteLine[] | LineRanges, signal: AbortSignal): Promise<DeliveryReport> {
    try {
      // The system may still be writing an abandoned delivery.
      await untilAborted(this.#running, signal);
      const work = this.#deliver(render());
      this.#running = work.catch(() => {});
      return await untilAborted(work, signal);
    } catch (cause) {
      this.#doubts++;
      if (signal.aborted) throw cause;
      throw toFileError(`Sink ${this.name} could not write ${this.#options.path}`, cause);
    }
  }

  async preflight(): Promise<readonly PreflightFinding[]> {
    return await checkFileTarget(this.#options);
  }

  async checkPlace(): Promise<void> {
    await checkFileWritable(this.#options.path);
  }

  async claim(): Promise<void> {
    // One attempt at a time: a second one would run into the lock of the first.
    this.#claiming ??= FileLock.acquire(this.#options.path);
    try {
      await this.#claiming;
    } catch (cause) {
      this.#claiming = undefined;
      throw cause;
    }
  }

  release(): Promise<void> {
    const before = this.#running;
    const released = (async () => {
      await before;
      // Another agent would take its unfinished files for those of a crash.
      await this.#archive.settled();
      await this.#letGo();
    })();
    // A delivery that comes meanwhile opens the file anew.
    this.#running = released.catch(() => {});
    return released;
  }

  async close(): Promise<void> {
    // At the same time: a release that is under way waits for the archive.
    await Promise.all([this.#running, this.#archive.close()]);
    await this.#letGo();
  }

  async #letGo(): Promise<void> {
    await this.#closeFile();
    const lock = await this.#claiming?.catch(() => undefined);
    this.#claiming = undefined;
    lock?.release();
  }

  async #deliver(lines: readonly ByteLine[] | LineRanges): Promise<DeliveryReport> {
    const { clock, bytesMax, ageMs } = this.#options;
    const file = await this.#openFile();
    const known = this.#known;
    const fresh = known ? [...lines].filter(({ text }) => !known.has(text)) : lines;
    const duplicates = lines.length - fresh.length;
    const nowMs = clock.now();
    if (file.size > 0 && (file.size >= bytesMax || (ageMs > 0 && file.ageMs(nowMs) >= ageMs))) await file.rotate(nowMs);
    // None of the batch is in the file, so everything before it is acknowledged.
    if (duplicates === 0 && lines.length > 0) {
      this.#known = undefined;
      this.#archive.tidy(file.lastStamp);
    }
    const bytes = await this.#append(file, fresh);
    const fault = this.#archive.takeFault();
    const warning =
      fault && `Sink ${this.name} could not compress or delete rotated files of ${this.#options.path}: ${fault}`;
    return { bytes, duplicates, warning };
  }

  /** Appends as many lines at once as fit into the file, and rotates when the next does not. */
  async #append(file: LogFile, lines: readonly ByteLine[] | LineRanges): Promise<number> {
    const { bytesMax, clock } = this.#options;
    if (lines instanceof LineRanges) {
      const size = lines.bytes + lines.length;
      if (file.size + size > bytesMax) return await this.#append(file, [...lines]);
      if (size > 0) await file.append(lines.toPieces());
      return size;
    }
    let total = 0;
    let from = 0;
    let bytes = 0;
    const flush = async (to: number) => {
      if (to > from) await file.append(toPieces(to - from < lines.length ? lines.slice(from, to) : lines));
      total += bytes;
      from = to;
      bytes = 0;
    };
    let index = 0;
    for (const { length } of lines) {
      if (file.size + bytes + length + 1 > bytesMax) {
        await flush(index);
        if (file.size > 0) await file.rotate(clock.now());
      }
      bytes += length + 1;
      index++;
    }
    await flush(lines.length);
    return total;
  }

  async #openFile(): Promise<LogFile> {
    const { path, fsync, batch, clock } = this.#options;
    await this.claim();
    const isDoubtful = this.#doubts !== this.#doubtsAtOpening;
    if (this.#file && (isDoubtful || !(await this.#file.isInPlace()))) await this.#closeFile();
    if (this.#file) return this.#file;
    // A delivery that is abandoned while the file is being opened is in doubt as well: it goes on.
    this.#doubtsAtOpening = this.#doubts;
    const growth = this.#format === 'native' ? 1 : GROWTH;
    const tailBytes = Math.max(TAIL_BYTES_MIN, growth * (batch.bytesMax + batch.recordsMax));
    this.#file = await LogFile.open({ path, fsync, tailBytes, nowMs: clock.now() });
    this.#known = this.#file.lines;
    return this.#file;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => {});
  }
}
