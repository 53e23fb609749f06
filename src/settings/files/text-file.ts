import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { open, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** `reason` completes "The file X …". */
type ReadFile<Content> =
  | (Content & {
      readonly ok: true;
      readonly digest: string;
      readonly mode: number;
    })
  | { readonly ok: false; readonly reason: string };

/** Text of a file, or the reason why it cannot be read. */
export type TextFile = ReadFile<{ readonly text: string }>;
export type TextBytes = ReadFile<{ readonly bytes: Uint8Array<ArrayBuffer> }>;

const PART_BYTES = 64 * 1024;

/** Reads at most `bytesMax` bytes of UTF-8 text. Never rejects; the reason never quotes the content. */
export async function readTextFile(path: string, bytesMax: number): Promise<TextFile> {
  const file = await readTextBytes(path, bytesMax);
  return file.ok ? { ok: true, text: decodeText(file.bytes), digest: file.digest, mode: file.mode } : file;
}

export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** For long text, which a thread decodes; otherwise as {@link readTextFile}. */
export async function readTextBytes(path: string, bytesMax: number): Promise<TextBytes> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return refuse('is a folder');
    // A pipe or device could block forever.
    if (!info.isFile()) return refuse('is not a regular file');
    const isTooLarge = `is larger than the limit of ${bytesMax} bytes`;
    if (info.size > bytesMax) return refuse(isTooLarge);
    await using handle = await open(path);
    const hash = createHash('sha256');
    let content = new Uint8Array(info.size + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= bytesMax; length += read) {
      if (length === content.length) content = enlarge(content, bytesMax);
      const part = Math.min(PART_BYTES, content.length - length);
      read = (await handle.read(content, length, part)).bytesRead;
      hash.update(content.subarray(length, length + read));
    }
    if (length > bytesMax) return refuse(isTooLarge);
    const bytes = content.subarray(0, length);
    if (!isUtf8(bytes)) return refuse('is not UTF-8 text');
    return { ok: true, bytes, digest: hash.digest('hex'), mode: info.mode & 0o777 };
  } catch (cause) {
    return refuse(describeFailure(cause));
  }
}

/**
 * Returns the metadata of a file as text; empty if it cannot be read. Every write changes it, unless within one tick of
 * the file system's clock.
 */
export async function readFileStamp(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return '';
  }
}

function enlarge(content: Uint8Array, bytesMax: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(2 * content.length + PART_BYTES, bytesMax + 1));
  larger.set(content);
  return larger;
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

/** Completes "The file …" for an error of the file system. */
export function describeFailure(cause: unknown): string {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by the user that runs this program';
    default:
      return `cannot be read (${typeof code === 'string' ? code : 'unknown reason'})`;
  }
}

const OTHERS = { read: 0o004, write: 0o002, enter: 0o001 } as const;

const USES = {
  secret: 'which holds a secret',
  settings: 'which decides what the agent does',
  folder: 'where the agent keeps its files',
} as const;

/**
 * Describes rights that other users should not have on a file or folder, and the fix; `undefined` if there are none.
 * `mode`: permission bits. Never rejects.
 */
export async function describeExcessRights(
  path: string,
  mode: number,
  use: keyof typeof USES,
): Promise<string | undefined> {
  const isWritable = (mode & OTHERS.write) !== 0;
  const isReadable = use === 'secret' && (mode & OTHERS.read) !== 0;
  if ((!isWritable && !isReadable) || !(await isReachable(path))) return undefined;
  const rights = isWritable && isReadable ? 'read and write' : isWritable ? 'write' : 'read';
  const letters = isWritable && isReadable ? 'rw' : isWritable ? 'w' : 'r';
  const octal = mode.toString(8).padStart(4, '0');
  return `Every user of this machine may ${rights} ${path} (mode ${octal}), ${USES[use]}; run: chmod o-${letters} ${path}`;
}

async function isReachable(path: string): Promise<boolean> {
  try {
    for (let at = await realpath(path); at !== dirname(at); at = dirname(at)) {
      const folder = await stat(dirname(at));
      if ((folder.mode & OTHERS.enter) === 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}
