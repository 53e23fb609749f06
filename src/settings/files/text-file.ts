import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';

/** The text of a file, or the reason why it cannot be read: `The file X <reason>`. */
export type TextFile =
  | {
      readonly ok: true;
      readonly text: string;
      /** SHA-256 of its bytes, in hexadecimal. */
      readonly digest: string;
      /** Permission bits. */
      readonly mode: number;
    }
  | { readonly ok: false; readonly reason: string };

/** Reads at most `bytesMax` bytes of UTF-8 text. Never rejects; the reason never quotes the content. */
export async function readTextFile(path: string, bytesMax: number): Promise<TextFile> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return refuse('is a folder');
    // A pipe or a device could keep the start waiting for ever.
    if (!info.isFile()) return refuse('is not a regular file');
    const isTooLarge = `is larger than the limit of ${bytesMax} bytes`;
    if (info.size > bytesMax) return refuse(isTooLarge);
    await using handle = await open(path);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const hash = createHash('sha256');
    let [content, bytes] = ['', 0];
    for await (const chunk of handle.createReadStream({ end: bytesMax, autoClose: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      content += decoder.decode(chunk, { stream: true });
      hash.update(chunk);
    }
    if (bytes > bytesMax) return refuse(isTooLarge);
    content += decoder.decode();
    return { ok: true, text: content, digest: hash.digest('hex'), mode: info.mode & 0o777 };
  } catch (cause) {
    return refuse(describeFailure(cause));
  }
}

function refuse(reason: string): TextFile {
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
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8 text';
    default:
      return `cannot be read (${typeof code === 'string' ? code : 'unknown reason'})`;
  }
}
