import { hashToUnit } from '../base/index.ts';
import type { PollPlan } from './poll-plan.ts';
import type { Refusal, ResourceCapability } from './poll-result.ts';

const HOUR_MS = 3_600_000;
/** Time for which a refusal is remembered: a card may be added, or rights granted, without a change of firmware. */
const ASK_AGAIN_MS: Readonly<Record<Refusal, number>> = { unsupported: 24 * HOUR_MS, forbidden: HOUR_MS };

/** What is known of a resource that exists. */
const READABLE = { refusal: undefined, untilMs: 0 };
/** A guess is verified within the first day, but not in the first hour, which has other work. */
const GUESS_MS_MIN = HOUR_MS;
const GUESS_MS_MAX = 23 * HOUR_MS;

interface Known {
  readonly refusal: Refusal | undefined;
  readonly untilMs: number;
  /** True if no answer of this router says so. */
  readonly isGuess?: boolean;
}

/**
 * Remembers what a router answered for each resource, so that it is not asked again and again for what it does not
 * have.
 */
export class CapabilityMemory {
  readonly #known = new Map<string, Known>();
  #revision = 0;
  #answers = 0;

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
    this.#known.set(resource, {
      refusal: 'unsupported',
      untilMs: nowMs + Math.min(leftMs, ASK_AGAIN_MS.unsupported),
    });
  }

  /**
   * Guesses that the router lacks a resource of which nothing is known. `seed`: of the router; decides when the guess is
   * verified.
   */
  guessLack(resource: string, seed: string, nowMs: number): void {
    if (this.#known.has(resource)) return;
    const waitMs = GUESS_MS_MIN + hashToUnit(`${seed}/${resource}`) * (GUESS_MS_MAX - GUESS_MS_MIN);
    this.#known.set(resource, { refusal: 'unsupported', untilMs: nowMs + waitMs, isGuess: true });
    this.#revision++;
    this.#answers++;
  }

  /** Returns true if it is a guess that the router lacks the resource. */
  isGuess(resource: string): boolean {
    return this.#known.get(resource)?.isGuess === true;
  }

  /** Forgets guesses, because one of them was wrong. */
  forgetGuesses(): void {
    for (const [resource, { isGuess }] of this.#known) if (isGuess) this.#known.delete(resource);
    this.#revision++;
    this.#answers++;
  }

  /** Lists what the router lacks, with the remaining time for which it is not asked for. Milliseconds. */
  listLacks(nowMs: number): readonly { readonly resource: string; readonly leftMs: number }[] {
    return [...this.#known].flatMap(([resource, { refusal, untilMs }]) =>
      refusal === 'unsupported' ? [{ resource, leftMs: untilMs - nowMs }] : [],
    );
  }

  /** Records an answer; without a refusal the resource exists. Monotonic time in milliseconds. */
  record(resource: string, refusal: Refusal | undefined, nowMs: number): void {
    const known = this.#known.get(resource);
    if (refusal || known?.refusal) this.#revision++;
    if (!known || known.refusal !== refusal) this.#answers++;
    else if (!refusal) return;
    this.#known.set(resource, refusal ? { refusal, untilMs: nowMs + ASK_AGAIN_MS[refusal] } : READABLE);
  }

  /** Returns true if the resource is worth asking for. */
  mayAsk(resource: string, nowMs: number): boolean {
    return nowMs >= (this.#known.get(resource)?.untilMs ?? 0);
  }

  /** Returns the last answer; `undefined` if there was none. */
  get(resource: string): Refusal | 'readable' | undefined {
    const known = this.#known.get(resource);
    return known && (known.refusal ?? 'readable');
  }

  /** Forgets refusals, because the router may be a different one. Returns the resources that may be asked for again. */
  forget(): readonly string[] {
    const refused = [...this.#known].filter(([, { refusal }]) => refusal).map(([resource]) => resource);
    for (const resource of refused) this.#known.delete(resource);
    this.#revision++;
    this.#answers++;
    return refused;
  }
}

/**
 * Lists what a router is known to have. For a path with a star only the existing slots are listed or, if there are
 * none, the path itself.
 */
export function listCapabilities({ targets, patterns }: PollPlan, memory: CapabilityMemory): ResourceCapability[] {
  const ofTargets = targets.flatMap(({ name, isNamed, isOptional }): ResourceCapability[] => {
    const known = memory.get(name);
    if (known === undefined || (known === 'unsupported' && !isNamed)) return [];
    return [{ resource: name, isSupported: known !== 'unsupported', isPermitted: known !== 'forbidden', isOptional }];
  });
  const ofPatterns = patterns
    .filter(({ names }) => names.every((name) => memory.get(name) === 'unsupported'))
    .map(({ path, isOptional }) => ({ resource: path, isSupported: false, isPermitted: true, isOptional }));
  return [...ofTargets, ...ofPatterns];
}

/** Values outlive this many intervals of their resource before they expire. */
const READINGS_PER_LIFE = 3;

/** Records when one resource was read and decides when it is due. All times are milliseconds on the monotonic clock. */
export class TargetTimer {
  readonly #intervalMs: number;
  readonly #tickMs: number;
  #lastMs = -Infinity;
  #failures = 0;
  /** When its values expire, and when the last part of that time begins; `Infinity` without values. */
  #expiresAtMs = Infinity;
  #renewFromMs = Infinity;

  /** `tickMs`: polls come at multiples of this, more or less late. */
  constructor(intervalMs: number, tickMs: number) {
    this.#intervalMs = intervalMs;
    this.#tickMs = tickMs;
  }

  /** Start of the poll in which it was last asked for; `-Infinity` before the first. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /**
   * Returns true if it is due in a poll that starts at `nowMs`. Intervals are whole ticks. A failed read is retried at
   * the next ticks, with growing delay, but no later than its interval.
   */
  isDue(nowMs: number, multiplier = 1): boolean {
    const waitMs = toWholeTicks(this.#intervalMs * Math.max(1, multiplier), this.#tickMs);
    if (waitMs === Infinity) return false;
    const failuresMs = this.#tickMs * Math.max(1, multiplier) * 2 ** (this.#failures - 1);
    const ticksMs = this.#failures > 0 ? Math.min(waitMs, failuresMs) : waitMs;
    // A late poll is followed by an early one; a resource that is due at every tick must not miss that.
    return ticksMs <= this.#tickMs || nowMs - this.#lastMs >= ticksMs - this.#tickMs / 2;
  }

  /**
   * Returns true if the last third of the time begins for which its values are served, so that they expire if the interval was
   * extended since. A failed read is no more urgent for that.
   */
  isRenewalDue(nowMs: number): boolean {
    // Polls come somewhat early or late.
    return this.#failures === 0 && nowMs >= this.#renewFromMs - this.#tickMs / 2;
  }

  /** Returns true if it has values, and they expire between two times. */
  expiresBetween(fromMs: number, toMs: number): boolean {
    return this.#expiresAtMs >= fromMs && this.#expiresAtMs < toMs;
  }

  /** Returns the time for which values may be served that are read now, at least `leastMs`. */
  lifeMs(multiplier: number, leastMs: number): number {
    return Math.max(leastMs, READINGS_PER_LIFE * this.#intervalMs * Math.max(1, multiplier));
  }

  /** Records that it was read, or failed on its own, in the poll that started at `startedMs`. */
  recordRead(startedMs: number, hasFailed: boolean): void {
    this.#lastMs = startedMs;
    this.#failures = hasFailed ? this.#failures + 1 : 0;
  }

  /** Records when its values were read, and for how long they may be served; nothing for a resource without values. */
  recordValues(readAtMs = Infinity, lifeMs = 0): void {
    this.#expiresAtMs = readAtMs + lifeMs;
    this.#renewFromMs = readAtMs + (lifeMs * (READINGS_PER_LIFE - 1)) / READINGS_PER_LIFE;
  }

  /** Makes it due at once. */
  reset(): void {
    this.#lastMs = -Infinity;
    this.#failures = 0;
  }
}

function toWholeTicks(intervalMs: number, tickMs: number): number {
  return Math.ceil(intervalMs / tickMs) * tickMs;
}
