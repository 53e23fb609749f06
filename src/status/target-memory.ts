import { createNumbers, hashToUnit } from '../base/index.ts';
import type { PollPlan } from './poll-plan.ts';
import type { Refusal, ResourceCapability } from './poll-result.ts';

const HOUR_MS = 3_600_000;
/** Time for which a refusal is remembered: a card may be added, or rights granted, without a change of firmware. */
const ASK_AGAIN_MS: Readonly<Record<Refusal, number>> = { unsupported: 24 * HOUR_MS, forbidden: HOUR_MS };

/** A guess is verified within the first day, but not in the first hour, which has other work. */
const GUESS_MS_MIN = HOUR_MS;
const GUESS_MS_MAX = 23 * HOUR_MS;

/** State of knowledge about a resource. */
type Known = 'nothing' | 'readable' | Refusal;

/**
 * Refusals in a row before a router lacks what it has shown, and the wait after the first one, which doubles: an hour in all. A
 * router that starts answers for a while as if its cards were not there.
 */
const DOUBTS_MAX = 7;
const DOUBT_MS = 30_000;

const KNOWN: readonly Known[] = [
  ...(['nothing', 'readable', 'unsupported', 'forbidden', 'unsupported', 'readable'] as const),
  ...Array.from({ length: DOUBTS_MAX }, () => 'readable' as const),
];
/** Stands for `unsupported` without an answer of this router that says so. */
const GUESS = 4;
/** Stands for `readable` before the router may have become another one. */
const EARLIER = 5;
/** Stands for `readable` with this number of refusals in a row since, when that is added. */
const DOUBTS = EARLIER;

/**
 * Remembers what a router answered for each resource, so that it is not asked again and again for what it does not
 * have. Packed, for the same reason as {@link TargetTimers}.
 */
export class CapabilityMemory {
  readonly #plan: PollPlan;
  /** By the index of the resource: index in {@link KNOWN}. */
  readonly #known: Uint8Array;
  readonly #untilMs: Float64Array;
  #revision = 0;
  #answers = 0;

  /** Creates the memory of the resources of `plan`; others are not remembered. */
  constructor(plan: PollPlan) {
    const count = plan.names.size;
    this.#plan = plan;
    this.#known = createNumbers(Uint8Array, count);
    this.#untilMs = createNumbers(Float64Array, count);
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

  /**
   * Guesses that the router lacks a resource of which nothing is known. `seed`: of the router; decides when the guess is
   * verified.
   */
  guessLack(resource: string, seed: string, nowMs: number): void {
    if (this.get(resource) !== undefined) return;
    const waitMs = GUESS_MS_MIN + hashToUnit(`${seed}/${resource}`) * (GUESS_MS_MAX - GUESS_MS_MIN);
    this.#set(resource, 'unsupported', nowMs + waitMs, true);
    this.#revision++;
    this.#answers++;
  }

  /** Returns true if it is a guess that the router lacks the resource. */
  isGuess(resource: string): boolean {
    return this.#known[this.#indexOf(resource)] === GUESS;
  }

  /** Forgets guesses, because one of them was wrong. */
  forgetGuesses(): void {
    for (const resource of this.#plan.names.keys()) if (this.isGuess(resource)) this.#set(resource, 'nothing', 0);
    this.#revision++;
    this.#answers++;
  }

  /** Lists what the router lacks, with the remaining time for which it is not asked for. Milliseconds. */
  listLacks(nowMs: number): readonly { readonly resource: string; readonly leftMs: number }[] {
    return [...this.#plan.names].flatMap(([resource, index]) =>
      this.get(resource) === 'unsupported' ? [{ resource, leftMs: (this.#untilMs[index] ?? 0) - nowMs }] : [],
    );
  }

  /** Records that the router answered as if it lacked a resource. Returns true if that is in doubt, because it was read before. */
  doubt(resource: string, nowMs: number): boolean {
    const known = this.#known[this.#indexOf(resource)] ?? 0;
    const doubts = known > DOUBTS ? known - DOUBTS : 0;
    if (this.get(resource) !== 'readable' || known === EARLIER || doubts >= DOUBTS_MAX) return false;
    this.#write(resource, DOUBTS + doubts + 1, nowMs + DOUBT_MS * 2 ** doubts);
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
    const known = KNOWN[this.#known[this.#indexOf(resource)] ?? 0];
    return known === 'nothing' ? undefined : known;
  }

  /** Forgets refusals, because the router may be a different one. Returns the resources that may be asked for again. */
  forget(): readonly string[] {
    for (const resource of this.#plan.names.keys()) {
      if (this.get(resource) === 'readable') this.#write(resource, EARLIER, 0);
    }
    const refused = [...this.#plan.names.keys()].filter((resource) => {
      const known = this.get(resource);
      return known !== undefined && known !== 'readable';
    });
    for (const resource of refused) this.#set(resource, 'nothing', 0);
    this.#revision++;
    this.#answers++;
    return refused;
  }

  #indexOf(resource: string): number {
    return this.#plan.names.get(resource) ?? -1;
  }

  #set(resource: string, known: Known, untilMs: number, isGuess = false): void {
    this.#write(resource, isGuess ? GUESS : KNOWN.indexOf(known), untilMs);
  }

  #write(resource: string, known: number, untilMs: number): void {
    const index = this.#indexOf(resource);
    if (index < 0) return;
    this.#known[index] = known;
    this.#untilMs[index] = untilMs;
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
  { name, known, isOptional }: { readonly name: string; readonly known: Known; readonly isOptional: boolean },
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
 * Kept of each target: when it was read, when its values expire, when the last part of that time begins, its failures in a
 * row, and its phase: the rest of the wall time of its readings, divided by its interval; NaN if unknown.
 */
const COLUMNS = 5;
const [LAST, EXPIRES, RENEW_FROM, FAILURES, PHASE] = [0, 1, 2, 3, 4] as const;

/**
 * Records when the targets of a router were read and decides which are due; a target is told by its index. All times are
 * milliseconds on the monotonic clock. They are packed, because a fleet of ten thousand routers has 400,000 targets.
 */
export class TargetTimers {
  readonly #plan: PollPlan;
  readonly #values: Float64Array;

  /** Polls come at multiples of the ticks of `plan`, more or less late. */
  constructor(plan: PollPlan) {
    const count = plan.targets.length;
    this.#plan = plan;
    this.#values = createNumbers(Float64Array, COLUMNS * count);
    for (let target = 0; target < count; target++) {
      this.reset(target);
      this.recordValues(target);
      this.#write(target, PHASE, Number.NaN);
    }
  }

  /** Start of the poll in which it was last asked for; `-Infinity` before the first. */
  lastMs(target: number): number {
    return this.#read(target, LAST);
  }

  /**
   * Returns true if it is due in a poll that starts at `nowMs`. Intervals are whole ticks. A failed read is retried at
   * the next ticks, with growing delay, but no later than its interval.
   */
  isDue(target: number, nowMs: number, multiplier = 1): boolean {
    const { tickMs } = this.#plan;
    const waitMs = toWholeTicks(this.#intervalMs(target) * Math.max(1, multiplier), tickMs);
    if (waitMs === Infinity) return false;
    const failures = this.#read(target, FAILURES);
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
    return this.#read(target, FAILURES) === 0 && nowMs >= this.#read(target, RENEW_FROM) - this.#plan.tickMs / 2;
  }

  /** Returns true if it has values, and they expire between two times. */
  expiresBetween(target: number, fromMs: number, toMs: number): boolean {
    const expiresAtMs = this.#read(target, EXPIRES);
    return expiresAtMs >= fromMs && expiresAtMs < toMs;
  }

  /** Returns true if it has had values, and they are too old to be served. */
  hasExpired(target: number, nowMs: number): boolean {
    return nowMs >= this.#read(target, EXPIRES);
  }

  /** Returns the time for which values may be served that are read now, at least `leastMs`. */
  lifeMs(target: number, multiplier: number, leastMs: number): number {
    return Math.max(leastMs, READINGS_PER_LIFE * this.#intervalMs(target) * Math.max(1, multiplier));
  }

  /** Restores the phase at which an earlier process read it. Its first reading is at once all the same. */
  restorePhase(target: number, phaseMs: number): void {
    this.#write(target, PHASE, phaseMs);
  }

  /** Returns its phase; `undefined` if it is not known, or if it is read at every tick. Milliseconds. */
  phaseMs(target: number): number | undefined {
    const phaseMs = this.#read(target, PHASE);
    return Number.isNaN(phaseMs) ? undefined : phaseMs;
  }

  /** Records that it failed on its own in the poll that started at `startedMs`. */
  recordFailure(target: number, startedMs: number): void {
    this.#write(target, LAST, startedMs);
    this.#write(target, FAILURES, this.#read(target, FAILURES) + 1);
  }

  /**
   * Records that it was read in the poll that started at `startedMs`; `offsetMs` is the wall time of monotonic zero. The first
   * reading after a restart counts as the last one of its phase, so that a fleet that was started at once does not read its
   * slow modules in the same minute ever after. Returns true if the phase is another one than before.
   */
  recordRead(target: number, startedMs: number, offsetMs: number): boolean {
    const isFirst = this.lastMs(target) === -Infinity;
    this.#write(target, LAST, startedMs);
    this.#write(target, FAILURES, 0);
    const intervalMs = this.#intervalMs(target);
    const { tickMs } = this.#plan;
    if (intervalMs <= tickMs || intervalMs === Infinity) return false;
    const phaseMs = modulo(startedMs + offsetMs, intervalMs);
    const known = this.phaseMs(target);
    if (known !== undefined) {
      const shiftMs = modulo(phaseMs - known, intervalMs);
      if (isFirst) this.#write(target, LAST, startedMs - shiftMs);
      // Polls come early or late by less than a tick.
      if (isFirst || Math.min(shiftMs, intervalMs - shiftMs) <= tickMs) return false;
    }
    this.#write(target, PHASE, phaseMs);
    return true;
  }

  /** Records when its values were read, and for how long they may be served; nothing for a resource without values. */
  recordValues(target: number, readAtMs = Infinity, lifeMs = 0): void {
    this.#write(target, EXPIRES, readAtMs + lifeMs);
    this.#write(target, RENEW_FROM, readAtMs + (lifeMs * (READINGS_PER_LIFE - 1)) / READINGS_PER_LIFE);
  }

  /** Makes it due at once. */
  reset(target: number): void {
    this.#write(target, LAST, -Infinity);
    this.#write(target, FAILURES, 0);
  }

  #intervalMs(target: number): number {
    return this.#plan.targets[target]?.intervalMs ?? Infinity;
  }

  #read(target: number, column: number): number {
    return this.#values[COLUMNS * target + column] ?? Number.NaN;
  }

  #write(target: number, column: number, value: number): void {
    this.#values[COLUMNS * target + column] = value;
  }
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

function toWholeTicks(intervalMs: number, tickMs: number): number {
  return Math.ceil(intervalMs / tickMs) * tickMs;
}
