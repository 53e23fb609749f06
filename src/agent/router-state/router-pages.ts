import { renderDay } from '../../base/index.ts';
import type { RouterCertificate } from '../../client/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { LinkVerdict } from '../../logs/index.ts';
import type { RouterIdentity } from '../../model/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { ModuleDefinition } from '../../status/index.ts';
import type {
  FamilyValues,
  LogGapSummary,
  LogRotationSummary,
  ModuleValues,
  PaceSummary,
  ResourceSummary,
  RouterDetail,
  RouterLogSummary,
  RouterSummary,
} from '../../web/index.ts';
import type { ByteAccount } from '../routers/byte-account.ts';
import type { DataPlans } from '../routers/data-plans.ts';
import type { RouterLifecycle } from '../routers/lifecycle-keeper.ts';
import { countGaps, findLagMs, findLossSinceMs, listShownLogs } from './log-states.ts';
import { describeResources } from './resource-states.ts';
import { toPart } from './router-metrics.ts';
import { findRetryAfterMs, type Moment, type RouterState, toSeconds, toTime } from './router-state.ts';

/** Sources of a router's page besides its state. */
export interface RouterSurroundings {
  readonly settings: RouterSettings;
  readonly lifecycle: () => RouterLifecycle;
  readonly bytes: () => { readonly sent: number; readonly received: number; readonly budget: SharedBudget };
  readonly account: Pick<ByteAccount, 'today' | 'days' | 'polls' | 'sumSince' | 'estimateMonth'>;
  /** Absent: none. */
  readonly plans?: Pick<DataPlans, 'shown' | 'describe'> | undefined;
  readonly pace: () => PaceSummary;
  readonly certificate: () => RouterCertificate | undefined;
  readonly exposition: FleetExposition;
}

/** Returns the state of a router as pages show it: one that was down before a restart is down until its first poll. */
export function findShown(
  state: RouterState,
): Pick<RouterState, 'reach' | 'since' | 'isFirstReach'> & Partial<Pick<RouterState, 'failure'>> {
  const { recalled } = state.journal;
  return state.reach === 'unknown' && recalled?.reach === 'down' ? recalled : state;
}

export function summarizeRouter(state: RouterState, around: RouterSurroundings, at: Moment): RouterSummary {
  const { name, url, labels, byte_budget: budget } = around.settings;
  const lifecycle = around.lifecycle();
  const { recalled } = state;
  const { reach, since, isFirstReach, failure } = findShown(state);
  return {
    name,
    url,
    labels,
    state: reach,
    since,
    isFirstState: isFirstReach,
    isStale: at.ms >= state.staleAtMs,
    lastSuccess: state.lastSuccess ?? toTime(recalled?.readAtMs),
    retryAfter: toTime(findRetryAfterMs(state, at)),
    failure: failure ?? null,
    fault: state.fault ?? null,
    consecutiveFailures: state.failures,
    durationSeconds: toSeconds(state.polls.lastDurationMs) ?? null,
    lifecycle: { state: lifecycle.state, until: toTime(lifecycle.untilMs), setBy: lifecycle.setBy },
    logLagSeconds: toSeconds(findLagMs(state, at)) ?? null,
    logLossSince: toTime(findLossSinceMs(listShownLogs(state), at)),
    gaps: listShownLogs(state).reduce((sum, log) => sum + countGaps(state, log, at), 0),
    isSlow: around.pace().level !== 'usual',
    certificateExpiry: toTime(state.certificateNotAfterMs),
    bytesToday: around.bytes().budget.usedBytes,
    byteBudget: budget.perDay === 0 ? null : budget.perDay,
    firmware: state.identity.firmware ?? state.changes.find('firmware') ?? null,
    device: recalled?.device ?? state.device.summary,
    traffic: (state.reach === 'up' && state.traffic) || null,
    use: describeUse(around),
  };
}

export function describeRouter(state: RouterState, around: RouterSurroundings, at: Moment): RouterDetail {
  const { settings, exposition } = around;
  const { sent, received, budget } = around.bytes();
  const { today, days, polls } = around.account;
  const certificate = around.certificate();
  const resources = describeResources(state, at.ms);
  const { modems } = state.device;
  return {
    ...summarizeRouter(state, around, at),
    serial: state.identity.serial ?? state.changes.find('serial') ?? null,
    resources,
    session: {
      state: state.session,
      since: toTime(state.sessionSinceMs),
      logins: state.logins,
      loginFailures: state.loginFailures,
      refreshes: state.refreshes,
    },
    bytes: {
      sent,
      received,
      budget: settings.byte_budget.perDay === 0 ? null : settings.byte_budget.perDay,
      usedToday: budget.used.bytes,
      stretch: budget.intervalMultiplier('slow'),
      logsPausedUntil: toTime(budget.pauses.logs),
      statusPausedUntil: toTime(budget.pauses.status),
      days: days.map((one, index) => ({ day: toDay(today, index), bytes: one, status: polls[index] ?? null })),
      month: around.account.estimateMonth(),
    },
    dataPlans: around.plans?.describe() ?? [],
    pace: around.pace(),
    certificate: certificate ? { notAfter: new Date(certificate.notAfterMs).toISOString() } : null,
    logs: describeLogs(state, at),
    logRotation: state.links ? toRotation(state.links) : null,
    recentGaps: describeGaps(state),
    recentPolls: state.polls.describe(),
    lastHours: state.history.describe(at),
    modems: modems.map(({ modem, signal }) => ({
      modem,
      signal,
      lastHours: state.history.ofModem(modem)?.describe(at) ?? (modems.length > 1 ? [] : null),
    })),
    values: describeValues({ router: settings, modules: settings.modules, resources, exposition }),
    interfaceRates: state.reach === 'up' ? state.rates.describe() : [],
  };
}

function describeUse({ account, plans: source }: RouterSurroundings): RouterSummary['use'] {
  const plans = source?.shown ?? [];
  const month = account.estimateMonth();
  const sum = (key: 'used' | 'limit' | 'forecast') =>
    plans.every((plan) => plan[key] === null) ? null : plans.reduce((all, plan) => all + (plan[key] ?? 0), 0);
  return {
    agent: account.sumSince(`${account.today.slice(0, 8)}01`),
    agentForecast: month && month.status + month.logs,
    used: sum('used'),
    limit: sum('limit'),
    forecast: sum('forecast'),
  };
}

/** Returns the day so many days before another one. */
function toDay(today: string, before: number): string {
  return renderDay(Date.parse(today) - before * 86_400_000);
}

export function describeLogs(state: RouterState, at: Moment): readonly RouterLogSummary[] {
  return listShownLogs(state).map((log) => ({
    component: log.labels['component'] ?? '',
    lines: log.lines,
    bytes: log.bytes,
    unparsedLines: log.unparsed,
    gaps: countGaps(state, log, at),
    archives: log.archives ?? null,
    newest: toTime(log.newestMs),
    lagSeconds: log.caughtUpAtMs === undefined ? null : (at.ms - log.caughtUpAtMs) / 1000,
    secondsToLoss: toSeconds(log.msToLoss) ?? null,
    gapAt: toTime(log.gapAtMs),
    lossSince: toTime(findLossSinceMs([log], at)),
    position: log.position ?? null,
    unshipped: log.unshipped ?? null,
  }));
}

function describeGaps({ gaps }: RouterState): readonly LogGapSummary[] {
  return gaps.map(({ foundMs, component, certainty, reason, bytesMin, untilUtcMs }) => ({
    at: new Date(foundMs).toISOString(),
    component,
    certainty,
    reason,
    bytesMin: bytesMin ?? null,
    until: toTime(untilUtcMs),
  }));
}

function toRotation({ holds, matches, misses, chance, refuted }: LinkVerdict): LogRotationSummary {
  return { linksProven: holds, matches, misses, chance, contradictedBy: refuted };
}

interface RouterValuesSource {
  readonly router: RouterIdentity;
  /** In the order in which they are shown. */
  readonly modules: readonly ModuleDefinition[];
  readonly resources: readonly ResourceSummary[];
  readonly exposition: FleetExposition;
}

interface Definition {
  readonly module: ModuleDefinition;
  readonly label: string | undefined;
  readonly good: number | undefined;
  readonly unit: string | undefined;
  readonly keys: readonly string[];
  readonly stateLabel: string;
}

/** Heading of families that no module defines, such as those of configuration lists. */
const OTHERS = 'other';
/** Families of readers, which no module file describes. */
const OWN_FAMILIES: Readonly<Record<string, Pick<Definition, 'label' | 'good'>>> = {
  router_config_expected: { label: 'As expected', good: 1 },
  router_config_entries: { label: 'Entries', good: undefined },
  router_config_changes_total: { label: 'Changes', good: undefined },
};

/** Values by module and family, with their ages, as in the metrics. Expired values are shown with their age. */
function describeValues({ router, modules, resources, exposition }: RouterValuesSource): readonly ModuleValues[] {
  const definitions = collectDefinitions(modules);
  const sections = new Map<string, { readonly help: string; readonly families: FamilyValues[] }>();
  for (const module of modules) sections.set(module.name, { help: module.help, families: [] });
  for (const { resource, ageSeconds } of resources) {
    for (const { name, help, type, samples } of exposition.listValues(router, toPart(resource))) {
      const definition = definitions.get(name);
      const { label, good } = definition ?? OWN_FAMILIES[name] ?? {};
      const title =
        definition?.module.name ?? modules.find(({ reader }) => reader && isOf(reader, resource))?.name ?? OTHERS;
      const section = sections.get(title) ?? { help: '', families: [] };
      sections.set(title, section);
      section.families.push({
        name,
        help,
        label: label ?? null,
        good: good === 0 || good === 1 ? good : null,
        type,
        unit: definition?.unit ?? null,
        keys: definition?.keys ?? [],
        stateLabel: definition?.stateLabel ?? null,
        resource,
        ageSeconds,
        samples,
      });
    }
  }
  return [...sections]
    .filter(([, { families }]) => families.length > 0)
    .map(([module, { help, families }]) => ({ module, help, families }));
}

function isOf(reader: string, resource: string): boolean {
  return resource === reader || resource.startsWith(reader);
}

const known = new WeakMap<readonly ModuleDefinition[], ReadonlyMap<string, Definition>>();

function collectDefinitions(modules: readonly ModuleDefinition[]): ReadonlyMap<string, Definition> {
  const before = known.get(modules);
  if (before) return before;
  const definitions = new Map<string, Definition>();
  for (const module of modules) {
    for (const { labels, metrics } of module.resources) {
      for (const { name, label, good, unit, type, labels: own, stateLabel } of metrics) {
        // The labels of an info metric are its content.
        const keys = [...Object.keys(labels), ...(type === 'info' ? [] : Object.keys(own))];
        if (!definitions.has(name)) definitions.set(name, { module, label, good, unit, keys, stateLabel });
      }
    }
  }
  known.set(modules, definitions);
  return definitions;
}
