import { type Logger, renderDuration, renderErrorChain } from '../../base/index.ts';
import { type RetryAfter, RouterError } from '../../client/index.ts';
import type { LinkVerdict } from '../../logs/index.ts';
import { explainFailure, type FamilyDescription, type Labels } from '../../model/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { ResourceResult } from '../../status/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import {
  LOGS,
  type Moment,
  type RouterEventOf,
  type RouterEventType,
  type RouterState,
  toTime,
} from './router-state.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One line of the agent's own log, to which the router's name is added, or the end of a failure, without a line. */
export type EventLine =
  | {
      /** `failing`: a warning the first time, then level debug until the failure has ended. */
      readonly level: keyof Logger | { readonly failing: string };
      readonly message: string;
      readonly fields: Fields;
    }
  | { readonly endsFailure: string };

type RuleFamilies = ReadonlyMap<string, FamilyDescription>;
type EventCount = readonly [family: FamilyDescription, labels: Labels, delta: number];

interface EventContext {
  readonly state: RouterState;
  readonly before: Pick<RouterState, 'reach' | 'links' | 'retryAfter'>;
  readonly at: Moment;
}

/** Effect of an event besides the state that metrics and pages show. Absent fields have no effect. */
interface EventMeaning<E> {
  readonly lines?: (event: E, context: EventContext) => readonly EventLine[];
  readonly counts?: (event: E, rules: RuleFamilies, state: Readonly<RouterState>) => readonly EventCount[];
}

const say = (level: keyof Logger, message: string, fields: Fields = {}): EventLine[] => [{ level, message, fields }];
const debug = (message: string, fields?: Fields) => say('debug', message, fields);
const info = (message: string, fields?: Fields) => say('info', message, fields);
const warn = (message: string, fields?: Fields) => say('warn', message, fields);
const fail = (what: string, message: string, fields: Fields): EventLine[] => [
  { level: { failing: what }, message, fields },
];
const endFailures = (...failures: readonly string[]): EventLine[] => failures.map((endsFailure) => ({ endsFailure }));
const one = (family: FamilyDescription, labels: Labels = {}): readonly EventCount[] => [[family, labels, 1]];

/** Log lines and counters of each event. */
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
      warn('The router lists more logs than are tracked; tracking of logs that it no longer lists has ended', {
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
    lines: ({ component }) => endFailures(toFailingLog(component)),
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
        ? info('Older log lines are skipped because of logs.start', { component })
        : reason === 'paused'
          ? info('The router deleted log lines, or may have deleted some, while it was paused', {
              component,
              certainty,
            })
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
  'log-zone-mismatched': {
    lines: ({ offByMs }) =>
      fail('zone', 'New log lines have time stamps of another zone than the configured one', {
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
      info('Bytes after the end of a complete log archive were ignored', { component, file, bytes }),
  },
  'log-failed': {
    lines: ({ component, file, cause }) =>
      fail(toFailingLog(component), 'A log file could not be read', {
        component,
        file,
        error: renderErrorChain(cause),
      }),
  },

  'paused-or-retired': {},
  'poll-begun': {},
  'history-recalled': {},
  'journal-recalled': { counts: (_event, _rules, state) => countChanges(state) },
  'firmware-listed': {},
  polled: { lines: renderPoll, counts: (_event, _rules, state) => countChanges(state) },
  reached: {
    lines: (_, { before }) => (before.reach === 'up' ? [] : info('The router is up', { seen: 'a download' })),
  },
  quiet: {
    lines: ({ budget }, { state, before }) =>
      state.reach === 'budget' ? renderSpent(budget) : renderDown(state, before.reach),
  },
  unasked: {},
  'limits-read': { lines: renderLimits },
  'logs-read': { lines: () => endFailures(LOGS) },
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

/** At first contact with a fact its counter starts at zero, so that increase() shows the first change. */
function countChanges({ changes }: RouterState): readonly EventCount[] {
  return changes.counted.map(({ kind, before }) => [F.deviceChanges, { fact: kind }, before === undefined ? 0 : 1]);
}

/** Cells are where the router is, and change often. */
function renderChanges({ changes }: RouterState): readonly EventLine[] {
  const shown = changes.counted.filter(({ kind, before }) => before !== undefined && kind !== 'cell');
  return shown.flatMap(({ kind, before, after }) => info('The router reports another value', { kind, before, after }));
}

/** Pauses by the byte budget, logged once until the budget stretches nothing. */
const PAUSES = {
  logs: 'The byte budget pauses the logs of the router',
  status: 'The byte budget pauses the polls of the router',
} as const;
const SPENT = 'budget-spent';
/** Logged once while a router asks for delays. */
const RETRY_AFTER = 'retry-after';
const RETRY_AFTER_CAPPED = 'retry-after-capped';

function renderPoll(
  { result, isPutOff }: RouterEventOf<'polled'>,
  { state, before }: EventContext,
): readonly EventLine[] {
  const { isUp, isIdle, resources } = result;
  if (isIdle) return [];
  const lines = [...renderChanges(state), ...resources.flatMap((resource) => renderResource(resource, isUp))];
  // A router that was up and asks for a delay is not down yet.
  if (!isUp) return state.reach === 'down' ? [...renderDown(state, before.reach), ...lines] : lines;
  const up = before.reach === 'up' ? [] : info('The router is up');
  return [...up, ...(isPutOff ? [] : endFailures(RETRY_AFTER)), ...lines];
}

function renderDown({ failure, retryAfter }: RouterState, before: RouterStateName): readonly EventLine[] {
  if (!failure) return [];
  const { reason, error, step } = failure;
  // Without a step, no request failed: the poll was late, or the router asked for a delay.
  const fields = { reason, error, ...(step !== null && retryAfter === undefined && { hint: explainFailure(reason) }) };
  return say(before === 'down' ? 'debug' : 'warn', 'The router is down', fields);
}

/** While the router is down, missing answers need no explanation. */
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
    ...endFailures(resource),
    ...(isUnread
      ? fail(unread, 'A status resource was answered, but no metric could be read from it', { resource })
      : endFailures(unread)),
    ...(values.length > 0
      ? fail(unclear, 'Values of a status resource could not be read', { resource, values })
      : endFailures(unclear)),
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
    ...(isFree ? endFailures('pause:logs', 'pause:status', SPENT) : []),
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
  const message = 'The router asks for a longer delay than allowed, or its clock is wrong';
  return [
    ...fail(RETRY_AFTER, 'The router asks for a delay of requests', { for: wait }),
    ...(isCapped ? fail(RETRY_AFTER_CAPPED, message, { granted: wait }) : []),
  ];
}

/** Only refused logins may lock the account. */
function toLoginReason(cause: unknown): (typeof LOGIN_REASONS)[number] {
  return cause instanceof RouterError && cause.code === 'auth' ? 'refused' : 'unanswered';
}

/** Values of the label `reason` of the counter of failed logins. */
export const LOGIN_REASONS = ['refused', 'unanswered'] as const;

/** Lines left out on request are not missing. */
function toCountedReason(reason: RouterEventOf<'log-gap-found'>['reason']): 'missing' | 'skipped' | 'paused' {
  return reason === 'skipped' || reason === 'paused' ? reason : 'missing';
}

/** Logged only if the verdict changes, not at every rotation. */
function renderLinks(verdict: LinkVerdict, { before: { links } }: EventContext): readonly EventLine[] {
  const { holds, matches, misses, chance, refuted } = verdict;
  const before = links ?? { holds: false, refuted: [] };
  if (holds === before.holds && refuted.length === before.refuted.length) return [];
  const message = holds
    ? 'Each log file starts in the second in which the previous one ends, so a missing file is detected'
    : 'Log files do not provably start in the second in which the previous one ends, so missing files are not waited for';
  return info(message, { matches, misses, chance, contradicted_by: refuted });
}

function toFailingLog(component: string): string {
  return `log:${component}`;
}

function renderTime(utcMs: number): string {
  return new Date(utcMs).toISOString();
}

function renderOffset(offsetMs: number): string {
  return `${offsetMs < 0 ? '-' : '+'}${renderDuration(Math.abs(offsetMs))}`;
}
