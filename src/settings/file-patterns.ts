import { createHash } from 'node:crypto';
import { glob, stat } from 'node:fs/promises';
import { readTextFile, type TextFile } from './text-file.ts';

/** Characters that make a path a glob. */
const GLOB = /[*?[\]{}]/;

/** True for a glob. Any other text is the path of one file, which must exist. */
export function isGlob(text: string): boolean {
  return GLOB.test(text);
}

/**
 * Lists the files that a path or glob matches, sorted by name: at most `filesMax` and one more. Folders match no glob, hidden
 * files match no star; a broken link is listed, so that its reader reports it. Never rejects.
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
    // A folder that cannot be listed matches no glob, as in a shell.
  }
  return paths.toSorted();
}

/** Returns a digest of the content of a file, or of the reason why it cannot be read. */
export function digest(file: TextFile): string {
  return file.ok ? createHash('sha256').update(file.text).digest('hex') : `! ${file.reason}`;
}

/** Reads a file and returns the digest of its content. */
export async function readDigest(path: string, bytesMax: number): Promise<string> {
  return digest(await readTextFile(path, bytesMax));
}

async function findKind(path: string): Promise<'folder' | 'file' | 'nothing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'nothing';
  }
}
