import type { BlockLost } from '../../bzip2/index.ts';
import type { GapCertainty, LogRecord, RecordFlag, RouterIdentity } from '../../model/index.ts';
import type { ClockJump } from '../time/log-clock.ts';
import { renderEventUid } from './identity.ts';

/** Context shared by the records of events. */
export interface EventContext {
  readonly router: RouterIdentity;
  readonly component: string;
  readonly file: string;
  /** The agent's clock, milliseconds since the Unix epoch. */
  readonly observedMs: number;
}

/** Why lines are missing. A closed list. */
type GapReason =
  | 'expired'
  | 'not-found'
  | 'damaged'
  | 'too-large'
  | 'unsupported'
  | 'binary'
  | 'trailing'
  | 'broken-link'
  | 'reset'
  | 'skipped'
  | 'paused';

/** A line on the edge of a gap. */
export interface GapEdge {
  readonly uid: string;
  readonly utcMs: number | undefined;
}

/**
 * Order of lines relative to those read before: `live`, after all of them; `backfill`, part of the history that is read
 * behind what is new; `late`, before some of them.
 */
export type Track = 'live' | 'backfill' | 'late';

/** A missing stretch of a log, and the evidence for it. */
export interface Gap {
  readonly certainty: GapCertainty;
  readonly reason: GapReason;
  /** The last line before it; absent at the beginning of a log. */
  readonly from?: GapEdge | undefined;
  /** The first line after it; absent until it is read, `null` when it was read and nobody knows which it was. */
  readonly to?: GapEdge | null | undefined;
  readonly bytesMin?: number | undefined;
  readonly lines?: number | undefined;
  /** The damaged part of an archive, in bits of its compressed bytes. */
  readonly damage?: { readonly block: number; readonly startBit: number; readonly endBit: number } | undefined;
  /** The file from which lines are missing. */
  readonly file: string;
  /** Offset in that file, in decompressed bytes. */
  readonly offset: number;
  /** Default: `live`. */
  readonly track?: Track | undefined;
}

/** A gap that was told before the first line behind it was read. */
export interface OpenGap {
  readonly uid: string;
  readonly file: string;
  readonly offset: number;
  readonly track?: Track | undefined;
}

/** A gap that was told, as it is remembered for the pages. */
export interface KnownGap {
  /** That of its record. */
  readonly uid: string;
  /** Name of the log. */
  readonly component: string;
  /** When it was found, by the agent's clock. Milliseconds since the Unix epoch. */
  readonly foundMs: number;
  readonly certainty: GapCertainty;
  readonly reason: GapReason;
  /** Bytes that are missing at least, as far as that is known. */
  readonly bytesMin: number | undefined;
  /** Time of the first line behind it, as far as that is known. Milliseconds since the Unix epoch. */
  readonly untilUtcMs: number | undefined;
}

const GAP_WORDS: Readonly<Record<GapReason, string>> = {
  expired: 'the router deleted a file before it was read to its end',
  'not-found': 'the rest of a file was never found under another name',
  damaged: 'a rotated file could not be decompressed to its end',
  'too-large': 'a file is larger than the bound on what is read',
  unsupported: 'a rotated file has a format that cannot be read',
  binary: 'bytes of a file are no text, and of no known format',
  trailing: 'text stands behind the end of a compressed file, where nothing belongs',
  'broken-link': 'a file between two others is missing, or the clock of the router was set',
  reset: 'the router deleted all of its log files',
  paused: 'the router deleted them, or may have, while it was paused',
  skipped: 'they are older than what the configuration asks for (logs.start)',
};

/** True for a reason that this version knows. */
export function isGapReason(value: unknown): value is GapReason {
  return typeof value === 'string' && Object.hasOwn(GAP_WORDS, value);
}

/** The uid of the record about a gap. It does not depend on where the gap ends. */
export function toGapUid(router: string, component: string, gap: Gap): string {
  return renderEventUid('log.gap', router, component, toGapSubject(gap), gap.offset);
}

function toGapSubject({ reason, file, from, damage, offset }: Gap): string {
  // What is passed over in parts is one gap each.
  const part = reason === 'skipped' && offset > 0 ? `\0${offset}` : '';
  return `${reason}\0${file}\0${from?.uid ?? ''}\0${damage?.startBit ?? ''}${part}`;
}

/** An event that is a record of its own. */
type EventRecord =
  /** Lines are missing. */
  | { readonly type: 'gap'; readonly gap: Gap }
  /** The first line behind a gap that was told without it. */
  | { readonly type: 'gap-ended'; readonly gap: OpenGap; readonly to: GapEdge }
  /** All files of the log were deleted, and it begins anew. */
  | { readonly type: 'reset'; readonly reason: 'wiped' | 'replaced'; readonly from: GapEdge | undefined }
  /** The router's clock was set, or has lost its time, before the line at this place. */
  | { readonly type: 'clock-jump'; readonly about: string; readonly offset: number; readonly jump: ClockJump };

/** The record of an event. */
export function renderEvent(context: EventContext, told: EventRecord): string {
  switch (told.type) {
    case 'gap': {
      const { gap } = told;
      const { file, offset, reason, from, to, damage } = gap;
      const message = `Log lines are missing: ${GAP_WORDS[reason]}`;
      return render({ ...context, file }, 'log.gap', toGapSubject(gap), offset, message, {
        certainty: gap.certainty,
        reason,
        from_uid: from?.uid ?? null,
        to_uid: to?.uid ?? null,
        time_from: renderMoment(from?.utcMs),
        time_to: renderMoment(to?.utcMs),
        bytes_min: gap.bytesMin ?? null,
        lines: gap.lines ?? null,
        ...(damage && { block: damage.block, start_bit: damage.startBit, end_bit: damage.endBit }),
      });
    }
    case 'gap-ended': {
      const { uid, file, offset } = told.gap;
      return render({ ...context, file }, 'log.gap_end', uid, offset, 'The log continues after a gap', {
        gap_uid: uid,
        to_uid: told.to.uid,
        time_to: renderMoment(told.to.utcMs),
      });
    }
    case 'reset': {
      const { reason, from } = told;
      const message =
        reason === 'wiped'
          ? 'The router has deleted its log files'
          : 'Another router answers under this name; its logs begin anew';
      return render(context, 'log.reset', `${reason}\0${from?.uid ?? ''}`, 0, message, {
        reason,
        last_uid: from?.uid ?? null,
        time_from: renderMoment(from?.utcMs),
      });
    }
    case 'clock-jump': {
      const { about, offset, jump } = told;
      return render(context, 'log.clock_jump', about, offset, "The router's clock has jumped", {
        before: renderMoment(jump.beforeUtcMs),
        after: renderMoment(jump.afterUtcMs),
      });
    }
  }
}

/** The record for a notice that the line before was repeated. It is a line of the log, so its uid is that of the line. */
export function renderRepeat(
  context: EventContext & { readonly flags?: readonly RecordFlag[] | undefined },
  line: {
    readonly offset: number;
    readonly uid: string;
    readonly timestamp: string | undefined;
    readonly message: string;
  },
  repeat: { readonly count: number; readonly ofUid: string | undefined },
): string {
  const record: LogRecord = {
    ...(line.timestamp !== undefined && { timestamp: line.timestamp }),
    ...renderBase(context, line.message, line.uid, line.offset),
    ...(context.flags && context.flags.length > 0 && { flags: [...context.flags] }),
    event: 'log.repeat',
    details: { count: repeat.count, of_uid: repeat.ofUid ?? null },
  };
  return JSON.stringify(record);
}

function render(
  context: EventContext,
  event: NonNullable<LogRecord['event']>,
  about: string,
  offset: number,
  message: string,
  details: NonNullable<LogRecord['details']>,
): string {
  const uid = renderEventUid(event, context.router.name, context.component, about, offset);
  const record: LogRecord = { ...renderBase(context, message, uid, offset), event, details };
  return JSON.stringify(record);
}

function renderBase(
  { router, component, file, observedMs }: EventContext,
  message: string,
  uid: string,
  offset: number,
) {
  return {
    observed_timestamp: new Date(observedMs).toISOString(),
    router: router.name,
    component,
    message,
    uid,
    file,
    offset,
    ...(Object.keys(router.labels).length > 0 && { labels: router.labels }),
  };
}

function renderMoment(utcMs: number | undefined): string | null {
  return utcMs === undefined ? null : new Date(utcMs).toISOString();
}

/** The gap of what could not be decompressed of an archive; `from`: the last line before. */
export function toDamageGap(
  { block, startBit, endBit, outputOffset }: BlockLost,
  file: string,
  from: GapEdge | undefined,
): Gap {
  return {
    certainty: 'certain',
    reason: 'damaged',
    from,
    file,
    offset: outputOffset,
    damage: { block, startBit, endBit },
  };
}
