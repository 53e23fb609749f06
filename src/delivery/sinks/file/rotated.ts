import { open, readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/** Ending of a rotated file that is compressed. */
export const PACKED = '.gz';
/** Ending of a compressed file that is not finished. */
export const PART = '.gz.part';

/** A file that was rotated away, in one or both of its forms. */
export interface RotatedFile {
  /** UTC time of the rotation, as in `20261121T174753.123Z`; rises from file to file, whatever the clock does. */
  readonly stamp: string;
  /** True when the uncompressed file exists. */
  readonly isPlain: boolean;
  /** True when the compressed file exists. */
  readonly isPacked: boolean;
}

/** What stands beside the file of a sink. */
export interface Rotated {
  /** Oldest first. */
  readonly files: readonly RotatedFile[];
  /** Names of compressed files that were never finished. */
  readonly parts: readonly string[];
}

const STAMP = /^\d{8}T\d{6}\.\d{3}Z/;

/** The stamp of a time in milliseconds since the Unix epoch. */
export function toStamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replaceAll(/[-:]/g, '');
}

/** The time of a stamp, in milliseconds since the Unix epoch. */
export function parseStamp(stamp: string): number {
  return Date.parse(stamp.replace(/^(....)(..)(..T..)(..)(.*)$/, '$1-$2-$3:$4:$5'));
}

/** Looks for the files that were rotated away from `path`. */
export async function listRotated(path: string): Promise<Rotated> {
  const prefix = `${basename(path)}.`;
  const files = new Map<string, RotatedFile>();
  const parts: string[] = [];
  for (const name of await readdir(dirname(path))) {
    const stamp = name.startsWith(prefix) ? STAMP.exec(name.slice(prefix.length))?.[0] : undefined;
    // What only looks like a time would make the next stamp invalid.
    if (stamp === undefined || Number.isNaN(parseStamp(stamp))) continue;
    const ending = name.slice(prefix.length + stamp.length);
    if (ending === PART) parts.push(name);
    if (ending !== '' && ending !== PACKED) continue;
    const { isPlain = false, isPacked = false } = files.get(stamp) ?? {};
    files.set(stamp, { stamp, isPlain: isPlain || ending === '', isPacked: isPacked || ending === PACKED });
  }
  return { files: [...files.values()].toSorted((a, b) => (a.stamp < b.stamp ? -1 : 1)), parts };
}

/** Makes names that were given or taken in a folder outlive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}
