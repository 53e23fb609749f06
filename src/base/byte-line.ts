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
 * The lines of a text in UTF-8 that are separated by line feeds. Keeps where they end, once somebody asks, and makes a line when it
 * is asked for: as objects that wait for a sink, the lines of a long log would have the whole heap searched for garbage again and again.
 */
export class LineTable {
  readonly memory: Buffer;
  readonly #length: number | undefined;
  #foundEnds: Uint32Array | undefined;

  /** `length`: number of the lines, if it is known. */
  constructor(memory: Buffer, length?: number) {
    this.memory = memory;
    this.#length = length;
  }

  /** Number of lines; 1 for a text without any bytes. */
  get length(): number {
    return this.#length ?? this.#ends.length;
  }

  /** The line with a number, from 0 on; `undefined` behind the last one. */
  at(index: number): ByteLine | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : new ByteLine(this.memory, this.startOf(index), end);
  }

  /** Where a line begins in the text. */
  startOf(index: number): number {
    return index === 0 ? 0 : this.endOf(index - 1) + 1;
  }

  /** Where a line ends in the text, without its line feed. */
  endOf(index: number): number {
    return index === this.length - 1 ? this.memory.length : (this.#ends[index] ?? this.memory.length);
  }

  /** Bytes of the lines from one on and before another, without line feeds. */
  bytesOf(from: number, to: number): number {
    return from < to ? this.endOf(to - 1) - this.startOf(from) - (to - from - 1) : 0;
  }

  /** False as long as nobody has looked for where lines end, which takes time. */
  get isMeasured(): boolean {
    return this.#foundEnds !== undefined;
  }

  get #ends(): Uint32Array {
    this.#foundEnds ??= findLineEnds(this.memory);
    return this.#foundEnds;
  }
}

interface LineRange {
  readonly table: LineTable;
  readonly from: number;
  readonly to: number;
}

/** Lines of one text or several, in order: made when somebody looks at them. */
export class LineRanges implements Iterable<ByteLine> {
  readonly #ranges: LineRange[] = [];
  #length = 0;
  #bytes = 0;

  /** Adds the lines of a text from one on and before another. */
  add(table: LineTable, from: number, to: number): void {
    if (from >= to) return;
    this.#ranges.push({ table, from, to });
    this.#length += to - from;
    this.#bytes += table.bytesOf(from, to);
  }

  /** Number of lines. */
  get length(): number {
    return this.#length;
  }

  /** Bytes of the lines, without line ends. */
  get bytes(): number {
    return this.#bytes;
  }

  *[Symbol.iterator](): Generator<ByteLine, void, undefined> {
    for (const { table, from, to } of this.#ranges) {
      for (let index = from; index < to; index++) {
        const line = table.at(index);
        if (line) yield line;
      }
    }
  }

  /** What `change` makes of each line. */
  map<T>(change: (line: ByteLine) => T): T[] {
    return Array.from(this, change);
  }

  /** The lines with a line feed behind each, as few pieces of memory. */
  toPieces(): Buffer[] {
    return this.#ranges.flatMap(({ table, from, to }) =>
      pieceOf(table.memory, table.startOf(from), table.endOf(to - 1)),
    );
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

/** A piece of memory with the line feed behind it, which is missing at the end of a text. */
function pieceOf(memory: Buffer, start: number, end: number): Buffer[] {
  return end < memory.length ? [memory.subarray(start, end + 1)] : [memory.subarray(start, end), LINE_END];
}

/** The lines with a line feed behind each, as few pieces of memory: neighbours stay one piece and are not copied. */
export function toPieces(lines: readonly ByteLine[]): Buffer[] {
  const pieces: Buffer[] = [];
  let first: ByteLine | undefined;
  let end = -1;
  const cut = () => {
    if (!first) return;
    pieces.push(...pieceOf(first.memory, first.start, end));
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
