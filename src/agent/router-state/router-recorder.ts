import type { Clock, Logger, Timer } from '../../base/index.ts';
import { toFamily } from '../../exposition/index.ts';
import type { FamilyDescription } from '../../model/index.ts';
import { isUnverified } from '../../settings/index.ts';
import type { RouterDetail, RouterLogSummary, RouterSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import { isAsked } from '../routers/lifecycle-keeper.ts';
import type { Moment } from '../times.ts';
import { EVENT_TABLE, type EventLine, LOGIN_REASONS } from './event-table.ts';
import { reduceRouter } from './reduce-router.ts';
import { GAP_CERTAINTIES, publishPart, publishValues, toPart } from './router-metrics.ts';
import { describeLogs, describeRouter, type RouterSurroundings, summarizeRouter } from './router-pages.ts';
import {
  FIRST_WORD_MS,
  type RouterEvent,
  type RouterEventOf,
  type RouterEventType,
  RouterState,
} from './router-state.ts';

/** One router, and where its events are told. */
interface RouterRecorderOptions extends RouterSurroundings {
  /** Families of the log rules, by the name of their metric. */
  readonly ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Clock for durations and times. */
  readonly clock: Clock;
  /** Called with every event. Default: not called. */
  readonly report?: ((event: RouterEvent) => void) | undefined;
}

/**
 * Keeps the state of one router: takes every event into it, and then publishes the metrics that have changed, writes what the
 * operator has to know to the agent's own log, and waits for the next poll.
 */
export class RouterRecorder {
  readonly #options: RouterRecorderOptions;
  readonly #state = new RouterState();
  #rules: RouterRecorderOptions['ruleFamilies'];
  /** Current failures, so that each is logged once and not in every run. */
  #failing: Set<string> | undefined;
  /** Set while a poll is awaited: {@link RouterState.awaited}. */
  #awaited: RouterState['awaited'];
  #quietTimer: Timer | undefined;
  /** Set until the series of a router that nobody has asked yet are published. */
  #unaskedTimer: Timer | undefined;

  constructor(options: RouterRecorderOptions) {
    const { settings, exposition, ruleFamilies, lifecycle } = options;
    this.#options = options;
    this.#rules = ruleFamilies;
    // Counters exist from the start, so that their first increase is seen.
    for (const family of [F.logins, F.tokenRefreshes]) exposition.add(settings, family, {}, 0);
    for (const reason of LOGIN_REASONS) exposition.add(settings, F.loginFailures, { reason }, 0);
    const { url, tls } = settings;
    // Of a router that is not asked, only counters remain.
    if (!url.startsWith('https:') || !isAsked(lifecycle())) return;
    exposition.publish(settings, 'tls-check', [toFamily(F.tlsUnverified, [[{}, isUnverified(tls) ? 1 : 0]])]);
  }

  /** What is known about the router; {@link record} changes it. */
  get state(): Readonly<RouterState> {
    return this.#state;
  }

  /** True if no poll has reached the router for so long that its values are no longer served. */
  get isStale(): boolean {
    return this.#options.clock.monotonic() >= this.#state.staleAtMs;
  }

  /** Records how the router starts: not asked at all, or not asked yet. */
  start(): void {
    const { clock, lifecycle, bytes } = this.#options;
    const { state } = lifecycle();
    if (state === 'paused' || state === 'retired') this.record({ type: 'rested', state });
    else {
      this.record({ type: 'limits-read', budget: bytes().budget, retryAfter: undefined });
      this.#unaskedTimer = clock.setTimer(FIRST_WORD_MS, () => this.record({ type: 'unasked' }));
    }
    this.showLifecycle();
  }

  /** Records an event. */
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
    for (const [family, labels, delta] of counts?.(event, this.#rules) ?? []) {
      exposition.add(router, family, labels, delta);
    }
    if (lines) this.#tell(lines(event, { state, before, at }));
    if (state.awaited !== this.#awaited) this.#awaitPoll(clock);
    report?.(any);
  }

  /** Counts for other log rules from now on. Values of gauges go away: what would set them may be another line. */
  useRules(families: RouterRecorderOptions['ruleFamilies']): void {
    this.record({ type: 'rules-changed' });
    this.#rules = families;
  }

  /** Shows in the metrics whether the router is in maintenance. */
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

  /** Describes the router for a list. */
  summarize(): RouterSummary {
    return summarizeRouter(this.#state, this.#options, this.#now());
  }

  /** Describes everything known about the router. */
  describe(): RouterDetail {
    return describeRouter(this.#state, this.#options, this.#now());
  }

  describeLogs(): readonly RouterLogSummary[] {
    return describeLogs(this.#state, this.#now());
  }

  /** Describes the results of its polls over the last hours: see `WebContent.describeAvailability`. */
  describeAvailability(): string {
    return this.#state.history.describeResults(this.#options.clock.monotonic());
  }

  /** Cancels pending timers. */
  close(): void {
    this.#quietTimer?.cancel();
    this.#unaskedTimer?.cancel();
  }

  /** Creates the counters of gaps of new logs. */
  #countFromZero(components: readonly string[]): void {
    const { exposition, settings } = this.#options;
    for (const component of components) {
      for (const certainty of GAP_CERTAINTIES) {
        exposition.add(settings, F.logGaps, { component, certainty, reason: 'missing' }, 0);
      }
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

  /** Writes lines about the router: a failure as a warning the first time, at level debug until it is mended. */
  #tell(lines: readonly EventLine[]): void {
    const { logger, settings } = this.#options;
    const router = settings.name;
    for (const line of lines) {
      if ('mends' in line) {
        this.#failing?.delete(line.mends);
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
