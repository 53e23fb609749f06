const LINE_FEED = 0x0a;
const LINE_END = Buffer.from('\n');

/** A line of text as UTF-8, in memory that it shares with the lines around it. */
export class ByteLine {
  readonly memory: Buffer;
  /** First byte of the line in `memory`. */
  readonly start: number;
  /** The byte behind its last one; a line feed, or the end of `memory`. */
  readonly end: number;

  constructor(memory: Buffer, start: number, end: number) {
    this.memory = memory;
    this.start = start;
    this.end = end;
  }

  /** A line in memory of its own. */
  static of(text: string): ByteLine {
    const memory = Buffer.from(text);
    return new ByteLine(memory, 0, memory.length);
  }

  /** Bytes of the line, without a line end. */
  get length(): number {
    return this.end - this.start;
  }

  /** The line as a string, decoded at each call. */
  get text(): string {
    return this.memory.toString('utf8', this.start, this.end);
  }
}

/** The lines of a text in UTF-8 that are separated by line feeds. */
export function cutLines(memory: Buffer): ByteLine[] {
  const lines: ByteLine[] = [];
  let start = 0;
  for (let end = memory.indexOf(LINE_FEED); end >= 0; end = memory.indexOf(LINE_FEED, start)) {
    lines.push(new ByteLine(memory, start, end));
    start = end + 1;
  }
  lines.push(new ByteLine(memory, start, memory.length));
  return lines;
}

/** The lines with a line feed behind each, as few pieces of memory: neighbours stay one piece and are not copied. */
export function toPieces(lines: readonly ByteLine[]): Buffer[] {
  const pieces: Buffer[] = [];
  let first: ByteLine | undefined;
  let end = -1;
  const cut = () => {
    if (!first) return;
    const { memory, start } = first;
    if (end < memory.length) pieces.push(memory.subarray(start, end + 1));
    else pieces.push(memory.subarray(start, end), LINE_END);
  };
  for (const line of lines) {
    if (line.memory !== first?.memory || line.start !== end + 1) {
      cut();
      first = line;
    }
    ({ end } = line);
  }
  cut();
  return pieces;
}

/** The lines with a line feed behind each, in memory of their own. */
export function joinLines(lines: readonly ByteLine[]): Buffer {
  return Buffer.concat(toPieces(lines));
}
