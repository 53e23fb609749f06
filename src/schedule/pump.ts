import { type BackoffBounds, type Clock, computeBackoffMs, type Random } from '../base/index.ts';

export interface PumpOptions {
  /** Does one step; `idle` means that there is nothing to do until the next {@link Pump.wake}. */
  readonly step: (signal: AbortSignal) => Promise<'more' | 'idle'>;
  /** Told of every step that failed; the pump goes on after a growing wait, for ever. */
  readonly onFailure: (cause: unknown) => void;
  readonly backoff: BackoffBounds;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Repeats a step for as long as there is work, sleeps until it is woken, and waits longer after each failure.
 *
 * ```
 *   resting ── wake() ──▶ stepping ── failed ──▶ waiting ── back-off over ──▶ stepping
 *      ▲                     │
 *      └── idle, not woken ──┘            any ── drain() : last steps ──▶ stopped
 * ```
 */
export class Pump {
  readonly #options: PumpOptions;
  readonly #stop = new AbortController();
  #state: 'resting' | 'stepping' | 'waiting' | 'stopped' = 'resting';
  #isAwake = false;
  #isDraining = false;
  #idleWaiters: (() => void)[] = [];

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  /** Says that there may be work. A back-off under way is not cut short. */
  wake(): void {
    this.#isAwake = true;
    if (this.#state === 'resting') void this.#run();
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
      await this.whenIdle();
    }
    signal.removeEventListener('abort', expire);
    this.#stop.abort();
    this.#enter('stopped');
  }

  async #run(): Promise<void> {
    const { clock, random, backoff, step, onFailure } = this.#options;
    const { signal } = this.#stop;
    let failures = 0;
    this.#enter('stepping');
    while (this.#isAwake && !signal.aborted) {
      this.#isAwake = false;
      try {
        const outcome = await step(signal);
        failures = 0;
        if (outcome === 'more') this.#isAwake = true;
      } catch (cause) {
        if (signal.aborted) break;
        onFailure(cause);
        if (this.#isDraining) break;
        this.#isAwake = true;
        this.#enter('waiting');
        await clock.sleep(computeBackoffMs(++failures, backoff, random), signal).catch(() => {});
        this.#enter('stepping');
      }
    }
    this.#enter('resting');
  }

  #enter(state: 'resting' | 'stepping' | 'waiting' | 'stopped'): void {
    if (this.#state !== 'stopped') this.#state = state;
    if (state === 'stepping') return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
