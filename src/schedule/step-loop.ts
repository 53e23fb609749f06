import { type BackoffBounds, type Clock, computeBackoffMs, type Random } from '../base/index.ts';

/** The repeated step, its clock and its back-off. */
export interface StepLoopOptions {
  /**
   * Does one step. Resolves with `more` to be called again at once, `idle` if there is nothing to do until the next
   * {@link StepLoop.wake}, or a wait before the next step. `isLast`: the loop is draining; there is no time to wait.
   */
  readonly step: (signal: AbortSignal, options: { readonly isLast: boolean }) => Promise<StepLoopOutcome>;
  /**
   * Called after every failed step; the loop retries without limit. Returns the minimum wait in milliseconds, if any.
   */
  readonly onFailure: (cause: unknown) => number | undefined;
  /** Bounds of the wait after failures. */
  readonly backoff: BackoffBounds;
  /** Clock for the waits. */
  readonly clock: Clock;
  /** Random numbers for the jitter of the back-off. */
  readonly random: Random;
}

/** Result of a step. */
export type StepLoopOutcome = 'more' | 'idle' | { readonly waitMs: number };

type StepLoopState = 'resting' | 'stepping' | 'lingering' | 'waiting' | 'stopped';

/**
 * Repeats a step while there is work, sleeps until it is woken, and waits longer after each failure.
 *
 * ```
 *   resting ── wake() ──▶ stepping ── failed ──▶ waiting ── back-off over, or hurry() ──▶ stepping
 *      ▲                   │    │
 *      └─ idle, not woken ─┘    └── asked for a wait ──▶ lingering ── over, or drain() ──▶ stepping
 *
 *   any ── drain() : last steps, none after a failure ──▶ stopped
 * ```
 */
export class StepLoop {
  readonly #options: StepLoopOptions;
  readonly #stop = new AbortController();
  #state: StepLoopState = 'resting';
  readonly #linger = new AbortController();
  #wait: AbortController | undefined;
  #running: Promise<void> | undefined;
  #isAwake = false;
  #isDraining = false;
  #idleWaiters: (() => void)[] = [];

  constructor(options: StepLoopOptions) {
    this.#options = options;
  }

  /** Signals that there may be work. Does not shorten a wait. */
  wake(): void {
    this.#isAwake = true;
    if (this.#state === 'resting') this.#running = this.#run();
  }

  /** Repeats a failed step now, because the cause of the failure is gone. */
  hurry(): void {
    this.#wait?.abort();
  }

  /** Resolves when no step is running and none follows immediately. */
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
        this.#wait = new AbortController();
        const ended = AbortSignal.any([signal, this.#wait.signal]);
        await this.#rest('waiting', Math.max(leastMs, computeBackoffMs(++failures, backoff, random)), ended);
      }
    }
    this.#enter('resting');
  }

  async #rest(state: 'lingering' | 'waiting', durationMs: number, signal: AbortSignal): Promise<void> {
    this.#enter(state);
    await this.#options.clock.sleep(durationMs, signal).catch(() => {});
    this.#enter('stepping');
  }

  #enter(state: StepLoopState): void {
    if (this.#state !== 'stopped') this.#state = state;
    if (state === 'stepping') return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
