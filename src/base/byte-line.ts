const LINE_FEED = 0x0a;
const LINE_END = Buffer.from('\n');
/** Initial size of `found`: an ordinary batch has fewer lines. */
const LINES_MIN = 8192;
/** A larger `found` is dropped after use. */
const LINES_MAX = 64 * 1024;

/** A line of UTF-8 text in memory shared with its neighbours. */
export class ByteLine {
  readonly memory: Buffer;
  /** Offset of the first byte in `memory`. */
  readonly start: number;
  /** Offset after the last byte: a line feed, or the end of `memory`. */
  readonly end: number;

  constructor(memory: Buffer, start: number, end: number) {
    this.memory = memory;
    this.start = start;
    this.end = end;
  }

  /** Copies a text into a line. */
  static of(text: string): ByteLine {
    const memory = Buffer.from(text);
    return new ByteLine(memory, 0, memory.length);
  }

  /** Bytes, without the line end. */
  get length(): number {
    return this.end - this.start;
  }

  /** Decoded at each call. */
  get text(): string {
    return this.memory.toString('utf8', this.start, this.end);
  }
}

/**
 * The lines of a UTF-8 text, separated by line feeds. Finds the line ends on first use and creates line objects on demand: kept as
 * objects, the lines of a long log that wait for a sink would make every garbage collection slow.
 */
export class LineTable {
  readonly memory: Buffer;
  readonly #length: number | undefined;
  #foundEnds: Uint32Array | undefined;

  /** `length`: number of lines, if known. */
  constructor(memory: Buffer, length?: number) {
    this.memory = memory;
    this.#length = length;
  }

  /** Number of lines; 1 for an empty text. */
  get length(): number {
    return this.#length ?? this.#ends.length;
  }

  /** Returns a line by its number, from 0; `undefined` after the last one. */
  at(index: number): ByteLine | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : new ByteLine(this.memory, this.startOf(index), end);
  }

  startOf(index: number): number {
    return index === 0 ? 0 : this.endOf(index - 1) + 1;
  }

  /** Offset of the line feed after a line. */
  endOf(index: number): number {
    return index === this.length - 1 ? this.memory.length : (this.#ends[index] ?? this.memory.length);
  }

  /** Bytes of the lines from `from` up to, not including, `to`, without line feeds. */
  bytesOf(from: number, to: number): number {
    return from < to ? this.endOf(to - 1) - this.startOf(from) - (to - from - 1) : 0;
  }

  /** True once the line ends have been searched for, which takes time. */
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

/** Lines of one or more texts, in order; line objects are created on iteration. */
export class LineRanges implements Iterable<ByteLine> {
  readonly #ranges: LineRange[] = [];
  #length = 0;
  #bytes = 0;

  /** Adds the lines from `from` up to, not including, `to`. */
  add(table: LineTable, from: number, to: number): void {
    if (from >= to) return;
    this.#ranges.push({ table, from, to });
    this.#length += to - from;
    this.#bytes += table.bytesOf(from, to);
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes, without line ends. */
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

  map<T>(change: (line: ByteLine) => T): T[] {
    return Array.from(this, change);
  }

  /** Returns the lines, each with a line feed, as few pieces of memory. */
  toPieces(): Buffer[] {
    return this.#ranges.flatMap(({ table, from, to }) =>
      pieceOf(table.memory, table.startOf(from), table.endOf(to - 1)),
    );
  }
}

/** Splits a UTF-8 text at its line feeds. */
export function cutLines(memory: Buffer): ByteLine[] {
  const table = new LineTable(memory);
  return Array.from({ length: table.length }, (_, index) => table.at(index) as ByteLine);
}

/** Reused from text to text. */
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

function pieceOf(memory: Buffer, start: number, end: number): Buffer[] {
  return end < memory.length ? [memory.subarray(start, end + 1)] : [memory.subarray(start, end), LINE_END];
}

/** Returns the lines, each with a line feed, as few pieces of memory: neighbours stay one piece and are not copied. */
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

/** Copies the lines, each with a line feed, into one buffer. */
export function joinLines(lines: readonly ByteLine[]): Buffer {
  return Buffer.concat(toPieces(lines));
}
