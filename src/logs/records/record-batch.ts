import type { RecordFlag } from '../../model/index.ts';
import type { Gap, GapEdge } from '../position/gap.ts';
import type { HeldEntry, StreamState } from '../position/position.ts';
import type { RuleMatch } from '../rules/line-matcher.ts';
import type { LineTimes } from './line-times.ts';

/** A record being built: a line and its continuation lines. */
export type Entry = { -readonly [Key in keyof Omit<HeldEntry, 'original'>]: HeldEntry[Key] } & {
  /** The unchanged lines; `undefined` if too long or redacted. */
  original: Buffer[] | undefined;
};

/** Maximum lines joined into one record. */
const JOINED_LINES_MAX = 200;
/** Maximum size of a joined message. */
const JOINED_BYTES_MAX = 256 * 1024;

const LINE_END = Buffer.from('\n');

/** JSON shared by all records of one log. */
export class RecordFrame {
  readonly #head: string;
  readonly #labels: string;

  constructor(router: string, component: string, labels: Readonly<Record<string, string>>) {
    this.#head = `,"router":${JSON.stringify(router)},"component":${JSON.stringify(component)}`;
    this.#labels = Object.keys(labels).length > 0 ? `,"labels":${JSON.stringify(labels)}` : '';
  }

  renderHead(observedMs: number): string {
    return `"observed_timestamp":"${renderObserved(observedMs)}"${this.#head}`;
  }

  /** Labels and flags, each with a leading comma. */
  renderShared(flags: readonly RecordFlag[]): string {
    return flags.length > 0 ? `${this.#labels},"flags":["${flags.join('","')}"]` : this.#labels;
  }
}

function toHeldEntry(entry: Entry): HeldEntry {
  return { ...entry, original: entry.original && joinOriginal(entry.original).toString('base64') };
}

/** Restores a held entry. */
export function fromHeldEntry(held: HeldEntry): Entry {
  return { ...held, original: held.original === undefined ? undefined : [Buffer.from(held.original, 'base64')] };
}

function joinLine(entry: Entry, line: Entry): boolean {
  if (entry.lines >= JOINED_LINES_MAX || entry.message.length + line.message.length > JOINED_BYTES_MAX) return false;
  entry.message = `${entry.message}\n${line.message}`;
  entry.lines++;
  entry.end = line.end;
  entry.flags = [...new Set([...entry.flags, ...line.flags])];
  entry.needsOriginal ||= line.needsOriginal;
  entry.original = entry.original && line.original && [...entry.original, ...line.original];
  if (line.details) entry.details = { ...entry.details, ...line.details };
  return true;
}

/**
 * Renders an entry as one JSON object without a line end, in the field order of the contract. Written by hand, because
 * a log of 1 GiB has ten million entries.
 */
export function renderEntry(entry: Entry, frame: RecordFrame): string {
  const { timestamp, tag, severity, flags, lines, needsOriginal, original } = entry;
  const details = lines > 1 ? { end_offset: entry.end, lines, ...entry.details } : entry.details;
  let json = timestamp === undefined ? '{' : `{"timestamp":"${timestamp}",`;
  json += frame.renderHead(entry.observedMs);
  if (tag !== undefined) json += `,"tag":${renderText(tag)}`;
  if (severity) json += `,"severity":"${severity}"`;
  json += `,"message":${renderText(entry.message)},"uid":"${entry.uid}","file":"${entry.file}"`;
  json += `,"offset":${entry.start}${frame.renderShared(flags)}`;
  if (needsOriginal && original) json += `,"original":"${joinOriginal(original).toString('base64')}"`;
  if (details) json += `,"details":${JSON.stringify(details)}`;
  return `${json}}`;
}

/** Printable ASCII without quotation mark and backslash. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Renders a text as JSON. */
export function renderText(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** All lines of a reading have the same time. */
let lastObserved = { ms: Number.NaN, text: '' };

function renderObserved(ms: number): string {
  if (ms !== lastObserved.ms) lastObserved = { ms, text: new Date(ms).toISOString() };
  return lastObserved.text;
}

function joinOriginal(parts: readonly Buffer[]): Buffer {
  const [first = LINE_END] = parts;
  return parts.length === 1
    ? first
    : Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [LINE_END, part])));
}

/** End of a reading: `more` follows, the file is `open` to new lines, or it is `closed`. */
export type ReadingEnd = 'more' | 'open' | 'closed';

/** Maximum lines that wait until the router's clock is set. */
const UNSYNCED_LINES_MAX = 1000;

interface Waiting {
  readonly entry: Entry;
  unsyncedUtcMs: number | undefined;
}

/** Entries not rendered yet: the last one waits for continuation lines, others for the router's clock to be set. */
export class WaitingEntries {
  readonly #times: LineTimes;
  readonly #frame: RecordFrame;
  #waiting: Waiting[] = [];
  #newestUnsyncedMs: number | undefined;
  #unsyncedFrom = 0;

  /** `held`: the entry held by the previous reading. */
  constructor(times: LineTimes, frame: RecordFrame, held: StreamState['held']) {
    this.#times = times;
    this.#frame = frame;
    if (held) this.push(fromHeldEntry(held));
  }

  get length(): number {
    return this.#waiting.length;
  }

  join(line: Entry): boolean {
    const last = this.#waiting.at(-1)?.entry;
    return last !== undefined && joinLine(last, line);
  }

  get hasUnsynced(): boolean {
    return this.#newestUnsyncedMs !== undefined;
  }

  push(entry: Entry): void {
    this.#waiting.push({ entry, unsyncedUtcMs: undefined });
  }

  /** Adds an entry of a clock that was not set and showed `utcMs`. */
  pushUnsynced(entry: Entry, utcMs: number): void {
    if (this.#newestUnsyncedMs === undefined) this.#unsyncedFrom = this.#waiting.length;
    this.#newestUnsyncedMs = utcMs;
    this.#waiting.push({ entry, unsyncedUtcMs: utcMs });
    if (this.#waiting.length > UNSYNCED_LINES_MAX) this.resolveUnsynced(undefined, 'more');
  }

  /**
   * Sets the times of unsynced entries: counted back from the first line after the clock was set, at `saneUtcMs`;
   * otherwise the download time, or, in a closed file, their own time if the clock may have been right.
   */
  resolveUnsynced(saneUtcMs: number | undefined, end: ReadingEnd): void {
    const newest = this.#newestUnsyncedMs;
    if (newest === undefined) return;
    this.#newestUnsyncedMs = undefined;
    const isTrusted = saneUtcMs === undefined && end === 'closed' && this.#times.trustClock();
    // Starting from the first waiting entry would make this quadratic.
    for (const waiting of this.#waiting.slice(this.#unsyncedFrom)) {
      const { entry, unsyncedUtcMs } = waiting;
      if (unsyncedUtcMs === undefined) continue;
      if (saneUtcMs !== undefined) {
        entry.timestamp = this.#times.renderRemapped(saneUtcMs - (newest - unsyncedUtcMs), entry.start);
        entry.flags = [...entry.flags, 'remapped'];
      } else if (isTrusted) {
        entry.timestamp = this.#times.renderTrusted(unsyncedUtcMs, entry.start);
        entry.flags = [...entry.flags.filter((flag) => flag !== 'unsynced'), 'clock_uncertain'];
      } else entry.timestamp = this.#times.renderObserved(entry.start);
      waiting.unsyncedUtcMs = undefined;
    }
  }

  flush(records: RecordBuffer, holds = false): HeldEntry | undefined {
    const count = this.#waiting.length - (holds ? 1 : 0);
    if (count > 0)
      for (const { entry } of this.#waiting.splice(0, count)) records.push(renderEntry(entry, this.#frame));
    const [kept] = this.#waiting;
    return kept && toHeldEntry(kept.entry);
  }
}

/** A fact from a line, reported after its record is durable. All but rule matches have records of their own. */
export type LineEvent =
  | ({ readonly type: 'log-rule-matched'; readonly component: string } & Readonly<RuleMatch>)
  | { readonly type: 'log-repeat-found'; readonly component: string; readonly count: number }
  | {
      readonly type: 'log-clock-jumped';
      readonly component: string;
      readonly uid: string;
      readonly beforeUtcMs: number;
      readonly afterUtcMs: number;
    };

/** Records of the lines since the last batch. */
export interface RecordBatch {
  readonly records: RecordBuffer;
  /** Lines of the log in `records`; other records are events. */
  lines: number;
  bytes: number;
  unparsed: number;
  own: number;
  /** Bytes of empty lines, which have no records. */
  emptyBytes: number;
  nulBytes: number;
  /** Lines skipped because of `logs.start`. */
  skipped: number;
  skippedBytes: number;
  /** First line that became a record, even if it is held. */
  first: GapEdge | undefined;
  readonly gaps: Gap[];
  /** Events to report after the commit. */
  readonly events: LineEvent[];
}

/** Creates an empty batch. */
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

/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const UTF8_BYTES_MAX = 3;
const LINE_FEED = 0x0a;

const EMPTY: Buffer<ArrayBuffer> = Buffer.alloc(0);

/**
 * Rendered records as UTF-8, separated by line feeds. Copying bytes is several times as fast as joining strings,
 * because consecutive records share long parts.
 */
export class RecordBuffer {
  #memory = EMPTY;
  #end = 0;
  #length = 0;
  #packed: Uint8Array | undefined;

  /** Wraps records rendered by another thread: the first `bytes` of `memory`. `packed`: the same in stored form. */
  static of(memory: Uint8Array<ArrayBuffer>, bytes: number, length: number, packed: Uint8Array): RecordBuffer {
    const records = new RecordBuffer();
    records.#memory = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
    records.#end = bytes;
    records.#length = length;
    records.#packed = packed;
    return records;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#end);
  }

  /** The whole memory, for a transfer to another thread. */
  get memory(): Buffer<ArrayBuffer> {
    return this.#memory.length > 0 ? this.#memory : Buffer.allocUnsafeSlow(0);
  }

  /** The records in stored form, if another thread packed them. */
  get packed(): Uint8Array | undefined {
    return this.#packed;
  }

  *[Symbol.iterator](): Generator<string, void, undefined> {
    if (this.#length > 0) yield* this.#memory.toString('utf8', 0, this.#end).split('\n');
  }

  /** Adds a record. JSON contains no line feeds. */
  push(record: string): void {
    const memory = this.reserve(record.length * UTF8_BYTES_MAX);
    this.commit(this.start + memory.write(record, this.start, 'utf8'));
  }

  /** Returns memory with room for `bytes` at {@link start}. After writing there, call {@link commit}. */
  reserve(bytes: number): Buffer {
    const needed = this.#end + 1 + bytes;
    if (needed > this.#memory.length) {
      const memory = Buffer.allocUnsafeSlow(2 * needed);
      this.#memory.copy(memory, 0, 0, this.#end);
      this.#memory = memory;
    }
    return this.#memory;
  }

  get start(): number {
    return this.#length > 0 ? this.#end + 1 : 0;
  }

  /** Adds the record written from {@link start} to `end`. */
  commit(end: number): void {
    if (this.#length > 0) this.#memory[this.#end] = LINE_FEED;
    this.#packed = undefined;
    this.#end = end;
    this.#length++;
  }
}
