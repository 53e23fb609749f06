import type { RouterClock } from '../device/router-clock.ts';
import { SimulatorError } from '../simulator-error.ts';
import type { LogSettings } from '../simulator-options.ts';
import { type Compress, LogCompression } from './compression.ts';
import { CURRENT, LogFolder } from './folder.ts';
import { LogGeneration } from './generation.ts';
import { type LogSeverity, renderLogLine, renderRepeatNotice, sanitizeMessage } from './line.ts';
import { readTruth, type TruthLine } from './truth.ts';

/**
 * Writes the log of one component like the log daemon. It rotates only when a message arrives and a limit is reached:
 * rename, start the compression without waiting, prune, open a new `current`, write the message as its first line. File
 * names are in UTC, lines in local time. With the option `rotateEveryMs` a timer rotates instead.
 */
export class LogWriter {
  readonly folder = new LogFolder();
  readonly compression: LogCompression;
  readonly #clock: RouterClock;
  readonly #settings: LogSettings;
  /** Everything ever written, oldest first, up to the limit for deleted files. */
  readonly #generations: LogGeneration[] = [];
  #started = 0;
  /** The last line written, without its time stamp, and the number of equal ones since. */
  #previous = '';
  #repeats = 0;
  #isForgetful = false;

  constructor(clock: RouterClock, settings: LogSettings, compress: Compress) {
    this.#clock = clock;
    this.#settings = settings;
    this.compression = new LogCompression(this.folder, clock.clock, settings.compressionMs, compress);
  }

  /**
   * Writes a message. An empty one is not written and does not rotate, nor does a repeated one that is only counted.
   */
  append(tag: string, message: string, severity: LogSeverity = 'NOTICE'): void {
    this.#write(tag, message, severity, () => this.#isDue());
  }

  /** Writes a message and rotates first, regardless of the limits. */
  appendRotating(tag: string, message: string): void {
    this.#previous = '';
    this.#write(tag, message, 'NOTICE', () => true);
  }

  /** Rotates by the timer, with or without a message. A file without lines stays. */
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
