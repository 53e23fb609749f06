import { type Clock, renderDuration, renderErrorChain, type Timer } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { Labels } from '../../model/index.ts';
import { type RetryAfter, ROUTER_FAILURES } from '../../router/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import type { PollFault, RouterFailureSummary, RouterSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import { toSeconds, toTime } from '../times.ts';
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
  /** Returns the time without a successful poll after which the router is down and its values expire. Milliseconds. */
  readonly quietMsMax: () => number;
}

/** The part of {@link RouterSummary} about polls. */
export type AvailabilitySummary = Pick<
  RouterSummary,
  | 'state'
  | 'since'
  | 'isFirstState'
  | 'isStale'
  | 'lastSuccess'
  | 'retryAfter'
  | 'failure'
  | 'fault'
  | 'consecutiveFailures'
  | 'durationSeconds'
>;

/** A router whose first poll has no word by then is down; longer than a whole poll may take by default. Milliseconds. */
const FIRST_WORD_MS = 50_000;
/** Value of `reason` for a router that nobody has asked yet; without a series while it does not apply, unlike the others. */
const UNASKED = 'unasked';
/** Names of pauses by the byte budget, which are logged once until the budget stretches nothing. */
const PAUSES = {
  logs: 'The byte budget pauses the logs of the router',
  status: 'The byte budget pauses the polls of the router',
} as const;
/** A budget that is used up is logged once until it stretches nothing. */
const SPENT = 'budget-spent';
const BUDGET_FAILURES = ['pause:logs', 'pause:status', SPENT];
/** Failures that are logged once for a router that asks for a wait. */
const RETRY_AFTER = 'retry-after';
const RETRY_AFTER_CAPPED = 'retry-after-capped';

/**
 * Tracks if a router is up, since when, and the reason if not.
 *
 * ```
 *   unknown ─┬─ a poll reached it ──▶ up ── a poll did not, or none has ended for as long as values last ──▶ down
 *            └─ a poll did not, or the first one does not end ──▶ down ── a poll reached it ──▶ up
 *
 *   unknown ── not asked yet, however long: its series say so after a minute; it is not called down
 *   unknown ── the operator wants it not to be asked ──▶ paused or retired
 *   any ── bytes of a download arrive while a poll waits for its end ──▶ up
 *   any ── the byte budget is used up, or pauses polls for as long as values last ──▶ budget ── the next poll ──▶ up or down
 * ```
 */
export class AvailabilityStats {
  readonly #options: AvailabilityOptions;
  #state: RouterStateName = 'unknown';
  /** Start of the state, by RFC 3339; rendered once, because lists show it again and again. */
  #since: string | null = null;
  #isFirstState = false;
  #failures = 0;
  /** True if there was a poll, so that the series about the last one exist. */
  #hasPoll = false;
  #lastDurationMs: number | undefined;
  /** Time at which the values of the last successful poll expire, on the monotonic clock. */
  #staleAtMs = Number.POSITIVE_INFINITY;
  /** Wall time, milliseconds since the Unix epoch. */
  #lastSuccessMs: number | undefined;
  #lastSuccess: string | null = null;
  #failure: RouterFailureSummary | undefined;
  #fault: PollFault | undefined;
  #retryAfter: RetryAfter | undefined;
  /** Set while a router is up or not known: it is down when no poll has ended by then. */
  #staleTimer: Timer | undefined;
  /** Set until the series of a router that nobody has asked yet are published. */
  #unaskedTimer: Timer | undefined;
  #budget: SharedBudget | undefined;
  /** Inputs of the published series about state and pauses: they are rendered only when these change. */
  #published = '';
  #publishedPauses = '';

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  get state(): RouterStateName {
    return this.#state;
  }

  /** True if the values of the last successful poll have expired. */
  get isStale(): boolean {
    return this.#options.clock.monotonic() >= this.#staleAtMs;
  }

  /** True if the last poll failed. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** The router is to be asked: its series exist soon, whether its first poll has begun by then or not. */
  start(budget: SharedBudget): void {
    this.recordBudget(budget);
    if (this.#published !== '') return;
    this.#unaskedTimer = this.#options.clock.setTimer(FIRST_WORD_MS, () => {
      if (this.#published === '' && this.#state === 'unknown') this.#publish();
    });
  }

  /**
   * Records that a poll begins. The first one is waited for from here, not from the start of the agent: first polls of ten
   * thousand routers are spread over minutes, and those that nobody has asked yet are not down.
   */
  beginPoll(): void {
    if (this.#state === 'unknown' && !this.#staleTimer) this.#expectPoll(FIRST_WORD_MS);
  }

  /** The router is not asked: no poll is waited for, and nothing is said about whether it is up. */
  rest(state: 'paused' | 'retired'): void {
    this.#enter(state);
  }

  /** Records a poll. `fault`: its first failure; `isPutOff`: the router asked for a wait. */
  recordPoll(result: PollResult, fault: PollFault | undefined, isPutOff: boolean): void {
    const { settings, exposition, clock, quietMsMax } = this.#options;
    this.#lastDurationMs = result.durationMs;
    this.#fault = fault;
    if (result.isUp) {
      const lastMs = quietMsMax();
      this.#staleAtMs = clock.monotonic() + lastMs;
      exposition.keepFresh(settings, this.#staleAtMs);
      this.#recordSuccess(isPutOff);
      this.#expectPoll(lastMs);
    } else this.#recordFailure(toFailure(result, fault), isPutOff);
    this.#publish();
    if (this.#hasPoll) return;
    this.#hasPoll = true;
    exposition.publishLive(
      settings,
      [NO_LABELS],
      [
        [F.pollDuration, () => toSeconds(this.#lastDurationMs)],
        [F.lastSuccess, () => toSeconds(this.#lastSuccessMs)],
      ],
    );
  }

  /** Records that bytes of a download arrive while a poll waits for its end: the router counts as reached. */
  recordReached(): void {
    this.#expectPoll(this.#options.quietMsMax());
    if (this.#state === 'up') return;
    this.#failure = undefined;
    this.#enter('up');
    this.#options.log.write('info', 'The router is up', { seen: 'a download' });
    this.#publish();
  }

  /** Records the state of the byte budget after a run. */
  recordBudget(budget: SharedBudget): void {
    const { log } = this.#options;
    this.#budget = budget;
    this.#publishPauses();
    for (const activity of ['logs', 'status'] as const) {
      const untilMs = budget.pauses[activity];
      if (untilMs !== undefined) log.fail(`pause:${activity}`, PAUSES[activity], { until: toTime(untilMs) });
    }
    if (budget.intervalMultiplier('slow') === 1) for (const what of BUDGET_FAILURES) log.mend(what);
    const isSpent = budget.isSpent('common') && budget.isSpent('status');
    // A router that was never polled has no values that could still count.
    if (isSpent || (budget.statusPart === undefined && this.#state === 'unknown')) this.#runOutOfBudget(budget);
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
  }

  summarize(): AvailabilitySummary {
    return {
      state: this.#state,
      since: this.#since,
      isFirstState: this.#isFirstState,
      isStale: this.isStale,
      lastSuccess: this.#lastSuccess,
      retryAfter: toTime(this.#findRetryAfterMs()),
      failure: this.#failure ?? null,
      fault: this.#fault ?? null,
      consecutiveFailures: this.#failures,
      durationSeconds: toSeconds(this.#lastDurationMs) ?? null,
    };
  }

  /** Cancels pending timers. */
  close(): void {
    this.#staleTimer?.cancel();
    this.#unaskedTimer?.cancel();
  }

  #runOutOfBudget(budget: SharedBudget): void {
    if (this.#state === 'budget') return;
    this.#staleTimer?.cancel();
    this.#enter('budget');
    const until = toTime(budget.pauses.status ?? budget.nextDayMs);
    this.#failure = {
      reason: 'budget',
      step: null,
      error: `The byte budget of this day is used up, or would not last; no poll before ${until}`,
    };
    this.#options.log.fail(SPENT, 'The byte budget of the router is used up', { until });
    this.#publish();
  }

  /** Waits for the next poll: without one, the router is down after this time. */
  #expectPoll(waitMs: number): void {
    this.#staleTimer?.cancel();
    this.#staleTimer = this.#options.clock.setTimer(waitMs, () => this.#onQuiet(waitMs));
  }

  #onQuiet(waitMs: number): void {
    if (this.#budget && this.#budget.statusPart === undefined) {
      this.#runOutOfBudget(this.#budget);
      return;
    }
    const length = renderDuration(Math.round(waitMs));
    this.#goDown(
      this.#findRetryAfterMs() === undefined
        ? { reason: 'timeout', step: null, error: `No poll has ended for ${length}` }
        : {
            reason: 'http',
            step: this.#fault?.step ?? 'resource',
            error: `No poll for ${length}, because the router asks to be left alone`,
          },
    );
    this.#publish();
  }

  #enter(state: RouterStateName): void {
    if (this.#state !== state) {
      this.#since = toTime(this.#options.clock.now());
      this.#isFirstState = this.#state === 'unknown';
    }
    this.#state = state;
  }

  #recordSuccess(isPutOff: boolean): void {
    const { clock, log } = this.#options;
    if (this.#state !== 'up') log.write('info', 'The router is up');
    this.#failures = 0;
    this.#failure = undefined;
    this.#enter('up');
    this.#lastSuccessMs = clock.now();
    this.#lastSuccess = toTime(this.#lastSuccessMs);
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
    this.#staleTimer?.cancel();
    this.#failure = failure;
    this.#enter('down');
    this.#options.log.write(level, 'The router is down', { reason: failure.reason, error: failure.error });
  }

  /** Returns the time at which the router may be asked again. Wall time, milliseconds since the Unix epoch. */
  #findRetryAfterMs(): number | undefined {
    const { clock } = this.#options;
    const leftMs = (this.#retryAfter?.untilMs ?? -Infinity) - clock.monotonic();
    return leftMs > 0 ? clock.now() + leftMs : undefined;
  }

  #publishPauses(): void {
    const { exposition, settings } = this.#options;
    const pauses = Object.entries(this.#budget?.pauses ?? {});
    const published = `pauses ${pauses.join(' ')}`;
    if (published === this.#publishedPauses) return;
    this.#publishedPauses = published;
    exposition.publish(settings, 'budget-pauses', [
      toFamily(
        F.byteBudgetPausedUntil,
        pauses.flatMap(([activity, untilMs]): [Labels, number][] =>
          untilMs === undefined ? [] : [[{ activity }, untilMs / 1000]],
        ),
      ),
    ]);
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
    const published = `${this.#state} ${this.#failures} ${applies}`;
    if (published === this.#published) return;
    this.#published = published;
    this.#unaskedTimer?.cancel();
    const reasons = ROUTER_FAILURES.map((reason): [Labels, number] => [{ reason }, reason === applies ? 1 : 0]);
    if (this.#state === 'unknown') reasons.push([{ reason: UNASKED }, 1]);
    exposition.publish(settings, 'state', [
      toFamily(F.up, [[{}, this.#state === 'up' ? 1 : 0]]),
      toFamily(F.consecutiveFailures, [[{}, this.#failures]]),
      toFamily(F.failureReason, reasons),
    ]);
  }
}

/** The one sample of a family that is read at each scrape. */
const NO_LABELS = { labels: {} };

/** Returns the reason why a poll did not reach the router. */
export function toFailure({ failure, error }: PollResult, fault: PollFault | undefined): RouterFailureSummary {
  return { reason: failure ?? 'http', step: fault?.step ?? null, error: renderErrorChain(error) };
}
