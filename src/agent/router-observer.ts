import { type Clock, type Logger, renderDuration, renderErrorChain } from '../base/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import type { LogEvent } from '../logs/index.ts';
import type { Labels, MetricFamily, RouterIdentity } from '../model/index.ts';
import { ROUTER_FAILURES, type SessionEvent } from '../router/index.ts';
import type { PollResult } from '../status/index.ts';
import { FLEET_FAMILIES as F } from './fleet-families.ts';

/** Value of the label `resource` for the logs as a whole. */
const LOGS = 'logs';

/** What the agent knows of one router, beyond its series. */
export interface RouterState {
  readonly state: 'up' | 'down' | 'unknown';
  /** Wall time, milliseconds since the Unix epoch. */
  readonly lastSuccessMs: number | undefined;
  /** Why it is down, in words; empty when it is not. */
  readonly error: string;
}

/** Turns what happens to one router into series and into lines of the agent's own log. */
export class RouterObserver {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #staleAfterMs: number;
  readonly #resourceReadAtMs = new Map<string, number>();
  readonly #caughtUpAtMs = new Map<string, number>();
  /** What is failing now, so that the log says it once and not at every poll. */
  readonly #failing = new Set<string>();
  #failures = 0;
  #state: RouterState = { state: 'unknown', lastSuccessMs: undefined, error: '' };

  constructor(options: {
    router: RouterIdentity;
    exposition: FleetExposition;
    logger: Logger;
    clock: Clock;
    /** How long values of the router are served that were not renewed. Milliseconds. */
    staleAfterMs: number;
  }) {
    this.#router = options.router;
    this.#exposition = options.exposition;
    this.#logger = options.logger;
    this.#clock = options.clock;
    this.#staleAfterMs = options.staleAfterMs;
    // Counters exist from the start, so that their first increase is seen.
    for (const family of [F.logins, F.loginFailures, F.tokenRefreshes]) this.#count(family, {}, 0);
  }

  get state(): RouterState {
    return this.#state;
  }

  onPoll(result: PollResult): void {
    this.#noteState(result);
    const { lastSuccessMs } = this.#state;
    this.#publish('poll', [
      toFamily(F.up, [[{}, result.isUp ? 1 : 0]]),
      toFamily(F.pollDuration, [[{}, result.durationMs / 1000]]),
      toFamily(F.consecutiveFailures, [[{}, this.#failures]]),
      toFamily(F.lastSuccess, lastSuccessMs === undefined ? [] : [[{}, lastSuccessMs / 1000]]),
      toFamily(
        F.failureReason,
        ROUTER_FAILURES.map((reason) => [{ reason }, reason === result.failure ? 1 : 0]),
      ),
    ]);
    for (const { resource, families, readAtMs, durationMs, error } of result.resources) {
      const labels = { resource: resource.name };
      this.#publish(`resource:${resource.name}`, [
        toFamily(F.resourceUp, [[labels, families ? 1 : 0]]),
        toFamily(F.resourceDuration, [[labels, durationMs / 1000]]),
      ]);
      if (families) {
        const expiresAtMs = resource.isIdentity ? undefined : readAtMs + this.#staleAfterMs;
        this.#exposition.publish(this.#router, `values:${resource.name}`, families, expiresAtMs);
        this.#resourceReadAtMs.set(resource.name, readAtMs);
        this.#failing.delete(resource.name);
      } else if (result.isUp) {
        this.#logFailure(resource.name, 'A status resource could not be read', {
          ...labels,
          error: renderErrorChain(error),
        });
      }
    }
    this.#publishAges(F.resourceAge, 'resource', this.#resourceReadAtMs);
  }

  onSession(event: SessionEvent): void {
    switch (event.type) {
      case 'session-opened':
        this.#count(F.logins, {}, 1);
        this.#log('info', 'Logged in');
        return;
      case 'session-refreshed':
        this.#count(F.tokenRefreshes, {}, 1);
        this.#log('debug', 'Refreshed the session');
        return;
      case 'session-lost':
        this.#log('info', 'Lost the session', { error: renderErrorChain(event.cause) });
        return;
      case 'session-closed':
        this.#log('info', 'Logged out');
        return;
      case 'login-failed':
        this.#count(F.loginFailures, {}, 1);
        this.#log('debug', 'Could not log in', { error: renderErrorChain(event.cause) });
        return;
    }
  }

  onLog(event: LogEvent): void {
    switch (event.type) {
      case 'logs-listed': {
        const samples = [...event.archives].map(([component, count]): [Labels, number] => [{ component }, count]);
        this.#publish('log-archives', [toFamily(F.logArchives, samples)]);
        if (event.unknown > 0)
          this.#log('debug', 'Log files with unknown names are left alone', { count: event.unknown });
        return;
      }
      case 'log-read': {
        const labels = { component: event.component };
        this.#count(F.logLines, labels, event.lines);
        this.#count(F.logBytes, labels, event.bytes);
        this.#count(F.logUnparsed, labels, event.unparsed);
        if (event.newestUtcMs === undefined) return;
        this.#publish(`log:${event.component}`, [toFamily(F.logNewest, [[labels, event.newestUtcMs / 1000]])]);
        return;
      }
      case 'log-caught-up':
        this.#caughtUpAtMs.set(event.component, this.#clock.monotonic());
        this.#failing.delete(event.component);
        this.#publishAges(F.logLag, 'component', this.#caughtUpAtMs);
        return;
      case 'log-gap-found': {
        const { component, certainty, reason, bytesMin } = event;
        this.#count(F.logGaps, { component, certainty }, 1);
        this.#count(F.logGapBytes, { component, certainty }, bytesMin ?? 0);
        this.#log('warn', 'Log lines are missing', { component, certainty, reason });
        return;
      }
      case 'log-rule-matched':
        // There are none yet: the configuration has no rules.
        return;
      case 'log-repeat-found':
        this.#count(F.logRepeats, { component: event.component }, 1);
        return;
      case 'log-clock-jumped': {
        const { component, beforeUtcMs, afterUtcMs } = event;
        this.#count(F.logClockJumps, { component }, 1);
        const [before, after] = [beforeUtcMs, afterUtcMs].map((utcMs) => new Date(utcMs).toISOString());
        this.#log('info', "The router's clock has jumped", { component, before, after });
        return;
      }
      case 'log-reset':
        this.#count(F.logResets, { component: event.component }, 1);
        this.#log('warn', 'The log begins anew', { component: event.component, reason: event.reason });
        return;
      case 'log-retention': {
        const { component, msToLoss } = event;
        const samples: [Labels, number][] = msToLoss === undefined ? [] : [[{ component }, msToLoss / 1000]];
        this.#publish(`log-retention:${component}`, [toFamily(F.logSecondsToLoss, samples)]);
        return;
      }
      case 'log-zone-learnt':
        this.#log('info', 'Learnt the zone of the log lines', {
          offset: renderOffset(event.offsetMs),
          zone: event.zone ?? 'unknown',
        });
        return;
      case 'log-zone-doubted':
        this.#logFailure('zone', 'New log lines are stamped as if in another zone than the one configured', {
          off_by: renderOffset(event.offByMs),
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
        this.#logFailure(component, 'A log file could not be read', {
          component,
          file,
          error: renderErrorChain(event.cause),
        });
        return;
      }
    }
  }

  /** A turn over the logs that came to its end. */
  onLogsRead(): void {
    this.#failing.delete(LOGS);
    this.#publish(LOGS, [toFamily(F.resourceUp, [[{ resource: LOGS }, 1]])]);
  }

  /** A turn over the logs that ended early. */
  onLogsFailed(cause: unknown): void {
    this.#publish(LOGS, [toFamily(F.resourceUp, [[{ resource: LOGS }, 0]])]);
    this.#logFailure(LOGS, 'The logs could not be read', { error: renderErrorChain(cause) });
  }

  #logFailure(what: string, message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#log(this.#failing.has(what) ? 'debug' : 'warn', message, fields);
    this.#failing.add(what);
  }

  #noteState(result: PollResult): void {
    const before = this.#state.state;
    if (result.isUp) {
      this.#failures = 0;
      this.#state = { state: 'up', lastSuccessMs: this.#clock.now(), error: '' };
      if (before !== 'up') this.#log('info', 'The router is up');
      return;
    }
    this.#failures++;
    this.#state = { ...this.#state, state: 'down', error: renderErrorChain(result.error) };
    const level = before === 'down' ? 'debug' : 'warn';
    this.#log(level, 'The router is down', { reason: result.failure, error: this.#state.error });
  }

  #publish(part: string, families: readonly MetricFamily[]): void {
    this.#exposition.publish(this.#router, part, families);
  }

  #publishAges(family: { name: string; help: string }, label: string, since: ReadonlyMap<string, number>): void {
    const samples = [...since].map(([value, sinceMs]) => ({ labels: { [label]: value }, sinceMs }));
    this.#exposition.publishAges(this.#router, { ...family, samples });
  }

  #count(family: Parameters<FleetExposition['add']>[1], labels: Labels, delta: number): void {
    this.#exposition.add(this.#router, family, labels, delta);
  }

  #log(level: keyof Logger, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#logger[level](message, { router: this.#router.name, ...fields });
  }
}

function toFamily(
  description: Pick<MetricFamily, 'name' | 'help' | 'type'>,
  samples: readonly (readonly [Labels, number])[],
): MetricFamily {
  return { ...description, samples: samples.map(([labels, value]) => ({ labels, value })) };
}

function renderOffset(offsetMs: number): string {
  return `${offsetMs < 0 ? '-' : '+'}${renderDuration(Math.abs(offsetMs))}`;
}
