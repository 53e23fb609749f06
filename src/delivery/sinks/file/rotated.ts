import { open, readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/** Extension of a compressed rotated file. */
export const PACKED = '.gz';
/** Extension of an incomplete compressed file. */
export const PART = '.gz.part';

/** A rotated file, plain, compressed or both. */
export interface RotatedFile {
  /** UTC time of the rotation, as in `20261121T174753.123Z`. Increases from file to file even if the clock does not. */
  readonly stamp: string;
  /** True when the uncompressed file exists. */
  readonly isPlain: boolean;
  /** True when the compressed file exists. */
  readonly isPacked: boolean;
}

/** The files beside the active file of a sink. */
export interface Rotated {
  /** Rotated files, oldest first. */
  readonly files: readonly RotatedFile[];
  /** Names of incomplete compressed files. */
  readonly parts: readonly string[];
}

const STAMP = /^\d{8}T\d{6}\.\d{3}Z/;

/** Converts a time in milliseconds since the Unix epoch to a stamp. */
export function toStamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replaceAll(/[-:]/g, '');
}

/** Returns the time of a stamp in milliseconds since the Unix epoch. */
export function parseStamp(stamp: string): number {
  return Date.parse(stamp.replace(/^(....)(..)(..T..)(..)(.*)$/, '$1-$2-$3:$4:$5'));
}

/** Lists the rotated files of `path`. */
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
