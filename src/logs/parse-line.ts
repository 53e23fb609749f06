/** The time of a line as the router wrote it: its own wall clock, without a zone. */
export interface WallTime {
  /** The wall time as if it were UTC. Milliseconds since the Unix epoch. */
  readonly asUtcMs: number;
  /** Whether the text resolves milliseconds or less. */
  readonly hasFraction: boolean;
}

/** A line taken apart. Lines without a time stamp have only a message. */
export interface ParsedLine {
  readonly time: WallTime | undefined;
  /** The word in brackets. */
  readonly tag: string | undefined;
  readonly message: string;
}

const STAMP = String.raw`(?:(\d{4})-(\d\d)-(\d\d)|(\d\d)\.(\d\d)\.(\d{4})) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?`;
const LINE = new RegExp(String.raw`^${STAMP} \[([^\]]*)\] ?(.*)$`, 's');

/** Parses `<date> <time> [<tag>] <message>`, date as `YYYY-MM-DD` or `DD.MM.YYYY`, the time with or without a fraction. */
export function parseLine(text: string): ParsedLine {
  const match = LINE.exec(text);
  if (!match) return { time: undefined, tag: undefined, message: text };
  const [, y1, m1, d1, d2, m2, y2, hours, minutes, seconds, fraction] = match;
  const [year, month, day] = [Number(y1 ?? y2), Number(m1 ?? m2), Number(d1 ?? d2)];
  const wholeMs = Date.UTC(year, month - 1, day, Number(hours), Number(minutes), Number(seconds));
  // Date.UTC carries 31 February over into March; what does not come back as it was is no time.
  const back = new Date(wholeMs);
  const isReal =
    back.getUTCFullYear() === year &&
    back.getUTCMonth() === month - 1 &&
    back.getUTCDate() === day &&
    back.getUTCMinutes() === Number(minutes) &&
    back.getUTCSeconds() === Number(seconds);
  if (!isReal) return { time: undefined, tag: undefined, message: text };
  const fractionMs = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1000);
  return {
    time: { asUtcMs: wholeMs + fractionMs, hasFraction: fraction !== undefined },
    tag: match[11],
    message: match[12] ?? '',
  };
}
