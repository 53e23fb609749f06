import type { Clock } from '../../base/index.ts';
import type { SessionEvent } from '../../router/index.ts';
import type { SessionSummary } from '../../web/index.ts';
import { toTime } from '../times.ts';

const STATES: Readonly<Record<Exclude<SessionEvent['type'], 'session-refreshed'>, SessionSummary['state']>> = {
  'session-opened': 'open',
  'session-lost': 'lost',
  'session-closed': 'closed',
  'login-failed': 'failed',
};

/** State and counters of the sessions with a router. */
export class SessionStats {
  readonly #clock: Clock;
  #state: SessionSummary['state'] = 'none';
  /** Wall time, milliseconds since the Unix epoch. */
  #sinceMs: number | undefined;
  #logins = 0;
  #loginFailures = 0;
  #refreshes = 0;
  /** The errors of failed logins that somebody still holds. */
  #failedLogins: WeakSet<object> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(event: SessionEvent): void {
    if (event.type === 'session-opened') this.#logins++;
    if (event.type === 'login-failed') {
      this.#loginFailures++;
      this.#failedLogins ??= new WeakSet();
      this.#failedLogins.add(Object(event.cause));
    }
    if (event.type === 'session-refreshed') {
      this.#refreshes++;
      return;
    }
    const state = STATES[event.type];
    // Repeated failures of the login keep the time of the first one.
    if (state !== this.#state || state === 'open') this.#sinceMs = this.#clock.now();
    this.#state = state;
  }

  /** Returns true if this is the error of a failed login, or was caused by one. */
  isFailureOf(error: unknown): boolean {
    if (!(error instanceof Error) || !this.#failedLogins) return false;
    return this.#failedLogins.has(error) || this.isFailureOf(error.cause);
  }

  describe(): SessionSummary {
    return {
      state: this.#state,
      since: toTime(this.#sinceMs),
      logins: this.#logins,
      loginFailures: this.#loginFailures,
      refreshes: this.#refreshes,
    };
  }
}
