import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { renderErrorChain } from '../../../base/index.ts';

/** Mode of files: readable and writable by the owner, readable by the group. */
export const FILE_MODE = 0o640;

interface FileArchiveOptions {
  readonly path: string;
  readonly keep: number;
  readonly compress: 'gzip' | 'none';
}

/**
 * The rotated files of a sink: compresses them in the background, one at a time, and removes the oldest.
 *
 * A compressed file gets its name only once it is complete and on disk; then the plain one is deleted. A crash may leave an
 * incomplete file, which is deleted, or both forms, of which the plain one is compressed again.
 */
export class FileArchive {
  readonly #options: FileArchiveOptions;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #upTo: string | undefined;
  #isAsked = false;
  #fault: string | undefined;

  constructor(options: FileArchiveOptions) {
    this.#options = options;
  }

  /**
   * Starts to compress and delete files with stamps up to `upTo`; later files contain records that may still be searched for.
   * Does nothing when no file was added since the last call.
   */
  tidy(upTo: string): void {
    if (upTo === this.#upTo || this.#closing.signal.aborted) return;
    this.#upTo = upTo;
    this.#isAsked = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Returns the error since the last call, if any. */
  takeFault(): string | undefined {
    const fault = this.#fault;
    this.#fault = undefined;
    return fault;
  }

  /** Resolves when no work is in progress. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Cancels compression; the next start repeats it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#closing.signal.aborted) {
      this.#isAsked = false;
      try {
        await this.#tidyOnce();
      } catch (cause) {
        if (!this.#closing.signal.aborted) this.#fault = renderErrorChain(cause);
      }
    }
  }

  async #tidyOnce(): Promise<void> {
    const { path, compress } = this.#options;
    const upTo = this.#upTo ?? '';
    const { files, parts } = await listRotated(path);
    for (const part of parts) await rm(join(dirname(path), part), { force: true });
    const kept = await this.#prune(files, upTo);
    if (compress === 'none') return;
    for (const { stamp, isPlain } of kept) {
      if (isPlain && stamp <= upTo) await this.#pack(`${path}.${stamp}`);
    }
  }

  async #prune(files: readonly RotatedFile[], upTo: string): Promise<readonly RotatedFile[]> {
    const { path, keep } = this.#options;
    const surplus = files.slice(0, Math.max(0, files.length - keep)).filter(({ stamp }) => stamp <= upTo);
    for (const { stamp } of surplus) {
      await rm(`${path}.${stamp}`, { force: true });
      await rm(`${path}.${stamp}${PACKED}`, { force: true });
    }
    return files.slice(surplus.length);
  }

  async #pack(file: string): Promise<void> {
    const { signal } = this.#closing;
    const part = `${file}${PART}`;
    const output = { flags: 'wx', mode: FILE_MODE, flush: true };
    try {
      await pipeline(createReadStream(file), createGzip(), createWriteStream(part, output), { signal });
      await rename(part, `${file}${PACKED}`);
    } catch (cause) {
      await rm(part, { force: true }).catch(() => {});
      throw cause;
    }
    await syncFolder(dirname(file));
    await rm(file, { force: true });
  }
}

const PACKED = '.gz';
const PART = '.gz.part';

interface RotatedFile {
  /** UTC time of the rotation, as in `20261121T174753.123Z`. Increases from file to file even if the clock does not. */
  readonly stamp: string;
  readonly isPlain: boolean;
  readonly isPacked: boolean;
}

interface Rotated {
  readonly files: readonly RotatedFile[];
  readonly parts: readonly string[];
}

const STAMP = /^\d{8}T\d{6}\.\d{3}Z/;

/** Converts a time in milliseconds since the Unix epoch to a stamp. */
export function toStamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replaceAll(/[-:]/g, '');
}

/** Parses a stamp to milliseconds since the Unix epoch. */
export function parseStamp(stamp: string): number {
  return Date.parse(stamp.replace(/^(....)(..)(..T..)(..)(.*)$/, '$1-$2-$3:$4:$5'));
}

export async function listRotated(path: string): Promise<Rotated> {
  const prefix = `${basename(path)}.`;
  const files = new Map<string, RotatedFile>();
  const parts: string[] = [];
  for (const name of await readdir(dirname(path))) {
    const stamp = name.startsWith(prefix) ? STAMP.exec(name.slice(prefix.length))?.[0] : undefined;
    // An invalid time would make the next stamp invalid.
    if (stamp === undefined || Number.isNaN(parseStamp(stamp))) continue;
    const ending = name.slice(prefix.length + stamp.length);
    if (ending === PART) parts.push(name);
    if (ending !== '' && ending !== PACKED) continue;
    const { isPlain = false, isPacked = false } = files.get(stamp) ?? {};
    files.set(stamp, { stamp, isPlain: isPlain || ending === '', isPacked: isPacked || ending === PACKED });
  }
  return { files: [...files.values()].toSorted((a, b) => (a.stamp < b.stamp ? -1 : 1)), parts };
}

/** Syncs a folder, so that created, renamed and deleted names survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}
