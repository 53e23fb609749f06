import type { Gap, GapEdge } from '../position/event-records.ts';
import type { RuleMatch } from '../rules/line-matcher.ts';

/** Fact that a line made known; told when its record is safe. All but matches of rules are records of their own too. */
export type LineEvent =
  | ({ readonly type: 'log-rule-matched'; readonly component: string } & Readonly<RuleMatch>)
  /** A notice that a line was repeated so many times. */
  | { readonly type: 'log-repeat-found'; readonly component: string; readonly count: number }
  | {
      readonly type: 'log-clock-jumped';
      readonly component: string;
      readonly beforeUtcMs: number;
      readonly afterUtcMs: number;
    };

/** Lines read since the last batch, as records. */
export interface RecordBatch {
  readonly records: RecordBuffer;
  /** Lines of the log in `records`; the rest are events. */
  lines: number;
  /** Bytes of these lines, with their line ends. */
  bytes: number;
  unparsed: number;
  /** Lines that tell of requests of this program. */
  own: number;
  /** Bytes of empty lines, which give no records, with their line ends. */
  emptyBytes: number;
  nulBytes: number;
  /** Lines that were passed over because they are older than what is wanted. */
  skipped: number;
  skippedBytes: number;
  /** The first line that became a record, even if that is kept back. */
  first: GapEdge | undefined;
  /** Gaps left by damage; their records are among `records`. */
  readonly gaps: Gap[];
  /** Events to report after the commit of the records. */
  readonly events: LineEvent[];
}

/** A batch without anything in it. */
export function createBatch(): RecordBatch {
  return {
    records: new RecordBuffer(),
    lines: 0,
    bytes: 0,
    unparsed: 0,
    own: 0,
    emptyBytes: 0,
    nulBytes: 0,
    skipped: 0,
    skippedBytes: 0,
    first: undefined,
    gaps: [],
    events: [],
  };
}

/** UTF-8 has no more for a code unit of a string. */
const UTF8_BYTES_MAX = 3;
const LINE_FEED = 0x0a;

const EMPTY: Buffer<ArrayBuffer> = Buffer.alloc(0);

/**
 * Rendered records one behind the other, as bytes in UTF-8 with a line feed between two. Bytes because a record is of
 * long pieces that are those of the record before: copying them is several times as fast as joining strings.
 */
export class RecordBuffer {
  #memory = EMPTY;
  /** End of the last record. */
  #end = 0;
  #length = 0;
  #packed: Uint8Array | undefined;

  /** Records that another thread has rendered: in the first `bytes` of `memory`. `packed`: the same, as they are stored. */
  static of(memory: Uint8Array<ArrayBuffer>, bytes: number, length: number, packed: Uint8Array): RecordBuffer {
    const records = new RecordBuffer();
    records.#memory = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
    records.#end = bytes;
    records.#length = length;
    records.#packed = packed;
    return records;
  }

  /** Number of records. */
  get length(): number {
    return this.#length;
  }

  /** All records. Valid until the buffer is written to. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#end);
  }

  /** All memory, with the records at its beginning: for a thread that it is handed over to. */
  get memory(): Buffer<ArrayBuffer> {
    return this.#memory.length > 0 ? this.#memory : Buffer.allocUnsafeSlow(0);
  }

  /** All records as they are stored, if another thread has packed them. */
  get packed(): Uint8Array | undefined {
    return this.#packed;
  }

  /** The records as strings. */
  *[Symbol.iterator](): Generator<string, void, undefined> {
    if (this.#length > 0) yield* this.#memory.toString('utf8', 0, this.#end).split('\n');
  }

  /** Adds a rendered record, which holds no line feed, because JSON escapes it. */
  push(record: string): void {
    const memory = this.reserve(record.length * UTF8_BYTES_MAX);
    this.commit(this.start + memory.write(record, this.start, 'utf8'));
  }

  /** Memory with room for a record of `bytes` at {@link start}; whoever has written it there calls {@link commit}. */
  reserve(bytes: number): Buffer {
    const needed = this.#end + 1 + bytes;
    if (needed > this.#memory.length) {
      const memory = Buffer.allocUnsafeSlow(2 * needed);
      this.#memory.copy(memory, 0, 0, this.#end);
      this.#memory = memory;
    }
    return this.#memory;
  }

  /** Start of the next record. */
  get start(): number {
    return this.#length > 0 ? this.#end + 1 : 0;
  }

  /** Adds the record that was written from {@link start} to `end`. */
  commit(end: number): void {
    if (this.#length > 0) this.#memory[this.#end] = LINE_FEED;
    this.#packed = undefined;
    this.#end = end;
    this.#length++;
  }
}
