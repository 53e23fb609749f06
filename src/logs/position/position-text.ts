import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { RecordFlag, Severity } from '../../model/index.ts';
import type { GapEdge, OpenGap, Track } from '../event-records.ts';
import type { HeldEntry } from '../lines/entry.ts';
import type { ClockState } from '../time/log-clock.ts';
import {
  either,
  type Guard,
  isCount,
  isFlag,
  isMoment,
  isNumber,
  isText,
  listOf,
  mapOf,
  nullable,
  oneOf,
  optional,
  shape,
} from './guards.ts';
import type { PrefixProof } from './identity.ts';
import type {
  BrokenLink,
  FileFault,
  LogFile,
  LogPosition,
  Pending,
  SequenceEnd,
  StreamState,
  UnreadFile,
} from './position.ts';

/**
 * A longer text is packed: the record that waits for its continuation may have 256 KiB, each byte of which may take six, and the
 * engine of a cluster takes messages of one MiB. Characters.
 */
const PACKED_CHARS_MIN = 64 * 1024;
/** Stands before a packed text, which begins like no JSON. */
const PACKED = 'deflate:';
const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;

const isEdge: Guard<GapEdge> = shape<GapEdge>({ uid: isText, utcMs: optional(isMoment) });
const isTrack: Guard<Track> = oneOf(['live', 'backfill', 'late']);

const isFile: Guard<LogFile> = shape<LogFile>({
  key: isText,
  gen: isCount,
  isUntimed: optional(isFlag),
  off: isCount,
  proof: shape<PrefixProof>({ base: isCount, baseSha: isText, sha: isText }),
  firstUtcMs: optional(isMoment),
  lastUtcMs: optional(isMoment),
  shownMs: optional(isMoment),
  lastStart: isCount,
  tornAt: listOf(isCount),
  pace: optional(shape({ lines: isCount, spanMs: isNumber, recentMs: isNumber })),
  follows: optional(isText),
  recovered: optional(shape({ block: isCount, offset: isNumber })),
  damageToldBit: optional(isCount),
});

const isHeld: Guard<HeldEntry> = shape<HeldEntry>({
  uid: isText,
  file: isText,
  start: isCount,
  end: isCount,
  observedMs: isMoment,
  timestamp: optional(isText),
  utcMs: optional(isMoment),
  tag: optional(isText),
  severity: optional((value): value is Severity => isText(value)),
  message: isText,
  flags: listOf((value): value is RecordFlag => isText(value)),
  lines: isCount,
  needsOriginal: isFlag,
  original: optional(isText),
  details: optional(mapOf(nullable(either(isText, isNumber)))),
});

const isStream: Guard<StreamState> = shape<StreamState>({
  held: optional(isHeld),
  joins: isFlag,
  lastUid: optional(isText),
  clock: shape<ClockState>({
    lastUtcMs: optional(isMoment),
    unsyncedBelowMs: optional(isMoment),
    isAhead: isFlag,
    epoch: isCount,
  }),
  order: optional(oneOf(['dmy', 'mdy'])),
  isBuffered: isFlag,
});

const isPosition: Guard<LogPosition> = shape<LogPosition>({
  version: oneOf([4]),
  open: optional(isFile),
  pending: listOf(
    shape<Pending>({
      file: isFile,
      sinceMs: isMoment,
      isOvertaken: isFlag,
      isRotated: isFlag,
      isPassed: isFlag,
      to: optional(nullable(isEdge)),
    }),
  ),
  lost: listOf(isFile),
  waiting: mapOf(
    shape<UnreadFile>({
      sinceMs: isMoment,
      attempts: isCount,
      fault: optional(oneOf<FileFault>(['gone', 'cut', 'corrupt', 'refused'])),
      notBeforeMs: isNumber,
      isBackfill: isFlag,
      to: optional(nullable(isEdge)),
    }),
  ),
  completed: mapOf(nullable(isFile)),
  sequenceEnd: optional(
    shape<SequenceEnd>({
      stamp: isText,
      edge: optional(isEdge),
      distanceMs: optional(isNumber),
      isWatched: optional(isFlag),
    }),
  ),
  brokenLinks: listOf(
    shape<BrokenLink>({
      after: isText,
      from: optional(isEdge),
      sinceMs: isMoment,
      to: optional(isEdge),
      track: optional(isTrack),
      beginsUtcMs: optional(isMoment),
      isWatched: optional(isFlag),
      isVague: optional(isFlag),
    }),
  ),
  gens: mapOf(isCount),
  skipBeforeUtcMs: optional(isNumber),
  isWiped: isFlag,
  openGaps: listOf(shape<OpenGap>({ uid: isText, file: isText, offset: isNumber, track: optional(isTrack) })),
  liveFrom: optional(nullable(isEdge)),
  zone: isText,
  stream: isStream,
});

/** A position as text, with a checksum: a position that a damaged disk has changed would be worse than none. */
export function renderPosition(position: LogPosition): string {
  const json = JSON.stringify(position);
  const text = json.length < PACKED_CHARS_MIN ? json : `${PACKED}${deflateRawSync(json).toString('base64')}`;
  return `${text}\n${crc32(text).toString(16)}`;
}

/** Undoes the packing of a long text. */
function unpack(text: string): string {
  if (!text.startsWith(PACKED)) return text;
  const bytes = Buffer.from(text.slice(PACKED.length), 'base64');
  return inflateRawSync(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
}

/**
 * Reads back what {@link renderPosition} wrote, in this version. Anything else gives `undefined`: then the log is read from its start,
 * with the same uids as before.
 */
export function parsePosition(text: string): LogPosition | undefined {
  const end = text.lastIndexOf('\n');
  const body = text.slice(0, end);
  if (end < 0 || crc32(body).toString(16) !== text.slice(end + 1)) return undefined;
  try {
    const value: unknown = JSON.parse(unpack(body));
    return isPosition(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
