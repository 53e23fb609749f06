import type { RecordFlag } from '../../model/index.ts';
import type { HeldEntry, StreamState } from '../position/position.ts';
import type { LineTimes } from './line-times.ts';
import type { RecordBuffer } from './record-batch.ts';

/** One record about lines in the making: a line, and the lines without a time that continue it. */
export type Entry = { -readonly [Key in keyof Omit<HeldEntry, 'original'>]: HeldEntry[Key] } & {
  /** The untouched lines, in order; `undefined` when they are too long to be kept or hold what must not be shown. */
  original: Buffer[] | undefined;
};

/** Joined lines of one record. */
const JOINED_LINES_MAX = 200;
/** Bytes of a record that is joined of several lines. */
const JOINED_BYTES_MAX = 256 * 1024;

const LINE_FEED = Buffer.from('\n');

/** JSON shared by all records of one log, rendered once. */
export class RecordFrame {
  readonly #head: string;
  readonly #labels: string;

  constructor(router: string, component: string, labels: Readonly<Record<string, string>>) {
    this.#head = `,"router":${JSON.stringify(router)},"component":${JSON.stringify(component)}`;
    this.#labels = Object.keys(labels).length > 0 ? `,"labels":${JSON.stringify(labels)}` : '';
  }

  /** Renders the fields between the timestamp and those of the line. */
  renderHead(observedMs: number): string {
    return `"observed_timestamp":"${renderObserved(observedMs)}"${this.#head}`;
  }

  /** Labels and flags, which follow the offset; a comma before each. */
  renderShared(flags: readonly RecordFlag[]): string {
    return flags.length > 0 ? `${this.#labels},"flags":["${flags.join('","')}"]` : this.#labels;
  }
}

/** Returns the form of an entry that is kept until the next reading. */
function toHeldEntry(entry: Entry): HeldEntry {
  return { ...entry, original: entry.original && joinOriginal(entry.original).toString('base64') };
}

/** The entry that {@link toHeldEntry} made into something to keep. */
export function fromHeldEntry(held: HeldEntry): Entry {
  return { ...held, original: held.original === undefined ? undefined : [Buffer.from(held.original, 'base64')] };
}

/** Adds a line without a time to the entry that it continues. False when the entry has no room for it. */
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
 * An entry as one JSON object without a line end, its fields in the order of the contract. Written out field by field: a
 * log of a gigabyte has ten million of these.
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

/** Text without anything that JSON would have to escape: printable ASCII but for the quotation mark and the backslash. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** A text as JSON. */
export function renderText(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A reading has one moment. */
let lastObserved = { ms: Number.NaN, text: '' };

function renderObserved(ms: number): string {
  if (ms !== lastObserved.ms) lastObserved = { ms, text: new Date(ms).toISOString() };
  return lastObserved.text;
}

function joinOriginal(parts: readonly Buffer[]): Buffer {
  const [first = LINE_FEED] = parts;
  return parts.length === 1
    ? first
    : Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [LINE_FEED, part])));
}

/** The end of a reading: `more` follows at once, the file is `open` to new lines, or it is `closed`. */
export type ReadingEnd = 'more' | 'open' | 'closed';

/** Lines that wait for the router's clock to be set. */
const UNSYNCED_LINES_MAX = 1000;

/** An entry that is not rendered yet. */
interface Waiting {
  readonly entry: Entry;
  /** Time by a clock that was not set; the true time is still unknown. */
  unsyncedUtcMs: number | undefined;
}

/**
 * Entries of a log that are not rendered yet, in order: the last one waits for lines that continue it, and those from
 * before the clock was set for the first line after.
 */
export class WaitingEntries {
  readonly #times: LineTimes;
  readonly #frame: RecordFrame;
  #waiting: Waiting[] = [];
  /** UTC of the newest of them that is {@link Waiting.unsyncedUtcMs unsynced}, as the router's clock had it. */
  #newestUnsyncedMs: number | undefined;
  /** Index of the first of them. */
  #unsyncedFrom = 0;

  /** `held`: the entry that the reading before kept back. */
  constructor(times: LineTimes, frame: RecordFrame, held: StreamState['held']) {
    this.#times = times;
    this.#frame = frame;
    if (held) this.push(fromHeldEntry(held));
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Adds a line without a time to the last entry, which it continues. False when there is none, or it has no room for it. */
  join(line: Entry): boolean {
    const last = this.#waiting.at(-1)?.entry;
    return last !== undefined && joinLine(last, line);
  }

  /** True while an entry waits for the clock to be set. */
  get hasUnsynced(): boolean {
    return this.#newestUnsyncedMs !== undefined;
  }

  push(entry: Entry): void {
    this.#waiting.push({ entry, unsyncedUtcMs: undefined });
  }

  /** Adds an entry from before the clock was set, which showed `utcMs`. */
  pushUnsynced(entry: Entry, utcMs: number): void {
    if (this.#newestUnsyncedMs === undefined) this.#unsyncedFrom = this.#waiting.length;
    this.#newestUnsyncedMs = utcMs;
    this.#waiting.push({ entry, unsyncedUtcMs: utcMs });
    if (this.#waiting.length > UNSYNCED_LINES_MAX) this.resolveUnsynced(undefined, 'more');
  }

  /**
   * Gives lines from before the clock was set their times: counted back from the first line after, at `saneUtcMs`; without
   * one, the time of the download, unless the file is closed and its clock may have been right.
   */
  resolveUnsynced(saneUtcMs: number | undefined, end: ReadingEnd): void {
    const newest = this.#newestUnsyncedMs;
    if (newest === undefined) return;
    this.#newestUnsyncedMs = undefined;
    const isTrusted = saneUtcMs === undefined && end === 'closed' && this.#times.trustClock();
    // Not from the first one that waits: a thousand of them would be gone through again with each further line.
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

  /** Renders all entries, except for the last one if it `holds`, which is returned as it is kept until the next reading. */
  flush(records: RecordBuffer, holds = false): HeldEntry | undefined {
    const count = this.#waiting.length - (holds ? 1 : 0);
    if (count > 0)
      for (const { entry } of this.#waiting.splice(0, count)) records.push(renderEntry(entry, this.#frame));
    const [kept] = this.#waiting;
    return kept && toHeldEntry(kept.entry);
  }
}
