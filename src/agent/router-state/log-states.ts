import { renderErrorChain } from '../../base/index.ts';
import { addKnownGap, endKnownGap, type LogEvent, unshippedStateOf } from '../../logs/index.ts';
import type { Labels } from '../../model/index.ts';
import type { LogState, MetricPart, Moment, RouterEventOf, RouterState } from './router-state.ts';

const NOTHING: readonly MetricPart[] = [];

type LogEventType = LogEvent['type'] | 'records-stored' | 'gaps-recalled' | 'rules-changed';

export const LOG_REDUCERS: {
  readonly [T in LogEventType]: (state: RouterState, event: RouterEventOf<T>, at: Moment) => readonly MetricPart[];
} = {
  'logs-listed'(state, { archives }) {
    for (const component of archives.keys()) logOf(state, component);
    state.recalledLogs.clear();
    for (const [component, log] of state.logs) log.archives = archives.get(component);
    return NOTHING;
  },
  'logs-forgotten': (state, { components }) => forget(state, components),
  'log-read'(state, { component, lines, bytes, unparsed, newestUtcMs }, at) {
    const log = logOf(state, component);
    log.triedAtMs ??= at.ms;
    log.lines += lines;
    log.bytes += bytes;
    log.unparsed += unparsed;
    log.newestMs = newestUtcMs ?? log.newestMs;
    return NOTHING;
  },
  'log-failed'(state, { component, cause }, at) {
    const log = logOf(state, component);
    log.triedAtMs ??= at.ms;
    const unshipped = unshippedStateOf(cause);
    return unshipped ? setUnshipped(log, { state: unshipped, message: renderErrorChain(cause) }) : NOTHING;
  },
  'log-caught-up'(state, { component }, at) {
    const log = logOf(state, component);
    log.caughtUpAtMs = at.ms;
    return setUnshipped(log, undefined);
  },
  'log-retention'(state, { component, msToLoss, gapAtMs }, at) {
    const log = logOf(state, component);
    log.msToLoss = msToLoss;
    log.lossAtMs = msToLoss === undefined ? undefined : at.ms + msToLoss;
    log.gapAtMs = gapAtMs;
    return NOTHING;
  },
  'log-rule-matched': (state, event) => (event.kind === 'gauge' ? setRuleValue(state, event) : NOTHING),
  'log-gap-found'(state, event) {
    state.gaps = addKnownGap(state.gaps, event);
    state.journal.followLog(event, event.foundMs);
    logOf(state, event.component).gaps += event.reason === 'skipped' ? 0 : 1;
    return NOTHING;
  },
  'log-gap-ended'(state, event, at) {
    state.gaps = endKnownGap(state.gaps, event);
    return followLog(state, event, at);
  },
  'gaps-recalled'(state, { gaps }) {
    state.gaps = gaps;
    followGaps(state);
    return NOTHING;
  },
  'log-links-judged'(state, verdict) {
    state.links = verdict;
    return NOTHING;
  },
  'records-stored'(state, { origin: { component, file, offset } }) {
    logOf(state, component).position = { file, offset };
    return NOTHING;
  },
  'rules-changed'(state) {
    // Other lines may set the gauges now.
    const metrics = [...(state.ruleValues?.keys() ?? [])];
    state.ruleValues = undefined;
    return metrics.map((metric): MetricPart => `log-rule:${metric}`);
  },
  'log-repeat-found': () => NOTHING,
  'log-clock-jumped': followLog,
  'log-reset': followLog,
  'log-zone-learnt': () => NOTHING,
  'log-zone-mismatched': () => NOTHING,
  'archive-unfinished': () => NOTHING,
  'archive-trailing-ignored': () => NOTHING,
};

/** Adds the gaps of an earlier agent that its journal lacks. */
export function followGaps({ gaps, journal }: RouterState): void {
  for (const gap of gaps.toReversed()) journal.followLog({ type: 'log-gap-found', ...gap }, gap.foundMs);
}

function followLog(
  { journal }: RouterState,
  event: RouterEventOf<'log-gap-ended' | 'log-clock-jumped' | 'log-reset'>,
  { wallMs }: Moment,
): readonly MetricPart[] {
  journal.followLog(event, wallMs);
  return NOTHING;
}

/** Returns the logs of a router as pages show them. */
export function listShownLogs({ logs, recalledLogs }: RouterState): readonly LogState[] {
  return [...(logs.size > 0 ? logs : recalledLogs).values()];
}

const DAY_MS = 86_400_000;

/** Returns the gaps of a log since the agent started, or those of the last 24 hours that are remembered if they are more. */
export function countGaps({ gaps }: RouterState, log: LogState, { wallMs }: Moment): number {
  const isRecent = ({ component, foundMs, reason }: (typeof gaps)[number]) =>
    component === log.labels['component'] && foundMs > wallMs - DAY_MS && reason !== 'skipped';
  return Math.max(log.gaps, gaps.filter(isRecent).length);
}

/**
 * Returns the time in milliseconds since the log that is furthest behind was read to its end; `undefined` before the
 * first.
 */
export function findLagMs(state: RouterState, { ms }: Moment): number | undefined {
  const readAtMs = listShownLogs(state).flatMap(({ caughtUpAtMs }) => caughtUpAtMs ?? []);
  return readAtMs.length === 0 ? undefined : ms - Math.min(...readAtMs);
}

/**
 * Returns the wall time from which unread lines may be lost, because a log was not read within its time to loss;
 * `undefined` if none may be.
 */
export function findLossSinceMs(logs: Iterable<LogState>, { ms, wallMs }: Moment): number | undefined {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const { lossAtMs } of logs) firstMs = Math.min(firstMs, lossAtMs ?? firstMs);
  return ms < firstMs ? undefined : wallMs - (ms - firstMs);
}

function forget(state: RouterState, components: readonly string[]): readonly MetricPart[] {
  const rules = [...(state.ruleValues ?? [])];
  for (const component of components) {
    state.logs.delete(component);
    for (const [, values] of rules) {
      for (const [key, [labels]] of values) if (labels['component'] === component) values.delete(key);
    }
  }
  return ['logs', 'unshipped-logs', ...rules.map(([metric]): MetricPart => `log-rule:${metric}`)];
}

function setUnshipped(log: LogState, unshipped: LogState['unshipped']): readonly MetricPart[] {
  const isSame = log.unshipped?.state === unshipped?.state;
  log.unshipped = unshipped;
  return isSame ? NOTHING : ['unshipped-logs'];
}

function setRuleValue(
  state: RouterState,
  { component, metric, labels: own, value }: RouterEventOf<'log-rule-matched'>,
): readonly MetricPart[] {
  const labels = { component, ...own };
  state.ruleValues ??= new Map();
  const values = state.ruleValues.get(metric) ?? new Map<string, readonly [Labels, number]>();
  state.ruleValues.set(metric, values.set(JSON.stringify(labels), [labels, value]));
  return [`log-rule:${metric}`];
}

function logOf({ logs }: RouterState, component: string): LogState {
  const known = logs.get(component);
  if (known) return known;
  const log: LogState = {
    labels: { component },
    lines: 0,
    bytes: 0,
    unparsed: 0,
    gaps: 0,
    msToLoss: undefined,
    lossAtMs: undefined,
    gapAtMs: undefined,
    archives: undefined,
    newestMs: undefined,
    caughtUpAtMs: undefined,
    triedAtMs: undefined,
    position: undefined,
    unshipped: undefined,
  };
  logs.set(component, log);
  return log;
}
