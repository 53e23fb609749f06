import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';

/** The content of a file, or the reason why it cannot be read: `The file X <reason>`. */
type ReadFile<Content> =
  | (Content & {
      readonly ok: true;
      /** SHA-256 of its bytes, in hexadecimal. */
      readonly digest: string;
      /** Permission bits. */
      readonly mode: number;
    })
  | { readonly ok: false; readonly reason: string };

/** The text of a file, or why it cannot be read. */
export type TextFile = ReadFile<{ readonly text: string }>;
/** The bytes of a file, which are UTF-8 text, or why it cannot be read. */
export type TextBytes = ReadFile<{ readonly bytes: Uint8Array<ArrayBuffer> }>;

/** Size of the parts in which a file is read: their digest takes a fraction of a millisecond. Bytes. */
const PART_BYTES = 64 * 1024;

/** Reads at most `bytesMax` bytes of UTF-8 text. Never rejects; the reason never quotes the content. */
export async function readTextFile(path: string, bytesMax: number): Promise<TextFile> {
  const file = await readTextBytes(path, bytesMax);
  return file.ok ? { ok: true, text: decodeText(file.bytes), digest: file.digest, mode: file.mode } : file;
}

/** Decodes bytes that are UTF-8 text, without the mark of the byte order. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** The same as {@link readTextFile} for text that a thread decodes, because that may take a while. */
export async function readTextBytes(path: string, bytesMax: number): Promise<TextBytes> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return refuse('is a folder');
    // A pipe or a device could keep the start waiting for ever.
    if (!info.isFile()) return refuse('is not a regular file');
    const isTooLarge = `is larger than the limit of ${bytesMax} bytes`;
    if (info.size > bytesMax) return refuse(isTooLarge);
    await using handle = await open(path);
    const hash = createHash('sha256');
    let content = new Uint8Array(info.size + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= bytesMax; length += read) {
      // It has grown since.
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
 * Reads the metadata of a file as text; empty if there is none. A write changes it, unless it was within one tick of the file
 * system's clock.
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
