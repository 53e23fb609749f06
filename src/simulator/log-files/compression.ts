import type { Clock } from '../../base/index.ts';
import { ARCHIVE_SUFFIX, type ArchiveFile, type LogFolder } from './folder.ts';

/** Turns bytes into a bzip2 file. */
export type Compress = (bytes: Buffer) => Promise<Buffer>;

/**
 * The compression commands that the log daemon starts after a rotation and does not wait for:
 *
 *   renamed ──half of the time──> archive appears under its final name and grows ──other half──> plain file removed
 *
 * The command works by file name, and so does its harm: it gives up when the archive's name is taken (the plain file
 * stays), and at its end it removes whatever has its input's name by then.
 */
export class LogCompression {
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
    // A failed compression shows where its bytes are asked for; a stopped one has nobody left to tell.
    const work = this.#run(name)
      .catch(() => {})
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  /** Resolves when nothing is being compressed. On a stepped clock somebody has to move it meanwhile. */
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
    data.catch(() => {}); // Whoever reads the file gets the rejection; without readers it is of no interest.
    const fromMs = this.#clock.monotonic();
    return { kind: 'archive', generation, data, growing: { fromMs, toMs: fromMs + growMs }, servedBytes: 0 };
  }

  /** No wait at all for a duration of 0, so that the whole compression happens inside the rotation. */
  async #wait(durationMs: number): Promise<void> {
    if (durationMs > 0) await this.#clock.sleep(durationMs, this.#stopped.signal);
  }
}
