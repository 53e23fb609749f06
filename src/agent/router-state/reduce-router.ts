import { renderDuration, renderErrorChain } from '../../base/index.ts';
import { RouterError, type SessionEvent } from '../../client/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { RouterFailureSummary, SessionSummary } from '../../web/index.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import { findLagMs, followGaps, LOG_REDUCERS } from './log-states.ts';
import { findFault, reduceOther, reduceResources, toFailure } from './resource-states.ts';
import {
  FIRST_POLL_MS,
  findRetryAfterMs,
  LOGS,
  type MetricPart,
  type Moment,
  type RouterEvent,
  type RouterEventOf,
  type RouterEventType,
  type RouterState,
  toTime,
} from './router-state.ts';
import { parseStoredHistory } from './stored-history.ts';

/**
 * Maximum time that logs wait for a successful poll after one that could not connect or log in, so that such a router
 * costs one attempt per cycle instead of two. Milliseconds.
 */
const UNREACHABLE_MS_MAX = 5 * 60_000;
/** By group of the account; the rights of other groups are unknown. */
const WRITABLE: ReadonlyMap<string | undefined, boolean> = new Map([
  ['status', false],
  ['read', false],
  ['readwrite', true],
]);
const SESSION_STATES: Readonly<Record<Exclude<SessionEvent['type'], 'session-refreshed'>, SessionSummary['state']>> = {
  'session-opened': 'open',
  'session-lost': 'lost',
  'session-closed': 'closed',
  'login-failed': 'failed',
};
const NOTHING: readonly MetricPart[] = [];

/**
 * Reducers by event; a new event does not compile without one. Each returns the parts of the metrics that have changed.
 */
const REDUCERS: {
  readonly [T in RouterEventType]: (state: RouterState, event: RouterEventOf<T>, at: Moment) => readonly MetricPart[];
} = {
  ...LOG_REDUCERS,
  'session-opened': reduceSession,
  'session-refreshed': reduceSession,
  'session-lost': reduceSession,
  'session-closed': reduceSession,
  'login-failed': reduceSession,
  'paused-or-retired'(state, event, at) {
    enter(state, event.state, at);
    return NOTHING;
  },
  'poll-begun'(state, _, at) {
    // Counted from here, not from the start of the agent: first polls of ten thousand routers are spread over minutes,
    // and a router without a poll is not down.
    if (state.reach === 'unknown' && !state.awaited) awaitPoll(state, FIRST_POLL_MS, at);
    return NOTHING;
  },
  'journal-recalled'(state, { text }, at) {
    state.journal.recall(text, at);
    const { recalled } = state.journal;
    state.changes.recall(recalled?.facts ?? {});
    if (recalled?.reach === 'down') state.lastSuccess ??= recalled.lastSuccess;
    if (recalled?.reach === state.reach) continueSince(state, recalled);
    state.journal.followReach(state, at);
    followGaps(state);
    return NOTHING;
  },
  'history-recalled'(state, { text, isFollowed }, at) {
    const stored = parseStoredHistory(text);
    if (!stored) return NOTHING;
    state.history.recall(stored.history, at);
    // As a history: a wall clock that was set back says nothing about the time that has passed.
    const movedMs = at.ms - stored.at.ms - Math.max(0, at.wallMs - stored.at.wallMs);
    const move = (ms: number | undefined) => (ms === undefined ? ms : ms + movedMs);
    for (const log of stored.logs) {
      const [caughtUpAtMs, lossAtMs] = [move(log.caughtUpAtMs), move(log.lossAtMs)];
      const { component = '' } = log.labels;
      if (isFollowed(component)) state.recalledLogs.set(component, { ...log, caughtUpAtMs, lossAtMs });
    }
    const { facts } = stored;
    if (!facts) return NOTHING;
    state.recalled = { ...facts, readAtMs: Math.min(facts.readAtMs, at.wallMs) };
    state.staleAtMs = at.ms;
    return NOTHING;
  },
  'firmware-listed'(state, { versions }) {
    state.firmwareVersions = versions;
    return ['firmware'];
  },
  polled: reducePoll,
  reached(state, { quietMs }, at) {
    awaitPoll(state, quietMs, at);
    if (state.reach !== 'up') state.failure = undefined;
    enter(state, 'up', at);
    return NOTHING;
  },
  quiet: reduceQuiet,
  unasked: ({ reach }) => (reach === 'unknown' ? ['state'] : NOTHING),
  'limits-read': reduceLimits,
  'logs-read'(state) {
    state.areLogsFailing = false;
    return reduceOther(state, LOGS, 'up', null);
  },
  'logs-failed'(state, { cause }) {
    state.areLogsFailing = true;
    const isForbidden = cause instanceof RouterError && cause.isForbidden;
    return reduceOther(state, LOGS, isForbidden ? 'forbidden' : 'failed', renderErrorChain(cause));
  },
};

function apply<T extends RouterEventType>(
  state: RouterState,
  event: RouterEventOf<T> & { readonly type: T },
  at: Moment,
): readonly MetricPart[] {
  return REDUCERS[event.type](state, event, at);
}

/** Applies an event to the state of a router. Returns the parts of its metrics that have changed. */
export function reduceRouter(state: RouterState, event: RouterEvent, at: Moment): readonly MetricPart[] {
  const { reach, failures, failure } = state;
  const known = state.logs.size;
  const parts = apply(state, event, at);
  const isSame = state.reach === reach && state.failures === failures && state.failure?.reason === failure?.reason;
  return [
    ...(isSame || event.type === 'paused-or-retired' ? [] : (['state'] as const)),
    ...(state.logs.size > known ? (['logs'] as const) : []),
    ...parts,
  ];
}

function isLoginFailure(state: RouterState, error: unknown): boolean {
  if (!(error instanceof Error) || !state.failedLogins) return false;
  return state.failedLogins.has(error) || isLoginFailure(state, error.cause);
}

function reducePoll(state: RouterState, event: RouterEventOf<'polled'>, at: Moment): readonly MetricPart[] {
  const { result, wire, isPutOff, isWhole, quietMs, certificateNotAfterMs } = event;
  if (isWhole) state.wholePollMs = at.ms;
  const { isUp, durationMs, error } = result;
  state.changes.record(result);
  if (result.isIdle) return [];
  const isFirst = state.polls.lastDurationMs === undefined;
  const seenMs = state.recalled?.readAtMs;
  const hasOtherFirmware = result.firmwareVersion !== state.identity.firmware;
  state.identity = { firmware: result.firmwareVersion, serial: result.serialNumber };
  const login = isLoginFailure(state, error);
  const fault = findFault(result, { ...wire, isLogin: login, isRepeated: state.failures > 0 });
  state.fault = fault;
  const failure = isUp ? undefined : toFailure(result, fault);
  if (failure) reduceFailure(state, failure, isPutOff, at);
  else reduceSuccess(state, quietMs, at);
  const isShutOut = !isUp && error instanceof RouterError && error.code !== 'budget' && (error.isUnsent || login);
  state.unreachableUntilMs = isShutOut ? at.ms + UNREACHABLE_MS_MAX : Number.NEGATIVE_INFINITY;
  const lagMs = findLagMs(state, at);
  state.polls.add({ atMs: at.wallMs - durationMs, durationMs, failure, fault });
  state.device.record(result, at.ms);
  state.rates.record(result.resources);
  state.journal.followDevice(state.changes, at, seenMs);
  // While a router is down, only its last signal is known.
  const signal = isUp ? state.device.summary.signal?.value : undefined;
  state.traffic = isUp ? state.rates.findTraffic(state.device.wanInterfaces) : undefined;
  const { modems } = state.device;
  state.history.add({ isUp, signal, modems, lagMs, durationMs, traffic: state.traffic, holdMs: quietMs }, at.ms);
  const hasOtherCertificate = (certificateNotAfterMs ?? state.certificateNotAfterMs) !== state.certificateNotAfterMs;
  if (hasOtherCertificate) state.certificateNotAfterMs = certificateNotAfterMs;
  return [
    ...(isFirst ? (['polls'] as const) : []),
    ...(hasOtherCertificate ? (['tls'] as const) : []),
    ...(hasOtherFirmware ? (['firmware'] as const) : []),
    ...reduceResources(state, result),
  ];
}

function reduceSuccess(state: RouterState, quietMs: number, at: Moment): void {
  state.staleAtMs = at.ms + quietMs;
  state.failures = 0;
  state.failure = undefined;
  state.recalled = undefined;
  enter(state, 'up', at);
  state.lastSuccessMs = at.wallMs;
  state.lastSuccess = toTime(at.wallMs);
  awaitPoll(state, quietMs, at);
}

function reduceFailure(state: RouterState, failure: RouterFailureSummary, isPutOff: boolean, at: Moment): void {
  state.failures++;
  // A router that was up and asks for a delay stays up until its values expire.
  if (!isPutOff || state.reach !== 'up' || at.ms >= state.staleAtMs) goDown(state, failure, at);
}

function reduceQuiet(state: RouterState, { budget }: RouterEventOf<'quiet'>, at: Moment): readonly MetricPart[] {
  const length = renderDuration(Math.round(state.awaited?.waitMs ?? 0));
  if (budget.statusPart === undefined) runOutOfBudget(state, budget, at);
  else if (findRetryAfterMs(state, at) === undefined) {
    goDown(state, { reason: 'timeout', step: null, error: `No poll has ended for ${length}` }, at);
  } else {
    const error = `No poll for ${length}, because the router asked for a delay`;
    goDown(state, { reason: 'http', step: state.fault?.step ?? 'http', error }, at);
  }
  return [];
}

function reduceLimits(
  state: RouterState,
  { budget, retryAfter }: RouterEventOf<'limits-read'>,
  at: Moment,
): readonly MetricPart[] {
  const { logs, status } = budget.pauses;
  const hasOtherPauses = logs !== state.logsPausedUntilMs || status !== state.statusPausedUntilMs;
  state.logsPausedUntilMs = logs;
  state.statusPausedUntilMs = status;
  const isSpent = budget.isSpent('common') && budget.isSpent('status');
  // A router without a poll so far has no values that are still valid.
  if (isSpent || (budget.statusPart === undefined && state.reach === 'unknown')) runOutOfBudget(state, budget, at);
  const isOtherWait = retryAfter !== state.retryAfter;
  state.retryAfter = retryAfter;
  return [...(hasOtherPauses ? (['budget-pauses'] as const) : []), ...(isOtherWait ? (['retry-after'] as const) : [])];
}

function reduceSession(state: RouterState, event: SessionEvent, at: Moment): readonly MetricPart[] {
  if (event.type === 'session-opened') state.logins++;
  if (event.type === 'login-failed') {
    state.loginFailures++;
    state.failedLogins ??= new WeakSet();
    state.failedLogins.add(Object(event.cause));
  }
  const hasRights = event.type === 'session-opened' || event.type === 'session-refreshed';
  if (hasRights) state.isWritable = WRITABLE.get(event.group);
  if (event.type === 'session-refreshed') state.refreshes++;
  else {
    const session = SESSION_STATES[event.type];
    // Repeated login failures keep the time of the first one.
    if (session !== state.session || session === 'open') state.sessionSinceMs = at.wallMs;
    state.session = session;
  }
  return hasRights ? ['account'] : [];
}

function enter(state: RouterState, reach: RouterStateName, at: Moment): void {
  if (state.reach === reach) return;
  const isFirst = state.reach === 'unknown';
  const { recalled } = state.journal;
  state.reach = reach;
  state.since = toTime(at.wallMs);
  state.isFirstReach = isFirst;
  if (isFirst && recalled?.reach === reach) continueSince(state, recalled);
  state.journal.followReach(state, at);
}

/** The state is that before the restart. */
function continueSince(state: RouterState, { since, isFirstReach }: Pick<RouterState, 'since' | 'isFirstReach'>): void {
  Object.assign(state, { since, isFirstReach });
}

function awaitPoll(state: RouterState, waitMs: number, at: Moment): void {
  state.awaited = { atMs: at.ms + waitMs, waitMs };
}

function goDown(state: RouterState, failure: RouterFailureSummary, at: Moment): void {
  state.awaited = undefined;
  state.failure = failure;
  enter(state, 'down', at);
}

function runOutOfBudget(state: RouterState, budget: SharedBudget, at: Moment): void {
  if (state.reach === 'budget') return;
  state.awaited = undefined;
  enter(state, 'budget', at);
  const until = toTime(budget.pauses.status ?? budget.nextDayMs);
  const error = `The byte budget of this day is used up, or would not last; no poll before ${until}`;
  state.failure = { reason: 'budget', step: null, error };
}
