import type { RouterSettings } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { LinkVerdict } from '../../logs/index.ts';
import type { RouterIdentity } from '../../model/index.ts';
import type { RouterCertificate } from '../../router/index.ts';
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
import type { RouterLifecycle } from '../routers/lifecycle-keeper.ts';
import { type Moment, toSeconds, toTime } from '../times.ts';
import { findLagMs, findLossSinceMs } from './log-states.ts';
import { describeResources } from './resource-states.ts';
import { toPart } from './router-metrics.ts';
import { findRetryAfterMs, type RouterState } from './router-state.ts';

/** Where a page finds what it shows of a router besides its state. */
export interface RouterSurroundings {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Returns what the operator wants of the router. */
  readonly lifecycle: () => RouterLifecycle;
  /** Returns the bytes sent and received, and the byte budget. */
  readonly bytes: () => { readonly sent: number; readonly received: number; readonly budget: SharedBudget };
  /** Returns how fast the router answers, and how it is spared. */
  readonly pace: () => PaceSummary;
  /** Returns the certificate last shown by the router; `undefined` before the first. */
  readonly certificate: () => RouterCertificate | undefined;
  /** Holds its values. */
  readonly exposition: FleetExposition;
}

/** Describes a router for a list. */
export function summarizeRouter(state: RouterState, around: RouterSurroundings, at: Moment): RouterSummary {
  const { name, url, labels, byte_budget: budget } = around.settings;
  const lifecycle = around.lifecycle();
  return {
    name,
    url,
    labels,
    state: state.reach,
    since: state.since,
    isFirstState: state.isFirstReach,
    isStale: at.ms >= state.staleAtMs,
    lastSuccess: state.lastSuccess,
    retryAfter: toTime(findRetryAfterMs(state, at)),
    failure: state.failure ?? null,
    fault: state.fault ?? null,
    consecutiveFailures: state.failures,
    durationSeconds: toSeconds(state.polls.lastDurationMs) ?? null,
    lifecycle: { state: lifecycle.state, until: toTime(lifecycle.untilMs), setBy: lifecycle.setBy },
    logLagSeconds: toSeconds(findLagMs(state, at)) ?? null,
    logLossSince: toTime(findLossSinceMs(state.logs.values(), at)),
    bytesToday: around.bytes().budget.usedBytes,
    byteBudget: budget.perDay === 0 ? null : budget.perDay,
    firmware: state.identity.firmware ?? null,
    device: state.device.summary,
  };
}

/** Describes everything known about a router. */
export function describeRouter(state: RouterState, around: RouterSurroundings, at: Moment): RouterDetail {
  const { settings, exposition } = around;
  const { sent, received, budget } = around.bytes();
  const certificate = around.certificate();
  const resources = describeResources(state, at.ms);
  return {
    ...summarizeRouter(state, around, at),
    serial: state.identity.serial ?? null,
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
    },
    pace: around.pace(),
    certificate: certificate ? { notAfter: new Date(certificate.notAfterMs).toISOString() } : null,
    logs: describeLogs(state, at),
    logRotation: state.links ? toRotation(state.links) : null,
    recentGaps: describeGaps(state),
    recentPolls: state.polls.describe(),
    history: state.polls.describePoints(),
    lastHours: state.history.describe(at),
    values: describeValues({ router: settings, modules: settings.modules, resources, exposition }),
    interfaceRates: state.reach === 'up' ? state.rates.describe() : [],
  };
}

/** Describes the logs of a router. */
export function describeLogs({ logs }: RouterState, at: Moment): readonly RouterLogSummary[] {
  return [...logs].map(([component, log]) => ({
    component,
    lines: log.lines,
    bytes: log.bytes,
    unparsedLines: log.unparsed,
    gaps: log.gaps,
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

/** One router, and where its values are. */
interface RouterValuesSource {
  /** Name and configured labels. */
  readonly router: RouterIdentity;
  /** Its modules, in the order in which they are shown. */
  readonly modules: readonly ModuleDefinition[];
  /** Its resources, with the ages of their values. */
  readonly resources: readonly ResourceSummary[];
  /** Holds the values. */
  readonly exposition: FleetExposition;
}

/** Properties of a family besides its description. */
interface Definition {
  readonly module: ModuleDefinition;
  readonly unit: string | undefined;
  readonly keys: readonly string[];
  readonly stateLabel: string;
}

/** Heading of families that no module defines, such as those of configuration lists. */
const OTHERS = 'other';

/**
 * Describes the values that a router reported, by module and family, with the age of each. They are those of the metrics:
 * a module of the user appears as a shipped one does. Values that are no longer served are shown with their age.
 */
function describeValues({ router, modules, resources, exposition }: RouterValuesSource): readonly ModuleValues[] {
  const definitions = collectDefinitions(modules);
  const sections = new Map<string, { readonly help: string; readonly families: FamilyValues[] }>();
  for (const module of modules) sections.set(module.name, { help: module.help, families: [] });
  for (const { resource, ageSeconds } of resources) {
    for (const { name, help, type, samples } of exposition.listValues(router, toPart(resource))) {
      const definition = definitions.get(name);
      const title =
        definition?.module.name ?? modules.find(({ reader }) => reader && isOf(reader, resource))?.name ?? OTHERS;
      const section = sections.get(title) ?? { help: '', families: [] };
      sections.set(title, section);
      section.families.push({
        name,
        help,
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

/** Definitions by the name of the family. Modules are shared by routers, and so are these. */
const known = new WeakMap<readonly ModuleDefinition[], ReadonlyMap<string, Definition>>();

function collectDefinitions(modules: readonly ModuleDefinition[]): ReadonlyMap<string, Definition> {
  const before = known.get(modules);
  if (before) return before;
  const definitions = new Map<string, Definition>();
  for (const module of modules) {
    for (const { labels, metrics } of module.resources) {
      for (const { name, unit, type, labels: own, stateLabel } of metrics) {
        // The labels of an info are its content.
        const keys = [...Object.keys(labels), ...(type === 'info' ? [] : Object.keys(own))];
        if (!definitions.has(name)) definitions.set(name, { module, unit, keys, stateLabel });
      }
    }
  }
  known.set(modules, definitions);
  return definitions;
}
