import type { Clock } from '../base/index.ts';

/** Limit of all requests together, as in the web configuration file of the exporter-toolkit. */
export interface RateLimitSettings {
  /** Time in which one request becomes possible. */
  readonly intervalMs: number;
  /** Requests that are possible at once after a rest. */
  readonly burst: number;
}

/** A token bucket: full at the start, one token per interval, at most `burst`. */
export class RateLimit {
  readonly #settings: RateLimitSettings;
  readonly #clock: Clock;
  #tokens: number;
  #filledMs: number;

  constructor(settings: RateLimitSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#tokens = settings.burst;
    this.#filledMs = clock.monotonic();
  }

  /** Takes a token; false when there is none. */
  admits(): boolean {
    const { intervalMs, burst } = this.#settings;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#filledMs) / intervalMs);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Whole seconds until a token comes, at least one. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.#settings.intervalMs / 1000));
  }
}
