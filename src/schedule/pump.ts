import { type BackoffBounds, type Clock, computeBackoffMs, type Random } from '../base/index.ts';

export interface PumpOptions {
  /**
   * Does one step. `idle`: there is nothing to do until the next {@link Pump.wake}; a wait: the next step is made after it.
   * `isLast`: the pump is being drained, and there is no time to wait.
   */
  readonly step: (signal: AbortSignal, turn: { readonly isLast: boolean }) => Promise<PumpOutcome>;
  /** Told of every step that failed; the pump goes on after a growing wait, for ever. Gives the least wait in ms, if any. */
  readonly onFailure: (cause: unknown) => number | undefined;
  readonly backoff: BackoffBounds;
  readonly clock: Clock;
  readonly random: Random;
}

/** What a step left to do. */
export type PumpOutcome = 'more' | 'idle' | { readonly waitMs: number };

type PumpState = 'resting' | 'stepping' | 'lingering' | 'waiting' | 'stopped';

/**
 * Repeats a step for as long as there is work, sleeps until it is woken, and waits longer after each failure.
 *
 * ```
 *   resting ── wake() ──▶ stepping ── failed ──▶ waiting ── back-off over ──▶ stepping
 *      ▲                   │    │
 *      └─ idle, not woken ─┘    └── asked for a wait ──▶ lingering ── over, or drain() ──▶ stepping
 *
 *   any ── drain() : last steps, none after a failure ──▶ stopped
 * ```
 */
export class Pump {
  readonly #options: PumpOptions;
  readonly #stop = new AbortController();
  #state: PumpState = 'resting';
  /** Aborts when records need not be waited for any more. */
  readonly #linger = new AbortController();
  #running: Promise<void> | undefined;
  #isAwake = false;
  #isDraining = false;
  #idleWaiters: (() => void)[] = [];

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  /** Says that there may be work. A wait under way is not cut short. */
  wake(): void {
    this.#isAwake = true;
    if (this.#state === 'resting') this.#running = this.#run();
  }

  /** Resolves when no step is under way and none follows at once. */
  whenIdle(): Promise<void> {
    if (this.#state !== 'stepping') return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Works until nothing is left, a step fails, or `signal` aborts; then stops for good. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true;
    const expire = () => this.#stop.abort();
    if (signal.aborted) expire();
    signal.addEventListener('abort', expire, { once: true });
    if (this.#state !== 'waiting') {
      this.wake();
      this.#linger.abort();
      await this.#running;
    }
    signal.removeEventListener('abort', expire);
    this.#stop.abort();
    this.#enter('stopped');
  }

  async #run(): Promise<void> {
    const { random, backoff, step, onFailure } = this.#options;
    const { signal } = this.#stop;
    let failures = 0;
    this.#enter('stepping');
    while (this.#isAwake && !signal.aborted) {
      this.#isAwake = false;
      try {
        const outcome = await step(signal, { isLast: this.#isDraining });
        failures = 0;
        if (outcome === 'idle') continue;
        this.#isAwake = true;
        if (outcome !== 'more') await this.#rest('lingering', outcome.waitMs, this.#linger.signal);
      } catch (cause) {
        if (signal.aborted) break;
        const leastMs = onFailure(cause) ?? 0;
        if (this.#isDraining) break;
        this.#isAwake = true;
        await this.#rest('waiting', Math.max(leastMs, computeBackoffMs(++failures, backoff, random)), signal);
      }
    }
    this.#enter('resting');
  }

  async #rest(state: 'lingering' | 'waiting', durationMs: number, signal: AbortSignal): Promise<void> {
    this.#enter(state);
    await this.#options.clock.sleep(durationMs, signal).catch(() => {});
    this.#enter('stepping');
  }

  #enter(state: PumpState): void {
    if (this.#state !== 'stopped') this.#state = state;
    if (state === 'stepping') return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
