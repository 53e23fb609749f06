import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { CONFIG_FILE_BYTES_MAX, type ConfigFile } from './config-file.ts';
import { digest, isGlob, listMatches } from './file-patterns.ts';
import { renderFileFault } from './named-files.ts';
import { readTextFile } from './text-file.ts';

/** One file that a list of paths and globs leads to. */
export interface MatchedFile {
  /** As faults name it: beginning as the file that named it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

export interface PatternBounds {
  readonly filesMax: number;
  /** Of all files together. */
  readonly bytesMax: number;
}

/** What a list of paths and globs led to. */
export interface MatchedFiles {
  readonly files: readonly MatchedFile[];
  /** The list, absolute. */
  readonly patterns: readonly string[];
  /** Of all files that were found, readable or not, the {@link digest} by absolute path. */
  readonly digests: ReadonlyMap<string, string>;
}

/** Characters of file names that would break a line or be obeyed by a terminal. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Reads the files that the paths and globs under `key` lead to, each once. A path whose file is missing, and a file that
 * cannot be read, is a fault at the path or glob; a glob that fits nothing is none.
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
    for (const path of matches.filter((match) => !digests.has(match))) {
      if (digests.size >= filesMax) {
        main.faults.add(place, `More than ${filesMax} files are named here and before`);
        return { files, patterns: absolute, digests };
      }
      const name = renderName(main, pattern, path);
      const text = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
      digests.set(path, digest(text));
      if (!text.ok) {
        main.faults.add(place, `The file ${name}, which is named here, ${text.reason}`);
        continue;
      }
      bytes += Buffer.byteLength(text.text);
      if (bytes > bytesMax) {
        main.faults.add(place, `The files that are named here and before hold more than ${bytesMax} bytes`);
        return { files, patterns: absolute, digests };
      }
      files.push({ name, path, text: text.text });
    }
  }
  return { files, patterns: absolute, digests };
}

/** The name of a file from where the main file is called by its name. */
function renderName(main: ConfigFile, pattern: string, path: string): string {
  const name = isAbsolute(pattern) ? path : join(dirname(main.name), relative(main.folder, path));
  return name.replaceAll(UNPRINTABLE, '?');
}
