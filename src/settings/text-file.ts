import { open, stat } from 'node:fs/promises';

/** The text of a file, or the reason why it cannot be read: `The file X <reason>`. */
export type TextFile = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

/** Reads at most `bytesMax` bytes of UTF-8 text. Never rejects; the reason never quotes the content. */
export async function readTextFile(path: string, bytesMax: number): Promise<TextFile> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return refuse('is a folder');
    // A pipe or a device could keep the start waiting for ever.
    if (!info.isFile()) return refuse('is not a regular file');
    const bytes = await readAtMost(path, bytesMax + 1);
    if (bytes.length > bytesMax) return refuse(`is larger than the limit of ${bytesMax} bytes`);
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (cause) {
    return refuse(describeFailure(cause));
  }
}

async function readAtMost(path: string, bytesMax: number): Promise<Uint8Array> {
  await using handle = await open(path);
  const chunks: Uint8Array[] = [];
  for await (const chunk of handle.createReadStream({ end: bytesMax - 1, autoClose: false })) chunks.push(chunk);
  return Buffer.concat(chunks);
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
