import { type Clock, renderDuration, renderErrorChain, type Timer } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { Labels } from '../../model/index.ts';
import { type RetryAfter, ROUTER_FAILURES } from '../../router/index.ts';
import type { ByteBudget } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import type { PollFault, RouterFailureSummary, RouterSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import type { RouterLog } from './event-table.ts';

/** One router, and where its state is shown and logged. */
export interface AvailabilityOptions {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Exposition that serves the metrics. */
  readonly exposition: FleetExposition;
  /** Log with the router's name in every line. */
  readonly log: RouterLog;
  /** Clock for durations and the time of changes. */
  readonly clock: Clock;
}

/** The part of {@link RouterSummary} about polls. */
export type AvailabilitySummary = Pick<
  RouterSummary,
  | 'state'
  | 'since'
  | 'isStale'
  | 'lastSuccess'
  | 'retryAfter'
  | 'failure'
  | 'fault'
  | 'consecutiveFailures'
  | 'durationSeconds'
>;

/** Failures that are logged once for a router that asks for a wait. */
const RETRY_AFTER = 'retry-after';
const RETRY_AFTER_CAPPED = 'retry-after-capped';

/**
 * Tracks if a router is up, since when, and the reason if not.
 *
 * ```
 *   unknown ─┬─ a poll reached it ──▶ up ── a poll did not, or it asks to be left alone for longer than values last ──▶ down
 *            └─ a poll did not ──▶ down ── a poll reached it ──▶ up           any ── the byte budget is used up ──▶ budget
 *                                                                          budget ── the next poll ──▶ up or down
 * ```
 */
export class AvailabilityStats {
  readonly #options: AvailabilityOptions;
  #state: RouterStateName = 'unknown';
  /** Wall time, milliseconds since the Unix epoch. */
  #sinceMs: number | undefined;
  #failures = 0;
  #lastDurationMs: number | undefined;
  /** Time at which the values of the last successful poll expire, on the monotonic clock. */
  #staleAtMs = Number.POSITIVE_INFINITY;
  /** Wall time, milliseconds since the Unix epoch. */
  #lastSuccessMs: number | undefined;
  #failure: RouterFailureSummary | undefined;
  #fault: PollFault | undefined;
  #retryAfter: RetryAfter | undefined;
  /** Set while a router that is up is not polled at its own request: it is down once its values have expired. */
  #staleTimer: Timer | undefined;

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  get state(): RouterStateName {
    return this.#state;
  }

  /** True if the last poll failed. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Records a poll. `fault`: its first failure; `isPutOff`: the router asked for a wait. */
  recordPoll(result: PollResult, fault: PollFault | undefined, isPutOff: boolean): void {
    const { settings, exposition, clock } = this.#options;
    this.#staleTimer?.cancel();
    this.#lastDurationMs = result.durationMs;
    this.#fault = fault;
    if (result.isUp) {
      this.#staleAtMs = clock.monotonic() + settings.poll.staleAfterMs;
      exposition.keepFresh(settings, this.#staleAtMs);
      this.#recordSuccess(isPutOff);
    } else this.#recordFailure(toFailure(result, fault), isPutOff);
    this.#publish();
    exposition.publish(settings, 'poll', [toFamily(F.pollDuration, [[{}, result.durationMs / 1000]])]);
  }

  /** Records the state of the byte budget after a run. */
  recordBudget(budget: ByteBudget): void {
    if (!budget.isSpent || this.#state === 'budget') return;
    this.#enter('budget');
    this.#failure = {
      reason: 'budget',
      step: null,
      error: 'The byte budget of this day is used up; the next one begins at midnight UTC',
    };
    const until = new Date(budget.nextDayMs).toISOString();
    this.#options.log.write('warn', 'The byte budget of the router is used up', { until });
    this.#publish();
  }

  /** Records after a run how long the router asks to be left alone. */
  recordRetryAfter(retryAfter: RetryAfter | undefined): void {
    if (retryAfter === this.#retryAfter) return;
    this.#retryAfter = retryAfter;
    this.#publishRetryAfter();
    if (!retryAfter) return;
    const { clock, log } = this.#options;
    const wait = renderDuration(Math.round(retryAfter.untilMs - clock.monotonic()));
    log.fail(RETRY_AFTER, 'The router asks to be left alone', { for: wait });
    if (retryAfter.isCapped) {
      const message = 'The router asks for a longer wait than it gets, or for a time by a clock that is off';
      log.fail(RETRY_AFTER_CAPPED, message, { granted: wait });
    }
    this.#watchValues();
  }

  summarize(): AvailabilitySummary {
    return {
      state: this.#state,
      since: toTime(this.#sinceMs),
      isStale: this.#options.clock.monotonic() >= this.#staleAtMs,
      lastSuccess: toTime(this.#lastSuccessMs),
      retryAfter: toTime(this.#findRetryAfterMs()),
      failure: this.#failure ?? null,
      fault: this.#fault ?? null,
      consecutiveFailures: this.#failures,
      durationSeconds: this.#lastDurationMs === undefined ? null : this.#lastDurationMs / 1000,
    };
  }

  /** Cancels pending timers. */
  close(): void {
    this.#staleTimer?.cancel();
  }

  #enter(state: RouterStateName): void {
    if (this.#state !== state) this.#sinceMs = this.#options.clock.now();
    this.#state = state;
  }

  #recordSuccess(isPutOff: boolean): void {
    const { clock, log } = this.#options;
    if (this.#state !== 'up') log.write('info', 'The router is up');
    this.#failures = 0;
    this.#failure = undefined;
    this.#enter('up');
    this.#lastSuccessMs = clock.now();
    if (!isPutOff) log.mend(RETRY_AFTER);
  }

  #recordFailure(failure: RouterFailureSummary, isPutOff: boolean): void {
    this.#failures++;
    // A router that was up and asks for a wait stays up until its values expire.
    if (isPutOff && this.#state === 'up' && this.#options.clock.monotonic() < this.#staleAtMs) return;
    this.#goDown(failure);
  }

  #goDown(failure: RouterFailureSummary): void {
    const level = this.#state === 'down' ? 'debug' : 'warn';
    this.#failure = failure;
    this.#enter('down');
    this.#options.log.write(level, 'The router is down', { reason: failure.reason, error: failure.error });
  }

  /** Marks a router that asked for a wait as down once its values have expired. */
  #watchValues(): void {
    const { clock, settings } = this.#options;
    this.#staleTimer?.cancel();
    if (this.#state !== 'up') return;
    const failure = {
      reason: 'http',
      step: this.#fault?.step ?? 'resource',
      error: `No poll for ${renderDuration(settings.poll.staleAfterMs)}, because the router asks to be left alone`,
    } as const;
    this.#staleTimer = clock.setTimer(this.#staleAtMs - clock.monotonic(), () => {
      this.#goDown(failure);
      this.#publish();
    });
  }

  /** Returns the time at which the router may be asked again. Wall time, milliseconds since the Unix epoch. */
  #findRetryAfterMs(): number | undefined {
    const { clock } = this.#options;
    const leftMs = (this.#retryAfter?.untilMs ?? -Infinity) - clock.monotonic();
    return leftMs > 0 ? clock.now() + leftMs : undefined;
  }

  #publishRetryAfter(): void {
    const { exposition, settings } = this.#options;
    const atMs = this.#findRetryAfterMs();
    exposition.publish(settings, 'retry-after', [
      toFamily(F.retryAfter, atMs === undefined ? [] : [[{}, atMs / 1000]]),
    ]);
  }

  #publish(): void {
    const { exposition, settings } = this.#options;
    const applies = this.#failure?.reason;
    exposition.publish(settings, 'state', [
      toFamily(F.up, [[{}, this.#state === 'up' ? 1 : 0]]),
      toFamily(F.consecutiveFailures, [[{}, this.#failures]]),
      toFamily(F.lastSuccess, this.#lastSuccessMs === undefined ? [] : [[{}, this.#lastSuccessMs / 1000]]),
      toFamily(
        F.failureReason,
        ROUTER_FAILURES.map((reason): [Labels, number] => [{ reason }, reason === applies ? 1 : 0]),
      ),
    ]);
  }
}

/** Returns the reason why a poll did not reach the router. */
export function toFailure({ failure, error }: PollResult, fault: PollFault | undefined): RouterFailureSummary {
  return { reason: failure ?? 'http', step: fault?.step ?? null, error: renderErrorChain(error) };
}

/** RFC 3339. */
function toTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}
