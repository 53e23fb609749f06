import type { LogGeneration, LogLoss } from './generation.ts';

/** A file with the lines as they are. */
interface PlainFile {
  readonly kind: 'plain';
  readonly generation: LogGeneration;
}

/** A file with the lines compressed, perhaps not to the end yet. */
export interface ArchiveFile {
  readonly kind: 'archive';
  readonly generation: LogGeneration;
  /** The finished archive. Work outside the simulated time: a reader waits for it instead of seeing it missing. */
  readonly data: Promise<Buffer>;
  /** While the archive grows: when that began and will end, on the monotonic clock. */
  growing: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Compressed bytes from the start that were sent to a client since the archive stopped growing. */
  servedBytes: number;
}

/** A file of a log: plain text or an archive. */
export type LogFile = PlainFile | ArchiveFile;

/** The name of the file that is being written. */
export const CURRENT = 'current';
/** Added by the compression to the name of its input. */
export const ARCHIVE_SUFFIX = '.bz2';
const ROTATED = /^log-(\d{4}-\d{2}-\d{2}-\d{2}:\d{2}:\d{2})(?:\.bz2)?$/;

/** The log folder of one component. Behaves like a file system, including silent replacement by a rename. */
export class LogFolder {
  readonly #files = new Map<string, LogFile>();

  get(name: string): LogFile | undefined {
    return this.#files.get(name);
  }

  /** All names, `current` first, then by time and form. */
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

  /**
   * Deletes rotated files until `maxFiles` are left, oldest first by the time in the name. The plain and the compressed
   * form of one rotation count as two.
   */
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
