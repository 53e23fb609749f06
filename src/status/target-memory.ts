import type { PollPlan } from './poll-plan.ts';
import type { Refusal, ResourceCapability } from './poll-result.ts';

const HOUR_MS = 3_600_000;
/** Time for which a refusal is remembered: a card may be added, or rights granted, without a change of firmware. */
const ASK_AGAIN_MS: Readonly<Record<Refusal, number>> = { unsupported: 24 * HOUR_MS, forbidden: HOUR_MS };

/** What a router answered for a resource. `readable-before`: it was read before the router may have become another one. */
type Known = 'readable' | 'readable-before' | Refusal;

/**
 * Refusals in a row before a router lacks what it has shown, and the wait after the first one, which doubles: an hour in all. A
 * router that starts answers for a while as if its cards were not there.
 */
const DOUBTS_MAX = 7;
const DOUBT_MS = 30_000;

/**
 * Remembers what a router answered for each resource, so that it is not asked again and again for what it does not
 * have. In columns, for the same reason as {@link TargetTimers}.
 */
export class CapabilityMemory {
  readonly #plan: PollPlan;
  /** By the index of the resource; `undefined`: nothing is known of it. */
  readonly #known: (Known | undefined)[];
  /** By the index of the resource: time before which it is not asked for. Monotonic, milliseconds. */
  readonly #untilMs: number[];
  /** Refusals in a row of resources that are readable. */
  readonly #doubts = new Map<string, number>();
  #revision = 0;
  #answers = 0;

  /** Creates the memory of the resources of `plan`; others are not remembered. */
  constructor(plan: PollPlan) {
    const { size: length } = plan.names;
    this.#plan = plan;
    this.#known = Array.from({ length }, () => undefined);
    this.#untilMs = Array.from({ length }, () => 0);
  }

  /** Increases when what is known of any resource has changed. */
  get answers(): number {
    return this.#answers;
  }

  /** Increases when what the router lacks may have changed. */
  get revision(): number {
    return this.#revision;
  }

  /** Restores that the router lacks a resource, for another `leftMs`, at most as long as if it had just said so. */
  restoreLack(resource: string, leftMs: number, nowMs: number): void {
    this.#answers++;
    this.#set(resource, 'unsupported', nowMs + Math.min(leftMs, ASK_AGAIN_MS.unsupported));
  }

  /** Lists what the router lacks, with the remaining time for which it is not asked for. Milliseconds. */
  listLacks(nowMs: number): readonly { readonly resource: string; readonly leftMs: number }[] {
    return [...this.#plan.names].flatMap(([resource, index]) =>
      this.get(resource) === 'unsupported' ? [{ resource, leftMs: (this.#untilMs[index] ?? 0) - nowMs }] : [],
    );
  }

  /** Records that the router answered as if it lacked a resource. Returns true if that is in doubt, because it was read before. */
  doubt(resource: string, nowMs: number): boolean {
    const doubts = this.#doubts.get(resource) ?? 0;
    if (this.#known[this.#indexOf(resource)] !== 'readable' || doubts >= DOUBTS_MAX) return false;
    this.#set(resource, 'readable', nowMs + DOUBT_MS * 2 ** doubts);
    this.#doubts.set(resource, doubts + 1);
    return true;
  }

  /** Records an answer; without a refusal the resource exists. Monotonic time in milliseconds. */
  record(resource: string, refusal: Refusal | undefined, nowMs: number): void {
    const known = this.get(resource);
    const isRefused = known !== undefined && known !== 'readable';
    if (refusal || isRefused) this.#revision++;
    if (known !== (refusal ?? 'readable')) this.#answers++;
    if (refusal) this.#set(resource, refusal, nowMs + ASK_AGAIN_MS[refusal]);
    else this.#set(resource, 'readable', 0);
  }

  /** Returns true if the resource is worth asking for. */
  mayAsk(resource: string, nowMs: number): boolean {
    return nowMs >= (this.#untilMs[this.#indexOf(resource)] ?? 0);
  }

  /** Returns the last answer; `undefined` if there was none. */
  get(resource: string): Refusal | 'readable' | undefined {
    const known = this.#known[this.#indexOf(resource)];
    return known === 'readable-before' ? 'readable' : known;
  }

  /** Forgets refusals, because the router may be a different one. Returns the resources that may be asked for again. */
  forget(): readonly string[] {
    const refused: string[] = [];
    for (const resource of this.#plan.names.keys()) {
      const known = this.get(resource);
      if (known === 'readable') this.#set(resource, 'readable-before', 0);
      else if (known !== undefined) {
        refused.push(resource);
        this.#set(resource, undefined, 0);
      }
    }
    this.#revision++;
    this.#answers++;
    return refused;
  }

  #indexOf(resource: string): number {
    return this.#plan.names.get(resource) ?? -1;
  }

  #set(resource: string, known: Known | undefined, untilMs: number): void {
    const index = this.#indexOf(resource);
    if (index < 0) return;
    this.#known[index] = known;
    this.#untilMs[index] = untilMs;
    this.#doubts.delete(resource);
  }
}

/**
 * Lists what a router is known to have. For a path with a star only the existing slots are listed or, if there are
 * none, the path itself.
 */
export function listCapabilities(plan: PollPlan, memory: CapabilityMemory): ResourceCapability[] {
  const { targets, patterns } = plan;
  const ofTargets = targets.flatMap(({ name, isNamed, isOptional }): ResourceCapability[] => {
    const known = memory.get(name);
    if (known === undefined || (known === 'unsupported' && !isNamed)) return [];
    return [toCapability(plan, { name, known, isOptional })];
  });
  const ofPatterns = patterns
    .filter(({ names }) => names.every((name) => memory.get(name) === 'unsupported'))
    .map(({ path, isOptional }) => toCapability(plan, { name: path, known: 'unsupported', isOptional }));
  return [...ofTargets, ...ofPatterns];
}

/** Returns the same object for all routers of a plan. */
function toCapability(
  { capabilities }: PollPlan,
  {
    name,
    known,
    isOptional,
  }: { readonly name: string; readonly known: Refusal | 'readable'; readonly isOptional: boolean },
): ResourceCapability {
  const key = `${known} ${isOptional} ${name}`;
  const shared = capabilities.get(key);
  if (shared) return shared;
  const [isSupported, isPermitted] = [known !== 'unsupported', known !== 'forbidden'];
  const capability = { resource: name, isSupported, isPermitted, isOptional };
  capabilities.set(key, capability);
  return capability;
}

/** Values outlive this many intervals of their resource before they expire. */
const READINGS_PER_LIFE = 3;

/**
 * Records when the targets of a router were read and decides which are due; a target is told by its index. All times are
 * milliseconds on the monotonic clock. In columns of numbers, because a fleet of ten thousand routers has 400,000 targets.
 */
export class TargetTimers {
  readonly #plan: PollPlan;
  /** Start of the poll in which it was last asked for; `-Infinity` before the first. */
  readonly #lastMs: number[];
  /** When its values expire; `Infinity` without values. */
  readonly #expiresMs: number[];
  /** When the last part of the time begins for which its values are served; `Infinity` without values. */
  readonly #renewFromMs: number[];
  /** Failures in a row. */
  readonly #failures: number[];
  /** The rest of the wall time of its readings, divided by its interval; NaN if unknown. */
  readonly #phaseMs: number[];

  /** Polls come at multiples of the ticks of `plan`, more or less late. */
  constructor(plan: PollPlan) {
    const { targets } = plan;
    this.#plan = plan;
    this.#lastMs = targets.map(() => -Infinity);
    this.#expiresMs = targets.map(() => Infinity);
    this.#renewFromMs = targets.map(() => Infinity);
    this.#failures = targets.map(() => 0);
    this.#phaseMs = targets.map(() => Number.NaN);
  }

  /** Start of the poll in which it was last asked for; `-Infinity` before the first. */
  lastMs(target: number): number {
    return this.#lastMs[target] ?? -Infinity;
  }

  /**
   * Returns true if it is due in a poll that starts at `nowMs`. Intervals are whole ticks. A failed read is retried at
   * the next ticks, with growing delay, but no later than its interval.
   */
  isDue(target: number, nowMs: number, multiplier = 1): boolean {
    const { tickMs } = this.#plan;
    const waitMs = toWholeTicks(this.#intervalMs(target) * Math.max(1, multiplier), tickMs);
    if (waitMs === Infinity) return false;
    const failures = this.#countFailures(target);
    const failuresMs = tickMs * Math.max(1, multiplier) * 2 ** (failures - 1);
    const ticksMs = failures > 0 ? Math.min(waitMs, failuresMs) : waitMs;
    // A late poll is followed by an early one; a resource that is due at every tick must not miss that.
    return ticksMs <= tickMs || nowMs - this.lastMs(target) >= ticksMs - tickMs / 2;
  }

  /**
   * Returns true if the last third of the time begins for which its values are served, so that they expire if the interval was
   * extended since. A failed read is no more urgent for that.
   */
  isRenewalDue(target: number, nowMs: number): boolean {
    // Polls come somewhat early or late.
    const fromMs = this.#renewFromMs[target] ?? Infinity;
    return this.#countFailures(target) === 0 && nowMs >= fromMs - this.#plan.tickMs / 2;
  }

  /** Returns true if it has values, and they expire between two times. */
  expiresBetween(target: number, fromMs: number, toMs: number): boolean {
    const expiresAtMs = this.#expiresAtMs(target);
    return expiresAtMs >= fromMs && expiresAtMs < toMs;
  }

  /** Returns true if it has had values, and they are too old to be served. */
  hasExpired(target: number, nowMs: number): boolean {
    return nowMs >= this.#expiresAtMs(target);
  }

  /** Returns the time for which values may be served that are read now, at least `leastMs`. */
  lifeMs(target: number, multiplier: number, leastMs: number): number {
    return Math.max(leastMs, READINGS_PER_LIFE * this.#intervalMs(target) * Math.max(1, multiplier));
  }

  /** Restores the phase at which an earlier process read it. Its first reading is at once all the same. */
  restorePhase(target: number, phaseMs: number): void {
    this.#phaseMs[target] = phaseMs;
  }

  /** Returns its phase; `undefined` if it is not known, or if it is read at every tick. Milliseconds. */
  phaseMs(target: number): number | undefined {
    const phaseMs = this.#phaseMs[target] ?? Number.NaN;
    return Number.isNaN(phaseMs) ? undefined : phaseMs;
  }

  /** Records that it failed on its own in the poll that started at `startedMs`. */
  recordFailure(target: number, startedMs: number): void {
    this.#lastMs[target] = startedMs;
    this.#failures[target] = this.#countFailures(target) + 1;
  }

  /**
   * Records that it was read in the poll that started at `startedMs`; `offsetMs` is the wall time of monotonic zero. The first
   * reading after a restart counts as the last one of its phase, so that a fleet that was started at once does not read its
   * slow modules in the same minute ever after. Returns true if the phase is another one than before.
   */
  recordRead(target: number, startedMs: number, offsetMs: number): boolean {
    const isFirst = this.lastMs(target) === -Infinity;
    this.#lastMs[target] = startedMs;
    this.#failures[target] = 0;
    const intervalMs = this.#intervalMs(target);
    const { tickMs } = this.#plan;
    if (intervalMs <= tickMs || intervalMs === Infinity) return false;
    const phaseMs = modulo(startedMs + offsetMs, intervalMs);
    const known = this.phaseMs(target);
    if (known !== undefined) {
      const shiftMs = modulo(phaseMs - known, intervalMs);
      if (isFirst) this.#lastMs[target] = startedMs - shiftMs;
      // Polls come early or late by less than a tick.
      if (isFirst || Math.min(shiftMs, intervalMs - shiftMs) <= tickMs) return false;
    }
    this.#phaseMs[target] = phaseMs;
    return true;
  }

  /** Records when its values were read, and for how long they may be served; nothing for a resource without values. */
  recordValues(target: number, readAtMs = Infinity, lifeMs = 0): void {
    this.#expiresMs[target] = readAtMs + lifeMs;
    this.#renewFromMs[target] = readAtMs + (lifeMs * (READINGS_PER_LIFE - 1)) / READINGS_PER_LIFE;
  }

  /** Makes it due at once. */
  reset(target: number): void {
    this.#lastMs[target] = -Infinity;
    this.#failures[target] = 0;
  }

  #intervalMs(target: number): number {
    return this.#plan.targets[target]?.intervalMs ?? Infinity;
  }

  #countFailures(target: number): number {
    return this.#failures[target] ?? 0;
  }

  #expiresAtMs(target: number): number {
    return this.#expiresMs[target] ?? Infinity;
  }
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

function toWholeTicks(intervalMs: number, tickMs: number): number {
  return Math.ceil(intervalMs / tickMs) * tickMs;
}
