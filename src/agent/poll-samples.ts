import type { PollPoint } from '../web/index.ts';

interface PollSample {
  /** When it began: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly isOk: boolean;
  /** The longest lag of the logs; `undefined` when there is none. */
  readonly lagMs: number | undefined;
}

/** An hour at the usual interval: 960 bytes for each router. */
const SAMPLES_MAX = 60;

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
