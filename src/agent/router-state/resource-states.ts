import { renderErrorChain } from '../../base/index.ts';
import { type Labels, type PollStep, RouterReadError } from '../../model/index.ts';
import type { PollResult, ResourceResult } from '../../status/index.ts';
import type { PollFault, ResourceSummary, RouterFailureSummary } from '../../web/index.ts';
import type { MetricPart, ResourceState, RouterState, Wire } from './router-state.ts';

const CHANGED: readonly MetricPart[] = ['resources'];
const SAME: readonly MetricPart[] = [];

export function reduceResources(
  state: RouterState,
  { resources, withdrawn, lacks }: PollResult,
): readonly MetricPart[] {
  let isChanged = false;
  for (const result of resources) {
    isChanged ||= !state.resources.has(result.name);
    isChanged = reduceResource(resourceOf(state, result.name), result) || isChanged;
  }
  for (const name of withdrawn) isChanged = state.resources.delete(name) || isChanged;
  const isLacking = resources.some(({ state: one }) => one === 'unsupported');
  if (isLacking || lacks !== state.lacks) isChanged = reduceLacks(state, lacks) || isChanged;
  return isChanged ? CHANGED : SAME;
}

/** Applies the state of something that is not a status resource, such as the logs. */
export function reduceOther(
  state: RouterState,
  name: string,
  next: ResourceState['state'],
  error: string | null,
): readonly MetricPart[] {
  const isNew = !state.resources.has(name);
  const kept = resourceOf(state, name);
  // Separately: the error is not part of the series.
  kept.error = error;
  return change(kept, { ...kept, state: next }) || isNew ? CHANGED : SAME;
}

/** Returns all resources in the order in which they were first seen; `nowMs` is monotonic. */
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

function describeReading({ isUnread, faults }: ResourceResult): string | null {
  if (isUnread) return 'answered, but no metric could be read from it';
  if (faults.length === 0) return null;
  return faults.length === 1 ? '1 value could not be read' : `${faults.length} values could not be read`;
}

/** Shared by all routers: modules name the resources. */
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

/** Returns true if the series about states change. Ages and durations are read at each scrape. */
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
function reduceLacks(state: RouterState, lacks: PollResult['lacks']): boolean {
  const { resources } = state;
  state.lacks = lacks;
  let isChanged = false;
  const known = new Set(lacks.map(({ name }) => name));
  for (const [name, { state: one }] of resources) {
    if (one === 'unsupported' && !known.has(name)) isChanged = resources.delete(name);
  }
  for (const { name, isOptional } of lacks) {
    if (resources.has(name)) continue;
    change(resourceOf(state, name), { state: 'unsupported', isUnread: false, isRequired: !isOptional });
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

interface PollFacts extends Wire {
  readonly isLogin: boolean;
  /** True if the previous poll failed too, so that no connection was kept. */
  readonly isRepeated: boolean;
}

/** Returns the first failure of a poll, even if it reached the router. */
export function findFault({ isUp, error, resources }: PollResult, facts: PollFacts): PollFault | undefined {
  const failed = resources.find(({ state }) => state === 'failed') ?? (isUp ? undefined : resources[0]);
  if (!failed) return undefined;
  const step = findStep(error, facts);
  const hasResource = step === 'http' || step === 'parse';
  return { step, resource: hasResource ? failed.name : null, error: renderErrorChain(error) };
}

export function toFailure({ failure, error }: PollResult, fault: PollFault | undefined): RouterFailureSummary {
  return { reason: failure ?? 'http', step: fault?.step ?? null, error: renderErrorChain(error) };
}

function findStep(error: unknown, { isLogin, isTls, isRepeated, sent, received }: PollFacts): PollStep {
  const failure = error instanceof RouterReadError ? error : undefined;
  // Only a TLS handshake sends something on a new connection, so TCP was connected.
  const isGreetingUnanswered = isTls && isRepeated && sent > 0 && received === 0;
  const asked = isLogin ? 'auth' : 'http';
  switch (failure?.code) {
    case 'dns':
    case 'tls':
      return failure.code;
    case 'connect':
      if (isGreetingUnanswered) return 'tls';
      // Without TLS, a request was sent, so TCP was connected.
      return !isTls && sent > 0 && !failure.isUnsent ? asked : 'connect';
    case 'timeout':
      // The time-out may belong to an earlier step than the one in progress.
      if (sent === 0 && received === 0) return 'connect';
      return isGreetingUnanswered ? 'tls' : asked;
    case 'auth':
      return !isLogin && failure.isAnswered ? 'http' : 'auth';
    case 'parse':
      return isLogin ? 'auth' : 'parse';
    default:
      return asked;
  }
}
