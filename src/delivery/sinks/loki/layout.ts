import { hashToUnit } from '../../../base/index.ts';
import type { LogRecord, RecordFlag } from '../../../model/index.ts';
import type { PreflightFleet } from '../../contracts.ts';
import { findLokiTime, LIVE_AHEAD_MS_MAX } from './time.ts';

/**
 * How records are spread over streams: `router` gives every router streams of its own; `shard` puts routers into one of
 * so many buckets, with the router's name in the structured metadata.
 */
export type LokiLayout = { readonly kind: 'router' } | { readonly kind: 'shard'; readonly shards: number };

/** What identifies a stream. Names in alphabetical order, because Loki prints them so. */
export type LokiLabels = Readonly<Record<string, string>>;

const MINUTE_MS = 60_000;
/** How far a line of the live lane may lie before the moment at which it was downloaded. Milliseconds. */
const LIVE_BEHIND_MS_MAX = 50 * MINUTE_MS;
/** How far ahead of its own clock Loki takes a line (`creation_grace_period`). Milliseconds. */
export const FUTURE_MS_MAX = 10 * MINUTE_MS;
/** Flags of lines that were not read in the course of events. */
const LATE_FLAGS: ReadonlySet<RecordFlag> = new Set(['late', 'out_of_order', 'backfill', 'recovered']);
/** Half of what Loki allows by default (`max_label_value_length`). Bytes. */
const LABEL_BYTES_MAX = 1024;
/** How many components, and with them streams, a router is taken to have. */
export const COMPONENTS_PER_ROUTER = 10;

/** Live lane: `undefined`. */
export type Lane = 'late' | 'ahead' | undefined;

/**
 * The lane of a record, from the record alone, so that a resend renders the same bytes.
 *
 * Loki refuses an entry that lies more than an hour (half of `max_chunk_age`) behind the newest of its stream. Records
 * come in the order in which they were committed, hours late or not, so what counts is how far a line may lie behind
 * another that was committed before it. In the live lane a line lies at most 50 minutes before the start of its own
 * download and at most 5 minutes after it. So an earlier line is newer by more than an hour only if its download started
 * more than 5 minutes after that of the later line (50 + 5 + 5). Downloads of one log follow each other, so that cannot
 * be, but for a clock of this machine that was set back; downloads of the routers of one bucket overlap by less.
 *
 * Everything else goes to streams of one router and one day: a line that is older or not read in the course of events
 * (`late`), and a line from a router whose clock is ahead, which would be the newest of its stream for hours (`ahead`).
 */
export function findLane(record: LogRecord): Lane {
  const { observed_timestamp: observed, flags } = record;
  const aheadMs = Date.parse(findLokiTime(record)) - Date.parse(observed);
  if (aheadMs > LIVE_AHEAD_MS_MAX) return 'ahead';
  return aheadMs < -LIVE_BEHIND_MS_MAX || flags?.some((flag) => LATE_FLAGS.has(flag)) ? 'late' : undefined;
}

/** The stream of a record. Labels without a value are left out: Loki knows no others. */
export function toLokiLabels(record: LogRecord, layout: LokiLayout): LokiLabels {
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
    if (value !== undefined && value !== '') stream[name] = cutUtf8(value.toWellFormed(), LABEL_BYTES_MAX).text;
  }
  return stream;
}

/** Whether the router is in the labels; else it belongs into the structured metadata. */
export function hasRouterLabel(record: LogRecord, layout: LokiLayout): boolean {
  return layout.kind === 'router' || findLane(record) !== undefined;
}

/** Streams that a fleet needs in the live lane. */
export function countStreams({ routers, labelValues }: PreflightFleet, layout: LokiLayout): number {
  // Routers of one bucket are apart where their sites are.
  const buckets = layout.kind === 'router' ? routers : layout.shards * Math.max(1, labelValues['site'] ?? 1);
  return Math.min(routers, buckets) * COMPONENTS_PER_ROUTER;
}

/** Whether routers may have streams of their own: half of the streams is left to the lanes and to others. */
export function fitsRouterLayout(routers: number, streamLimit: number): boolean {
  return routers * COMPONENTS_PER_ROUTER <= streamLimit / 2;
}

function toShard(router: string, shards: number): string {
  return String(Math.floor(hashToUnit(router) * shards));
}

/** Cuts `text` to at most `bytesMax` bytes of UTF-8, between characters, and says how many bytes are gone. */
export function cutUtf8(text: string, bytesMax: number): { readonly text: string; readonly cutBytes: number } {
  // No character takes more than three bytes per unit of the text.
  if (text.length * 3 <= bytesMax) return { text, cutBytes: 0 };
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= bytesMax) return { text, cutBytes: 0 };
  let end = bytesMax;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return { text: bytes.toString('utf8', 0, end), cutBytes: bytes.length - end };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
