import { renderErrorChain } from '../../base/index.ts';
import { type Labels, SourceError } from '../../model/index.ts';
import type { PollResult, ResourceResult } from '../../status/index.ts';
import type { PollFault, PollStep, ResourceSummary, RouterFailureSummary } from '../../web/index.ts';
import type { MetricPart, ResourceState, RouterState, Wire } from './router-state.ts';

const CHANGED: readonly MetricPart[] = ['resources'];
const SAME: readonly MetricPart[] = [];

/** Takes over what a poll has told of its resources. */
export function reduceResources(
  state: RouterState,
  { resources, withdrawn, capabilities }: PollResult,
): readonly MetricPart[] {
  let isChanged = false;
  for (const result of resources) {
    isChanged ||= !state.resources.has(result.name);
    isChanged = reduceResource(resourceOf(state, result.name), result) || isChanged;
  }
  for (const name of withdrawn) isChanged = state.resources.delete(name) || isChanged;
  const isLacking = resources.some(({ state: one }) => one === 'unsupported');
  if (isLacking || capabilities !== state.capabilities) {
    isChanged = reduceCapabilities(state, capabilities) || isChanged;
  }
  return isChanged ? CHANGED : SAME;
}

/** Takes over the state of something that is not a status resource. */
export function reduceOther(
  state: RouterState,
  name: string,
  next: ResourceState['state'],
  error: string | null,
): readonly MetricPart[] {
  const isNew = !state.resources.has(name);
  const kept = resourceOf(state, name);
  // Rarely a change after a run over the logs; the error is not part of the series.
  kept.error = error;
  return change(kept, { ...kept, state: next }) || isNew ? CHANGED : SAME;
}

/** Everything in the order in which it was first seen; `nowMs` is monotonic. */
export function describeResources({ resources }: RouterState, nowMs: number): readonly ResourceSummary[] {
  return [...resources].map(([resource, { state, readAtMs, durationMs, error, finding }]) => ({
    resource,
    state,
    ageSeconds: readAtMs === undefined ? null : (nowMs - readAtMs) / 1000,
    durationSeconds: durationMs === undefined ? null : durationMs / 1000,
    error,
    finding,
  }));
}

/** Describes unexpected content of an answer; `null` if there is none. */
function describeReading({ isUnread, faults }: ResourceResult): string | null {
  if (isUnread) return 'answered, but no metric could be read from it';
  if (faults.length === 0) return null;
  return faults.length === 1 ? '1 value could not be read' : `${faults.length} values could not be read`;
}

/** The same for a resource of every router: the modules name them, and not the routers. */
const sharedLabels = new Map<string, Labels>();

function shareLabels(resource: string): Labels {
  const labels = sharedLabels.get(resource) ?? { resource };
  sharedLabels.set(resource, labels);
  return labels;
}

function resourceOf({ resources }: RouterState, name: string): ResourceState {
  const known = resources.get(name);
  if (known) return known;
  const resource: ResourceState = {
    labels: shareLabels(name),
    state: 'failed',
    readAtMs: undefined,
    durationMs: undefined,
    error: null,
    finding: null,
    isUnread: false,
    isRequired: true,
  };
  resources.set(name, resource);
  return resource;
}

/** Returns true if something has changed that the series about the states show. Ages and durations are read at each scrape. */
function reduceResource(kept: ResourceState, result: ResourceResult): boolean {
  const { state, isUnread, durationMs, readAtMs, isOptional, error } = result;
  kept.durationMs = durationMs;
  kept.error = state === 'failed' ? renderErrorChain(error) : null;
  kept.finding = state === 'read' ? describeReading(result) : null;
  const isChanged = change(kept, { state: state === 'read' ? 'up' : state, isUnread, isRequired: !isOptional });
  if (state === 'failed') return isChanged;
  const before = kept.readAtMs;
  kept.readAtMs = state === 'read' ? readAtMs : undefined;
  return isChanged || (before === undefined) !== (kept.readAtMs === undefined);
}

/** Slots that do not exist are listed under their pattern only. */
function reduceCapabilities(state: RouterState, capabilities: PollResult['capabilities']): boolean {
  const { resources } = state;
  state.capabilities = capabilities;
  let isChanged = false;
  const known = new Set(capabilities.map(({ resource }) => resource));
  for (const [name, { state: one }] of resources) {
    if (one === 'unsupported' && !known.has(name)) isChanged = resources.delete(name);
  }
  for (const { resource, isSupported, isOptional } of capabilities) {
    if (isSupported || resources.has(resource)) continue;
    change(resourceOf(state, resource), { state: 'unsupported', isUnread: false, isRequired: !isOptional });
    isChanged = true;
  }
  return isChanged;
}

function change(
  kept: ResourceState,
  { state, isUnread, isRequired }: Pick<ResourceState, 'state' | 'isUnread' | 'isRequired'>,
): boolean {
  const isSame = kept.state === state && kept.isUnread === isUnread && kept.isRequired === isRequired;
  kept.state = state;
  kept.isUnread = isUnread;
  kept.isRequired = isRequired;
  return !isSame;
}

/** Facts about a failed poll, besides its error. */
interface PollFacts extends Wire {
  /** True if the error is that of a login. */
  readonly isLogin: boolean;
  /** True if the previous poll failed as well, so that no connection was kept. */
  readonly isRepeated: boolean;
}

/** Returns the first failure of a poll, also if it reached the router. */
export function findFault({ isUp, error, resources }: PollResult, facts: PollFacts): PollFault | undefined {
  const failed = resources.find(({ state }) => state === 'failed') ?? (isUp ? undefined : resources[0]);
  if (!failed) return undefined;
  const step = findStep(error, facts);
  const hasResource = step === 'resource' || step === 'parse';
  return { step, resource: hasResource ? failed.name : null, error: renderErrorChain(error) };
}

/** Returns the reason why a poll did not reach the router. */
export function toFailure({ failure, error }: PollResult, fault: PollFault | undefined): RouterFailureSummary {
  return { reason: failure ?? 'http', step: fault?.step ?? null, error: renderErrorChain(error) };
}

/** Returns the connection step at which a poll, or one resource of it, failed with `error`. */
function findStep(error: unknown, { isLogin, isTls, isRepeated, sent, received }: PollFacts): PollStep {
  const failure = error instanceof SourceError ? error : undefined;
  // Something was sent on a new connection, which can only be the TLS handshake: TCP was connected.
  const isGreetingUnanswered = isTls && isRepeated && sent > 0 && received === 0;
  const asked = isLogin ? 'login' : 'resource';
  switch (failure?.code) {
    case 'dns':
    case 'tls':
      return failure.code;
    case 'connect':
      if (isGreetingUnanswered) return 'tls';
      // Without TLS, what was sent is a request, so TCP was connected.
      return !isTls && sent > 0 && !failure.isUnsent ? asked : 'tcp';
    case 'timeout':
      // The time-out may belong to an earlier step than the one that was waited for.
      if (sent === 0 && received === 0) return 'tcp';
      return isGreetingUnanswered ? 'tls' : asked;
    case 'auth':
      return !isLogin && failure.isAnswered ? 'resource' : 'login';
    case 'parse':
      return isLogin ? 'login' : 'parse';
    default:
      return asked;
  }
}
