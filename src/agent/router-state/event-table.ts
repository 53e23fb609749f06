import { type Logger, renderDuration, renderErrorChain } from '../../base/index.ts';
import type { LinkVerdict } from '../../logs/index.ts';
import type { FamilyDescription, Labels } from '../../model/index.ts';
import { type RetryAfter, RouterError } from '../../router/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { ResourceResult } from '../../status/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import { type Moment, toTime } from '../times.ts';
import { LOGS, type RouterEventOf, type RouterEventType, type RouterState } from './router-state.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One line of the agent's own log, to which the router's name is added, or the end of a failure, without a line. */
export type EventLine =
  | {
      /** `failing`: a warning the first time, until the failure is mended; at level debug meanwhile. */
      readonly level: keyof Logger | { readonly failing: string };
      readonly message: string;
      readonly fields: Fields;
    }
  | { readonly mends: string };

/** A counter of the router, and what is added to it. */
type EventCount = readonly [family: FamilyDescription, labels: Labels, delta: number];

/** A router after an event, and what it was before. */
interface EventContext {
  readonly state: RouterState;
  readonly before: Pick<RouterState, 'reach' | 'links' | 'retryAfter'>;
  readonly at: Moment;
}

/** What an event is to the operator, besides what metrics and pages show of the state. Absent fields have no effect. */
interface EventMeaning<E> {
  readonly lines?: (event: E, context: EventContext) => readonly EventLine[];
  /** `rules`: families of the log rules, by the name of their metric. */
  readonly counts?: (event: E, rules: ReadonlyMap<string, FamilyDescription>) => readonly EventCount[];
}

const say = (level: keyof Logger, message: string, fields: Fields = {}): EventLine[] => [{ level, message, fields }];
const debug = (message: string, fields?: Fields) => say('debug', message, fields);
const info = (message: string, fields?: Fields) => say('info', message, fields);
const warn = (message: string, fields?: Fields) => say('warn', message, fields);
const fail = (what: string, message: string, fields: Fields): EventLine[] => [
  { level: { failing: what }, message, fields },
];
const mend = (...failures: readonly string[]): EventLine[] => failures.map((mends) => ({ mends }));
const one = (family: FamilyDescription, labels: Labels = {}): readonly EventCount[] => [[family, labels, 1]];

/** Meaning of each event: its lines in the agent's log, and its counters. */
export const EVENT_TABLE: { readonly [T in RouterEventType]: EventMeaning<RouterEventOf<T>> } = {
  'session-opened': {
    lines: () => info('Logged in'),
    counts: () => one(F.logins),
  },
  'session-refreshed': {
    lines: () => debug('Refreshed the session'),
    counts: () => one(F.tokenRefreshes),
  },
  'session-lost': {
    lines: ({ cause }) => info('Lost the session', { error: renderErrorChain(cause) }),
  },
  'session-closed': {
    lines: () => info('Logged out'),
  },
  'login-failed': {
    lines: ({ cause }) => debug('Could not log in', { error: renderErrorChain(cause) }),
    counts: ({ cause }) => one(F.loginFailures, { reason: toLoginReason(cause) }),
  },

  'logs-forgotten': {
    lines: ({ components }) =>
      warn('The router has listed more logs than are remembered; those that it lists no longer were forgotten', {
        count: components.length,
      }),
  },
  'logs-listed': {
    lines: ({ unknown: count }) => (count > 0 ? debug('Log files with unknown names are ignored', { count }) : []),
  },
  'log-read': {
    counts: ({ component, lines, bytes, unparsed }) => [
      [F.logLines, { component }, lines],
      [F.logBytes, { component }, bytes],
      [F.logUnparsed, { component }, unparsed],
    ],
  },
  'log-caught-up': {
    lines: ({ component }) => mend(toFailingLog(component)),
  },
  'log-retention': {},
  'log-rule-matched': {
    counts: ({ component, metric, labels, value }, rules) => {
      const family = rules.get(metric);
      return family?.type === 'counter' ? [[family, { component, ...labels }, value]] : [];
    },
  },
  'log-repeat-found': {
    counts: ({ component }) => one(F.logRepeats, { component }),
  },
  'log-gap-found': {
    lines: ({ component, certainty, reason }) =>
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
  },
  'log-gap-ended': {
    lines: ({ component, untilUtcMs }) =>
      info('The log continues after a gap', {
        component,
        until: untilUtcMs === undefined ? 'not known' : renderTime(untilUtcMs),
      }),
  },
  'log-reset': {
    lines: ({ component, reason }) => warn('Router log was reset', { component, reason }),
    counts: ({ component }) => one(F.logResets, { component }),
  },
  'log-clock-jumped': {
    lines: ({ component, beforeUtcMs, afterUtcMs }) =>
      info("The router's clock has jumped", {
        component,
        before: renderTime(beforeUtcMs),
        after: renderTime(afterUtcMs),
      }),
    counts: ({ component }) => one(F.logClockJumps, { component }),
  },
  'log-zone-learnt': {
    lines: ({ offsetMs, zone }) =>
      info('Learnt the UTC offset of the log lines', {
        offset: renderOffset(offsetMs),
        ...(zone !== undefined && { zone }),
      }),
  },
  'log-zone-doubted': {
    lines: ({ offByMs }) =>
      fail('zone', 'New log lines are stamped as if in another zone than the one configured', {
        off_by: renderOffset(offByMs),
      }),
  },
  'log-links-judged': {
    lines: renderLinks,
  },
  'archive-unfinished': {
    lines: ({ component, file, cause }) =>
      debug('A log archive is not complete yet', { component, file, error: renderErrorChain(cause) }),
  },
  'archive-trailing-ignored': {
    lines: ({ component, file, bytes }) =>
      info('Bytes behind the end of a complete log archive were ignored', { component, file, bytes }),
  },
  'log-failed': {
    lines: ({ component, file, cause }) =>
      fail(toFailingLog(component), 'A log file could not be read', {
        component,
        file,
        error: renderErrorChain(cause),
      }),
  },

  rested: {},
  'poll-begun': {},
  polled: { lines: renderPoll },
  reached: {
    lines: (_, { before }) => (before.reach === 'up' ? [] : info('The router is up', { seen: 'a download' })),
  },
  quiet: {
    lines: ({ budget }, { state, before }) =>
      state.reach === 'budget' ? renderSpent(budget) : renderDown(state, before.reach),
  },
  unasked: {},
  'limits-read': { lines: renderLimits },
  'logs-read': { lines: () => mend(LOGS) },
  'logs-failed': {
    lines: ({ cause }) => {
      const isForbidden = cause instanceof RouterError && cause.isForbidden;
      const message = isForbidden ? 'The account may not read the logs' : 'The logs could not be read';
      return fail(LOGS, message, { error: renderErrorChain(cause) });
    },
  },
  'records-stored': {},
  'gaps-recalled': {},
  'rules-changed': {},
};

/** Names of pauses by the byte budget, which are logged once until the budget stretches nothing. */
const PAUSES = {
  logs: 'The byte budget pauses the logs of the router',
  status: 'The byte budget pauses the polls of the router',
} as const;
/** A budget that is used up is logged once until it stretches nothing. */
const SPENT = 'budget-spent';
/** Failures that are logged once for a router that asks for a wait. */
const RETRY_AFTER = 'retry-after';
const RETRY_AFTER_CAPPED = 'retry-after-capped';

function renderPoll(
  { result, isPutOff }: RouterEventOf<'polled'>,
  { state, before }: EventContext,
): readonly EventLine[] {
  const { isUp, isIdle, resources } = result;
  if (isIdle) return [];
  const lines = resources.flatMap((resource) => renderResource(resource, isUp));
  // A router that was up and asks for a wait is not down yet.
  if (!isUp) return state.reach === 'down' ? [...renderDown(state, before.reach), ...lines] : lines;
  const up = before.reach === 'up' ? [] : info('The router is up');
  return [...up, ...(isPutOff ? [] : mend(RETRY_AFTER)), ...lines];
}

function renderDown({ failure }: RouterState, before: RouterStateName): readonly EventLine[] {
  const fields = { reason: failure?.reason, error: failure?.error };
  return say(before === 'down' ? 'debug' : 'warn', 'The router is down', fields);
}

/** What is wrong with a resource, unless the router is down: that explains missing answers. */
function renderResource(result: ResourceResult, isUp: boolean): readonly EventLine[] {
  const { name: resource, state, error } = result;
  if (state === 'read') return renderReading(result);
  if (state === 'forbidden') return fail(resource, 'The account may not read a status resource', { resource });
  if (state !== 'failed' || !isUp) return [];
  return fail(resource, 'A status resource could not be read', { resource, error: renderErrorChain(error) });
}

function renderReading({ name: resource, isUnread, faults }: ResourceResult): readonly EventLine[] {
  const [unread, unclear] = [`unread:${resource}`, `unclear:${resource}`];
  const values = [...new Set(faults.map(({ metric, reason }) => `${metric}: ${reason}`))];
  return [
    ...mend(resource),
    ...(isUnread
      ? fail(unread, 'A status resource was answered, but no metric could be read from it', { resource })
      : mend(unread)),
    ...(values.length > 0
      ? fail(unclear, 'Values of a status resource could not be read', { resource, values })
      : mend(unclear)),
  ];
}

function renderLimits(
  { budget, retryAfter }: RouterEventOf<'limits-read'>,
  { state, before, at }: EventContext,
): readonly EventLine[] {
  const pauses = (['logs', 'status'] as const).flatMap((activity) => {
    const untilMs = budget.pauses[activity];
    return untilMs === undefined ? [] : fail(`pause:${activity}`, PAUSES[activity], { until: toTime(untilMs) });
  });
  const isFree = budget.intervalMultiplier('slow') === 1;
  return [
    ...pauses,
    ...(isFree ? mend('pause:logs', 'pause:status', SPENT) : []),
    ...(state.reach === 'budget' && before.reach !== 'budget' ? renderSpent(budget) : []),
    ...(retryAfter && retryAfter !== before.retryAfter ? renderWait(retryAfter, at) : []),
  ];
}

function renderSpent(budget: SharedBudget): readonly EventLine[] {
  const until = toTime(budget.pauses.status ?? budget.nextDayMs);
  return fail(SPENT, 'The byte budget of the router is used up', { until });
}

function renderWait({ untilMs, isCapped }: RetryAfter, { ms }: Moment): readonly EventLine[] {
  const wait = renderDuration(Math.round(untilMs - ms));
  const message = 'The router asks for a longer wait than it gets, or for a time by a clock that is off';
  return [
    ...fail(RETRY_AFTER, 'The router asks to be left alone', { for: wait }),
    ...(isCapped ? fail(RETRY_AFTER_CAPPED, message, { granted: wait }) : []),
  ];
}

/** Returns the label `reason` of the counter of failed logins: only what the router refuses may lock the account. */
function toLoginReason(cause: unknown): (typeof LOGIN_REASONS)[number] {
  return cause instanceof RouterError && cause.code === 'auth' ? 'refused' : 'unanswered';
}

/** Values of this label. */
export const LOGIN_REASONS = ['refused', 'unanswered'] as const;

/** Returns the label `reason` of the counters of gaps: what the operator wants to be left out is not missing. */
function toCountedReason(reason: RouterEventOf<'log-gap-found'>['reason']): 'missing' | 'skipped' | 'paused' {
  return reason === 'skipped' || reason === 'paused' ? reason : 'missing';
}

/** Logged only if the verdict changes, not at every rotation. */
function renderLinks(verdict: LinkVerdict, { before: { links } }: EventContext): readonly EventLine[] {
  const { holds, matches, misses, chance, refuted } = verdict;
  const before = links ?? { holds: false, refuted: [] };
  if (holds === before.holds && refuted.length === before.refuted.length) return [];
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
