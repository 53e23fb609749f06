import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { RecordFlag } from '../../model/index.ts';
import type { HeldEntry } from '../entry.ts';
import { createPosition, type LogFile, type LogPosition, type Pending, type Waiting } from './position.ts';
import { createStreamState, type StreamState } from './stream-state.ts';

/*
 * The form in which positions are stored: its names stay what they are, whatever the program calls these things. A change of
 * them is a new version and a conversion.
 */

const count = z.int().nonnegative();
/** A number of milliseconds that a date can be made of. */
const moment = z.number().min(-8.64e15).max(8.64e15);
const edge = z.object({ uid: z.string(), utcMs: moment.optional() }).transform(({ uid, utcMs }) => ({ uid, utcMs }));
const track = z.enum(['live', 'backfill', 'late']);

const fileFields = {
  key: z.string(),
  gen: count,
  off: count,
  firstUtcMs: moment.optional(),
  lastUtcMs: moment.optional(),
  lastStart: count,
};

const file = z
  .object({
    ...fileFields,
    proof: z.union([
      z.object({ base: count, baseSha: z.string(), sha: z.string() }),
      z.object({ plainSha: z.string() }),
    ]),
    shownMs: moment.optional(),
    tornAt: z.array(count).default([]),
    pace: z.object({ lines: count, spanMs: z.number(), recentMs: z.number() }).optional(),
    follows: z.string().optional(),
    recovered: z.object({ block: count, offset: count }).optional(),
    damageToldBit: count.optional(),
  })
  .transform(
    ({ firstUtcMs, lastUtcMs, shownMs, ...others }): LogFile => ({ ...others, firstUtcMs, lastUtcMs, shownMs }),
  );

const pending = z
  .object({
    instance: file,
    sinceMs: moment,
    isOvertaken: z.boolean(),
    isRotated: z.boolean(),
    isPassed: z.boolean(),
    to: edge.nullish(),
  })
  .transform(({ instance, ...others }): Pending => ({ file: instance, ...others }));

const waiting = z
  .object({
    sinceMs: moment,
    attempts: count,
    fault: z.enum(['gone', 'cut', 'corrupt', 'refused']).optional(),
    notBeforeMs: z.number(),
    isBackfill: z.boolean(),
    to: edge.nullish(),
  })
  .transform(({ fault, ...others }): Waiting => ({ ...others, fault }));

const chainEnd = z
  .object({
    stamp: z.string(),
    edge: edge.optional(),
    distanceMs: z.number().optional(),
    isWatched: z.boolean().optional(),
  })
  .transform(({ edge: last, ...others }) => ({ ...others, edge: last }));

const brokenLink = z
  .object({
    after: z.string(),
    from: edge.optional(),
    sinceMs: moment,
    to: edge.optional(),
    lane: track.optional(),
    beginsUtcMs: moment.optional(),
    isWatched: z.boolean().optional(),
    isVague: z.boolean().optional(),
  })
  .transform(({ lane, from, ...others }) => ({ ...others, from, track: lane }));

const openGap = z
  .object({ uid: z.string(), file: z.string(), offset: z.number(), lane: track.optional() })
  .transform(({ lane, ...others }) => ({ ...others, track: lane }));

const flags = {
  zone_assumed: 'zone_assumed',
  fold: 'fold',
  hole: 'hole',
  unsynced: 'unsynced',
  remapped: 'remapped',
  clock_uncertain: 'clock_uncertain',
  truncated: 'truncated',
  nul: 'nul',
  lossy: 'lossy',
  device_scrambled: 'device_scrambled',
  glued: 'glued',
  recovered: 'recovered',
  late: 'late',
  out_of_order: 'out_of_order',
  backfill: 'backfill',
  self: 'self',
  unparsed: 'unparsed',
  partial: 'partial',
} as const satisfies { readonly [Flag in RecordFlag]: Flag };

const held = z
  .object({
    uid: z.string(),
    file: z.string(),
    start: count,
    end: count,
    observedMs: moment,
    timestamp: z.string().optional(),
    utcMs: moment.optional(),
    tag: z.string().optional(),
    severity: z.enum(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']).optional(),
    message: z.string(),
    flags: z.array(z.enum(flags)),
    lines: count,
    needsOriginal: z.boolean(),
    original: z.string().optional(),
    details: z.record(z.string(), z.union([z.string(), z.number(), z.null()])).optional(),
  })
  .transform(
    ({ timestamp, tag, severity, original, details, ...others }): HeldEntry => ({
      ...others,
      timestamp,
      tag,
      severity,
      original,
      details,
    }),
  );

const clock = z
  .object({
    lastUtcMs: moment.optional(),
    unsyncedBelowMs: moment.optional(),
    isAhead: z.boolean(),
    epoch: count,
  })
  .transform(({ lastUtcMs, unsyncedBelowMs, ...others }) => ({ ...others, lastUtcMs, unsyncedBelowMs }));

const stream = z
  .object({
    held: held.optional(),
    joins: z.boolean(),
    lastUid: z.string().optional(),
    clock,
    order: z.enum(['dmy', 'mdy']).optional(),
    isBuffered: z.boolean().default(false),
  })
  .transform(({ held: last, lastUid, order, ...others }): StreamState => ({ ...others, held: last, lastUid, order }));

const position = z
  .object({
    version: z.literal(2),
    open: file.optional(),
    pending: z.array(pending).default([]),
    lost: z.array(file).default([]),
    waiting: z.record(z.string(), waiting).default({}),
    completed: z.record(z.string(), file.nullable()).default({}),
    chainEnd: chainEnd.optional(),
    brokenLinks: z.array(brokenLink).default([]),
    gens: z.record(z.string(), count).default({}),
    hasHistory: z.boolean().default(false),
    skipBeforeUtcMs: z.number().optional(),
    isWiped: z.boolean().default(false),
    openGaps: z.array(openGap).optional(),
    liveFrom: edge.nullish(),
    zone: z.string().optional(),
    stream: stream.default(createStreamState),
  })
  .transform(({ chainEnd: sequenceEnd, openGaps, open, skipBeforeUtcMs, liveFrom, ...others }): LogPosition => {
    const read = { ...others, open, skipBeforeUtcMs, liveFrom, sequenceEnd, openGaps: openGaps ?? [] };
    return openGaps ? read : forgetEnds(read);
  });

/** Version 1 had no checksum. */
const fileV1 = z.object({ ...fileFields, prefixSha: z.string() });
const positionV1Fields = z.object({
  version: z.literal(1),
  open: fileV1.optional(),
  pending: z.array(z.object({ instance: fileV1, sinceMs: moment, isOvertaken: z.boolean() })),
  lost: z.array(fileV1),
  waiting: z.record(z.string(), z.object({ sinceMs: moment, attempts: count })),
  completed: z.record(z.string(), fileV1),
  hasHistory: z.boolean(),
});
const positionV1 = positionV1Fields.transform(migrate);

/** A position as text, with a checksum: a position that a damaged disk has changed would be worse than none. */
export function renderPosition(known: LogPosition): string {
  const { pending: files, brokenLinks, openGaps, sequenceEnd, ...others } = known;
  const text = JSON.stringify({
    ...others,
    pending: files.map(({ file: instance, ...entry }) => ({ instance, ...entry })),
    chainEnd: sequenceEnd,
    brokenLinks: brokenLinks.map(({ track: lane, ...link }) => ({ ...link, lane })),
    openGaps: openGaps.map(({ track: lane, ...gap }) => ({ ...gap, lane })),
  });
  return `${text}\n${crc32(text).toString(16)}`;
}

/**
 * Reads back what {@link renderPosition} wrote, in this version or version 1. Anything else gives `undefined`: then the
 * log is read from its start, with the same uids as before.
 */
export function parsePosition(text: string): LogPosition | undefined {
  const end = text.lastIndexOf('\n');
  const body = end < 0 ? text : text.slice(0, end);
  if (end >= 0 && crc32(body).toString(16) !== text.slice(end + 1)) return undefined;
  try {
    return (end < 0 ? positionV1 : position).safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** Before gaps had ends, nobody noted which line was read first behind a file that is missing: it is not the next one. */
function forgetEnds(known: LogPosition): LogPosition {
  const isTried = ({ attempts, isBackfill }: Waiting): boolean => attempts > 0 && !isBackfill;
  const entries = Object.entries(known.waiting).map(([stamp, entry]) => {
    return [stamp, isTried(entry) ? { ...entry, to: null } : entry];
  });
  return {
    ...known,
    pending: known.pending.map((entry) => (entry.isOvertaken ? { ...entry, to: null } : entry)),
    waiting: Object.fromEntries(entries),
  };
}

function migrate(stored: z.output<typeof positionV1Fields>): LogPosition {
  const { open, pending: files, lost, waiting: listed, completed, hasHistory } = stored;
  const waitingFiles = Object.entries(listed).map(([stamp, { sinceMs, attempts }]) => {
    return [stamp, { sinceMs, attempts, fault: undefined, notBeforeMs: 0, isBackfill: false }];
  });
  return forgetEnds({
    ...createPosition(),
    hasHistory,
    open: open && liftFile(open),
    pending: files.map(({ instance, sinceMs, isOvertaken }) => {
      return { file: liftFile(instance), sinceMs, isOvertaken, isRotated: false, isPassed: false };
    }),
    lost: lost.map(liftFile),
    waiting: Object.fromEntries(waitingFiles),
    completed: Object.fromEntries(
      Object.entries(completed).map(([stamp, entry]) => [stamp, entry.key === '' ? null : liftFile(entry)]),
    ),
  });
}

function liftFile({ prefixSha, firstUtcMs, lastUtcMs, ...others }: z.output<typeof fileV1>): LogFile {
  return { ...others, firstUtcMs, lastUtcMs, proof: { plainSha: prefixSha }, shownMs: lastUtcMs, tornAt: [] };
}
