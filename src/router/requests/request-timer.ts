import { type Clock, DeadlineExceeded, type Timer } from '../../base/index.ts';

/** The time limit of one request. It runs from the beginning. */
export interface RequestLimit {
  /** Begins the limit anew. */
  touch(): void;
  /** Stops the limit until the next {@link touch}. */
  pause(): void;
  /** Ends the limit for good. */
  end(): void;
}

/**
 * Time limits of the requests to one router. All share one timer: nearly every request ends long before its limit, and the
 * next ones use the timer that runs already.
 */
export class RequestTimer {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #running = new Set<RunningLimit>();
  #timer: Timer | undefined;

  /** `limitMs`: of each request. */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Calls `onLimit` once if the limit is reached before it ends. */
  begin(onLimit: (cause: DeadlineExceeded) => void): RequestLimit {
    const limit: RunningLimit = { dueMs: 0, onLimit };
    const touch = () => {
      limit.dueMs = this.#clock.monotonic() + this.#limitMs;
      this.#running.add(limit);
      this.#timer ??= this.#clock.setTimer(this.#limitMs, this.#onTimer);
    };
    const pause = () => void this.#running.delete(limit);
    touch();
    return { touch, pause, end: pause };
  }

  /** No request is expected for a while: the timer would keep the process alive. */
  rest(): void {
    if (this.#running.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonic();
    const due = [...this.#running].filter(({ dueMs }) => dueMs <= nowMs);
    for (const limit of due) this.#running.delete(limit);
    const nextMs = Math.min(...[...this.#running].map(({ dueMs }) => dueMs));
    if (Number.isFinite(nextMs)) this.#timer = this.#clock.setTimer(nextMs - nowMs, this.#onTimer);
    for (const { onLimit } of due) onLimit(new DeadlineExceeded(this.#limitMs));
  };
}

/** A limit that is not paused. */
interface RunningLimit {
  /** On the monotonic clock. */
  dueMs: number;
  readonly onLimit: (cause: DeadlineExceeded) => void;
}
