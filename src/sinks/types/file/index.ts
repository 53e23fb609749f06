import { type ByteLine, type Clock, LineRanges, toPieces, untilAborted } from '../../../base/index.ts';
import { absolutePath, byteSizeWithin, choice, duration, wholeNumber } from '../../../settings/index.ts';
import type { DeliveryReport, Destination, PreflightFinding } from '../../contracts.ts';
import { type OutgoingRecord, renderLines } from '../../outgoing-record.ts';
import { batch, compress, defineSink, format, type SettingsOf, sinkSchema, timeout } from '../define-sink.ts';
import { FileArchive } from './archive.ts';
import { FileLock, LogFile } from './log.ts';
import { checkFileTarget, checkFileWritable, toFileError } from './preflight.ts';

const BYTES_LEAST = 64 * 1024;
const BYTES_MOST = 1024 ** 4;
const AGE_MS_MIN = 60_000;
const AGE_MS_MAX = 365 * 86_400_000;
/** More files in one folder would be unmanageable. */
const KEEP_MAX = 10_000;

/** By default the sink keeps ten files of a size that editors can open. */
const schema = sinkSchema('file', 'One record per line in a file that is rotated by size and age.', {
  path: absolutePath({ description: 'Path of the file. Rotated files stay in the same folder.' }).refine(
    (value) => !value.endsWith('/'),
    { error: 'the path of a file, which does not end in "/"' },
  ),
  max_size: byteSizeWithin(
    { description: 'Size at which the file is rotated.' },
    BYTES_LEAST,
    BYTES_MOST,
    '100MiB',
  ).prefault('100MiB'),
  max_age: duration({ description: 'Age at which the file is rotated.' }, AGE_MS_MIN, AGE_MS_MAX).prefault('1d'),
  keep: wholeNumber({ description: 'Number of rotated files to keep; the oldest are deleted.' }, 1, KEEP_MAX).prefault(
    10,
  ),
  compress: compress('gzip', 'rotated files'),
  fsync: choice(
    {
      description:
        'When the file is synced to disk: after each `batch`, only before a rotation (`rotate`), or `never`. Without `batch`, a power failure may lose records that count as delivered.',
    },
    ['batch', 'rotate', 'never'],
  ).prefault('batch'),
  format: format(['native', 'ecs', 'otel']),
  // A batch costs some slots of the main thread, whatever its size: large ones catch up while the agent is busy.
  batch: batch({ recordsMax: 50_000, bytesMax: 8 * 1024 ** 2, waitMs: 0 }),
  timeout,
});

/**
 * Appends one record per line to a file, rotated by size and age to `<path>.<UTC time>` and `….gz`.
 *
 * A record is accepted once the system has its bytes, with `fsync: batch` once they are on disk. A crash before the
 * acknowledgement duplicates no record: the sink finds the last records at the end of the file. A failed write leaves no part
 * of the batch.
 */
export const file = defineSink({
  schema,
  findFile: ({ path }) => path,
  open: (settings, { clock }) => new FileSink(settings, clock),
});

type FileSettings = SettingsOf<typeof schema>;

/** Minimum size of the end of the file to search for records written but not acknowledged before a crash. Bytes. */
const TAIL_BYTES_MIN = 4 * 1024 * 1024;
/** Assumed maximum ratio of a record in another format to the stored one. */
const GROWTH = 4;

class FileSink implements Destination {
  /** Format `native` only: the other formats render each record. */
  readonly deliverLines: Destination['deliverLines'];
  readonly #settings: FileSettings;
  readonly #clock: Clock;
  readonly #archive: FileArchive;
  #file: LogFile | undefined;
  #claiming: Promise<FileLock | undefined> | undefined;
  /** Lines that may be delivered again; `undefined` after the first batch without duplicates. */
  #known: ReadonlySet<string> | undefined;
  /** Number of failed or abandoned deliveries: after each, the content must be read from the file again. */
  #interruptedWrites = 0;
  #interruptedWritesAtOpening = 0;
  #running: Promise<unknown> = Promise.resolve();

  constructor(settings: FileSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    if (settings.format === 'native') this.deliverLines = (lines, signal) => this.#run(() => lines, signal);
    this.#archive = new FileArchive(settings);
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    return await this.#run(() => renderLines(records, this.#settings.format), signal);
  }

  async #run(render: () => readonly ByteLine[] | LineRanges, signal: AbortSignal): Promise<DeliveryReport> {
    try {
      // The system may still be writing an abandoned delivery.
      await untilAborted(this.#running, signal);
      const work = this.#deliver(render());
      this.#running = work.catch(() => {});
      return await untilAborted(work, signal);
    } catch (cause) {
      this.#interruptedWrites++;
      if (signal.aborted) throw cause;
      const { name, path } = this.#settings;
      throw toFileError(`Sink ${name} could not write ${path}`, cause);
    }
  }

  async preflight(): Promise<readonly PreflightFinding[]> {
    return await checkFileTarget(this.#settings);
  }

  async checkMachine(): Promise<void> {
    await checkFileWritable(this.#settings.path);
  }

  async claim(): Promise<void> {
    // One attempt at a time: a second one would run into the lock of the first.
    this.#claiming ??= FileLock.acquire(this.#settings.path);
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
      // Another agent would take the unfinished files for those of a crash.
      await this.#archive.settled();
      await this.#letGo();
    })();
    // A delivery meanwhile opens the file again.
    this.#running = released.catch(() => {});
    return released;
  }

  async close(): Promise<void> {
    // In parallel: a release in progress waits for the archive.
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
    const { name, path, max_size: bytesMax, max_age: ageMs } = this.#settings;
    const log = await this.#openFile();
    const known = this.#known;
    const fresh = known ? [...lines].filter(({ text }) => !known.has(text)) : lines;
    const duplicates = lines.length - fresh.length;
    const nowMs = this.#clock.now();
    if (log.size > 0 && (log.size >= bytesMax || log.ageMs(nowMs) >= ageMs)) await log.rotate(nowMs);
    // None of the batch is in the file, so everything before it is acknowledged.
    if (duplicates === 0 && lines.length > 0) {
      this.#known = undefined;
      this.#archive.tidy(log.lastStamp);
    }
    const bytes = await this.#append(log, fresh);
    const fault = this.#archive.takeFault();
    const warning = fault && `Sink ${name} could not compress or delete rotated files of ${path}: ${fault}`;
    return { bytes, duplicates, warning };
  }

  async #append(log: LogFile, lines: readonly ByteLine[] | LineRanges): Promise<number> {
    const { max_size: bytesMax } = this.#settings;
    if (lines instanceof LineRanges) {
      const size = lines.bytes + lines.length;
      if (log.size + size > bytesMax) return await this.#append(log, [...lines]);
      if (size > 0) await log.append(lines.toPieces());
      return size;
    }
    let total = 0;
    let from = 0;
    let bytes = 0;
    const flush = async (to: number) => {
      if (to > from) await log.append(toPieces(to - from < lines.length ? lines.slice(from, to) : lines));
      total += bytes;
      from = to;
      bytes = 0;
    };
    let index = 0;
    for (const { length } of lines) {
      if (log.size + bytes + length + 1 > bytesMax) {
        await flush(index);
        if (log.size > 0) await log.rotate(this.#clock.now());
      }
      bytes += length + 1;
      index++;
    }
    await flush(lines.length);
    return total;
  }

  async #openFile(): Promise<LogFile> {
    const { path, fsync, format: recordFormat, batch: bounds } = this.#settings;
    await this.claim();
    const isContentUnknown = this.#interruptedWrites !== this.#interruptedWritesAtOpening;
    if (this.#file && (isContentUnknown || !(await this.#file.isInPlace()))) await this.#closeFile();
    if (this.#file) return this.#file;
    // A delivery that is abandoned while the file is being opened also counts: it continues to write.
    this.#interruptedWritesAtOpening = this.#interruptedWrites;
    const growth = recordFormat === 'native' ? 1 : GROWTH;
    const tailBytes = Math.max(TAIL_BYTES_MIN, growth * (bounds.bytesMax + bounds.recordsMax));
    this.#file = await LogFile.open({ path, fsync, tailBytes, nowMs: this.#clock.now() });
    this.#known = this.#file.lines;
    return this.#file;
  }

  async #closeFile(): Promise<void> {
    const log = this.#file;
    this.#file = undefined;
    await log?.close().catch(() => {});
  }
}
