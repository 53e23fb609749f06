import { type Logger, renderDuration, renderErrorChain } from '../../base/index.ts';
import type { LinkVerdict, LogEvent } from '../../logs/index.ts';
import type { FamilyDescription, Labels } from '../../model/index.ts';
import { RouterError, type SessionEvent } from '../../router/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { LogStats } from './log-stats.ts';
import type { SessionStats } from './session-stats.ts';

/** Events that sessions and log readers report about one router. */
export type StationEvent = SessionEvent | LogEvent;
/** Types of the events that stations report. */
export type StationEventType = StationEvent['type'];
/** The event of one type. */
export type StationEventOf<T extends StationEventType> = Extract<StationEvent, { readonly type: T }>;

type Fields = Readonly<Record<string, unknown>>;

/** One line of the agent's own log, to which the router's name is added. */
export interface EventLine {
  /** `failing`: a warning the first time, until an event {@link EventMeaning.mends} it; at level debug meanwhile. */
  readonly level: keyof Logger | { readonly failing: string };
  readonly message: string;
  readonly fields?: Fields;
}

/** A counter of the router, and what is added to it. */
export type EventCount = readonly [family: FamilyDescription, labels: Labels, delta: number];

/** Stats behind pages and gauges. */
export interface EventPages {
  readonly session: SessionStats;
  readonly logs: LogStats;
}

/** Meaning of one type of event for operators. Absent fields have no effect. */
export interface EventMeaning<E> {
  /** Called before {@link EventMeaning.shows}, so `pages` hold the previous state. */
  readonly line?: (event: E, pages: EventPages) => EventLine | undefined;
  readonly counts?: (event: E) => readonly EventCount[];
  /** Records the event in the stats behind pages and gauges. */
  readonly shows?: (event: E, pages: EventPages) => void;
  /** Name of the failure that this event ends. */
  readonly mends?: (event: E) => string;
}

const debug = (message: string, fields: Fields = {}): EventLine => ({ level: 'debug', message, fields });
const info = (message: string, fields: Fields = {}): EventLine => ({ level: 'info', message, fields });
const warn = (message: string, fields: Fields = {}): EventLine => ({ level: 'warn', message, fields });
const failing = (what: string, message: string, fields: Fields): EventLine => ({
  level: { failing: what },
  message,
  fields,
});
const one = (family: FamilyDescription, labels: Labels = {}): readonly EventCount[] => [[family, labels, 1]];

/** Meaning of each event: its line in the agent's log, its counters, and its effect on pages and gauges. */
export const EVENT_TABLE: { readonly [T in StationEventType]: EventMeaning<StationEventOf<T>> } = {
  'session-opened': {
    line: () => info('Logged in'),
    counts: () => one(F.logins),
    shows: (event, { session }) => session.record(event),
  },
  'session-refreshed': {
    line: () => debug('Refreshed the session'),
    counts: () => one(F.tokenRefreshes),
    shows: (event, { session }) => session.record(event),
  },
  'session-lost': {
    line: ({ cause }) => info('Lost the session', { error: renderErrorChain(cause) }),
    shows: (event, { session }) => session.record(event),
  },
  'session-closed': {
    line: () => info('Logged out'),
    shows: (event, { session }) => session.record(event),
  },
  'login-failed': {
    line: ({ cause }) => debug('Could not log in', { error: renderErrorChain(cause) }),
    counts: ({ cause }) => one(F.loginFailures, { reason: toLoginReason(cause) }),
    shows: (event, { session }) => session.record(event),
  },

  'logs-forgotten': {
    line: ({ components }) =>
      warn('The router has listed more logs than are remembered; those that it lists no longer were forgotten', {
        count: components.length,
      }),
    shows: (event, { logs }) => logs.recordForgotten(event),
  },
  'logs-listed': {
    line: ({ unknown: count }) =>
      count > 0 ? debug('Log files with unknown names are ignored', { count }) : undefined,
    shows: (event, { logs }) => logs.recordListing(event),
  },
  'log-read': {
    counts: ({ component, lines, bytes, unparsed }) => [
      [F.logLines, { component }, lines],
      [F.logBytes, { component }, bytes],
      [F.logUnparsed, { component }, unparsed],
    ],
    shows: (event, { logs }) => logs.recordRead(event),
  },
  'log-caught-up': {
    shows: (event, { logs }) => logs.recordCaughtUp(event),
    mends: ({ component }) => toFailingLog(component),
  },
  'log-retention': {
    shows: (event, { logs }) => logs.recordRetention(event),
  },
  'log-rule-matched': {
    shows: (event, { logs }) => logs.recordRuleMatch(event),
  },
  'log-repeat-found': {
    counts: ({ component }) => one(F.logRepeats, { component }),
  },
  'log-gap-found': {
    line: ({ component, certainty, reason }) =>
      reason === 'skipped'
        ? info('Older log lines are left out, as logs.start says', { component })
        : reason === 'paused'
          ? info('The router deleted log lines, or may have, while it was paused', { component, certainty })
          : warn('Log lines are missing', { component, certainty, reason }),
    counts: ({ component, certainty, reason, bytesMin }) => {
      const labels = { component, certainty, reason: toCountedReason(reason) };
      return [
        [F.logGaps, labels, 1],
        [F.logGapBytes, labels, bytesMin ?? 0],
      ];
    },
    shows: (event, { logs }) => logs.recordGap(event),
  },
  'log-gap-ended': {
    line: ({ component, untilUtcMs }) =>
      info('The log continues after a gap', {
        component,
        until: untilUtcMs === undefined ? 'not known' : renderTime(untilUtcMs),
      }),
    shows: (event, { logs }) => logs.recordGapEnd(event),
  },
  'log-reset': {
    line: ({ component, reason }) => warn('Router log was reset', { component, reason }),
    counts: ({ component }) => one(F.logResets, { component }),
  },
  'log-clock-jumped': {
    line: ({ component, beforeUtcMs, afterUtcMs }) =>
      info("The router's clock has jumped", {
        component,
        before: renderTime(beforeUtcMs),
        after: renderTime(afterUtcMs),
      }),
    counts: ({ component }) => one(F.logClockJumps, { component }),
  },
  'log-zone-learnt': {
    line: ({ offsetMs, zone }) =>
      info('Learnt the UTC offset of the log lines', {
        offset: renderOffset(offsetMs),
        ...(zone !== undefined && { zone }),
      }),
  },
  'log-zone-doubted': {
    line: ({ offByMs }) =>
      failing('zone', 'New log lines are stamped as if in another zone than the one configured', {
        off_by: renderOffset(offByMs),
      }),
  },
  'log-links-judged': {
    line: renderLinks,
    shows: (event, { logs }) => logs.recordLinks(event),
  },
  'archive-unfinished': {
    line: ({ component, file, cause }) =>
      debug('A log archive is not complete yet', { component, file, error: renderErrorChain(cause) }),
  },
  'archive-trailing-ignored': {
    line: ({ component, file, bytes }) =>
      info('Bytes behind the end of a complete log archive were ignored', { component, file, bytes }),
  },
  'log-failed': {
    line: ({ component, file, cause }) =>
      failing(toFailingLog(component), 'A log file could not be read', {
        component,
        file,
        error: renderErrorChain(cause),
      }),
    shows: (event, { logs }) => logs.recordFailed(event),
  },
};

/** Returns the label `reason` of the counter of failed logins: only what the router refuses may lock the account. */
export function toLoginReason(cause: unknown): (typeof LOGIN_REASONS)[number] {
  return cause instanceof RouterError && cause.code === 'auth' ? 'refused' : 'unanswered';
}

/** Values of this label. */
export const LOGIN_REASONS = ['refused', 'unanswered'] as const;

/** Returns the label `reason` of the counters of gaps: what the operator wants to be left out is not missing. */
function toCountedReason(reason: StationEventOf<'log-gap-found'>['reason']): 'missing' | 'skipped' | 'paused' {
  return reason === 'skipped' || reason === 'paused' ? reason : 'missing';
}

/** Logged only if the verdict changes, not at every rotation. */
function renderLinks(verdict: LinkVerdict, { logs }: EventPages): EventLine | undefined {
  const { holds, matches, misses, chance, refuted } = verdict;
  const before = logs.links ?? { holds: false, refuted: [] };
  if (holds === before.holds && refuted.length === before.refuted.length) return undefined;
  const message = holds
    ? 'Log files begin in the second in which the one before ends: a missing one would show'
    : 'It is not proven that log files begin in the second in which the one before ends: nothing waits for a missing one';
  return info(message, { matches, misses, chance, contradicted_by: refuted });
}

/** Name of the failure while a log cannot be read to its end. */
function toFailingLog(component: string): string {
  return `log:${component}`;
}

/** RFC 3339. */
function renderTime(utcMs: number): string {
  return new Date(utcMs).toISOString();
}

function renderOffset(offsetMs: number): string {
  return `${offsetMs < 0 ? '-' : '+'}${renderDuration(Math.abs(offsetMs))}`;
}

/** Lines of the agent's own log about one router. */
export class RouterLog {
  readonly #logger: Logger;
  readonly #router: string;
  /** Current failures, so that each is logged once and not in every run. */
  #failing: Set<string> | undefined;

  constructor(logger: Logger, router: string) {
    this.#logger = logger;
    this.#router = router;
  }

  write(level: keyof Logger, message: string, fields: Fields = {}): void {
    this.#logger[level](message, { router: this.#router, ...fields });
  }

  /** Logs a failure: a warning the first time, at level debug until `what` is mended. */
  fail(what: string, message: string, fields: Fields): void {
    this.#failing ??= new Set();
    this.write(this.#failing.has(what) ? 'debug' : 'warn', message, fields);
    this.#failing.add(what);
  }

  /** Ends the failure `what`, without a line. */
  mend(what: string): void {
    this.#failing?.delete(what);
  }
}
