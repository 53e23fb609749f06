import { type Compress, LogCompression } from './log-compression.ts';
import { CURRENT, LogFolder } from './log-folder.ts';
import { LogGeneration } from './log-generation.ts';
import { renderLogLine, sanitizeMessage } from './log-line.ts';
import { readTruth, type TruthLine } from './log-truth.ts';
import type { RouterClock } from './router-clock.ts';
import { SimulatorError } from './simulator-error.ts';
import type { LogSettings } from './simulator-options.ts';

/**
 * The log daemon's treatment of one component. It rotates only when a message arrives and finds a limit reached:
 * rename, start the compression without waiting, prune, open a new `current`, write the message as its first line.
 * File names are in UTC, lines in local time.
 */
export class LogWriter {
  readonly folder = new LogFolder();
  readonly compression: LogCompression;
  readonly #clock: RouterClock;
  readonly #settings: LogSettings;
  /** Everything ever written, oldest first, up to the bound on what is lost. */
  readonly #generations: LogGeneration[] = [];
  #started = 0;
  #isForgetful = false;

  constructor(clock: RouterClock, settings: LogSettings, compress: Compress) {
    this.#clock = clock;
    this.#settings = settings;
    this.compression = new LogCompression(this.folder, clock.clock, settings.compressionMs, compress);
  }

  /** A message arrives. An empty one is not written and rotates nothing. */
  append(tag: string, message: string): void {
    const bytes = sanitizeMessage(message);
    if (bytes.length === 0) return;
    if (this.#isDue()) this.#rotate();
    this.#openCurrent().append(renderLogLine(this.#clock.localStamp(), tag, bytes));
  }

  /** A message arrives and finds a limit reached, whatever the limits are. */
  appendRotating(tag: string, message: string): void {
    this.#rotate();
    this.append(tag, message);
  }

  /** Every line ever written. Throws {@link SimulatorError} `truth-forgotten` when the bound made it forget some. */
  truth(): TruthLine[] {
    if (this.#isForgetful) {
      throw new SimulatorError('truth-forgotten', 'The lines of deleted log files outgrew the memory kept for them', {
        hint: 'Raise the option logs.truthBytesMax.',
      });
    }
    return readTruth(this.#generations);
  }

  #isDue(): boolean {
    const current = this.folder.get(CURRENT)?.generation;
    if (!current) return false;
    const { maxSizeBytes, maxAgeMs } = this.#settings;
    if (maxSizeBytes > 0 && current.length >= maxSizeBytes) return true;
    return maxAgeMs > 0 && this.#clock.now() - current.createdMs > maxAgeMs;
  }

  #rotate(): void {
    const name = `log-${this.#clock.fileStamp()}`;
    this.folder.rename(CURRENT, name);
    this.compression.start(name);
    this.folder.prune(this.#settings.maxFiles);
    this.#forgetExcess();
  }

  #openCurrent(): LogGeneration {
    const current = this.folder.get(CURRENT);
    if (current) return current.generation;
    const generation = new LogGeneration(this.#started++, this.#clock.now());
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
