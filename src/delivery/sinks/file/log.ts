import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readErrorCode } from '../../../net/index.ts';
import { DeliveryError } from '../../errors.ts';
import { listRotated, parseStamp, syncFolder, toStamp } from './rotated.ts';
import { cutTornLine, readTail, splitLines } from './tail.ts';

/** The owner writes, the group reads. */
export const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;

export interface LogFileOptions {
  /** Path of the active file. */
  readonly path: string;
  /** `batch`: what was appended is on the disk when that resolves. `rotate`: when the file is finished. */
  readonly fsync: 'batch' | 'rotate' | 'never';
  /** Size of the last lines to remember, to detect repeated records. Bytes. */
  readonly tailBytes: number;
  /** Current Unix time in milliseconds. */
  readonly nowMs: number;
}

/** The file that a sink appends to, and the way in which it is rotated away. */
export class LogFile {
  readonly #options: LogFileOptions;
  readonly #lines: ReadonlySet<string>;
  #handle: FileHandle;
  #size: number;
  #bornMs: number;
  #lastStamp: string;

  private constructor(options: LogFileOptions, opened: Opened, lines: ReadonlySet<string>, lastStamp: string) {
    this.#options = options;
    this.#handle = opened.handle;
    this.#size = opened.size;
    this.#bornMs = opened.size === 0 ? options.nowMs : opened.bornMs;
    this.#lines = lines;
    this.#lastStamp = lastStamp;
  }

  /**
   * Opens or makes the file, folder included, cuts off what a crash left unfinished, and reads the lines that came last:
   * those of the newest rotated files too, as long as they are not compressed, which only files with acknowledged
   * records are.
   */
  static async open(options: LogFileOptions): Promise<LogFile> {
    const { path, tailBytes } = options;
    const opened = await openForAppending(options);
    try {
      const tail = await cutTornLine(opened.handle, path, await readTail(opened.handle, tailBytes));
      const lines = new Set(splitLines(tail));
      let leftBytes = tailBytes - tail.bytes.length;
      const { files } = await listRotated(path);
      for (const { stamp, isPacked } of files.toReversed()) {
        if (isPacked || leftBytes <= 0) break;
        await using rotated = await open(`${path}.${stamp}`, 'r');
        const earlier = await readTail(rotated, leftBytes);
        for (const line of splitLines(earlier)) lines.add(line);
        leftBytes -= earlier.bytes.length;
      }
      const size = tail.offset + tail.bytes.length;
      return new LogFile(options, { ...opened, size }, lines, files.at(-1)?.stamp ?? '');
    } catch (cause) {
      await opened.handle.close();
      throw cause;
    }
  }

  /** The lines that came last, when it was opened. */
  get lines(): ReadonlySet<string> {
    return this.#lines;
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  /** Stamp of the newest rotated file; empty when there is none. */
  get lastStamp(): string {
    return this.#lastStamp;
  }

  /** How long ago it was begun, in milliseconds. A wall clock that was set back begins it anew. */
  ageMs(nowMs: number): number {
    this.#bornMs = this.#size === 0 ? nowMs : Math.min(this.#bornMs, nowMs);
    return nowMs - this.#bornMs;
  }

  /** Whether the file is still the one at its path; other programs may move, remove or shorten it. */
  async isInPlace(): Promise<boolean> {
    const mine = await this.#handle.stat();
    const there = await lstat(this.#options.path).catch((cause: unknown) => {
      if (readErrorCode(cause) === 'ENOENT') return undefined;
      throw cause;
    });
    this.#size = mine.size;
    return there?.ino === mine.ino && there.dev === mine.dev;
  }

  /** Appends whole lines. When that fails, none of them stays, as far as the system lets them be taken away again. */
  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    try {
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await this.#handle.write(bytes, written, bytes.length - written);
        written += bytesWritten;
      }
      if (this.#options.fsync === 'batch') await this.#handle.datasync();
    } catch (cause) {
      // What stays all the same is found at the next opening.
      await this.#handle.truncate(this.#size).catch(() => {});
      throw cause;
    }
    this.#size += bytes.length;
  }

  /** Moves the file away under a name with the time, and begins another. */
  async rotate(nowMs: number): Promise<void> {
    const { path, fsync } = this.#options;
    const stamp = this.#lastStamp === '' ? nowMs : Math.max(nowMs, parseStamp(this.#lastStamp) + 1);
    if (fsync !== 'never') await this.#handle.sync();
    await rename(path, `${path}.${toStamp(stamp)}`);
    this.#lastStamp = toStamp(stamp);
    // A crash here leaves no file at the path: the next opening makes it.
    const old = this.#handle;
    this.#handle = (await openForAppending(this.#options)).handle;
    this.#size = 0;
    this.#bornMs = nowMs;
    await old.close();
  }

  async close(): Promise<void> {
    try {
      if (this.#options.fsync !== 'never') await this.#handle.sync();
    } finally {
      await this.#handle.close();
    }
  }
}

interface Opened {
  readonly handle: FileHandle;
  readonly size: number;
  readonly bornMs: number;
}

async function openForAppending({ path, fsync }: LogFileOptions): Promise<Opened> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // Opened for reading as well, a pipe does not wait for its other end.
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const handle = await open(path, flags, FILE_MODE);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) {
      throw new DeliveryError('unwritable', `${path} is no regular file`, {
        disposition: 'operator',
        hint: 'Name a file, or use a sink of type stdout',
      });
    }
    if (stats.size === 0 && fsync !== 'never') await syncFolder(folder);
    // Some file systems do not know when a file was begun.
    return { handle, size: stats.size, bornMs: stats.birthtimeMs || stats.mtimeMs };
  } catch (cause) {
    await handle.close();
    throw cause;
  }
}
