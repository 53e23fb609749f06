import { hashToUnit } from '../../../base/index.ts';
import type { LogRecord, RecordFlag } from '../../../model/index.ts';
import type { PreflightFleet } from '../../contracts.ts';
import { findLokiTime, LIVE_AHEAD_MS_MAX } from './time.ts';

/**
 * Distribution of records over streams. `router`: each router has its own streams. `shard`: routers share a fixed number
 * of buckets, and the router's name is in the structured metadata.
 */
export type LokiLayout = { readonly kind: 'router' } | { readonly kind: 'shard'; readonly shards: number };

/** Labels of a stream, in alphabetical order as Loki prints them. */
export type LokiLabels = Readonly<Record<string, string>>;

const MINUTE_MS = 60_000;
/** Maximum age of a line of the live lane at its download. Milliseconds. */
const LIVE_BEHIND_MS_MAX = 50 * MINUTE_MS;
/** Maximum lead of a line over Loki's clock (`creation_grace_period`). Milliseconds. */
export const FUTURE_MS_MAX = 10 * MINUTE_MS;
/** Flags of lines read late or out of order. */
const LATE_FLAGS: ReadonlySet<RecordFlag> = new Set(['late', 'out_of_order', 'backfill', 'recovered']);
/** Half of Loki's default for `max_label_value_length`. Bytes. */
const LABEL_BYTES_MAX = 1024;
/** Assumed number of components, and thus streams, per router. */
export const COMPONENTS_PER_ROUTER = 10;

/** The label `lane` of a stream; `undefined` = live. */
export type Lane = 'late' | 'ahead' | undefined;

/**
 * Returns the lane of a record. It depends on the record alone, so that a record sent again gives the same bytes.
 *
 * Loki rejects an entry more than an hour (half of `max_chunk_age`) older than the newest of its stream. The sink sends
 * records in the order of their commits, hours late or not, so the limit concerns a line and those committed before it.
 * In the live lane a line is at most 50 minutes older and at most 5 minutes newer than the start of its download. An
 * earlier line can therefore be more than an hour newer only if its download started more than 5 minutes after that of
 * the later line (50 + 5 + 5). Downloads of one log are sequential, so this requires that the clock of this machine was
 * set back; downloads of the routers of one bucket overlap by less.
 *
 * All other lines go to streams of one router and one day: `late` for lines that are older or were read out of order,
 * `ahead` for lines of a router whose clock is ahead, which would be the newest of their stream for hours.
 */
export function findLane(record: LogRecord): Lane {
  const { observed_timestamp: observed, flags } = record;
  const aheadMs = Date.parse(findLokiTime(record)) - Date.parse(observed);
  if (aheadMs > LIVE_AHEAD_MS_MAX) return 'ahead';
  return aheadMs < -LIVE_BEHIND_MS_MAX || flags?.some((flag) => LATE_FLAGS.has(flag)) ? 'late' : undefined;
}

/** Returns the stream labels of a record. Labels without a value are omitted: Loki has no empty labels. */
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

/** True when the router is a label; otherwise it belongs to the structured metadata. */
export function hasRouterLabel(record: LogRecord, layout: LokiLayout): boolean {
  return layout.kind === 'router' || findLane(record) !== undefined;
}

/** Returns the number of streams that a fleet needs in the live lane. */
export function countStreams({ routers, labelValues }: PreflightFleet, layout: LokiLayout): number {
  // Routers of one bucket with different sites have different streams.
  const buckets = layout.kind === 'router' ? routers : layout.shards * Math.max(1, labelValues['site'] ?? 1);
  return Math.min(routers, buckets) * COMPONENTS_PER_ROUTER;
}

/** True when each router may have its own streams. Half of the limit is reserved for the lanes and other clients. */
export function fitsRouterLayout(routers: number, streamLimit: number): boolean {
  return routers * COMPONENTS_PER_ROUTER <= streamLimit / 2;
}

function toShard(router: string, shards: number): string {
  return String(Math.floor(hashToUnit(router) * shards));
}

/** Truncates `text` to at most `bytesMax` bytes of UTF-8, between characters; `cutBytes` is the size of the rest. */
export function cutUtf8(text: string, bytesMax: number): { readonly text: string; readonly cutBytes: number } {
  // A UTF-16 code unit takes at most three bytes.
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
