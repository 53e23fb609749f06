import type { RecordFlag, Severity } from '../../model/index.ts';

/** One record about lines in the making: a line, and the lines without a time that continue it. */
export interface Entry {
  readonly uid: string;
  /** As the router lists it. */
  readonly file: string;
  /** First byte in the file, decompressed. */
  readonly start: number;
  /** The byte behind its last line, line end included. */
  end: number;
  readonly observedMs: number;
  /** RFC 3339; `undefined` when it has no time yet, or never gets one. */
  timestamp: string | undefined;
  /** Its time, where the router's clock was right. */
  utcMs?: number | undefined;
  readonly tag: string | undefined;
  readonly severity: Severity | undefined;
  message: string;
  flags: readonly RecordFlag[];
  /** Lines joined to one. */
  lines: number;
  /** True if the message differs from the text of the bytes, which are then part of the record. */
  needsOriginal: boolean;
  /** The untouched lines, in order; `undefined` when they are too long to be kept or hold what must not be shown. */
  original: Buffer[] | undefined;
  details: Readonly<Record<string, string | number | null>> | undefined;
}

/** An {@link Entry} as it is kept between two readings, as JSON. */
export type HeldEntry = Readonly<Omit<Entry, 'original'>> & { readonly original: string | undefined };

/** Joined lines of one record. */
export const JOINED_LINES_MAX = 200;
/** Bytes of a record that is joined of several lines. */
export const JOINED_BYTES_MAX = 256 * 1024;

const LINE_FEED = Buffer.from('\n');

/** JSON shared by all records of one log. */
export interface RecordFrame {
  /** From behind `observed_timestamp` to before the fields of the line. */
  readonly head: string;
  /** The field `labels` with a comma before it; empty when there are none. */
  readonly labels: string;
}

/** Renders once what all records of a log share. */
export function createFrame(router: string, component: string, labels: Readonly<Record<string, string>>): RecordFrame {
  return {
    head: `,"router":${JSON.stringify(router)},"component":${JSON.stringify(component)}`,
    labels: Object.keys(labels).length > 0 ? `,"labels":${JSON.stringify(labels)}` : '',
  };
}

/** Returns the form of an entry that is kept until the next reading. */
export function toHeldEntry(entry: Entry): HeldEntry {
  return { ...entry, original: entry.original && joinOriginal(entry.original).toString('base64') };
}

/** The entry that {@link toHeldEntry} made into something to keep. */
export function fromHeldEntry(held: HeldEntry): Entry {
  return { ...held, original: held.original === undefined ? undefined : [Buffer.from(held.original, 'base64')] };
}

/** Adds a line without a time to the entry that it continues. False when the entry has no room for it. */
export function joinLine(entry: Entry, line: Entry): boolean {
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
  json += renderHead(frame, entry.observedMs);
  if (tag !== undefined) json += `,"tag":${renderText(tag)}`;
  if (severity) json += `,"severity":"${severity}"`;
  json += `,"message":${renderText(entry.message)},"uid":"${entry.uid}","file":"${entry.file}"`;
  json += `,"offset":${entry.start}${renderShared(frame, flags)}`;
  if (needsOriginal && original) json += `,"original":"${joinOriginal(original).toString('base64')}"`;
  if (details) json += `,"details":${JSON.stringify(details)}`;
  return `${json}}`;
}

/** Renders the fields between the timestamp and those of the line. */
export function renderHead(frame: RecordFrame, observedMs: number): string {
  return `"observed_timestamp":"${renderObserved(observedMs)}"${frame.head}`;
}

/** Labels and flags, which follow the offset; a comma before each. */
export function renderShared(frame: RecordFrame, flags: readonly RecordFlag[]): string {
  return flags.length > 0 ? `${frame.labels},"flags":["${flags.join('","')}"]` : frame.labels;
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
