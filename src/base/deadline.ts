import type { Clock } from './clock.ts';

/** The abort reason of an exceeded deadline. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  /** The time allowed, in milliseconds. */
  readonly limitMs: number;
  constructor(limitMs: number) {
    super(`The limit of ${limitMs} ms was reached`);
    this.limitMs = limitMs;
  }
}

/** A signal that aborts on its own; release it with `using` so that its timer does not outlive the work. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Returns a signal that aborts with {@link DeadlineExceeded} after `limitMs` on `clock`, or with the parent's reason if
 * the parent aborts first.
 */
export function openDeadline(clock: Clock, limitMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  const timer = clock.setTimer(limitMs, () => controller.abort(new DeadlineExceeded(limitMs)));
  const signal = parent ? AbortSignal.any([parent, controller.signal]) : controller.signal;
  return { signal, [Symbol.dispose]: () => timer.cancel() };
}
