import type { FileHandle } from 'node:fs/promises';
import { DeliveryError } from '../../errors.ts';

const LINE_END = 0x0a;
/** First byte of a record in every format. */
const BRACE = 0x7b;

/** The last bytes of a file. */
export interface Tail {
  /** Offset in the file. Bytes. */
  readonly offset: number;
  /** The bytes that were read. */
  readonly bytes: Buffer;
}

/** Reads the last `bytesMax` bytes. */
export async function readTail(handle: FileHandle, bytesMax: number): Promise<Tail> {
  const { size } = await handle.stat();
  const offset = Math.max(0, size - bytesMax);
  const bytes = Buffer.allocUnsafe(size - offset);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return { offset, bytes: bytes.subarray(0, filled) };
}

/**
 * Truncates a torn last line. A crash interrupted it, so its record was not acknowledged and will be delivered again; after
 * a power failure it may consist of NULs. Throws {@link DeliveryError} `unwritable`, and leaves the file unchanged, when
 * the line cannot come from this program.
 */
export async function cutTornLine(handle: FileHandle, path: string, tail: Tail): Promise<Tail> {
  const end = tail.bytes.lastIndexOf(LINE_END) + 1;
  if (end === tail.bytes.length) return tail;
  const first = tail.bytes[end];
  if ((end === 0 && tail.offset > 0) || (first !== BRACE && first !== 0)) {
    throw new DeliveryError('unwritable', `The file ${path} ends with an incomplete line that is not a log record`, {
      disposition: 'operator',
      hint: 'Choose a path that no other program uses',
    });
  }
  await handle.truncate(tail.offset + end);
  return { offset: tail.offset, bytes: tail.bytes.subarray(0, end) };
}

/** Yields the lines. The first may be incomplete, and then matches no record. */
export function* splitLines({ bytes }: Tail): Generator<string> {
  let from = 0;
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, from)) {
    yield bytes.toString('utf8', from, end);
    from = end + 1;
  }
}
