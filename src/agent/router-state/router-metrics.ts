import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import {
  type FamilyDescription,
  type GapCertainty,
  type Labels,
  type MetricFamily,
  ROUTER_FAILURES,
  type RouterIdentity,
} from '../../model/index.ts';
import { countNewerVersions, type PollResult } from '../../status/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import {
  findRetryAfterMs,
  type LogState,
  type MetricPart,
  type Moment,
  type ResourceState,
  type RouterState,
  toSeconds,
} from './router-state.ts';

type Sample = [labels: Labels, value: number];

/** Value of `reason` before the first poll; without a series while it does not apply, unlike the others. */
const UNASKED = 'unasked';
/** Certainties of gaps. Their counters start at zero, so that increase() shows the first gap. */
export const GAP_CERTAINTIES: readonly GapCertainty[] = ['certain', 'likely', 'possible'];
const NO_LABELS = { labels: {} };

const FAMILIES = {
  state: ({ reach, failures, failure }: RouterState) => {
    const reasons = ROUTER_FAILURES.map((reason): Sample => [{ reason }, Number(reason === failure?.reason)]);
    if (reach === 'unknown') reasons.push([{ reason: UNASKED }, 1]);
    return [
      toFamily(F.up, [[{}, Number(reach === 'up')]]),
      toFamily(F.consecutiveFailures, [[{}, failures]]),
      toFamily(F.failureReason, reasons),
    ];
  },
  'retry-after': (state: RouterState, at: Moment) => {
    const untilMs = findRetryAfterMs(state, at);
    return [toFamily(F.retryAfter, untilMs === undefined ? [] : [[{}, untilMs / 1000]])];
  },
  'budget-pauses': ({ logsPausedUntilMs: logs, statusPausedUntilMs: status }: RouterState) => [
    toFamily(
      F.byteBudgetPausedUntil,
      Object.entries({ logs, status }).flatMap(([activity, untilMs]): Sample[] =>
        untilMs === undefined ? [] : [[{ activity }, untilMs / 1000]],
      ),
    ),
  ],
  tls: ({ certificateNotAfterMs: atMs }: RouterState) => [
    toFamily(F.certificateNotAfter, atMs === undefined ? [] : [[{}, atMs / 1000]]),
  ],
  account: ({ isWritable }: RouterState) => [
    toFamily(F.accountWritable, isWritable === undefined ? [] : [[{}, Number(isWritable)]]),
  ],
  firmware: ({ identity, firmwareVersions }: RouterState) => {
    const samples = countNewerVersions(identity.firmware, firmwareVersions);
    return samples.length === 0 ? [] : [{ ...F.firmwareNewerVersions, samples }];
  },
  resources: ({ resources }: RouterState) => {
    const [up, supported, permitted, understood]: [Sample[], Sample[], Sample[], Sample[]] = [[], [], [], []];
    for (const { labels, state, readAtMs, isUnread, isRequired } of resources.values()) {
      const isUp = state === 'up';
      supported.push([labels, Number(state !== 'unsupported')]);
      permitted.push([labels, Number(state !== 'forbidden')]);
      // Optional resources are not failures, nor are forbidden ones, which have their own series.
      if (state !== 'forbidden' && (state !== 'unsupported' || isRequired)) up.push([labels, Number(isUp)]);
      // Logs and the resources of special readers have no values to map.
      if (isUp && readAtMs !== undefined) understood.push([labels, Number(!isUnread)]);
    }
    return [
      toFamily(F.resourceUp, up),
      toFamily(F.resourceSupported, supported),
      toFamily(F.resourcePermitted, permitted),
      toFamily(F.resourceUnderstood, understood),
    ];
  },
  'unshipped-logs': ({ logs }: RouterState) => [
    toFamily(
      F.logUnshipped,
      [...logs].flatMap(([component, { unshipped }]): Sample[] =>
        unshipped ? [[{ component, reason: unshipped.state }, 1]] : [],
      ),
    ),
  ],
} satisfies Partial<Record<MetricPart, (state: RouterState, at: Moment) => readonly MetricFamily[]>>;

/** Values that change with every poll or step are read from the state at each scrape. */
const LIVE = {
  polls: (state: RouterState, exposition: FleetExposition, router: RouterIdentity) =>
    exposition.publishLive(
      router,
      [NO_LABELS],
      [
        [F.pollDuration, () => toSeconds(state.polls.lastDurationMs)],
        [F.lastSuccess, () => toSeconds(state.lastSuccessMs)],
      ],
    ),
  resources: ({ resources }: RouterState, exposition: FleetExposition, router: RouterIdentity) =>
    exposition.publishLive(router, [...resources.values()], RESOURCE_FAMILIES),
  logs: ({ logs }: RouterState, exposition: FleetExposition, router: RouterIdentity) =>
    exposition.publishLive(router, [...logs.values()], LOG_FAMILIES),
};

type LiveFamilies<T extends { readonly labels: Labels }> = Parameters<
  typeof FleetExposition.prototype.publishLive<T>
>[2];

const RESOURCE_FAMILIES: LiveFamilies<ResourceState> = [
  [
    F.resourceDuration,
    ({ state, durationMs }) => (state === 'up' || state === 'failed' ? toSeconds(durationMs) : undefined),
  ],
  [F.resourceAge, ({ readAtMs }, nowMs) => toSecondsSince(readAtMs, nowMs)],
];
const LOG_FAMILIES: LiveFamilies<LogState> = [
  [F.logArchives, ({ archives }) => archives],
  [F.logNewest, ({ newestMs }) => toSeconds(newestMs)],
  [F.logSecondsToLoss, ({ msToLoss }) => toSeconds(msToLoss)],
  [F.logLag, ({ caughtUpAtMs, triedAtMs }, nowMs) => toSecondsSince(caughtUpAtMs ?? triedAtMs, nowMs)],
];

function toSecondsSince(sinceMs: number | undefined, nowMs: number): number | undefined {
  return sinceMs === undefined ? undefined : (nowMs - sinceMs) / 1000;
}

interface MetricTarget {
  readonly router: RouterIdentity;
  readonly exposition: FleetExposition;
  readonly rules: ReadonlyMap<string, FamilyDescription>;
}

const RULE = 'log-rule:';

export function publishPart(part: MetricPart, state: RouterState, at: Moment, target: MetricTarget): void {
  const { router, exposition, rules } = target;
  if (part in FAMILIES) exposition.publish(router, part, FAMILIES[part as keyof typeof FAMILIES](state, at));
  if (part in LIVE) LIVE[part as keyof typeof LIVE](state, exposition, router);
  if (!part.startsWith(RULE)) return;
  const metric = part.slice(RULE.length);
  const family = rules.get(metric);
  const samples = [...(state.ruleValues?.get(metric)?.values() ?? [])];
  // The rule may have changed since its lines were read; a removed rule has no part.
  const isShown = family?.type === 'gauge' && samples.length > 0;
  exposition.publish(router, part, isShown ? [toFamily(family, samples)] : []);
}

/** Publishes the values of a poll; only their text is kept. */
export function publishValues(
  { resources, withdrawn }: Pick<PollResult, 'resources' | 'withdrawn'>,
  { router, exposition }: Pick<MetricTarget, 'router' | 'exposition'>,
): void {
  for (const { name, state, isUnchanged, families, faults, readAtMs, staleAfterMs } of resources) {
    if (state === 'failed') continue;
    const endMs = readAtMs + staleAfterMs;
    const dropped = faults.filter(({ reason }) => reason === 'duplicate').length;
    if (state !== 'read') exposition.publishValues(router, toPart(name), [], endMs);
    else if (isUnchanged) exposition.renewValues(router, toPart(name), endMs);
    else exposition.publishValues(router, toPart(name), families, endMs, dropped);
  }
  for (const name of withdrawn) exposition.publishValues(router, toPart(name), [], Infinity);
}

const parts = new Map<string, string>();

export function toPart(resource: string): string {
  const part = parts.get(resource) ?? `values:${resource}`;
  parts.set(resource, part);
  return part;
}
