import type { Clock, Logger, Timer } from '../../base/index.ts';
import { toFamily } from '../../exposition/index.ts';
import type { FamilyDescription } from '../../model/index.ts';
import { isUnverified } from '../../settings/index.ts';
import type { RouterDetail, RouterLogSummary, RouterSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import { isAsked } from '../routers/lifecycle-keeper.ts';
import { EVENT_TABLE, type EventLine, LOGIN_REASONS } from './event-table.ts';
import { reduceRouter } from './reduce-router.ts';
import { GAP_CERTAINTIES, publishPart, publishValues, toPart } from './router-metrics.ts';
import { describeLogs, describeRouter, type RouterSurroundings, summarizeRouter } from './router-pages.ts';
import type { Moment } from './router-state.ts';
import {
  FIRST_POLL_MS,
  type RouterEvent,
  type RouterEventOf,
  type RouterEventType,
  RouterState,
} from './router-state.ts';

interface RouterRecorderOptions extends RouterSurroundings {
  readonly ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Called with every event. Default: not called. */
  readonly report?: ((event: RouterEvent) => void) | undefined;
}

/**
 * Keeps the state of one router. For each event it updates the state, publishes the metrics that have changed, writes
 * to the agent's own log, and sets the timer that reports when no poll has ended in time.
 */
export class RouterRecorder {
  readonly #options: RouterRecorderOptions;
  readonly #state = new RouterState();
  #rules: RouterRecorderOptions['ruleFamilies'];
  #failing: Set<string> | undefined;
  #awaited: RouterState['awaited'];
  #quietTimer: Timer | undefined;
  /** Publishes the series of a router that has not been polled yet. */
  #unaskedTimer: Timer | undefined;

  constructor(options: RouterRecorderOptions) {
    const { settings, exposition, ruleFamilies, lifecycle } = options;
    this.#options = options;
    this.#rules = ruleFamilies;
    // Counters exist from the start, so that their first increase is visible.
    for (const family of [F.logins, F.tokenRefreshes]) exposition.add(settings, family, {}, 0);
    for (const reason of LOGIN_REASONS) exposition.add(settings, F.loginFailures, { reason }, 0);
    const { url, tls } = settings;
    // Of a router that is not polled, only counters remain.
    if (!url.startsWith('https:') || !isAsked(lifecycle())) return;
    exposition.publish(settings, 'tls-check', [toFamily(F.tlsUnverified, [[{}, isUnverified(tls) ? 1 : 0]])]);
  }

  get state(): Readonly<RouterState> {
    return this.#state;
  }

  /** True if the values of the router have expired. */
  get isStale(): boolean {
    return this.#options.clock.monotonic() >= this.#state.staleAtMs;
  }

  /** Records the initial state: paused, retired, or not polled yet. */
  start(): void {
    const { clock, lifecycle, bytes } = this.#options;
    const { state } = lifecycle();
    if (state === 'paused' || state === 'retired') this.record({ type: 'paused-or-retired', state });
    else {
      this.record({ type: 'limits-read', budget: bytes().budget, retryAfter: undefined });
      this.#unaskedTimer = clock.setTimer(FIRST_POLL_MS, () => this.record({ type: 'unasked' }));
    }
    this.showLifecycle();
  }

  record<T extends RouterEventType>(event: RouterEventOf<T> & { readonly type: T }): void {
    const { exposition, settings: router, clock, report } = this.#options;
    const state = this.#state;
    const at = this.#now();
    const before = { reach: state.reach, links: state.links, retryAfter: state.retryAfter };
    const known = state.logs.size;
    const any: RouterEvent = event;
    const parts = reduceRouter(state, any, at);
    if (any.type === 'polled' && !any.result.isIdle) {
      if (any.result.isUp) exposition.keepFresh(router, state.staleAtMs);
      publishValues(any.result, { router, exposition });
    }
    if (any.type === 'logs-forgotten') exposition.forgetCounters(router.name, 'component', any.components);
    for (const part of parts) publishPart(part, state, at, { router, exposition, rules: this.#rules });
    if (state.logs.size > known) this.#countFromZero([...state.logs.keys()].slice(known));
    const { lines, counts } = EVENT_TABLE[event.type];
    for (const [family, labels, delta] of counts?.(event, this.#rules, state) ?? []) {
      exposition.add(router, family, labels, delta);
    }
    if (lines) this.#log(lines(event, { state, before, at }));
    if (state.awaited !== this.#awaited) this.#awaitPoll(clock);
    report?.(any);
  }

  /** Uses other log rules from now on. Values of gauges are dropped, because other lines may set them. */
  useRules(families: RouterRecorderOptions['ruleFamilies']): void {
    this.record({ type: 'rules-changed' });
    this.#rules = families;
  }

  showLifecycle(): void {
    const { exposition, settings, lifecycle } = this.#options;
    const isMaintained = lifecycle().state === 'maintenance';
    exposition.publish(settings, 'lifecycle', isMaintained ? [toFamily(F.maintenance, [[{}, 1]])] : []);
  }

  /** Returns true if all values of a resource's last answer can be served. */
  holdsValues(resource: string): boolean {
    const { exposition, settings } = this.#options;
    return exposition.isWhole(settings, toPart(resource));
  }

  summarize(): RouterSummary {
    return summarizeRouter(this.#state, this.#options, this.#now());
  }

  describe(): RouterDetail {
    return describeRouter(this.#state, this.#options, this.#now());
  }

  describeLogs(): readonly RouterLogSummary[] {
    return describeLogs(this.#state, this.#now());
  }

  /** Returns the results of its polls over the last hours: `availability` of the fleet's rows. */
  describeAvailability(): string {
    return this.#state.history.describeResults(this.#options.clock.monotonic());
  }

  close(): void {
    this.#quietTimer?.cancel();
    this.#unaskedTimer?.cancel();
  }

  #countFromZero(components: readonly string[]): void {
    const { exposition, settings } = this.#options;
    for (const component of components) {
      for (const certainty of GAP_CERTAINTIES) {
        const labels = { component, certainty, reason: 'missing' };
        for (const family of [F.logGaps, F.logGapBytes]) exposition.add(settings, family, labels, 0);
      }
      exposition.add(settings, F.logResets, { component }, 0);
    }
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { wallMs: clock.now(), ms: clock.monotonic() };
  }

  #awaitPoll(clock: Clock): void {
    this.#quietTimer?.cancel();
    const { awaited } = this.#state;
    this.#awaited = awaited;
    this.#quietTimer =
      awaited &&
      clock.setTimer(awaited.waitMs, () => this.record({ type: 'quiet', budget: this.#options.bytes().budget }));
  }

  /** A failure is a warning the first time, then at level debug until it has ended. */
  #log(lines: readonly EventLine[]): void {
    const { logger, settings } = this.#options;
    const router = settings.name;
    for (const line of lines) {
      if ('endsFailure' in line) {
        this.#failing?.delete(line.endsFailure);
        continue;
      }
      const { level, message, fields } = line;
      if (typeof level === 'string') logger[level](message, { router, ...fields });
      else {
        this.#failing ??= new Set();
        logger[this.#failing.has(level.failing) ? 'debug' : 'warn'](message, { router, ...fields });
        this.#failing.add(level.failing);
      }
    }
  }
}
