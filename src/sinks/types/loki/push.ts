import { hashToUnit } from '../../../base/index.ts';
import type { RecordFlag, ShippedRecord } from '../../../model/index.ts';
import { toUnixNano } from '../../otel.ts';
import { cutUtf8 } from '../../outgoing-record.ts';

/** Maximum size of a line, Loki's default for `max_line_size`. Bytes. */
export const LINE_BYTES_MAX = 256 * 1024;
/** Limits of the structured metadata of one line (`max_structured_metadata_size` and `…_entries_count`). */
const METADATA_BYTES_MAX = 64 * 1024;
const METADATA_ENTRIES_MAX = 128;
/** Space reserved for {@link DROPPED} and its number. Bytes. */
const DROPPED_BYTES = 32;
const DROPPED = 'metadata_dropped';

interface LokiEntry {
  readonly labels: LokiLabels;
  /** Nanoseconds since the Unix epoch, in decimal. */
  readonly ns: string;
  readonly line: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Converts a record. The same record always gives the same entry, so that Loki can drop a line sent again. */
export function toLokiEntry(record: ShippedRecord, layout: LokiLayout): LokiEntry {
  const { text, cutBytes } = cutText(record.message.toWellFormed(), LINE_BYTES_MAX);
  return {
    labels: toLokiLabels(record, layout),
    ns: toLokiNanos(record),
    line: text,
    metadata: toMetadata(record, cutBytes, hasRouterLabel(record, layout)),
  };
}

function toMetadata(record: ShippedRecord, cutBytes: number, isRouterLabelled: boolean): Record<string, string> {
  const { labels = {}, details = {} } = record;
  const bag = new MetadataBag();
  bag.add('uid', record.uid);
  bag.add('router', isRouterLabelled ? undefined : record.router);
  // Loki uses it as `detected_level`, and Grafana for colours.
  bag.add('level', record.severity);
  bag.add('tag', record.tag);
  bag.add('file', record.file);
  bag.add('offset', record.offset?.toString());
  bag.add('event', record.event);
  bag.add('flags', record.flags?.join(','));
  bag.add('truncated_bytes', cutBytes > 0 ? String(cutBytes) : undefined);
  bag.add('timestamp', isAssumedAhead(record) ? record.timestamp : undefined);
  bag.add('observed_timestamp', record.observed_timestamp);
  for (const [name, value] of Object.entries(details))
    bag.add(`details_${name}`, value === null ? undefined : `${value}`);
  for (const [name, value] of Object.entries(labels)) if (name !== 'site') bag.addLabel(name, value);
  bag.add('original', record.original);
  return bag.finish();
}

class MetadataBag {
  readonly #entries = new Map<string, string>();
  #bytes = 0;
  #dropped = 0;

  /** Adds an entry. Ignores `undefined` and the empty text. */
  add(name: string, value: string | undefined): void {
    if (value === undefined || value === '') return;
    const key = toMetadataName(name);
    const text = value.toWellFormed();
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(text);
    const isRoom = this.#bytes + bytes <= METADATA_BYTES_MAX - DROPPED_BYTES;
    if (this.#entries.has(key) || !isRoom || this.#entries.size >= METADATA_ENTRIES_MAX - 1) {
      this.#dropped++;
      return;
    }
    this.#entries.set(key, text);
    this.#bytes += bytes;
  }

  /** Adds a router label, with the prefix `label_` if its name is already in use. */
  addLabel(name: string, value: string): void {
    this.add(OWN_NAMES.has(name) || name.startsWith('details_') ? `label_${name}` : name, value);
  }

  finish(): Record<string, string> {
    if (this.#dropped > 0) this.#entries.set(DROPPED, String(this.#dropped));
    return Object.fromEntries(this.#entries);
  }
}

/** Names of metadata and stream labels, which router labels must not overwrite. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'component',
  'day',
  'event',
  'file',
  'flags',
  'lane',
  'level',
  'observed_timestamp',
  'offset',
  'original',
  'router',
  'service_name',
  'shard',
  'tag',
  'timestamp',
  'truncated_bytes',
  'uid',
  DROPPED,
]);

function toMetadataName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_');
}

/**
 * Distribution of records over streams. `router`: each router has its own streams. `shard`: routers share a fixed number of
 * buckets, and the router's name is in the structured metadata.
 */
export type LokiLayout = { readonly kind: 'router' } | { readonly kind: 'shard'; readonly shards: number };

/** Labels of a stream, in alphabetical order as Loki prints them. */
type LokiLabels = Readonly<Record<string, string>>;

const MINUTE_MS = 60_000;
/** Maximum age of a line of the live lane at its download. Milliseconds. */
const LIVE_BEHIND_MS_MAX = 50 * MINUTE_MS;
/** Maximum lead of a line over Loki's clock (`creation_grace_period`). Milliseconds. */
export const FUTURE_MS_MAX = 10 * MINUTE_MS;
/** Flags of lines read late or out of order. */
const LATE_FLAGS: ReadonlySet<RecordFlag> = new Set(['late', 'out_of_order', 'backfill', 'recovered']);
/** Half of Loki's default for `max_label_value_length`. Bytes. */
const LABEL_BYTES_MAX = 1024;
/** The label `lane` of a stream; `undefined` = live. */
type Lane = 'late' | 'ahead' | undefined;

/**
 * Returns the lane of a record. It depends on the record alone, so that a record sent again gives the same bytes.
 *
 * Loki rejects an entry more than an hour (half of `max_chunk_age`) older than the newest of its stream. The sink sends
 * records in the order of their commits, hours late or not, so the limit concerns a line and those committed before it. In
 * the live lane a line is at most 50 minutes older and at most 5 minutes newer than the start of its download. An earlier
 * line can therefore be more than an hour newer only if its download started more than 5 minutes after that of the later line
 * (50 + 5 + 5). Downloads of one log are sequential, so this requires that the clock of this machine was set back; downloads
 * of the routers of one bucket overlap by less.
 *
 * All other lines go to streams of one router and one day: `late` for lines that are older or were read out of order, `ahead`
 * for lines of a router whose clock is ahead, which would be the newest of their stream for hours.
 */
function findLane(record: ShippedRecord): Lane {
  const { observed_timestamp: observed, flags } = record;
  const aheadMs = Date.parse(findLokiTime(record)) - Date.parse(observed);
  if (aheadMs > LIVE_AHEAD_MS_MAX) return 'ahead';
  return aheadMs < -LIVE_BEHIND_MS_MAX || flags?.some((flag) => LATE_FLAGS.has(flag)) ? 'late' : undefined;
}

/** Returns the stream labels of a record. Labels without a value are omitted: Loki has no empty labels. */
function toLokiLabels(record: ShippedRecord, layout: LokiLayout): LokiLabels {
  const { router, component, labels = {} } = record;
  const lane = findLane(record);
  const labelled: Record<string, string | undefined> = {
    component,
    day: lane && findLokiTime(record).slice(0, 10),
    lane,
    router: hasRouterLabel(record, layout) ? router : undefined,
    service_name: 'router-exporter',
    shard: lane || layout.kind === 'router' ? undefined : toShard(router, layout.shards),
    site: labels['site'],
  };
  const stream: Record<string, string> = {};
  for (const [name, value] of Object.entries(labelled)) {
    if (value !== undefined && value !== '') stream[name] = cutText(value.toWellFormed(), LABEL_BYTES_MAX).text;
  }
  return stream;
}

/** Returns true when the router is a label; otherwise it is in the structured metadata. */
function hasRouterLabel(record: ShippedRecord, layout: LokiLayout): boolean {
  return layout.kind === 'router' || findLane(record) !== undefined;
}

function toShard(router: string, shards: number): string {
  return String(Math.floor(hashToUnit(router) * shards));
}

/** Truncates `text` to at most `bytesMax` bytes of UTF-8, between characters; `cutBytes` is the size of the rest. */
function cutText(text: string, bytesMax: number): { readonly text: string; readonly cutBytes: number } {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= bytesMax) return { text, cutBytes: 0 };
  const bytes = Buffer.from(text, 'utf8');
  const kept = cutUtf8(bytes, bytesMax);
  return { text: kept.toString(), cutBytes: bytes.length - kept.length };
}

/** Maximum lead of a line of the live lane over the start of its download, when the router's clock is ahead. Milliseconds. */
const LIVE_AHEAD_MS_MAX = 5 * MINUTE_MS;
const NANOS_PER_MS = 1_000_000;
/**
 * Bytes of a file that share a nanosecond. A line with a time is longer, so no two lines share one. A millisecond covers 15
 * MiB; log files have a few.
 */
const BYTES_PER_NANO = 16;

type TimedRecord = Pick<ShippedRecord, 'timestamp' | 'observed_timestamp' | 'flags' | 'offset'>;

/**
 * Returns the record's own time; `undefined` when it has none or it cannot be true.
 *
 * While the time zone of a router is unknown, UTC is assumed. East of Greenwich, the newest lines are then hours ahead of
 * their download, and Loki rejects lines more than ten minutes ahead. The time of the download is more accurate.
 */
function findOwnTime(record: TimedRecord): string | undefined {
  return isAssumedAhead(record) ? undefined : record.timestamp;
}

/** Returns the time of a record in Loki: its own, or that of its download. RFC 3339. */
export function findLokiTime(record: TimedRecord): string {
  return findOwnTime(record) ?? record.observed_timestamp;
}

/** Returns true when the record's own time is assumed and cannot be true. Depends on the record alone, so that it never changes. */
function isAssumedAhead({ timestamp, observed_timestamp: observed, flags }: TimedRecord): boolean {
  if (timestamp === undefined || !flags?.includes('zone_assumed')) return false;
  return Date.parse(timestamp) - Date.parse(observed) > LIVE_AHEAD_MS_MAX;
}

/**
 * Returns the time of a line in nanoseconds since the Unix epoch. Without its own time, it is the millisecond of the download
 * plus nanoseconds from the offset in the file, so that equal lines stay distinct.
 */
function toLokiNanos(record: TimedRecord): string {
  const nanos = toUnixNano(findOwnTime(record));
  if (nanos !== undefined) return nanos;
  const { offset = 0 } = record;
  // Adjacent lines keep their order. Lines without any time are few, at the beginning of a file.
  const withinMs = isAssumedAhead(record)
    ? Math.min(Math.floor(offset / BYTES_PER_NANO), NANOS_PER_MS - 1)
    : Math.trunc(offset) % NANOS_PER_MS;
  return String(BigInt(toUnixNano(record.observed_timestamp) ?? 0) + BigInt(withinMs));
}

export interface SentEntry extends LokiEntry {
  /** The labels as JSON, names in alphabetical order. */
  readonly stream: string;
}

/**
 * Renders the body of a push, and its entries by index of the record: streams in the order of first appearance, the lines of
 * each in the order of the records.
 */
export function renderPush(entries: readonly LokiEntry[]): {
  readonly body: string;
  readonly sent: readonly SentEntry[];
} {
  const streams = new Map<string, string[]>();
  const sent = entries.map((entry): SentEntry => {
    // The labels are already in alphabetical order.
    const stream = JSON.stringify(entry.labels);
    const values = streams.get(stream) ?? [];
    values.push(JSON.stringify([entry.ns, entry.line, entry.metadata]));
    streams.set(stream, values);
    return { ...entry, stream };
  });
  const rendered = Array.from(streams, ([stream, values]) => `{"stream":${stream},"values":[${values.join(',')}]}`);
  return { body: `{"streams":[${rendered.join(',')}]}`, sent };
}
