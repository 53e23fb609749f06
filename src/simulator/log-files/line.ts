/** A longer message is cut here, wherever that falls, also inside a character. The log daemon's own limit. */
const MESSAGE_BYTES_MAX = 8192;
const UNDERSCORE = 0x5f;

/**
 * Processes a message as the log daemon does: cuts it to the limit, removes trailing control bytes and replaces others
 * by `_`. Bytes 0x80 to 0x9F count as control bytes, which breaks some UTF-8 letters (`Ä` becomes C3 5F) and not others
 * (`ä`). An empty result is not written.
 */
export function sanitizeMessage(message: string): Buffer {
  const bytes = Buffer.from(message, 'utf8').subarray(0, MESSAGE_BYTES_MAX);
  let end = bytes.length;
  while (end > 0 && isControl(bytes[end - 1] ?? 0)) end -= 1;
  return bytes.subarray(0, end).map((byte) => (isControl(byte) ? UNDERSCORE : byte)) as Buffer;
}

/** Severity of a message, written in brackets by newer log daemons. */
export type LogSeverity = 'EMERG' | 'ALERT' | 'CRIT' | 'ERR' | 'WARNING' | 'NOTICE' | 'INFO' | 'DEBUG';

/** One line of a log file, line end included. */
export function renderLogLine(
  localStamp: string,
  tag: string,
  message: Buffer,
  severity: LogSeverity | undefined,
): Buffer {
  const brackets = severity === undefined ? `[${tag}]` : `[${tag}][${severity}]`;
  return Buffer.concat([Buffer.from(`${localStamp} ${brackets} `), message, Buffer.from('\n')]);
}

/** Returns the log daemon's notice, without time stamp and component, after `count` equal lines were left out. */
export function renderRepeatNotice(count: number): Buffer {
  const times = count === 1 ? 'twice' : `${count} times`;
  return Buffer.from(`${' '.repeat(16)}- Last output repeated ${times} -\n`);
}

function isControl(byte: number): boolean {
  return byte < 0x20 || (byte >= 0x7f && byte <= 0x9f);
}
