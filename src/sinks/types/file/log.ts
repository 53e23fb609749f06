import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensureFile } from '../../../base/index.ts';
import { readErrorCode } from '../../../net/index.ts';
import { DeliveryError } from '../../contracts.ts';
import { FILE_MODE, listRotated, parseStamp, syncFolder, toStamp } from './archive.ts';

/** Accessible to the owner, readable by the group. */
const FOLDER_MODE = 0o750;

interface LogFileOptions {
  readonly path: string;
  /** `batch`: appended records are on disk when `append` resolves. `rotate`: synced only before a rotation. */
  readonly fsync: 'batch' | 'rotate' | 'never';
  /** Size of the last lines to remember, to detect repeated records. Bytes. */
  readonly tailBytes: number;
  /** Current Unix time in milliseconds. */
  readonly nowMs: number;
}

/** The active file of a sink: appends records and rotates. */
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
   * Opens the file, creates it and its folder if necessary, truncates an incomplete last line, and reads the last lines,
   * including those of the newest rotated files up to a compressed one, whose records are acknowledged.
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

  /** The last lines at the time of opening. */
  get lines(): ReadonlySet<string> {
    return this.#lines;
  }

  /** Bytes. */
  get size(): number {
    return this.#size;
  }

  get lastStamp(): string {
    return this.#lastStamp;
  }

  /** Age in milliseconds. Starts again when the wall clock was set back. */
  ageMs(nowMs: number): number {
    this.#bornMs = this.#size === 0 ? nowMs : Math.min(this.#bornMs, nowMs);
    return nowMs - this.#bornMs;
  }

  /** Returns true when the file is still at its path: other programs may move, delete or truncate it. */
  async isInPlace(): Promise<boolean> {
    // In parallel: while the agent is busy, each slot of the main thread may take long.
    const [mine, there] = await Promise.all([
      this.#handle.stat(),
      lstat(this.#options.path).catch((cause: unknown) => {
        if (readErrorCode(cause) === 'ENOENT') return undefined;
        throw cause;
      }),
    ]);
    this.#size = mine.size;
    return there?.ino === mine.ino && there.dev === mine.dev;
  }

  /** Appends whole lines. On failure, truncates the file to its previous size if the system allows it. */
  async append(pieces: readonly Buffer[]): Promise<void> {
    let written = 0;
    try {
      for (let left = pieces; left.length > 0; ) {
        const { bytesWritten } = await this.#handle.writev(left);
        written += bytesWritten;
        left = dropBytes(left, bytesWritten);
      }
      if (this.#options.fsync === 'batch') await this.#handle.datasync();
    } catch (cause) {
      // Lines that remain are found at the next opening.
      await this.#handle.truncate(this.#size).catch(() => {});
      throw cause;
    }
    this.#size += written;
  }

  /** Renames the file to a name with the time and starts a new one. */
  async rotate(nowMs: number): Promise<void> {
    const { path, fsync } = this.#options;
    const stamp = this.#lastStamp === '' ? nowMs : Math.max(nowMs, parseStamp(this.#lastStamp) + 1);
    if (fsync !== 'never') await this.#handle.sync();
    await rename(path, `${path}.${toStamp(stamp)}`);
    this.#lastStamp = toStamp(stamp);
    // After a crash here there is no file at the path; the next opening creates it.
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

/** Returns the pieces without their first `count` bytes, which are written. */
function dropBytes(pieces: readonly Buffer[], count: number): readonly Buffer[] {
  let bytes = count;
  const first = pieces.findIndex((piece) => {
    if (bytes < piece.length) return true;
    bytes -= piece.length;
    return false;
  });
  if (first < 0) return [];
  const [cut, ...rest] = pieces.slice(first);
  return cut ? [cut.subarray(bytes), ...rest] : rest;
}

interface Opened {
  readonly handle: FileHandle;
  readonly size: number;
  readonly bornMs: number;
}

async function openForAppending({ path, fsync }: LogFileOptions): Promise<Opened> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // Opening a pipe for reading as well does not block.
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const handle = await open(path, flags, FILE_MODE);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) {
      throw new DeliveryError('unwritable', `${path} is not a regular file`, {
        disposition: 'operator',
        hint: 'Name a file, or use a sink of type stdout',
      });
    }
    if (stats.size === 0 && fsync !== 'never') await syncFolder(folder);
    // Some file systems have no creation time.
    return { handle, size: stats.size, bornMs: stats.birthtimeMs || stats.mtimeMs };
  } catch (cause) {
    await handle.close();
    throw cause;
  }
}

const LINE_END = 0x0a;
/** First byte of a record in every format. */
const BRACE = 0x7b;

interface Tail {
  /** Offset in the file. Bytes. */
  readonly offset: number;
  readonly bytes: Buffer;
}

async function readTail(handle: FileHandle, bytesMax: number): Promise<Tail> {
  const { size } = await handle.stat();
  const offset = Math.max(0, size - bytesMax);
  const bytes = Buffer.allocUnsafe(size - offset);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return { offset, bytes: bytes.subarray(0, filled) };
}

/**
 * Truncates an incomplete last line. A crash interrupted it, so its record was not acknowledged and will be delivered again;
 * after a power failure it may consist of NULs. Throws {@link DeliveryError} `unwritable`, and leaves the file unchanged,
 * when the line cannot come from this program.
 */
async function cutTornLine(handle: FileHandle, path: string, tail: Tail): Promise<Tail> {
  const end = tail.bytes.lastIndexOf(LINE_END) + 1;
  if (end === tail.bytes.length) return tail;
  const first = tail.bytes[end];
  if ((end === 0 && tail.offset > 0) || (first !== BRACE && first !== 0)) {
    throw new DeliveryError('unwritable', `The file ${path} ends with an incomplete line that is not a log record`, {
      disposition: 'operator',
      hint: 'Choose a path that no other program uses',
    });
  }
  await handle.truncate(tail.offset + end);
  return { offset: tail.offset, bytes: tail.bytes.subarray(0, end) };
}

/** Yields the lines. The first may be incomplete, and then matches no record. */
function* splitLines({ bytes }: Tail): Generator<string> {
  let from = 0;
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, from)) {
    yield bytes.toString('utf8', from, end);
    from = end + 1;
  }
}

/** SQLITE_BUSY: another process holds the lock. */
const BUSY = 5;

/**
 * Keeps other agents from writing the same file: their lines would mix, and each would rotate the file of the other.
 *
 * The lock is that of an empty SQLite database next to the file, because Node.js has no file locks of its own. It ends with
 * the process, also after a kill; the empty file stays.
 */
export class FileLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Takes the lock of `path`. Throws {@link DeliveryError} if another agent has it. Returns `undefined` where no lock is
   * possible, such as in a folder that this account may not write: the file itself may still be writable.
   */
  static async acquire(path: string): Promise<FileLock | undefined> {
    const file = join(dirname(path), `.${basename(path)}.lock`);
    let database: DatabaseSync | undefined;
    try {
      await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
      ensureFile(file, FILE_MODE);
      database = new DatabaseSync(file, { timeout: 0 });
      // A journal in memory leaves no other file; nothing is written anyway.
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return new FileLock(database);
    } catch (cause) {
      database?.close();
      if (!isBusy(cause)) return undefined;
      throw new DeliveryError('unwritable', `Another agent already writes ${path}`, {
        disposition: 'operator',
        hint: 'Give each agent a file of its own, or stop the other agent',
      });
    }
  }

  release(): void {
    this.#database.close();
  }
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && Reflect.get(cause, 'errcode') === BUSY;
}
