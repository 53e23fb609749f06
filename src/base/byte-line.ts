const LINE_FEED = 0x0a;
const LINE_END = Buffer.from('\n');
/** A usual batch has no more lines, and room for more than the second number is not kept. */
const LINES_MIN = 8192;
const LINES_MAX = 64 * 1024;

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

/**
 * The lines of a text in UTF-8 that are separated by line feeds. Keeps where they end, and makes a line when it is asked for: as
 * objects that wait for a sink, the lines of a long log would have the whole heap searched for garbage again and again.
 */
export class LineTable {
  readonly memory: Buffer;
  readonly #ends: Uint32Array;

  constructor(memory: Buffer) {
    this.memory = memory;
    this.#ends = findLineEnds(memory);
  }

  /** Number of lines; 1 for a text without any bytes. */
  get length(): number {
    return this.#ends.length;
  }

  /** The line with a number, from 0 on; `undefined` behind the last one. */
  at(index: number): ByteLine | undefined {
    const end = this.#ends[index];
    if (end === undefined) return undefined;
    return new ByteLine(this.memory, index === 0 ? 0 : (this.#ends[index - 1] ?? 0) + 1, end);
  }
}

/** The lines of a text in UTF-8 that are separated by line feeds. */
export function cutLines(memory: Buffer): ByteLine[] {
  const table = new LineTable(memory);
  return Array.from({ length: table.length }, (_, index) => table.at(index) as ByteLine);
}

/** Room for the line ends of one text, used again for the next one. */
let found = new Uint32Array(LINES_MIN);

function findLineEnds(memory: Buffer): Uint32Array {
  let count = 0;
  const add = (end: number) => {
    if (count === found.length) {
      const more = new Uint32Array(count * 2);
      more.set(found);
      found = more;
    }
    found[count++] = end;
  };
  for (let end = memory.indexOf(LINE_FEED); end >= 0; end = memory.indexOf(LINE_FEED, end + 1)) add(end);
  add(memory.length);
  const ends = found.slice(0, count);
  if (found.length > LINES_MAX) found = new Uint32Array(LINES_MIN);
  return ends;
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
