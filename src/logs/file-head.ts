import { hash } from 'node:crypto';
import { parseLine } from './lines/parse-line.ts';
import type { StampContext } from './time/stamp.ts';

/** Facts from the beginning of a file. */
export interface Head {
  /** SHA-256 up to the end of the first line with a stamp, as hex. NUL bytes before that line do not count. */
  readonly key: string;
  /** Wall time of that line; `undefined` when no line of the head carries a stamp. */
  readonly firstWallAsUtcMs: number | undefined;
}

/** Limit of the search for the first line with a stamp, and of the bytes that a file's key covers. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Stamp and tag of a line stand within this many bytes. */
const STAMP_BYTES_MAX = 256;
/** Beginnings of files that a power cut has left as NUL bytes are passed over up to here. */
const NUL_BYTES_MAX = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Finds the first line with a stamp. `undefined` while more of the file is needed; `isWhole` when there is none and the
 * last line ends with the file.
 */
export function findHead(bytes: Buffer, isWhole: boolean, context: StampContext): Head | undefined {
  const isNul = bytes[0] === 0;
  const start = isNul ? bytes.findIndex((byte) => byte !== 0) : 0;
  if (start < 0 && !isWhole && bytes.length < NUL_BYTES_MAX) return undefined;
  const head = start > 0 ? bytes.subarray(start) : bytes;
  const found = findKeyBytes(head, isWhole, context);
  if (!found) return undefined;
  const key = hash('sha256', head.subarray(0, found.length));
  return { key, firstWallAsUtcMs: found.firstWallAsUtcMs };
}

/** The beginning of a page or of a JSON body, which some devices send with status 200 when they mean an error. */
export function looksForeign(head: Buffer): boolean {
  return /^\s*[<{]/.test(head.toString('latin1', 0, 64));
}

function findKeyBytes(head: Buffer, isWhole: boolean, context: StampContext) {
  let from = 0;
  while (from < HEAD_BYTES_MAX) {
    const end = head.indexOf(LINE_FEED, from);
    const isUnterminated = end < 0;
    // Of a line that is longer than the head, the beginning is enough; but as much of it as any chunk would have brought.
    if (isUnterminated && !isWhole && head.length < HEAD_BYTES_MAX + STAMP_BYTES_MAX) return undefined;
    const stop = isUnterminated ? head.length : end;
    const { time } = parseLine(head.toString('utf8', from, Math.min(stop, from + STAMP_BYTES_MAX)), context);
    if (time) {
      const length = Math.min(isUnterminated ? stop : stop + 1, HEAD_BYTES_MAX);
      return { length, firstWallAsUtcMs: time.asUtcMs };
    }
    if (isUnterminated) break;
    from = end + 1;
  }
  if (head.length >= HEAD_BYTES_MAX) return { length: HEAD_BYTES_MAX, firstWallAsUtcMs: undefined };
  return isWhole && head.length > 0 ? { length: head.length, firstWallAsUtcMs: undefined } : undefined;
}
