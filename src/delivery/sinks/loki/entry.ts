import type { LogRecord } from '../../../model/index.ts';
import { cutUtf8, hasRouterLabel, type LokiLabels, type LokiLayout, toLokiLabels } from './layout.ts';
import { isGuessedAhead, toLokiNanos } from './time.ts';

/** Maximum size of a line, Loki's default for `max_line_size`. Bytes. */
export const LINE_BYTES_MAX = 256 * 1024;
/** Limits of the structured metadata of one line (`max_structured_metadata_size` and `…_entries_count`). */
const METADATA_BYTES_MAX = 64 * 1024;
const METADATA_ENTRIES_MAX = 128;
/** Space reserved for {@link DROPPED} and its number. Bytes. */
const DROPPED_BYTES = 32;
/** Metadata name for the number of entries that did not fit. */
const DROPPED = 'metadata_dropped';

/** One line of a push. */
export interface LokiEntry {
  /** Labels of the stream. */
  readonly labels: LokiLabels;
  /** Nanoseconds since the Unix epoch, in decimal. */
  readonly ns: string;
  /** Text of the line. */
  readonly line: string;
  /** Structured metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Converts a record. The same record always gives the same entry, so that Loki can drop a line sent again. */
export function toLokiEntry(record: LogRecord, layout: LokiLayout): LokiEntry {
  const { text, cutBytes } = cutUtf8(record.message.toWellFormed(), LINE_BYTES_MAX);
  return {
    labels: toLokiLabels(record, layout),
    ns: toLokiNanos(record),
    line: text,
    metadata: toMetadata(record, cutBytes, hasRouterLabel(record, layout)),
  };
}

function toMetadata(record: LogRecord, cutBytes: number, isRouterLabelled: boolean): Record<string, string> {
  const { labels = {}, details = {} } = record;
  const bag = new MetadataBag();
  bag.add('uid', record.uid);
  bag.add('router', isRouterLabelled ? undefined : record.router);
  // Loki uses it as `detected_level`, and Grafana for colours.
  bag.add('level', record.severity);
  bag.add('tag', record.tag);
  bag.add('file', record.file);
  bag.add('offset', String(record.offset));
  bag.add('event', record.event);
  bag.add('flags', record.flags?.join(','));
  bag.add('truncated_bytes', cutBytes > 0 ? String(cutBytes) : undefined);
  bag.add('timestamp', isGuessedAhead(record) ? record.timestamp : undefined);
  bag.add('observed_timestamp', record.observed_timestamp);
  for (const [name, value] of Object.entries(details))
    bag.add(`details_${name}`, value === null ? undefined : `${value}`);
  for (const [name, value] of Object.entries(labels)) if (name !== 'site') bag.addLabel(name, value);
  bag.add('original', record.original);
  return bag.finish();
}

/** Returns the size of structured metadata as Loki counts it: names and values. Bytes. */
export function readMetadataBytes(metadata: Readonly<Record<string, string>>): number {
  return Object.entries(metadata).reduce(
    (sum, entry) => sum + entry.reduce((size, text) => size + Buffer.byteLength(text), 0),
    0,
  );
}

/** Structured metadata within its limits. Entries that do not fit are dropped and counted. */
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

/** Converts to a name that LogQL accepts without quotes. */
function toMetadataName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_');
}
