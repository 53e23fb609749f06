import { matchesGlob } from 'node:path';
import { type Clock, CodedError, type Logger, openDeadline } from '../base/index.ts';
import type { RouterSettings } from '../config/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import { type ArchivePool, type LogEvent, type RecordLog, TailMemory, tailOnce, Zone } from '../logs/index.ts';
import { RouterClient, RouterError } from '../router/index.ts';
import type { Activity } from '../schedule/index.ts';
import { pollOnce } from '../status/index.ts';
import { StoreError } from '../store/index.ts';
import type { RouterRow } from '../web/index.ts';
import { RouterObserver, type RouterState } from './router-observer.ts';

export interface RouterAgentOptions {
  readonly settings: RouterSettings;
  readonly store: RecordLog;
  readonly archives: ArchivePool;
  readonly exposition: FleetExposition;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told after each poll whether the router was up. */
  readonly onPolled: (isUp: boolean) => void;
  /** Told when records were made durable. */
  readonly onSpooled: () => void;
  readonly onGap: () => void;
  /** Told when the state can no longer be written. */
  readonly onStoreFailed: (cause: unknown) => void;
}

/** Bound of one turn over the logs of a router: a slow link carries some megabytes in it, and the next turn goes on. */
const LOGS_DEADLINE_MS = 10 * 60_000;

/** One router of the fleet: its client, and the two things that are done with it again and again. */
export class RouterAgent {
  readonly #options: RouterAgentOptions;
  readonly #client: RouterClient;
  readonly #observer: RouterObserver;
  readonly #zone: Zone;
  readonly #logMemory = new TailMemory();
  /** Where a turn over the logs made way for something else. */
  #logsAfter: string | undefined;

  constructor(options: RouterAgentOptions) {
    const { settings, clock, exposition, logger } = options;
    this.#options = options;
    this.#observer = new RouterObserver({
      router: settings,
      exposition,
      logger,
      clock,
      staleAfterMs: settings.poll.staleAfterMs,
    });
    this.#client = new RouterClient({
      url: settings.url,
      username: settings.username,
      password: settings.password,
      auth: settings.auth,
      tls: { ...settings.tls, keyPem: settings.tls.keyPem?.reveal() },
      requestTimeoutMs: settings.poll.timeoutMs,
      clock,
      report: (event) => this.#observer.onSession(event),
    });
    this.#zone = new Zone(settings.timezone);
  }

  get state(): RouterState['state'] {
    return this.#observer.state.state;
  }

  /** The router on the status page. */
  get row(): RouterRow {
    const { name, url } = this.#options.settings;
    const { state, ...rest } = this.#observer.state;
    return { name, url, state: state === 'unknown' ? 'not polled yet' : state, ...rest };
  }

  /** What the scheduler is to do; logs only when there is somewhere to send them. */
  activities(hasSinks: boolean): Activity[] {
    const { name, poll, logs } = this.#options.settings;
    const activities: Activity[] = [
      { key: `${name}/status`, lane: name, intervalMs: poll.intervalMs, run: (signal) => this.#poll(signal) },
    ];
    if (hasSinks && logs.enabled) {
      activities.push({
        key: `${name}/logs`,
        lane: name,
        intervalMs: logs.intervalMs,
        run: (signal, isAwaited) => this.#tail(signal, isAwaited),
      });
    }
    return activities;
  }

  /** Logs out and closes the connection. */
  close(signal: AbortSignal): Promise<void> {
    return this.#client.close(signal);
  }

  async #poll(signal: AbortSignal): Promise<'done' | 'failed'> {
    const { settings, clock, onPolled } = this.#options;
    const result = await pollOnce({ source: this.#client, clock, deadlineMs: settings.poll.deadlineMs }, signal);
    this.#observer.onPoll(result);
    onPolled(result.isUp);
    return result.isUp ? 'done' : 'failed';
  }

  async #tail(signal: AbortSignal, isAwaited: () => boolean): Promise<'done' | 'failed'> {
    const { settings, clock, store, archives, onStoreFailed } = this.#options;
    using deadline = openDeadline(clock, LOGS_DEADLINE_MS, signal);
    try {
      this.#logsAfter = await tailOnce(
        {
          router: settings,
          source: this.#client,
          records: store,
          archives,
          clock,
          zone: this.#zone,
          memory: this.#logMemory,
          isWanted: (component) => isSelected(component, settings.logs.components),
          report: (event) => this.#onLog(event),
          shouldYield: isAwaited,
          after: this.#logsAfter,
        },
        deadline.signal,
      );
      this.#observer.onLogsRead();
      return 'done';
    } catch (cause) {
      if (signal.aborted) throw cause;
      this.#observer.onLogsFailed(cause);
      if (cause instanceof StoreError && cause.code === 'broken') onStoreFailed(cause);
      // A full spool or an answered refusal is no reason to leave the router alone for long.
      const isRouterGone = cause instanceof RouterError && !cause.isAnswered;
      return isRouterGone || !(cause instanceof CodedError) ? 'failed' : 'done';
    }
  }

  #onLog(event: LogEvent): void {
    this.#observer.onLog(event);
    if (event.type === 'log-read') this.#options.onSpooled();
    if (event.type === 'log-reset') this.#options.onSpooled();
    if (event.type === 'log-gap-found') {
      this.#options.onSpooled();
      this.#options.onGap();
    }
  }
}

/** Globs; those with a leading `!` take away from what the others give. */
function isSelected(component: string, globs: readonly string[]): boolean {
  const isMatch = (glob: string) => matchesGlob(component, glob);
  return (
    globs.some((glob) => !glob.startsWith('!') && isMatch(glob)) &&
    !globs.some((glob) => glob.startsWith('!') && isMatch(glob.slice(1)))
  );
}
