import { type Clock, type Logger, renderErrorChain } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { KnownGap, LinkVerdict } from '../../logs/index.ts';
import type { FamilyDescription, Labels } from '../../model/index.ts';
import { type RetryAfter, type RouterCertificate, RouterError } from '../../router/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import { isUnverified } from '../../settings/index.ts';
import type { PollResult, ResourceResult } from '../../status/index.ts';
import type {
  LogRotationSummary,
  PaceSummary,
  PollFault,
  RouterDetail,
  RouterLogSummary,
  RouterSummary,
} from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import { isAsked, type RouterLifecycle } from '../routers/lifecycle-keeper.ts';
import { toSeconds, toTime } from '../times.ts';
import { InterfaceRates } from '../views/interface-rates.ts';
import type { RecordOrigin } from '../views/last-lines.ts';
import { RouterGlance } from '../views/router-glance.ts';
import { RouterHistory } from '../views/router-history.ts';
import { describeValues } from '../views/router-values.ts';
import { AvailabilityStats, toFailure } from './availability-stats.ts';
import {
  EVENT_TABLE,
  LOGIN_REASONS,
  RouterLog,
  type StationEvent,
  type StationEventOf,
  type StationEventType,
} from './event-table.ts';
import { LogStats } from './log-stats.ts';
import { findStep, PollHistory, PollSamples, ResourceStats } from './poll-stats.ts';
import { SessionStats } from './session-stats.ts';

/** One router, and where its series are published. */
export interface RouterStatsOptions {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Families of the log rules, by the name of their metric. */
  readonly ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  /** Exposition that serves the metrics. */
  readonly exposition: FleetExposition;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Clock for durations and times. */
  readonly clock: Clock;
  /** Returns what the operator wants of the router. */
  readonly lifecycle: () => RouterLifecycle;
  /** Returns the bytes sent and received, and the byte budget. */
  readonly bytes: () => { readonly sent: number; readonly received: number; readonly budget: SharedBudget };
  /** Returns how fast the router answers, and how it is spared. */
  readonly pace: () => PaceSummary;
  /** Returns the certificate last shown by the router; `undefined` before the first. */
  readonly certificate: () => RouterCertificate | undefined;
  /** Returns the time without a successful poll after which the router is down and its values expire. Milliseconds. */
  readonly quietMsMax: () => number;
}

interface WireBytes {
  readonly sent: number;
  readonly received: number;
}

/** Value of the label `resource` for the logs as a whole. */
const LOGS = 'logs';

/**
 * Everything that happened to one router. All events are recorded here; the router's series, its lines in the agent's
 * own log and its pages come from here. {@link EVENT_TABLE} defines the effect of each event.
 */
export class RouterStats {
  readonly #options: RouterStatsOptions;
  readonly #log: RouterLog;
  readonly #availability: AvailabilityStats;
  readonly #resources: ResourceStats;
  readonly #logs: LogStats;
  readonly #polls = new PollHistory();
  readonly #samples = new PollSamples();
  readonly #session: SessionStats;
  /** Expiry of the certificate that is published. */
  #certificateNotAfterMs: number | undefined;
  readonly #glance = new RouterGlance();
  readonly #rates = new InterfaceRates();
  readonly #history: RouterHistory;
  #areLogsFailing = false;
  #identity: { readonly firmware: string | undefined; readonly serial: string | undefined } = {
    firmware: undefined,
    serial: undefined,
  };

  constructor(options: RouterStatsOptions) {
    const { settings, exposition, clock, ruleFamilies, logger, quietMsMax, lifecycle } = options;
    this.#options = options;
    this.#log = new RouterLog(logger, settings.name);
    this.#availability = new AvailabilityStats({ settings, exposition, log: this.#log, clock, quietMsMax });
    this.#resources = new ResourceStats(settings, exposition);
    this.#session = new SessionStats(clock);
    this.#history = new RouterHistory(clock);
    this.#logs = new LogStats(settings, exposition, clock, ruleFamilies);
    // Counters exist from the start, so that their first increase is seen.
    for (const family of [F.logins, F.tokenRefreshes]) exposition.add(settings, family, {}, 0);
    for (const reason of LOGIN_REASONS) exposition.add(settings, F.loginFailures, { reason }, 0);
    const { url, tls } = settings;
    // Of a router that is not asked, only counters remain.
    if (!url.startsWith('https:') || !isAsked(lifecycle())) return;
    exposition.publish(settings, 'tls-check', [toFamily(F.tlsUnverified, [[{}, isUnverified(tls) ? 1 : 0]])]);
  }

  get state(): RouterStateName {
    return this.#availability.state;
  }

  /** True if no poll has reached the router for so long that its values are no longer served. */
  get isStale(): boolean {
    return this.#availability.isStale;
  }

  /** True if the last run over the logs failed. */
  get areLogsFailing(): boolean {
    return this.#areLogsFailing;
  }

  /** Last values of the main board; `undefined` before the first. */
  get identity(): { readonly firmware: string | undefined; readonly serial: string | undefined } {
    return this.#identity;
  }

  /** Records an event of the session or of a log. */
  record<T extends StationEventType>(event: StationEventOf<T> & { readonly type: T }): void {
    const { shows, counts, mends, line } = EVENT_TABLE[event.type];
    const { exposition, settings } = this.#options;
    const pages = { session: this.#session, logs: this.#logs };
    const any: StationEvent = event;
    if (any.type === 'session-opened' || any.type === 'session-refreshed') this.#publishRights(any.group);
    const told = line?.(event, pages);
    shows?.(event, pages);
    for (const [family, labels, delta] of counts?.(event) ?? []) exposition.add(settings, family, labels, delta);
    if (mends) this.#log.mend(mends(event));
    if (!told) return;
    const { level, message, fields = {} } = told;
    if (typeof level === 'string') this.#log.write(level, message, fields);
    else this.#log.fail(level.failing, message, fields);
  }

  /** Records how the router starts: not asked at all, or not asked yet. */
  start(budget: SharedBudget): void {
    const { state } = this.#options.lifecycle();
    if (state === 'paused' || state === 'retired') this.#availability.rest(state);
    else this.#availability.start(budget);
    this.showLifecycle();
  }

  /** Records that a poll begins. */
  beginPoll(): void {
    this.#availability.beginPoll();
  }

  /** Shows in the metrics whether the router is in maintenance. */
  showLifecycle(): void {
    const { exposition, settings, lifecycle } = this.#options;
    const isMaintained = lifecycle().state === 'maintenance';
    exposition.publish(settings, 'lifecycle', isMaintained ? [toFamily(F.maintenance, [[{}, 1]])] : []);
  }

  /** Records that bytes of a download arrive while a poll waits for its end. */
  recordReached(): void {
    this.#availability.recordReached();
  }

  /** Records a poll. `wire`: its bytes on the wire; `isPutOff`: the router asked for a wait. */
  recordPoll(result: PollResult, wire: WireBytes, isPutOff: boolean): void {
    if (result.isIdle) return;
    const { clock } = this.#options;
    this.#identity = { firmware: result.firmwareVersion, serial: result.serialNumber };
    const { durationMs, isUp } = result;
    const fault = this.#findFault(result, wire);
    const failure = isUp ? undefined : toFailure(result, fault);
    this.#availability.recordPoll(result, fault, isPutOff);
    const atMs = clock.now() - durationMs;
    this.#polls.add({ atMs, durationMs, failure, fault });
    const { lagMs } = this.#logs;
    this.#samples.add({ atMs, durationMs, isOk: isUp, lagMs });
    this.#glance.record(result, clock.monotonic());
    this.#rates.record(result.resources);
    // Of a router that is down, the last signal is known, and not the present one.
    const signal = isUp ? this.#glance.device.signal?.value : undefined;
    this.#history.add({ isUp, signal, lagMs, durationMs });
    this.#publishCertificate();
    this.#resources.record(result);
    for (const resource of result.resources) this.#logResource(resource, isUp);
  }

  /** Returns true if all values of a resource's last answer can be served. */
  holdsValues(resource: string): boolean {
    return this.#resources.holdsValues(resource);
  }

  /** Returns true if an error is that of the last login. */
  isLoginFailure(error: unknown): boolean {
    return this.#session.isFailureOf(error);
  }

  /** Records, after every run, the byte budget and how long the router asks to be left alone. */
  recordRun(budget: SharedBudget, retryAfter: RetryAfter | undefined): void {
    this.#availability.recordBudget(budget);
    this.#availability.recordRetryAfter(retryAfter);
  }

  /** Records where the last of the stored log records comes from. */
  recordOrigin(origin: RecordOrigin): void {
    this.#logs.recordOrigin(origin);
  }

  /** Takes over the gaps that an earlier process, or another replica, has stored of the router. */
  recallGaps(gaps: readonly KnownGap[]): void {
    this.#logs.recallGaps(gaps);
  }

  /** Counts for other log rules from now on: see {@link LogStats.useRules}. */
  useRules(families: RouterStatsOptions['ruleFamilies']): void {
    this.#logs.useRules(families);
  }

  /** Records a complete run over the logs. */
  recordLogsRead(): void {
    this.#areLogsFailing = false;
    this.#log.mend(LOGS);
    this.#resources.recordOther(LOGS, 'up', null);
  }

  /** Records the error that ended a run over the logs. */
  recordLogsFailed(cause: unknown): void {
    this.#areLogsFailing = true;
    const error = renderErrorChain(cause);
    const isForbidden = cause instanceof RouterError && cause.isForbidden;
    this.#resources.recordOther(LOGS, isForbidden ? 'forbidden' : 'failed', error);
    this.#log.fail(LOGS, isForbidden ? 'The account may not read the logs' : 'The logs could not be read', { error });
  }

  /** Cancels pending timers. */
  close(): void {
    this.#availability.close();
  }

  /** Describes the results of its polls over the last hours: see `WebContent.describeAvailability`. */
  describeAvailability(): string {
    return this.#history.describeResults();
  }

  /** Describes the router for a list. */
  summarize(): RouterSummary {
    const { name, url, labels, byte_budget: budget } = this.#options.settings;
    const { lagMs } = this.#logs;
    const { state, untilMs, setBy } = this.#options.lifecycle();
    return {
      name,
      url,
      labels,
      ...this.#availability.summarize(),
      lifecycle: { state, until: toTime(untilMs), setBy },
      logLagSeconds: toSeconds(lagMs) ?? null,
      logLossSince: toTime(this.#logs.lossSinceMs),
      bytesToday: this.#options.bytes().budget.usedBytes,
      byteBudget: budget.perDay === 0 ? null : budget.perDay,
      firmware: this.#identity.firmware ?? null,
      device: this.#glance.device,
    };
  }

  describeLogs(): readonly RouterLogSummary[] {
    return this.#logs.describe();
  }

  /** Describes everything known about the router. */
  describe(): RouterDetail {
    const { clock, settings, exposition } = this.#options;
    const resources = this.#resources.describe(clock.monotonic());
    const { sent, received, budget } = this.#options.bytes();
    const certificate = this.#options.certificate();
    return {
      ...this.summarize(),
      serial: this.#identity.serial ?? null,
      resources,
      session: this.#session.describe(),
      bytes: {
        sent,
        received,
        budget: settings.byte_budget.perDay === 0 ? null : settings.byte_budget.perDay,
        usedToday: budget.used.bytes,
        stretch: budget.intervalMultiplier('slow'),
        logsPausedUntil: toTime(budget.pauses.logs),
        statusPausedUntil: toTime(budget.pauses.status),
      },
      pace: this.#options.pace(),
      certificate: certificate ? { notAfter: new Date(certificate.notAfterMs).toISOString() } : null,
      logs: this.#logs.describe(),
      logRotation: this.#logs.links ? toRotation(this.#logs.links) : null,
      recentGaps: this.#logs.gaps,
      recentPolls: this.#polls.describe(),
      history: this.#samples.describe(),
      lastHours: this.#history.describe(),
      values: describeValues({ router: settings, modules: settings.modules, resources, exposition }),
      interfaceRates: this.state === 'up' ? this.#rates.describe() : [],
    };
  }

  #findFault({ isUp, error, resources }: PollResult, wire: WireBytes): PollFault | undefined {
    const failed = resources.find(({ state }) => state === 'failed') ?? (isUp ? undefined : resources[0]);
    if (!failed) return undefined;
    const step = findStep(error, {
      ...wire,
      isLogin: this.isLoginFailure(error),
      isTls: this.#options.settings.url.startsWith('https:'),
      isRepeated: this.#availability.isFailing,
    });
    const hasResource = step === 'resource' || step === 'parse';
    return { step, resource: hasResource ? failed.name : null, error: renderErrorChain(error) };
  }

  /** Logs what is wrong with a resource, unless the router is down: that explains missing answers. */
  #logResource(result: ResourceResult, isUp: boolean): void {
    const { name: resource, state, error } = result;
    if (state === 'read') this.#logReading(result);
    else if (state === 'forbidden') {
      this.#log.fail(resource, 'The account may not read a status resource', { resource });
    } else if (state === 'failed' && isUp) {
      this.#log.fail(resource, 'A status resource could not be read', { resource, error: renderErrorChain(error) });
    }
  }

  #logReading({ name: resource, isUnread, faults }: ResourceResult): void {
    this.#log.mend(resource);
    const [unread, unclear] = [`unread:${resource}`, `unclear:${resource}`];
    if (!isUnread) this.#log.mend(unread);
    else {
      this.#log.fail(unread, 'A status resource was answered, but no metric could be read from it', { resource });
    }
    if (faults.length === 0) this.#log.mend(unclear);
    else {
      const values = [...new Set(faults.map(({ metric, reason }) => `${metric}: ${reason}`))];
      this.#log.fail(unclear, 'Values of a status resource could not be read', { resource, values });
    }
  }

  #publishRights(group: string | undefined): void {
    const { exposition, settings } = this.#options;
    const isWritable = group === undefined ? undefined : WRITABLE.get(group);
    const samples: [Labels, number][] = isWritable === undefined ? [] : [[{}, isWritable]];
    exposition.publish(settings, 'account', [toFamily(F.accountWritable, samples)]);
  }

  #publishCertificate(): void {
    const { exposition, settings, certificate } = this.#options;
    const shown = certificate();
    if (!shown || shown.notAfterMs === this.#certificateNotAfterMs) return;
    this.#certificateNotAfterMs = shown.notAfterMs;
    exposition.publish(settings, 'tls', [toFamily(F.certificateNotAfter, [[{}, shown.notAfterMs / 1000]])]);
  }
}

/** Value of the metric by the group of the account; of another group nothing is known. */
const WRITABLE: ReadonlyMap<string, number> = new Map([
  ['status', 0],
  ['read', 0],
  ['readwrite', 1],
]);

function toRotation({ holds, matches, misses, chance, refuted }: LinkVerdict): LogRotationSummary {
  return { linksProven: holds, matches, misses, chance, contradictedBy: refuted };
}
