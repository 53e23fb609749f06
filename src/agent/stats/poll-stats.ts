import type { PollFault, PollPoint, PollSummary } from '../../web/index.ts';

interface Poll {
  /** Start: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  /** Reason why it did not reach the router. */
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
  /** First failure, also if the router was reached. */
  readonly fault: PollFault | undefined;
}

interface PollSample {
  /** Start: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly isOk: boolean;
  /** The longest lag of the logs; `undefined` when there is none. */
  readonly lagMs: number | undefined;
}

/** Recent polls kept, whatever their result. */
const RECENT_MAX = 12;
/** Failed polls kept beyond those, so that a failure at night can still be seen in the morning. */
const FAILED_MAX = 12;
/** Partial failures are counted apart, so that one broken resource cannot evict real outages. */
const PARTIAL_MAX = 4;

/** An hour at the usual interval: 960 bytes for each router. */
const SAMPLES_MAX = 60;

/** The last polls of a router; those that failed are kept longer. */
export class PollHistory {
  readonly #recent: Poll[] = [];
  readonly #failed: Poll[] = [];
  readonly #partial: Poll[] = [];

  add(poll: Poll): void {
    this.#recent.unshift(poll);
    const oldest = this.#recent.length > RECENT_MAX ? this.#recent.pop() : undefined;
    if (oldest?.failure) keep(this.#failed, oldest, FAILED_MAX);
    else if (oldest?.fault) keep(this.#partial, oldest, PARTIAL_MAX);
  }

  /** The newest first. */
  describe(): readonly PollSummary[] {
    const kept = [...this.#failed, ...this.#partial].toSorted((a, b) => b.atMs - a.atMs);
    return [...this.#recent, ...kept].map(({ atMs, durationMs, failure, fault }) => ({
      at: new Date(atMs).toISOString(),
      durationSeconds: durationMs / 1000,
      ok: failure === undefined,
      reason: failure?.reason ?? null,
      error: failure?.error ?? null,
      fault: fault ?? null,
    }));
  }
}

function keep(polls: Poll[], poll: Poll, max: number): void {
  polls.unshift(poll);
  if (polls.length > max) polls.pop();
}

/** Numbers of the last polls of a router, for plots; packed, because a fleet has ten thousand of these. */
export class PollSamples {
  #times: Float64Array | undefined;
  /** By turns the duration, negative when the poll failed, and the lag, NaN when there was none. Milliseconds. */
  #values = new Float32Array(0);
  #count = 0;

  add({ atMs, durationMs, isOk, lagMs }: PollSample): void {
    if (!this.#times) {
      this.#times = new Float64Array(SAMPLES_MAX);
      this.#values = new Float32Array(2 * SAMPLES_MAX);
    }
    const slot = this.#count % SAMPLES_MAX;
    this.#times[slot] = atMs;
    // The sign of a zero counts.
    this.#values[2 * slot] = isOk ? durationMs : -durationMs;
    this.#values[2 * slot + 1] = lagMs ?? Number.NaN;
    this.#count++;
  }

  /** The oldest first. */
  describe(): readonly PollPoint[] {
    const first = Math.max(0, this.#count - SAMPLES_MAX);
    return Array.from({ length: this.#count - first }, (_, index) => {
      const slot = (first + index) % SAMPLES_MAX;
      const durationMs = this.#values[2 * slot] ?? 0;
      const lagMs = this.#values[2 * slot + 1] ?? Number.NaN;
      return {
        at: new Date(this.#times?.[slot] ?? 0).toISOString(),
        durationSeconds: Math.round(Math.abs(durationMs)) / 1000,
        ok: !Object.is(durationMs, -0) && durationMs >= 0,
        logLagSeconds: Number.isNaN(lagMs) ? null : Math.round(lagMs) / 1000,
      };
    });
  }
}
