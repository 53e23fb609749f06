import type { Clock } from '../../base/index.ts';
import type { RouterClock } from '../device/router-clock.ts';
import { SimulatorError } from '../simulator-error.ts';
import type { LogSettings } from '../simulator-options.ts';
import {
  ARCHIVE_SUFFIX,
  type ArchiveFile,
  CURRENT,
  LogFolder,
  LogGeneration,
  readTruth,
  type TruthLine,
} from './folder.ts';

/** Limit of the log daemon: a longer message is truncated here, also inside a character. */
const MESSAGE_BYTES_MAX = 8192;
const UNDERSCORE = 0x5f;

/**
 * Sanitizes a message like the log daemon: truncates it to the limit, removes trailing control bytes and replaces others by `_`. Bytes
 * 0x80 to 0x9F count as control bytes, which breaks some UTF-8 letters (`Ä` becomes C3 5F) and not others (`ä`). An empty result is not
 * written.
 */
function sanitizeMessage(message: string): Buffer {
  const bytes = Buffer.from(message, 'utf8').subarray(0, MESSAGE_BYTES_MAX);
  let end = bytes.length;
  while (end > 0 && isControl(bytes[end - 1] ?? 0)) end -= 1;
  return bytes.subarray(0, end).map((byte) => (isControl(byte) ? UNDERSCORE : byte)) as Buffer;
}

/** Severity of a message, written in brackets by newer log daemons. */
export type LogSeverity = 'EMERG' | 'ALERT' | 'CRIT' | 'ERR' | 'WARNING' | 'NOTICE' | 'INFO' | 'DEBUG';

/** With line end. */
function renderLogLine(localStamp: string, tag: string, message: Buffer, severity: LogSeverity | undefined): Buffer {
  const brackets = severity === undefined ? `[${tag}]` : `[${tag}][${severity}]`;
  return Buffer.concat([Buffer.from(`${localStamp} ${brackets} `), message, Buffer.from('\n')]);
}

/** The log daemon's notice after `count` equal lines, without time stamp and component. */
function renderRepeatNotice(count: number): Buffer {
  const times = count === 1 ? 'twice' : `${count} times`;
  return Buffer.from(`${' '.repeat(16)}- Last output repeated ${times} -\n`);
}

function isControl(byte: number): boolean {
  return byte < 0x20 || (byte >= 0x7f && byte <= 0x9f);
}

/** Compresses bytes to a bzip2 file. */
export type Compress = (bytes: Buffer) => Promise<Buffer>;

/**
 * The compression commands that the log daemon starts after a rotation without waiting for them:
 *
 *   renamed ──half of the time──> archive appears under its final name and grows ──other half──> plain file removed
 *
 * The command works on file names: it stops if the archive's name is taken (the plain file stays), and at its end it removes any file
 * that has its input's name by then.
 */
class LogCompression {
  readonly #folder: LogFolder;
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly #compress: Compress;
  readonly #running = new Set<Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(folder: LogFolder, clock: Clock, durationMs: number, compress: Compress) {
    this.#folder = folder;
    this.#clock = clock;
    this.#durationMs = durationMs;
    this.#compress = compress;
  }

  /** Starts compressing the file with this name and returns immediately. */
  start(name: string): void {
    // A reader of the archive gets the error of a failed compression.
    const work = this.#run(name)
      .catch(() => {})
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  /** Resolves when nothing is being compressed. A stepped clock must be advanced in the meantime. */
  async whenQuiet(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Aborts running compressions and leaves the files as they are. */
  stop(): void {
    this.#stopped.abort();
  }

  async #run(name: string): Promise<void> {
    const halfMs = this.#durationMs / 2;
    await this.#wait(halfMs);
    const archiveName = name + ARCHIVE_SUFFIX;
    const input = this.#folder.get(name);
    if (input?.kind !== 'plain' || this.#folder.get(archiveName)) return;
    const archive = this.#openArchive(input.generation, halfMs);
    this.#folder.create(archiveName, archive);
    await this.#wait(halfMs);
    archive.growing = undefined;
    this.#folder.remove(name, 'removed');
    await archive.data;
  }

  #openArchive(generation: ArchiveFile['generation'], growMs: number): ArchiveFile {
    const data = this.#compress(generation.snapshot());
    data.catch(() => {}); // A reader of the file gets the rejection.
    const fromMs = this.#clock.monotonic();
    return { kind: 'archive', generation, data, growing: { fromMs, toMs: fromMs + growMs }, servedBytes: 0 };
  }

  /** A duration of 0 does not wait, so that the whole compression happens inside the rotation. */
  async #wait(durationMs: number): Promise<void> {
    if (durationMs > 0) await this.#clock.sleep(durationMs, this.#stopped.signal);
  }
}

/**
 * Writes the log of one component like the log daemon. It rotates only when a message arrives and a limit is reached: rename, start the
 * compression without waiting, prune, open a new `current`, write the message as its first line. File names are in UTC, lines in local
 * time. With the option `rotateEveryMs` a timer rotates instead.
 */
export class LogWriter {
  readonly folder = new LogFolder();
  readonly compression: LogCompression;
  readonly #clock: RouterClock;
  readonly #settings: LogSettings;
  /** Oldest first, up to the limit for deleted files. */
  readonly #generations: LogGeneration[] = [];
  #started = 0;
  /** The last line without its time stamp, and the number of equal ones since. */
  #previous = '';
  #repeats = 0;
  #isForgetful = false;

  constructor(clock: RouterClock, settings: LogSettings, compress: Compress) {
    this.#clock = clock;
    this.#settings = settings;
    this.compression = new LogCompression(this.folder, clock.clock, settings.compressionMs, compress);
  }

  /** Writes a message. An empty one, or a repeated one that is only counted, is not written and does not rotate. */
  append(tag: string, message: string, severity: LogSeverity = 'NOTICE'): void {
    this.#write(tag, message, severity, () => this.#isDue());
  }

  /** Writes a message and rotates first, regardless of the limits. */
  appendRotating(tag: string, message: string): void {
    this.#previous = '';
    this.#write(tag, message, 'NOTICE', () => true);
  }

  /** Rotates by the timer. A file without lines stays. */
  rotateByTimer(): void {
    if (!this.folder.get(CURRENT)?.generation.length) return;
    this.#rotate();
    this.#openCurrent();
  }

  /** Deletes all files. */
  deleteAll(): void {
    for (const name of this.folder.names()) this.folder.remove(name, 'reset');
    this.#forgetRepeats();
  }

  /** Simulates a crash of the daemon: buffered lines are lost, and the next one may follow a torn line. */
  crash(): void {
    this.#forgetRepeats();
    const current = this.folder.get(CURRENT)?.generation;
    if (!current) return;
    current.crash();
    const { tornBytes } = this.#settings;
    if (tornBytes > 0) current.append(Buffer.from(this.#clock.localStamp().slice(0, tornBytes)));
  }

  /** Returns every line ever written. Throws {@link SimulatorError} `truth-forgotten` if the limit has removed some. */
  truth(): TruthLine[] {
    if (this.#isForgetful) {
      throw new SimulatorError('truth-forgotten', 'The lines of deleted log files outgrew the memory kept for them', {
        hint: 'Raise the option logs.truthBytesMax.',
      });
    }
    return readTruth(this.#generations);
  }

  #write(tag: string, message: string, severity: LogSeverity, isDue: () => boolean): void {
    const bytes = sanitizeMessage(message);
    if (bytes.length === 0) return;
    const { showRepeats, severityBrackets } = this.#settings;
    const text = `${tag} ${bytes.toString('latin1')}`;
    if (!showRepeats && text === this.#previous) {
      this.#repeats += 1;
      return;
    }
    if (this.folder.get(CURRENT) && isDue()) this.#rotate();
    const current = this.#openCurrent();
    // The count is known only now, so it can become the first line of a new file.
    if (this.#repeats > 0) current.append(renderRepeatNotice(this.#repeats));
    this.#previous = text;
    this.#repeats = 0;
    current.append(renderLogLine(this.#clock.localStamp(), tag, bytes, severityBrackets ? severity : undefined));
  }

  #forgetRepeats(): void {
    this.#previous = '';
    this.#repeats = 0;
  }

  #isDue(): boolean {
    const current = this.folder.get(CURRENT)?.generation;
    if (!current) return false;
    const { maxSizeBytes, maxAgeMs, rotateEveryMs } = this.#settings;
    if (rotateEveryMs > 0) return false;
    if (maxSizeBytes > 0 && current.length >= maxSizeBytes) return true;
    return maxAgeMs > 0 && this.#clock.now() - current.createdMs > maxAgeMs;
  }

  #rotate(): void {
    const name = `log-${this.#clock.fileStamp()}`;
    this.folder.get(CURRENT)?.generation.close();
    this.folder.rename(CURRENT, name);
    this.compression.start(name);
    this.folder.prune(this.#settings.maxFiles);
    this.#forgetExcess();
  }

  #openCurrent(): LogGeneration {
    const current = this.folder.get(CURRENT);
    if (current) return current.generation;
    const generation = new LogGeneration(this.#started++, this.#clock.now(), this.#settings.blockBytes);
    this.#generations.push(generation);
    this.folder.create(CURRENT, { kind: 'plain', generation });
    return generation;
  }

  #forgetExcess(): void {
    let lostBytes = 0;
    for (const { loss, length } of this.#generations) lostBytes += loss ? length : 0;
    while (lostBytes > this.#settings.truthBytesMax) {
      const oldest = this.#generations.findIndex(({ loss }) => loss !== undefined);
      lostBytes -= this.#generations.splice(oldest, 1)[0]?.length ?? lostBytes;
      this.#isForgetful = true;
    }
  }
}
