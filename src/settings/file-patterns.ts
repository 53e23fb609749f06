import { createHash } from 'node:crypto';
import { glob, stat } from 'node:fs/promises';
import { readTextFile, type TextFile } from './text-file.ts';

/** Characters that make a path a glob. */
const GLOB = /[*?[\]{}]/;

/** Whether a text is a glob; else it is the path of one file, which then has to be there. */
export function isGlob(text: string): boolean {
  return GLOB.test(text);
}

/**
 * Lists what a path or glob leads to, in the order of the names: at most `filesMax` and one more. Folders fit no glob, and
 * hidden files fit no star; a link that leads nowhere is listed, so that whoever reads it can say so. Never rejects.
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
    // What cannot be listed fits no glob, as in a shell.
  }
  return paths.toSorted();
}

/** Tells one content of a file, or one reason why it cannot be read, from another. */
export function digest(file: TextFile): string {
  return file.ok ? createHash('sha256').update(file.text).digest('hex') : `! ${file.reason}`;
}

/** Reads a file and tells its content from another. */
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
