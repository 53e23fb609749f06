import { DEVICE_INFO, type PollTarget } from './poll-plan.ts';
import type { Poll, PollOptions, PollState } from './poll-state.ts';

/**
 * Yields the targets to read in a poll: those that are due; then one more if no answer has shown yet that the router is alive; then those
 * that became outdated meanwhile. The caller records each answer before it takes the next target.
 */
export function* listDue(state: PollState, poll: Poll): Generator<PollTarget, void> {
  const { plan } = state;
  const { startedMs, options, asked } = poll;
  let refused: PollTarget | undefined;
  for (const target of orderTargets(state)) {
    if (!isDue(state, poll, target)) continue;
    if (poll.isOver || isTooMuch(state, poll, target)) poll.leftOver.add(target);
    else if (mayAsk(state, target, startedMs)) yield target;
    else refused ??= target;
  }
  const isWanted = asked.size > 0 || refused !== undefined || options.needsLivenessProbe === true;
  if (isWanted && !poll.isUp && !poll.isOver) {
    // A poll that reads nothing is not a success. Reading one resource that the router is known to have distinguishes an outage from a
    // poll in which the few due resources failed or have long been refused.
    const readable = plan.targets.find(
      (target) =>
        !asked.has(target) &&
        isReadable(state, target) &&
        mayAsk(state, target, startedMs) &&
        isForRouter(state, target),
    );
    const livenessProbe = readable ?? (asked.size === 0 ? refused : undefined);
    if (livenessProbe) yield livenessProbe;
  }
  // After a login in between, the identity may have been read from another router.
  for (const target of plan.targets) {
    if (!poll.isOver && asked.size > 0 && state.outdated.has(target) && isForRouter(state, target)) yield target;
  }
}

/** Identity first, then leftovers of the previous poll, the longest unread first: a slow target must not block others. */
function orderTargets({ plan, leftOver, lastMs }: PollState): readonly PollTarget[] {
  const others = plan.targets.filter((target) => !target.isIdentity);
  // -Infinity for targets that were never read.
  const order = (a: number, b: number) => (a < b ? -1 : Number(a > b));
  return [
    ...plan.targets.filter((target) => target.isIdentity),
    ...others.filter((target) => leftOver.has(target)).toSorted((a, b) => order(lastMs.get(a), lastMs.get(b))),
    ...others.filter((target) => !leftOver.has(target)),
  ];
}

function isDue(state: PollState, { options, startedMs }: Poll, target: PollTarget): boolean {
  if (!isForRouter(state, target) || isWaiting(state, target, startedMs)) return false;
  if (options.isFresh || state.outdated.has(target)) return true;
  const multiplier = findMultiplier(target, options);
  if (isIntervalOver(state, target, startedMs, multiplier)) return true;
  return !options.mayExpire && Number.isFinite(multiplier) && isRenewalDue(state, target, startedMs);
}

/** Returns true if this router meets the conditions of a target or of any part of it. */
export function isForRouter(
  { device }: Pick<PollState, 'device'>,
  { path, isConditional, resources, feeds }: PollTarget,
): boolean {
  if (!isConditional || path === DEVICE_INFO) return true;
  return feeds.length > 0 || resources.some((resource) => resource.isFor(device));
}

/** True if a target has to wait for the target of its join: otherwise its labels would change right away. */
function isWaiting(state: PollState, { index, needs }: PollTarget, nowMs: number): boolean {
  return needs.some((need) => {
    const other = state.plan.byPath.get(need);
    // Of two targets joined with each other, the first does not wait.
    const isUnread = other && state.lastMs.get(other) === -Infinity && !state.gone.has(other);
    return isUnread && other.index < index && mayAsk(state, other, nowMs);
  });
}

/**
 * Intervals are whole ticks, and polls come roughly at multiples of them. A failed read is retried at the next ticks, with growing delay,
 * but no later than its interval.
 */
function isIntervalOver(state: PollState, target: PollTarget, nowMs: number, multiplier: number): boolean {
  const { tickMs } = state.plan;
  const waitMs = Math.ceil((target.intervalMs * multiplier) / tickMs) * tickMs;
  if (waitMs === Infinity) return false;
  const failures = state.failures.get(target);
  const ticksMs = failures > 0 ? Math.min(waitMs, tickMs * multiplier * 2 ** (failures - 1)) : waitMs;
  // A late poll is followed by an early one; a resource that is due at every tick must not miss that.
  return ticksMs <= tickMs || nowMs - state.lastMs.get(target) >= ticksMs - tickMs / 2;
}

/** Values are served for this many intervals of their resource. */
const READINGS_PER_LIFE = 3;

/**
 * Returns true in the last third of the time for which its values are served, so that they do not expire if the interval was extended
 * since. A failed read is not made more urgent by that.
 */
function isRenewalDue(state: PollState, target: PollTarget, nowMs: number): boolean {
  const restMs = (state.lifeMs.get(target) * (READINGS_PER_LIFE - 1)) / READINGS_PER_LIFE;
  // Polls come somewhat early or late.
  const fromMs = state.readAtMs.get(target) + restMs - state.plan.tickMs / 2;
  return state.failures.get(target) === 0 && nowMs >= fromMs;
}

/** Returns true for a target that can wait for the next poll of a slow router: its values do not expire until that ends. */
function isTooMuch(state: PollState, poll: Poll, target: PollTarget): boolean {
  const { options, startedMs, asked, deadlineMs } = poll;
  const { slowResourcesMax, mayExpire = false } = options;
  const isThrottled = ({ isSlow, isIdentity }: PollTarget) => !options.isFresh && isSlow && !isIdentity;
  if (slowResourcesMax === undefined || !isThrottled(target)) return false;
  if ([...asked].filter(isThrottled).length < slowResourcesMax) return false;
  const waitMs = state.plan.tickMs * Math.max(1, options.intervalMultiplier?.(false) ?? 1);
  const expiresMs = expiresAt(state, target);
  return mayExpire || expiresMs < startedMs || expiresMs >= startedMs + waitMs + deadlineMs;
}

/** Returns false for a target that the router has recently refused. */
function mayAsk(state: PollState, target: PollTarget, nowMs: number): boolean {
  return nowMs >= state.untilMs.get(target);
}

function isReadable({ answers }: PollState, target: PollTarget): boolean {
  const answer = answers.get(target);
  return answer === 'readable' || answer === 'readable-before';
}

/** Factor for the interval of a target, at least 1. */
function findMultiplier({ isSlow }: PollTarget, { intervalMultiplier }: PollOptions): number {
  return Math.max(1, intervalMultiplier?.(isSlow) ?? 1);
}

/** Returns the time for which values read in a poll may be served. Milliseconds. */
export function findLife(target: PollTarget, { options, staleAfterMs }: Poll): number {
  if (target.isIdentity) return Infinity;
  const multiplier = findMultiplier(target, options);
  return Math.max(staleAfterMs, READINGS_PER_LIFE * target.intervalMs * (Number.isFinite(multiplier) ? multiplier : 1));
}

/** Returns when the values of a target expire; `Infinity` without values. */
export function expiresAt({ readAtMs, lifeMs }: PollState, target: PollTarget): number {
  return readAtMs.get(target) + lifeMs.get(target);
}
