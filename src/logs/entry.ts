import type { LogRecord, RecordFlag, Severity } from '../model/index.ts';

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
  readonly tag: string | undefined;
  readonly severity: Severity | undefined;
  message: string;
  flags: readonly RecordFlag[];
  /** Lines joined to one. */
  lines: number;
  /** Whether the message is not the text of the bytes: then these go along. */
  needsOriginal: boolean;
  /** The untouched lines, in order; `undefined` when they are too long to be kept or hold what must not be shown. */
  original: Buffer[] | undefined;
  details: Readonly<Record<string, string | number | null>> | undefined;
}

/** An {@link Entry} as it is kept between two readings, as JSON. */
export type HeldEntry = Omit<Entry, 'original'> & { readonly original: string | undefined };

/** Joined lines of one record. */
export const JOINED_LINES_MAX = 200;
/** Bytes of a record that is joined of several lines. */
export const JOINED_BYTES_MAX = 256 * 1024;

const LINE_FEED = Buffer.from('\n');

/** What all records of one reading share, ready as JSON. */
export interface RecordFrame {
  readonly router: string;
  readonly component: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What is kept of an entry until the next reading. */
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

/** An entry as one JSON object without a line end, its fields in the order of the contract. */
export function renderEntry(entry: Entry, frame: RecordFrame): string {
  const { timestamp, tag, severity, flags, lines, needsOriginal, original } = entry;
  const details = lines > 1 ? { end_offset: entry.end, lines, ...entry.details } : entry.details;
  const record: LogRecord = {
    ...(timestamp !== undefined && { timestamp }),
    observed_timestamp: new Date(entry.observedMs).toISOString(),
    router: frame.router,
    component: frame.component,
    ...(tag !== undefined && { tag }),
    ...(severity && { severity }),
    message: entry.message,
    uid: entry.uid,
    file: entry.file,
    offset: entry.start,
    ...toLabelsField(frame),
    ...(flags.length > 0 && { flags }),
    ...(needsOriginal && original && { original: joinOriginal(original).toString('base64') }),
    ...(details && { details }),
  };
  return JSON.stringify(record);
}

/** The field `labels`, when there are any. */
export function toLabelsField({ labels }: RecordFrame): Pick<LogRecord, 'labels'> {
  return Object.keys(labels).length > 0 ? { labels } : {};
}

function joinOriginal(parts: readonly Buffer[]): Buffer {
  const [first = LINE_FEED] = parts;
  return parts.length === 1
    ? first
    : Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [LINE_FEED, part])));
}
