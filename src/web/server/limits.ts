import type { Clock } from '../../base/index.ts';
import { WebError } from '../errors.ts';

/** Limit of all requests together, as in the exporter-toolkit's web configuration file. */
export interface RateLimitSettings {
  /** Time per request. */
  readonly intervalMs: number;
  /** Requests allowed at once after an idle time. */
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

  /** Takes a token; false if there is none. */
  admits(): boolean {
    const { intervalMs, burst } = this.#settings;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#filledMs) / intervalMs);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Seconds until the next token, at least one. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.#settings.intervalMs / 1000));
  }
}

/** Share of the slots that one client may take. */
const SHARE = 0.5;

/** Limits concurrency: slots in total, and slots of one client. */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #shareMax: number;
  readonly #byClient = new Map<string, number>();
  #inside = 0;

  /** `shareMax`: slots of one client. Default: half of all. */
  constructor(max: number, shareMax = Math.ceil(max * SHARE)) {
    this.#max = max;
    this.#shareMax = shareMax;
  }

  /** Takes a slot; returns its idempotent release, or `undefined` if none is left. Without `client`, only the total counts. */
  enter(client?: string): (() => void) | undefined {
    if (this.#inside >= this.#max) return undefined;
    if (client !== undefined && !this.#count(client, 1)) return undefined;
    this.#inside++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#inside--;
      if (client !== undefined) this.#count(client, -1);
    };
  }

  /** Runs work in a slot. Throws {@link WebError} `busy` if all are taken; `what` names the work. */
  async run<T>(what: string, work: () => Promise<T>): Promise<T> {
    const leave = this.enter();
    if (!leave) throw new WebError('busy', `Too many ${what} at once`, { disposition: 'retry' });
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** False if the client has all its slots. */
  #count(client: string, change: 1 | -1): boolean {
    const held = (this.#byClient.get(client) ?? 0) + change;
    if (held > this.#shareMax) return false;
    if (held === 0) this.#byClient.delete(client);
    else this.#byClient.set(client, held);
    return true;
  }
}
