/** Why lines were lost: too many files, same file name, name reused during compression, or all logs deleted. */
export type LogLoss = 'pruned' | 'overwritten' | 'removed' | 'reset';

/**
 * The lines of one `current` file from its first line through its rotation. A plain file and its archive hold the same generation; once
 * neither exists, the lines are lost and remembered only here.
 */
export class LogGeneration {
  /** Number of the `current` file of the component, from 0. */
  readonly number: number;
  /** Wall time of the router when the first line was written. */
  readonly createdMs: number;
  /** Bytes reach the file in blocks of this size until it is closed; 0 = at once. */
  readonly #blockBytes: number;
  #isClosed = false;
  /** Bytes from the start that were sent to a client. */
  servedBytes = 0;
  /** Set when the last file with these lines is gone. */
  loss: LogLoss | undefined;
  #homes = 0;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(number: number, createdMs: number, blockBytes = 0) {
    this.#blockBytes = blockBytes;
    this.number = number;
    this.createdMs = createdMs;
  }

  /** Bytes written, in the file or buffered. */
  get length(): number {
    return this.#length;
  }

  /** Bytes in the file. */
  get flushedLength(): number {
    if (this.#isClosed || this.#blockBytes === 0) return this.#length;
    return this.#length - (this.#length % this.#blockBytes);
  }

  append(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
  }

  /** Returns all bytes in the file; later lines do not change the result. */
  snapshot(): Buffer {
    return this.#join().subarray(0, this.flushedLength);
  }

  /** Returns all bytes written, buffered ones included; later lines do not change the result. */
  written(): Buffer {
    return this.#join();
  }

  /** Closes the file: buffered lines are written. */
  close(): void {
    this.#isClosed = true;
  }

  /** Simulates a crash: buffered lines are lost. */
  crash(): void {
    this.#chunks = [this.snapshot()];
    this.#length = this.flushedLength;
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  addHome(): void {
    this.#homes += 1;
  }

  removeHome(loss: LogLoss): void {
    this.#homes -= 1;
    if (this.#homes === 0) this.loss = loss;
  }
}

/** A line written by a router, and whether it was served or lost. */
export interface TruthLine {
  /** Number among all lines of the component, from 0. */
  readonly sequence: number;
  /** The line without its line end; broken UTF-8 shows as U+FFFD. */
  readonly text: string;
  readonly bytes: Buffer;
  /** Number of its `current` file, from 0. */
  readonly generation: number;
  /** Offset in its file, in decompressed bytes. */
  readonly offset: number;
  /** True if it was sent to any client. Bytes of an unfinished archive do not count. */
  readonly served: boolean;
  /** Absent while a file holds it. */
  readonly loss: LogLoss | undefined;
  /** True if it was lost before it was sent to any client: no reader can know this line. */
  readonly lostUnread: boolean;
}

const LINE_FEED = 0x0a;

/** Splits generations, oldest first, into their lines. */
export function readTruth(generations: readonly LogGeneration[]): TruthLine[] {
  const lines: TruthLine[] = [];
  for (const generation of generations) {
    const bytes = generation.written();
    const { number, servedBytes, loss } = generation;
    for (let offset = 0; offset < bytes.length; ) {
      const lineFeed = bytes.indexOf(LINE_FEED, offset);
      const end = lineFeed === -1 ? bytes.length : lineFeed;
      const line = bytes.subarray(offset, end);
      const served = end < servedBytes;
      lines.push({
        sequence: lines.length,
        text: line.toString('utf8'),
        bytes: line,
        generation: number,
        offset,
        served,
        loss,
        lostUnread: loss !== undefined && !served,
      });
      offset = end + 1;
    }
  }
  return lines;
}

interface PlainFile {
  readonly kind: 'plain';
  readonly generation: LogGeneration;
}

export interface ArchiveFile {
  readonly kind: 'archive';
  readonly generation: LogGeneration;
  /** The finished archive. Compressing takes real time: a reader waits for it. */
  readonly data: Promise<Buffer>;
  /** While the archive grows: begin and end on the monotonic clock. */
  growing: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Compressed bytes from the start that were sent to a client since the archive was finished. */
  servedBytes: number;
}

/** A file of a log: plain text or an archive. */
export type LogFile = PlainFile | ArchiveFile;

/** The file that is being written. */
export const CURRENT = 'current';
/** Suffix of a compressed file. */
export const ARCHIVE_SUFFIX = '.bz2';
const ROTATED = /^log-(\d{4}-\d{2}-\d{2}-\d{2}:\d{2}:\d{2})(?:\.bz2)?$/;

/** The log folder of one component. Behaves like a file system, including silent replacement by a rename. */
export class LogFolder {
  readonly #files = new Map<string, LogFile>();

  get(name: string): LogFile | undefined {
    return this.#files.get(name);
  }

  /** Returns all names, `current` first, then by time and form. */
  names(): string[] {
    return [...this.#files.keys()].toSorted();
  }

  create(name: string, file: LogFile): void {
    this.#files.set(name, file);
    file.generation.addHome();
  }

  /** Renames like the system call: an existing file with the new name is replaced silently. */
  rename(from: string, to: string): void {
    const file = this.#files.get(from);
    if (!file) return;
    this.remove(to, 'overwritten');
    this.#files.delete(from);
    this.#files.set(to, file);
  }

  /** Removes the file with this name, if there is one. */
  remove(name: string, loss: LogLoss): void {
    const file = this.#files.get(name);
    if (!file) return;
    this.#files.delete(name);
    file.generation.removeHome(loss);
  }

  /** Deletes rotated files until `maxFiles` are left, oldest first. Plain and compressed forms count separately. */
  prune(maxFiles: number): void {
    const rotated = this.names()
      .flatMap((name) => {
        const stamp = ROTATED.exec(name)?.[1];
        return stamp === undefined ? [] : [{ name, stamp }];
      })
      .toSorted((left, right) => (left.stamp < right.stamp ? -1 : left.stamp > right.stamp ? 1 : 0));
    for (const { name } of rotated.slice(0, Math.max(0, rotated.length - maxFiles))) this.remove(name, 'pruned');
  }
}
