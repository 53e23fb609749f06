/** A longer message is cut here, wherever that falls, also inside a character. The log daemon's own limit. */
const MESSAGE_BYTES_MAX = 8192;
const UNDERSCORE = 0x5f;

/**
 * What the log daemon makes of a message: cut to its limit, trailing control bytes removed, others replaced by `_`.
 * Bytes 0x80 to 0x9F count as control bytes, which breaks some UTF-8 letters (`Ä` arrives as C3 5F) and spares others
 * (`ä`). An empty result is not written at all.
 */
export function sanitizeMessage(message: string): Buffer {
  const bytes = Buffer.from(message, 'utf8').subarray(0, MESSAGE_BYTES_MAX);
  let end = bytes.length;
  while (end > 0 && isControl(bytes[end - 1] ?? 0)) end -= 1;
  return bytes.subarray(0, end).map((byte) => (isControl(byte) ? UNDERSCORE : byte)) as Buffer;
}

/** One line of a log file, line end included. */
export function renderLogLine(localStamp: string, tag: string, message: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${localStamp} [${tag}] `), message, Buffer.from('\n')]);
}

function isControl(byte: number): boolean {
  return byte < 0x20 || (byte >= 0x7f && byte <= 0x9f);
}
