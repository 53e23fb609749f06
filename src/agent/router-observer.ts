import { type Clock, type Logger, renderDuration, renderErrorChain, type Timer } from '../base/index.ts';
import type { RouterSettings } from '../config/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import type { LogEvent, RecordLines } from '../logs/index.ts';
import type { FamilyDescription, Labels, MetricFamily } from '../model/index.ts';
import {
  type RetryAfter,
  ROUTER_FAILURES,
  type RouterCertificate,
  RouterError,
  type SessionEvent,
} from '../router/index.ts';
import type { ByteBudget } from '../schedule/index.ts';
import type { PollResult, ResourceResult } from '../status/index.ts';
import type { PollFault, RouterDetail, RouterFailureSummary, RouterLogSummary, RouterSummary } from '../web/index.ts';
import { findStep } from './failing-step.ts';
import { FLEET_FAMILIES as F, toFamily } from './fleet-families.ts';
import { LogBook } from './log-book.ts';
import { PollHistory } from './poll-history.ts';
import { PollSamples } from './poll-samples.ts';
import type { RecentRecords } from './recent-records.ts';
import { ResourceBook } from './resource-book.ts';
import type { RouterStateName } from './self-metrics.ts';
import { SessionBook } from './session-book.ts';

export interface RouterObserverOptions {
  readonly settings: RouterSettings;
  /** Families of the log rules, by the name of their metric. */
  readonly ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  readonly exposition: FleetExposition;
  readonly recent: RecentRecords;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly bytes: () => { readonly sent: number; readonly received: number; readonly budget: ByteBudget };
  readonly certificate: () => RouterCertificate | undefined;
}

interface WireBytes {
  readonly sent: number;
  readonly received: number;
}

/** Value of the label `resource` for the logs as a whole. */
const LOGS = 'logs';
/** What is logged once of a router that asks for a wait. */
const RETRY_AFTER = 'retry-after';
const RETRY_AFTER_CAPPED = 'retry-after-capped';

/** Turns what happens to one router into series, into lines of the agent's own log, and into what pages say about it. */
export class RouterObserver {
  readonly #options: RouterObserverOptions;
  readonly #resources: ResourceBook;
  readonly #logs: LogBook;
  readonly #polls = new PollHistory();
  readonly #samples = new PollSamples();
  readonly #session: SessionBook;
  /** What is failing now, so that the log says it once and not at every poll. */
  readonly #failing = new Set<string>();
  #state: RouterStateName = 'unknown';
  /** Wall time, milliseconds since the Unix epoch. */
  #sinceMs: number | undefined;
  #failures = 0;
  #lastDurationMs: number | undefined;
  /** When the values of the last good poll are no longer served, on the monotonic clock. */
  #staleAtMs = Number.POSITIVE_INFINITY;
  /** Wall time, milliseconds since the Unix epoch. */
  #lastSuccessMs: number | undefined;
  #failure: RouterFailureSummary | undefined;
  #fault: PollFault | undefined;
  #retryAfter: RetryAfter | undefined;
  /** Set while a router that is up is left alone: it counts as down when its values are too old. */
  #staleTimer: Timer | undefined;
  #identity: { readonly firmware: string | undefined; readonly serial: string | undefined } = {
    firmware: undefined,
    serial: undefined,
  };

  constructor(options: RouterObserverOptions) {
    const { settings, exposition, clock, ruleFamilies } = options;
    this.#options = options;
    this.#resources = new ResourceBook(settings, exposition);
    this.#session = new SessionBook(clock);
    this.#logs = new LogBook(settings, exposition, clock, ruleFamilies);
    // Counters exist from the start, so that their first increase is seen.
    for (const family of [F.logins, F.loginFailures, F.tokenRefreshes]) this.#count(family, 0);
  }

  get state(): RouterStateName {
    return this.#state;
  }

  /** What the main board said last; `undefined` until it has said so. */
  get identity(): { readonly firmware: string | undefined; readonly serial: string | undefined } {
    return this.#identity;
  }

  /** Called after every turn; `wire` is what went over the wire in it, in bytes, `isPutOff` whether the router asks to be left alone. */
  onPoll(result: PollResult, wire: WireBytes, isPutOff: boolean): void {
    if (result.isIdle) return;
    const { settings, exposition, clock } = this.#options;
    this.#staleTimer?.cancel();
    if (result.isUp) {
      this.#staleAtMs = clock.monotonic() + settings.poll.staleAfterMs;
      exposition.keepFresh(settings, this.#staleAtMs);
    }
    this.#identity = { firmware: result.firmwareVersion, serial: result.serialNumber };
    const fault = this.#findFault(result, wire);
    const failure = this.#toFailure(result, fault);
    if (result.isUp) this.#noteSuccess(isPutOff);
    else this.#noteFailure(failure, isPutOff);
    this.#notePoll(result, failure, fault);
    this.#publishState(result.durationMs);
    this.#publishCertificate();
    this.#resources.note(result);
    for (const resource of result.resources) {
      const { name, state, error } = resource;
      if (state === 'read') this.#noteReading(resource);
      else if (state === 'forbidden')
        this.#logFailure(name, 'The account may not read a status resource', { resource: name });
      else if (state === 'failed' && result.isUp)
        this.#logFailure(name, 'A status resource could not be read', {
          resource: name,
          error: renderErrorChain(error),
        });
    }
  }

  #noteReading({ name, isUnread, faults }: ResourceResult): void {
    this.#failing.delete(name);
    const [unread, unclear] = [`unread:${name}`, `unclear:${name}`];
    if (!isUnread) this.#failing.delete(unread);
    else
      this.#logFailure(unread, 'A status resource was answered, but no metric could be read from it', {
        resource: name,
      });
    if (faults.length === 0) this.#failing.delete(unclear);
    else {
      const metrics = new Set(faults.map(({ metric, reason }) => `${metric}: ${reason}`));
      this.#logFailure(unclear, 'Values of a status resource could not be read', {
        resource: name,
        values: [...metrics],
      });
    }
  }

  /** Called after every turn, with what the budget says then. */
  onBytes(budget: ByteBudget): void {
    if (!budget.isSpent || this.#state === 'budget') return;
    this.#enter('budget');
    this.#failure = {
      reason: 'budget',
      step: null,
      error: 'The byte budget of this day is used up; the next one begins at midnight UTC',
    };
    this.#log('warn', 'The byte budget of the router is used up', { until: new Date(budget.nextDayMs).toISOString() });
    this.#publishState(undefined);
  }

  /** Called after every turn, with how long the router asks to be left alone. */
  onRetryAfter(retryAfter: RetryAfter | undefined): void {
    if (retryAfter === this.#retryAfter) return;
    this.#retryAfter = retryAfter;
    this.#publishRetryAfter();
    if (!retryAfter) return;
    const { clock, settings } = this.#options;
    const waitMs = retryAfter.untilMs - clock.monotonic();
    const wait = renderDuration(Math.round(waitMs));
    this.#logFailure(RETRY_AFTER, 'The router asks to be left alone', { for: wait });
    if (retryAfter.isCapped) {
      const message = 'The router asks for a longer wait than it gets, or for a time by a clock that is off';
      this.#logFailure(RETRY_AFTER_CAPPED, message, { granted: wait });
    }
    this.#staleTimer?.cancel();
    if (this.#state !== 'up') return;
    const failure = {
      reason: 'http',
      step: this.#fault?.step ?? 'resource',
      error: `No poll for ${renderDuration(settings.poll.staleAfterMs)}, because the router asks to be left alone`,
    } as const;
    this.#staleTimer = clock.setTimer(this.#staleAtMs - clock.monotonic(), () => {
      this.#goDown(failure);
      this.#publishState(undefined);
    });
  }

  /** Ends what it waits for. */
  close(): void {
    this.#staleTimer?.cancel();
  }

  onSession(event: SessionEvent): void {
    this.#session.note(event);
    switch (event.type) {
      case 'session-opened':
        this.#count(F.logins, 1);
        this.#log('info', 'Logged in');
        return;
      case 'session-refreshed':
        this.#count(F.tokenRefreshes, 1);
        this.#log('debug', 'Refreshed the session');
        return;
      case 'session-lost':
        this.#log('info', 'Lost the session', { error: renderErrorChain(event.cause) });
        return;
      case 'session-closed':
        this.#log('info', 'Logged out');
        return;
      case 'login-failed':
        this.#count(F.loginFailures, 1);
        this.#log('debug', 'Could not log in', { error: renderErrorChain(event.cause) });
        return;
    }
  }

  onLog(event: LogEvent): void {
    this.#logs.note(event);
    switch (event.type) {
      case 'logs-listed':
        if (event.unknown > 0)
          this.#log('debug', 'Log files with unknown names are left alone', { count: event.unknown });
        return;
      case 'log-read':
      case 'log-rule-matched':
      case 'log-repeat-found':
      case 'log-retention':
        return;
      case 'log-clock-jumped': {
        const { component, beforeUtcMs, afterUtcMs } = event;
        this.#log('info', "The router's clock has jumped", {
          component,
          before: toTime(beforeUtcMs),
          after: toTime(afterUtcMs),
        });
        return;
      }
      case 'log-reset':
        this.#log('warn', 'The log begins anew', { component: event.component, reason: event.reason });
        return;
      case 'log-zone-learnt':
        this.#log('info', 'Learnt the UTC offset of the log lines', {
          offset: renderOffset(event.offsetMs),
          ...(event.zone !== undefined && { zone: event.zone }),
        });
        return;
      case 'log-links-judged':
        this.#log(
          'info',
          event.holds
            ? 'Log files begin in the second in which the one before ends: a missing one shows'
            : 'Log files do not begin where the one before ends: a missing one may not show',
          { matches: event.matches, chance: event.chance, contradicted_by: event.refuted },
        );
        return;
      case 'log-zone-doubted':
        this.#logFailure('zone', 'New log lines are stamped as if in another zone than the one configured', {
          off_by: renderOffset(event.offByMs),
        });
        return;
      case 'log-caught-up':
        this.#failing.delete(`log:${event.component}`);
        return;
      case 'log-gap-found': {
        const { component, certainty, reason } = event;
        this.#log('warn', 'Log lines are missing', { component, certainty, reason });
        return;
      }
      case 'log-gap-ended':
        this.#log('info', 'The log continues after a gap', {
          component: event.component,
          until: event.untilUtcMs === undefined ? 'not known' : toTime(event.untilUtcMs),
        });
        return;
      case 'archive-unfinished':
        this.#log('debug', 'A log archive is not whole yet', {
          component: event.component,
          file: event.file,
          error: renderErrorChain(event.cause),
        });
        return;
      case 'log-failed': {
        const { component, file } = event;
        this.#logFailure(`log:${component}`, 'A log file could not be read', {
          component,
          file,
          error: renderErrorChain(event.cause),
        });
        return;
      }
    }
  }

  /** Records that were stored, as they were. */
  onRecords(lines: RecordLines): void {
    const place = this.#options.recent.note(this.#options.settings.name, lines);
    if (place) this.#logs.notePlace(place);
  }

  /** A turn over the logs that came to its end. */
  onLogsRead(): void {
    this.#failing.delete(LOGS);
    this.#resources.noteOther(LOGS, 'up', null);
  }

  /** A turn over the logs that ended early. */
  onLogsFailed(cause: unknown): void {
    const error = renderErrorChain(cause);
    const isForbidden = cause instanceof RouterError && cause.isForbidden;
    this.#resources.noteOther(LOGS, isForbidden ? 'forbidden' : 'failed', error);
    this.#logFailure(LOGS, isForbidden ? 'The account may not read the logs' : 'The logs could not be read', { error });
  }

  /** The router in a list. */
  summarize(): RouterSummary {
    const { settings, clock } = this.#options;
    const { name, url, labels, byteBudget } = settings;
    return {
      name,
      url,
      labels,
      state: this.#state,
      since: toTime(this.#sinceMs),
      isStale: clock.monotonic() >= this.#staleAtMs,
      lastSuccess: toTime(this.#lastSuccessMs),
      retryAfter: toTime(this.#findRetryAfterMs()),
      failure: this.#failure ?? null,
      fault: this.#fault ?? null,
      consecutiveFailures: this.#failures,
      durationSeconds: toSeconds(this.#lastDurationMs),
      logLagSeconds: toSeconds(this.#logs.lagMs),
      bytesToday: this.#options.bytes().budget.used.bytes,
      byteBudget: byteBudget === 0 ? null : byteBudget,
    };
  }

  describeLogs(): readonly RouterLogSummary[] {
    return this.#logs.describe();
  }

  /** Everything that is known about the router. */
  describe(): RouterDetail {
    const { clock, settings, recent } = this.#options;
    const { sent, received, budget } = this.#options.bytes();
    const certificate = this.#options.certificate();
    const notAfter = toTime(certificate?.notAfterMs);
    return {
      ...this.summarize(),
      firmware: this.#identity.firmware ?? null,
      serial: this.#identity.serial ?? null,
      resources: this.#resources.describe(clock.monotonic()),
      session: this.#session.describe(),
      bytes: {
        sent,
        received,
        budget: settings.byteBudget === 0 ? null : settings.byteBudget,
        usedToday: budget.used.bytes,
        stretch: budget.stretch('slow'),
      },
      certificate: notAfter === null ? null : { notAfter },
      logs: this.#logs.describe(),
      recentGaps: this.#logs.gaps,
      recentRecords: recent.list(settings.name),
      recentPolls: this.#polls.describe(),
      history: this.#samples.describe(),
    };
  }

  #findFault({ isUp, error, resources }: PollResult, wire: WireBytes): PollFault | undefined {
    const failed = resources.find(({ state }) => state === 'failed') ?? (isUp ? undefined : resources[0]);
    if (!failed) return undefined;
    const step = findStep(error, {
      ...wire,
      isLogin: this.#session.isFailureOf(error),
      isTls: this.#options.settings.url.startsWith('https:'),
      isRepeated: this.#failures > 0,
    });
    const hasResource = step === 'resource' || step === 'parse';
    return { step, resource: hasResource ? failed.name : null, error: renderErrorChain(error) };
  }

  #toFailure({ isUp, failure, error }: PollResult, fault: PollFault | undefined): RouterFailureSummary | undefined {
    if (isUp) return undefined;
    return { reason: failure ?? 'http', step: fault?.step ?? null, error: renderErrorChain(error) };
  }

  #notePoll(
    { durationMs, isUp }: PollResult,
    failure: RouterFailureSummary | undefined,
    fault: PollFault | undefined,
  ): void {
    const atMs = this.#options.clock.now() - durationMs;
    this.#lastDurationMs = durationMs;
    this.#fault = fault;
    this.#polls.add({ atMs, durationMs, failure, fault });
    this.#samples.add({ atMs, durationMs, isOk: isUp, lagMs: this.#logs.lagMs });
  }

  #enter(state: RouterStateName): void {
    if (this.#state !== state) this.#sinceMs = this.#options.clock.now();
    this.#state = state;
  }

  #noteSuccess(isPutOff: boolean): void {
    const before = this.#state;
    this.#failures = 0;
    this.#failure = undefined;
    this.#enter('up');
    this.#lastSuccessMs = this.#options.clock.now();
    if (before !== 'up') this.#log('info', 'The router is up');
    if (!isPutOff) this.#failing.delete(RETRY_AFTER);
  }

  #noteFailure(failure: RouterFailureSummary | undefined, isPutOff: boolean): void {
    this.#failures++;
    // A router that was up and asks to be left alone is up until its values are too old.
    if (isPutOff && this.#state === 'up' && this.#options.clock.monotonic() < this.#staleAtMs) return;
    if (failure) this.#goDown(failure);
  }

  #goDown(failure: RouterFailureSummary): void {
    const level = this.#state === 'down' ? 'debug' : 'warn';
    this.#failure = failure;
    this.#enter('down');
    this.#log(level, 'The router is down', { reason: failure.reason, error: failure.error });
  }

  /** When the router may be asked again. Wall time, milliseconds since the Unix epoch. */
  #findRetryAfterMs(): number | undefined {
    const { clock } = this.#options;
    const leftMs = (this.#retryAfter?.untilMs ?? -Infinity) - clock.monotonic();
    return leftMs > 0 ? clock.now() + leftMs : undefined;
  }

  #publishRetryAfter(): void {
    const atMs = this.#findRetryAfterMs();
    this.#publish('retry-after', [toFamily(F.retryAfter, atMs === undefined ? [] : [[{}, atMs / 1000]])]);
  }

  #publishState(durationMs: number | undefined): void {
    const reason = this.#failure?.reason;
    this.#publish('state', [
      toFamily(F.up, [[{}, this.#state === 'up' ? 1 : 0]]),
      toFamily(F.consecutiveFailures, [[{}, this.#failures]]),
      toFamily(F.lastSuccess, this.#lastSuccessMs === undefined ? [] : [[{}, this.#lastSuccessMs / 1000]]),
      toFamily(
        F.failureReason,
        ROUTER_FAILURES.map((one): [Labels, number] => [{ reason: one }, one === reason ? 1 : 0]),
      ),
    ]);
    if (durationMs !== undefined) this.#publish('poll', [toFamily(F.pollDuration, [[{}, durationMs / 1000]])]);
  }

  #publishCertificate(): void {
    const certificate = this.#options.certificate();
    if (certificate) this.#publish('tls', [toFamily(F.certificateNotAfter, [[{}, certificate.notAfterMs / 1000]])]);
  }

  #publish(part: string, families: readonly MetricFamily[]): void {
    this.#options.exposition.publish(this.#options.settings, part, families);
  }

  #count(family: FamilyDescription, delta: number): void {
    this.#options.exposition.add(this.#options.settings, family, {}, delta);
  }

  #logFailure(what: string, message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#log(this.#failing.has(what) ? 'debug' : 'warn', message, fields);
    this.#failing.add(what);
  }

  #log(level: keyof Logger, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#options.logger[level](message, { router: this.#options.settings.name, ...fields });
  }
}

function toSeconds(durationMs: number | undefined): number | null {
  return durationMs === undefined ? null : durationMs / 1000;
}

/** RFC 3339. */
function toTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}

function renderOffset(offsetMs: number): string {
  return `${offsetMs < 0 ? '-' : '+'}${renderDuration(Math.abs(offsetMs))}`;
}
