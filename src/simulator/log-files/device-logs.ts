import type { Timer } from '../../base/index.ts';
import type { RouterClock } from '../device/router-clock.ts';
import { SimulatorError } from '../simulator-error.ts';
import type { LogSettings } from '../simulator-options.ts';
import { ARCHIVE_SUFFIX, type ArchiveFile, CURRENT, type LogFile, type TruthLine } from './folder.ts';
import { type Compress, type LogSeverity, LogWriter } from './writer.ts';

/** A log file as sent to a client. */
export interface LogDownload {
  readonly kind: 'plain' | 'archive';
  readonly bytes: Buffer;
  /** HTTP entity tag; changes with the file's content. */
  readonly tag: string;
  /** Records that the bytes from `from` up to `to` are sent to a client. */
  readonly markServed: (from: number, to: number) => void;
}

/** Component names that are safe as a folder name. */
const COMPONENT = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;

/** Hours in which logs listed in `silentByNight` have lines. */
const DAY_FROM_HOUR = 6;
const DAY_TO_HOUR = 20;

/** All log files of one router, by component. */
export class DeviceLogs {
  readonly #clock: RouterClock;
  readonly #settings: LogSettings;
  readonly #compress: Compress;
  readonly #writers = new Map<string, LogWriter>();
  #timer: Timer | undefined;

  constructor(clock: RouterClock, settings: LogSettings, compress: Compress) {
    this.#clock = clock;
    this.#settings = settings;
    this.#compress = compress;
    if (settings.rotateEveryMs > 0) this.#rotateLater();
  }

  /** Passes a message to a component; its folder is created with its first message. */
  append(component: string, message: string, tag: string, severity?: LogSeverity): void {
    if (this.#settings.silentByNight.includes(component) && this.#isNight) return;
    this.#open(component).append(tag, message, severity);
  }

  /** Passes a message that triggers a rotation. Throws {@link SimulatorError} if there is nothing to rotate yet. */
  rotate(component: string, message: string, tag: string): void {
    const writer = this.#writers.get(component);
    if (!writer) throw new SimulatorError('unknown-component', `No line was written to the log ${component} yet`);
    writer.appendRotating(tag, message);
  }

  /** Returns the relative paths of the files that the router lists. */
  list(): string[] {
    return [...this.#writers.keys()]
      .toSorted()
      .flatMap((component) =>
        (this.#writers.get(component)?.folder.names() ?? [])
          .filter((name) => this.#isListed(name))
          .map((name) => `${component}/${name}`),
      );
  }

  /** Returns the current file at a listed path; `undefined` if it does not exist. */
  async read(path: string): Promise<LogDownload | undefined> {
    const slash = path.indexOf('/');
    const name = path.slice(slash + 1);
    const file = this.#isListed(name) ? this.#writers.get(path.slice(0, slash))?.folder.get(name) : undefined;
    if (!file) return undefined;
    const { generation } = file;
    if (file.kind === 'plain') {
      const bytes = generation.snapshot();
      const markServed = (from: number, to: number) => {
        // Bytes after a gap do not count as served.
        if (from <= generation.servedBytes) generation.servedBytes = Math.max(generation.servedBytes, to);
      };
      return { kind: 'plain', bytes, tag: renderTag(path, file, bytes), markServed };
    }
    const isWhole = file.growing === undefined;
    const bytes = await this.#readArchive(file);
    const markServed = (from: number, to: number) => {
      // A part of an archive is useless without the rest, and a growing archive is a part.
      if (isWhole && from <= file.servedBytes) file.servedBytes = Math.max(file.servedBytes, to);
      if (isWhole && file.servedBytes >= bytes.length) generation.servedBytes = generation.length;
    };
    return { kind: 'archive', bytes, tag: renderTag(path, file, bytes), markServed };
  }

  /** Returns the decompressed lines of an archive; `undefined` if the file does not exist. */
  readExpanded(path: string): Buffer | undefined {
    const slash = path.indexOf('/');
    const file = this.#writers.get(path.slice(0, slash))?.folder.get(path.slice(slash + 1));
    return file?.kind === 'archive' ? file.generation.snapshot() : undefined;
  }

  /** Deletes all files; components start again with their next message. */
  deleteAll(): void {
    for (const writer of this.#writers.values()) writer.deleteAll();
  }

  /** Simulates a crash: lines not yet on disk are lost, and the last one may be torn. */
  crash(): void {
    for (const writer of this.#writers.values()) writer.crash();
  }

  /** Returns every line ever written to a component, oldest first. */
  truth(component: string): TruthLine[] {
    return this.#writers.get(component)?.truth() ?? [];
  }

  /** Resolves when no compression is in progress. */
  async whenQuiet(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.compression.whenQuiet()));
  }

  /** Stops all timers. */
  close(): void {
    this.#timer?.cancel();
    for (const writer of this.#writers.values()) writer.compression.stop();
  }

  /** An unfinished archive is a prefix of the finished one that grows evenly over the compression time. */
  async #readArchive(file: ArchiveFile): Promise<Buffer> {
    const { growing } = file;
    // The result depends on the moment of the request, not on the speed of this machine.
    const nowMs = this.#clock.clock.monotonic();
    const data = await file.data;
    if (!growing) return data;
    return data.subarray(0, Math.floor((data.length * (nowMs - growing.fromMs)) / (growing.toMs - growing.fromMs)));
  }

  #rotateLater(): void {
    this.#timer = this.#clock.clock.setTimer(this.#settings.rotateEveryMs, () => {
      for (const writer of this.#writers.values()) writer.rotateByTimer();
      this.#rotateLater();
    });
  }

  get #isNight(): boolean {
    const hour = Number(this.#clock.localStamp().slice('YYYY-MM-DD '.length, 'YYYY-MM-DD hh'.length));
    return hour < DAY_FROM_HOUR || hour >= DAY_TO_HOUR;
  }

  #isListed(name: string): boolean {
    return name === CURRENT || name.endsWith(ARCHIVE_SUFFIX) || this.#settings.listUncompressed;
  }

  #open(component: string): LogWriter {
    let writer = this.#writers.get(component);
    if (!writer) {
      if (!COMPONENT.test(component)) {
        throw new SimulatorError('unknown-component', `No log can be named ${JSON.stringify(component)}`);
      }
      writer = new LogWriter(this.#clock, this.#settings, this.#compress);
      this.#writers.set(component, writer);
    }
    return writer;
  }
}

function renderTag(path: string, { generation }: LogFile, { length }: Buffer): string {
  return `"${Buffer.from(path).toString('base64url')}-${generation.number}-${length}"`;
}
