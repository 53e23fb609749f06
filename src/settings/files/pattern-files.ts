import { glob, opendir, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { describeValue } from '../schema/secret-keys.ts';
import { CONFIG_FILE_BYTES_MAX, type ConfigFile } from '../source/config-file.ts';
import type { KeyPath } from '../source/fault.ts';
import { renderFileFault } from './named-files.ts';
import { readTextBytes, type TextBytes } from './text-file.ts';

interface MatchedFile {
  /** As in faults: in the form of the file that lists it. */
  readonly name: string;
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mode: number;
}

interface PatternBounds {
  readonly filesMax: number;
  readonly bytesMax: number;
}

/** Files that a list of paths and globs matches. */
export interface MatchedFiles {
  readonly files: readonly MatchedFile[];
  readonly patterns: readonly string[];
  /** {@link digest} of every file found, readable or not, by absolute path. */
  readonly digests: ReadonlyMap<string, string>;
}

/** They would break a line or control a terminal. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Reads the files that the paths and globs under `key` match, each once. A missing or unreadable file or folder is a
 * fault at its item; a glob without matches is a warning, because its files may be written later.
 */
export async function readPatternFiles(
  main: ConfigFile,
  key: string,
  patterns: readonly string[],
  { filesMax, bytesMax }: PatternBounds,
): Promise<MatchedFiles> {
  const files: MatchedFile[] = [];
  const digests = new Map<string, string>();
  const absolute = patterns.map((pattern) => resolve(main.folder, pattern));
  let bytes = 0;
  for (const [index, pattern] of patterns.entries()) {
    const place = [key, index];
    const matches = await listMatches(absolute[index] ?? '', filesMax);
    if (matches.length === 0 && !isGlob(pattern)) {
      main.faults.add(place, renderFileFault(main, place, !isAbsolute(pattern), 'does not exist'));
    }
    if (matches.length === 0 && isGlob(pattern)) {
      // An unavailable folder must not remove all of its routers.
      const fault = await findFolderFault(absolute[index] ?? '');
      if (fault !== undefined) main.faults.add(place, fault);
      else main.faults.warn(place, renderUnmatched(main, place, !isAbsolute(pattern)));
    }
    for (const path of matches.filter((match) => !digests.has(match))) {
      if (digests.size >= filesMax) {
        main.faults.add(place, `More than ${filesMax} files are named here and before`);
        return { files, patterns: absolute, digests };
      }
      const name = renderName(main, pattern, path);
      const file = await readTextBytes(path, CONFIG_FILE_BYTES_MAX);
      digests.set(path, digest(file));
      if (!file.ok) {
        main.faults.add(place, `The file ${name}, which is named here, ${file.reason}`);
        continue;
      }
      bytes += file.bytes.length;
      if (bytes > bytesMax) {
        main.faults.add(place, `The files that are named here and before hold more than ${bytesMax} bytes`);
        return { files, patterns: absolute, digests };
      }
      files.push({ name, path, bytes: file.bytes, mode: file.mode });
    }
  }
  return { files, patterns: absolute, digests };
}

function renderName(main: ConfigFile, pattern: string, path: string): string {
  const name = isAbsolute(pattern) ? path : join(dirname(main.name), relative(main.folder, path));
  return name.replaceAll(UNPRINTABLE, '?');
}

const GLOB = /[*?[\]{}]/;

/** Other text is the path of one file, which must exist. */
function isGlob(text: string): boolean {
  return GLOB.test(text);
}

/**
 * Lists the files that a path or glob matches, sorted by name, at most `filesMax` and one more. Folders match no glob,
 * hidden files match no star; a broken link is listed, so that reading it reports a fault. Never rejects.
 */
export async function listMatches(pattern: string, filesMax: number): Promise<string[]> {
  if (!isGlob(pattern)) return (await findKind(pattern)) === 'nothing' ? [] : [pattern];
  const paths: string[] = [];
  try {
    for await (const path of glob(pattern)) {
      if ((await findKind(path)) === 'folder') continue;
      paths.push(path);
      if (paths.length > filesMax) break;
    }
  } catch {
    // As in a shell, a folder that cannot be listed matches no glob.
  }
  return paths.toSorted();
}

function renderUnmatched(main: ConfigFile, place: KeyPath, isRelative: boolean): string {
  const start = isRelative ? `; relative paths start at ${main.folder}` : '';
  const pattern = describeValue(main.source.valueAt(place), place, main.secretKeys);
  return `No file matches ${pattern}${start}. Correct it, unless the files are still to be written`;
}

async function findFolderFault(pattern: string): Promise<string | undefined> {
  const parts = pattern.split(sep);
  const folder = parts.slice(0, parts.findIndex(isGlob)).join(sep) || sep;
  try {
    for await (const _ of await opendir(folder)) return undefined;
    return undefined;
  } catch (cause) {
    const code: unknown = Reflect.get(Object(cause), 'code');
    if (code === 'ENOENT') return `The folder ${folder} does not exist; correct the glob, or create the folder`;
    return `The folder ${folder} cannot be listed (${String(code)})`;
  }
}

function digest(file: TextBytes): string {
  return file.ok ? file.digest : `! ${file.reason}`;
}

/** Reads a file and returns the digest of its content. */
export async function readDigest(path: string, bytesMax: number): Promise<string> {
  const file = await readTextBytes(path, bytesMax);
  // Releases memory at once: a large file that changes is read repeatedly.
  if (file.ok) file.bytes.buffer.transfer(0);
  return digest(file);
}

async function findKind(path: string): Promise<'folder' | 'file' | 'nothing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'nothing';
  }
}
