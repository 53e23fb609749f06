import type { LogRecord, RecordFlag, RouterIdentity } from '../../model/index.ts';
import { GAP_REASONS, type Gap, type GapEdge, type OpenGap, toGapUid } from '../position/gap.ts';
import { renderEventUid } from '../position/identity.ts';
import type { ClockJump } from '../time/log-clock.ts';

interface EventContext {
  readonly router: RouterIdentity;
  readonly component: string;
  readonly file: string;
  readonly observedMs: number;
}

type EventRecord =
  | { readonly type: 'gap'; readonly gap: Gap }
  | { readonly type: 'gap-ended'; readonly gap: OpenGap; readonly to: GapEdge }
  | { readonly type: 'reset'; readonly reason: 'wiped' | 'replaced'; readonly from: GapEdge | undefined }
  /** The router's clock was set or lost its time before this line. */
  | { readonly type: 'clock-jump'; readonly about: string; readonly offset: number; readonly jump: ClockJump };

/** Returns the uid of the record of an event. */
export function toEventUid(router: string, component: string, event: EventRecord): string {
  switch (event.type) {
    case 'gap':
      return toGapUid(router, component, event.gap);
    case 'gap-ended':
      return renderEventUid('log.gap_end', router, component, event.gap.uid, event.gap.offset);
    case 'reset':
      return renderEventUid('log.reset', router, component, `${event.reason}\0${event.from?.uid ?? ''}`, 0);
    case 'clock-jump':
      return renderEventUid('log.clock_jump', router, component, event.about, event.offset);
  }
}

export function renderEvent(context: EventContext, event: EventRecord): string {
  const uid = toEventUid(context.router.name, context.component, event);
  switch (event.type) {
    case 'gap': {
      const { gap } = event;
      const { file, offset, reason, from, to, damage } = gap;
      const message = `Log lines are missing: ${GAP_REASONS[reason]}`;
      return render({ ...context, file }, 'log.gap', { uid, offset }, message, {
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
      const { uid: gapUid, file, offset } = event.gap;
      return render({ ...context, file }, 'log.gap_end', { uid, offset }, 'The log continues after a gap', {
        gap_uid: gapUid,
        to_uid: event.to.uid,
        time_to: renderMoment(event.to.utcMs),
      });
    }
    case 'reset': {
      const { reason, from } = event;
      const message =
        reason === 'wiped'
          ? 'The log was reset: the router deleted its log files'
          : 'The log was reset: another router answers under this name';
      return render(context, 'log.reset', { uid, offset: 0 }, message, {
        reason,
        last_uid: from?.uid ?? null,
        time_from: renderMoment(from?.utcMs),
      });
    }
    case 'clock-jump': {
      const { offset, jump } = event;
      return render(context, 'log.clock_jump', { uid, offset }, "The router's clock has jumped", {
        before: renderMoment(jump.beforeUtcMs),
        after: renderMoment(jump.afterUtcMs),
      });
    }
  }
}

/** Renders the record of a repeat notice. The notice is a line of the log, so the record has the uid of that line. */
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
  { uid, offset }: { readonly uid: string; readonly offset: number },
  message: string,
  details: NonNullable<LogRecord['details']>,
): string {
  return JSON.stringify({ ...renderBase(context, message, uid, offset), event, details } satisfies LogRecord);
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
